"""The command line. Exit codes: 0 done, 1 a run did not end well, 2 the input is wrong, 3 a gate could not tell, 4 busy
or incomplete, 130 interrupted.

Only the module of the command that was given is imported: to read results takes no Docker client.
"""

import ast
import gc
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from runner import __version__, paths, screen
from runner.errors import BenchError, InputError, Stopped

_GROUPS = {"Measure": ("measuring", "run plan rerun why gate blame"),
           "Look": ("results", "report compare history export curves list paper help"), "Prove": ("proving", "check"),
           "Prepare": ("preparing", "init images manifests data doctor"), "Maintain": ("preparing", "lock")}
COMMANDS = {name: (module, group) for group, (module, names) in _GROUPS.items()
            for name in names.split()}          # in the order of --help


class _Commands(Mapping[str, Any]):
    """Typer's commands by name, each made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return commands_of(COMMANDS[name][0])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Group(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _Commands()})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse a word that a variable left empty, wherever it stands. Raises InputError."""
        for before, word in pairwise(["", *args]):
            if not word or re.fullmatch("--[a-z-]+=", word):
                option = word.removesuffix("=") or before
                raise InputError(f'{option}: found "", expected a value' + (
                    f", or no {option}" if option.startswith("-") else ""))
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print what the command line has, which needs no command's module."""
        lines = dict(line for module in {module for module, _ in COMMANDS.values()} for line in summaries(module))
        self.commands = {name: TyperCommand(name, help=lines[name], rich_help_panel=group)
                         for name, (_, group) in COMMANDS.items()}
        super().format_help(ctx, formatter)


def summaries(module: str) -> Iterator[tuple[str, str]]:
    """A module's commands, and the first paragraph of each one's help: read, since to import all takes a second."""
    for node in ast.parse(Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(decorator_list=[ast.Call(
                    ast.Attribute(ast.Name("app"), "command") | ast.Attribute(_, "callback"), words), *_]):
                name = words[0].value if words and isinstance(words[0], ast.Constant) else node.name
                yield str(name), " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())


@cache
def commands_of(module: str) -> Mapping[str, Any]:
    """The commands that a module of this package has, by name."""
    commands = typer.main.get_group(import_module(f"{__name__}.{module}").app).commands
    more = typer.Typer(add_completion=False)
    more.command()(_everywhere)
    for command in (each for each in commands.values() if not hasattr(each, "commands")):
        taken = {word for parameter in command.params for word in parameter.opts}
        command.params += [each for each in typer.main.get_command(more).params if taken.isdisjoint(each.opts)]
    return commands


def _everywhere(quiet: Annotated[bool, typer.Option(
                    "-q", "--quiet", expose_value=False, callback=screen.hush,
                    help="Say nothing on standard error but what is wrong.")] = False,
                verbose: Annotated[bool, typer.Option(
                    "-v", "--verbose", expose_value=False, callback=screen.detail,
                    help="While it measures, a line a run.")] = False) -> None:
    """Options that every command has, and no command's function is told of."""


app = typer.Typer(cls=_Group, no_args_is_help=True, pretty_exceptions_enable=False,
                  context_settings={"help_option_names": ["-h", "--help"]})


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"evenbench {__version__}")
        raise typer.Exit


@app.callback()
def _evenbench(version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_show_version,
                                                     help="Print the version.")] = False) -> None:
    """Which deep-learning framework is faster here, really?"""


def main() -> None:
    """Run the command. What the user can mend becomes one line on standard error, with the error's exit code."""
    gc.set_threshold(100_000, 20, 20)        # records stay: to look through them often takes a fifth of a report
    try:
        app(standalone_mode=True)
    except (BenchError, OSError) as error:
        line = error if isinstance(error, BenchError) else paths.unusable(error)
        if line is None:
            raise
        screen.hush(False)
        screen.say(f"evenbench: {line}")
        sys.exit(getattr(error, "exit_code", 2))
    except Stopped:
        sys.exit(130)
