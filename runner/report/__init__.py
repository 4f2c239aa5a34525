"""Reports: what a session says, once, for the five forms that write it.

contents (with deviations, environment) turns a Summary and its measurements into a Report: tables and charts
of plain values. Each table has typed columns (tables; columns has those of results), of which a form writes its own:
page, markdown, latex and spreadsheet in writers, and runner.screen on the terminal.
"""
