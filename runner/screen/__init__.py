"""What people see: results on standard output, progress and messages on standard error. Only here is rich imported.

Every text that could come from a file goes through words.clean, and none is read as markup; colour only repeats what a
word already says.
"""

from runner.screen.lists import list_view, parts_view, plan_view
from runner.screen.page import say, show
from runner.screen.progress import progress, transfer
from runner.screen.summary import summary_view

__all__ = ["list_view", "parts_view", "plan_view", "progress", "say", "show", "summary_view", "transfer"]
