"""Where what a command found goes: to the terminal, and into the files that --csv, --markdown or --json name."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer

from runner import paths, schemas, screen
from runner.errors import InputError
from runner.report.tables import Part
from runner.report.writers import markdown, spreadsheet
from runner.results import store

STANDARD_OUTPUT = "-"


def checked(context: typer.Context, parameter: typer.CallbackParam, file: str | None) -> str | None:
    """The file of a form, looked at before anything is measured. Raises InputError where it cannot be written."""
    taken = next((other.opts[-1] for other in context.command.params
                  if STANDARD_OUTPUT == context.params.get(other.name or "") == file), None)
    if taken:
        raise InputError(f"found {taken} - and {parameter.opts[0]} -, expected one of them on standard output")
    if file and Path(file).is_dir():
        raise InputError(f"{parameter.opts[0]} {file}: found a folder, expected the name of a file to write")
    if file and not Path(file).parent.is_dir():
        raise InputError(f"{parameter.opts[0]} {file}: there is no folder {Path(file).parent}; make it, or name "
                         "another file")
    return file


def file_option(help: str, *names: str) -> Any:
    """An option that names a file to write."""
    return typer.Option(*names, metavar="FILE", callback=checked, help=help)


class Output(NamedTuple):
    """Files that a command's tables go to, too."""

    csv: Annotated[str | None, file_option(
        "Write the rows as CSV; -: to standard output, and nothing else there.")] = None
    markdown: Annotated[str | None, file_option("Write it as Markdown; - as above.")] = None
    json: Annotated[str | None, file_option("Write all of it for programs; - as above.")] = None

    def rows(self, rows: Sequence[Mapping[str, Any]], parts: Sequence[Part] = (), record: Any = None,
             documented: Sequence[Part] = (), made: Mapping[str, Callable[[], str]] = MappingProxyType({}),
             **more: str | None) -> None:
        """Give rows of values; people read parts in their place, Markdown the documented ones, --json the record.

        made, more: forms that the command alone has, as give's.
        """
        shown = parts or [rows]
        self.give(lambda: screen.show(screen.parts_view(shown)), {
            "csv": lambda: spreadsheet.of_rows(rows), "markdown": lambda: markdown.of_parts(documented or shown),
            "json": lambda: json.dumps({"schema": schemas.ROWS, "rows": rows} if record is None else record, indent=2,
                                       allow_nan=False), **made}, **more)

    def give(self, show: Callable[[], None], made: Mapping[str, Callable[[], str]], **more: str | None) -> None:
        """Write each file that was asked for, then show the rest, unless standard output has one of the forms.

        made: the text of each form. more: files of forms that the command alone has. Raises InputError, DiskFull.
        """
        files = {name: file for name, file in {**self._asdict(), **more}.items() if file}
        for name, file in files.items():
            text = made[name]().rstrip("\n")
            if file == STANDARD_OUTPUT:
                sys.stdout.write(f"{text}\n")
                continue
            path = Path(file)
            if path.is_symlink() or (path.exists() and not path.is_file()):     # such as /dev/stdout: none to take away
                with paths.writing(path):
                    path.write_text(f"{text}\n", encoding="utf-8", errors="surrogateescape")
            else:
                store.write_beside(path.parent, path.name, text)
            screen.say(f"written: {file}")
        if STANDARD_OUTPUT not in files.values():
            show()
