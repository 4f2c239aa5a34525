"""The command line. Exit codes: 0 done, 1 a run did not end well, 2 the input is wrong, 3 a gate could not tell, 130
interrupted.

Only the module of the command that was given is imported: to read results takes no Docker client.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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
_OF_STUDIES_AND_STACKS = ("measuring", "proving", "preparing", "dev")        # modules whose commands read them


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
    if module in _OF_STUDIES_AND_STACKS:
        of_folders = typer.Typer(add_completion=False)
        of_folders.command()(_own_folders)
        for command in (each for each in found.values() if not hasattr(each, "commands")):
            command.params += typer.main.get_command(of_folders).params
    return found


def _naming(variable: str) -> Callable[[list[Path] | None], None]:
    """What lets paths say the folders that an option names to whoever asks."""
    return lambda folders: paths.name_own_folders(variable, folders or ())


def _own_folders(
    own_studies: Annotated[list[Path] | None, typer.Option(
        "--studies", metavar="DIR", expose_value=False, callback=_naming(paths.OWN_STUDIES),
        help=f"A folder with studies of your own, NAME.toml; repeatable, or {paths.OWN_STUDIES}.")] = None,
    own_stacks: Annotated[list[Path] | None, typer.Option(
        "--stacks", metavar="DIR", expose_value=False, callback=_naming(paths.OWN_STACKS),
        help=f"A folder with stacks of your own, NAME/stack.toml; repeatable, or {paths.OWN_STACKS}.")] = None) -> None:
    """Two options that every command of studies and stacks has, and no command's function is told of."""


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
