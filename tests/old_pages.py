"""The tables of a report's page as texts, to hold pages of different revisions against each other."""

from html.parser import HTMLParser
from typing import NamedTuple


class Table(NamedTuple):
    """A table of a page: what stands above it, and its rows, the titles first."""

    title: str
    rows: list[list[str]]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.title, self._text = "", list[str]()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("h1", "h2", "h3", "caption", "th", "td"):
            self._text = []
        if tag == "table":
            self.tables.append(Table(self.title, []))
        if tag == "tr":
            self.tables[-1].rows.append([])

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        text = " ".join("".join(self._text).split())
        if tag in ("h1", "h2", "h3"):
            self.title = text
        if tag == "caption":
            self.tables[-1] = self.tables[-1]._replace(title=text)
        if tag in ("th", "td"):
            self.tables[-1].rows[-1].append(text)


def tables(page: str) -> list[Table]:
    """All tables of a page, in order."""
    reader = _Reader()
    reader.feed(page)
    return reader.tables
