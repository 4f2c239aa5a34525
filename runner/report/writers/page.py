"""A Report as one HTML file: no request, nothing from outside.

Only this module imports jinja2, and only for a page: its import takes a tenth of a second.
Its one script copies commands and sorts tables; the page's policy names it by its hash, so that no other one runs.
Every text goes through formatting.clean and is then escaped; charts, escaped where they are drawn, are put in as they
are.
"""

import base64
import hashlib
import re
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from runner import formatting
from runner.report.document import Report
from runner.report.tables import Form
from runner.report.writers import charts

NAME = "report.html"           # beside a result's events
_SHORT = 28                    # letters that stay on one line: "11,737 (6,498–13,400)" is one of the longest numbers
_FOLDER = Path(__file__).parent


def html(report: Report) -> str:
    """The file."""
    from markupsafe import Markup

    salts = count()
    style, script = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return str(_template().render(
        report=report, style=Markup(style), script=Markup(script), script_hash=f"sha256-{script_hash}",
        drawing=lambda chart: Markup(charts.svg(chart, str(next(salts)))))) + "\n"     # whose text is escaped there


def anchor(text: str) -> str:
    """The text as a place in the page."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def mood(text: str) -> str:
    """The class of a word that is coloured, "" for any other text."""
    return getattr(text, "mood", "")


@cache
def _template() -> Any:
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined, finalize=lambda value: (
            formatting.clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value))
    environment.filters.update(
        anchor=anchor, mood=mood, written=lambda table: table.written(Form.PAGE),
        is_short=lambda text: len(text) <= _SHORT,
        # what measures a result again, or shows a run
        is_command=lambda text: text.startswith(("evenbench rerun ", "evenbench report ")))
    return environment.get_template("page.html")
