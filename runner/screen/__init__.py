"""What people see: results on standard output, progress and messages on standard error. Only here is rich imported.

Every text that could come from a file goes through formatting.clean, and none is read as markup; colour only repeats
what a word already says. Summaries and progress are imported from their modules: most commands need neither.
"""

from runner.screen.page import confirmed, detail, hush, parts_view, say, show

__all__ = ["confirmed", "detail", "hush", "parts_view", "say", "show"]
