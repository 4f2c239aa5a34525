"""The command line. Exit codes: 0 done, 1 a run did not end well, 2 the input is wrong, 3 a gate could not tell, 130
interrupted.

Only the module of the command that was given is imported: to read results takes no Docker client.
"""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import typer
from typer.core import TyperGroup, TyperOption

from runner import paths, screen
from runner.errors import BenchError, Stopped

# the module of each command, in the order of --help
MODULES = {
    "run": "measuring", "plan": "measuring", "rerun": "measuring", "aa": "measuring", "gate": "measuring",
    "report": "results", "compare": "results", "history": "results", "export": "results",
    "curves": "results", "verify": "results", "list": "preparing", "check": "proving", "check-study": "proving",
    "images": "preparing", "data": "preparing", "doctor": "preparing", "sbom": "preparing", "lock": "preparing",
    "dev": "dev",
}


# what of the user's own may lie elsewhere: the option's name, the variable, and what it holds
OWN_FOLDERS = {"studies": (paths.OWN_STUDIES, "studies of your own, NAME.toml"),
               "stacks": (paths.OWN_STACKS, "stacks of your own, NAME/stack.toml")}
_OF_STUDIES_AND_STACKS = ("measuring", "proving", "preparing", "dev")


class _Commands(Mapping[str, Any]):
    """Typer's commands by name, each made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return commands_of(MODULES[name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class _Group(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _Commands()})


@cache
def commands_of(module: str) -> Mapping[str, Any]:
    """The commands that a module of this package has, by name."""
    found = typer.main.get_group(import_module(f"{__name__}.{module}").app).commands
    for command in found.values() if module in _OF_STUDIES_AND_STACKS else ():
        command.params += map(_folders, OWN_FOLDERS)
    return found


def _folders(name: str) -> TyperOption:
    """The option that names folders of the user's own, which paths.own_folders then says to whoever asks."""
    variable, what = OWN_FOLDERS[name]
    return TyperOption(param_decls=[f"--{name}"], type=click.Path(path_type=Path), multiple=True, expose_value=False,
                       metavar="DIR", help=f"A folder with {what}; repeatable, or the variable {variable}.",
                       callback=lambda context, option, value: paths.name_own_folders(variable, value))


app = typer.Typer(cls=_Group, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def _evenbench() -> None:
    """Which deep-learning framework is faster here, really?"""


def main() -> None:
    """Run the command. A BenchError becomes one line on standard error and exit code 2."""
    try:
        app(standalone_mode=True)
    except BenchError as error:
        screen.say(f"evenbench: {error}")
        sys.exit(2)
    except Stopped:
        sys.exit(130)
