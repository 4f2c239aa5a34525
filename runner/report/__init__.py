"""Reports: a session's results as a page, Markdown, CSV or LaTeX.

contents (with deviations, sections, environment) turns a Summary and its measurements into tables and charts of plain
values; columns says what stands in a table of results, for the terminal too; page, markdown, latex and spreadsheet,
in writers, write those down. All but page and charts are pure Python without a library; those two are imported only
when a page is made, because matplotlib and jinja2 take their time.
"""
