"""The command line. Exit codes: 0 done, 1 a run did not end well, 2 the input is wrong, 3 a gate could not tell, 130
interrupted.

Only the module of the command that was given is imported: to read results takes no Docker client.
"""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from runner import screen
from runner.errors import BenchError, Stopped

# the module of each command, in the order of --help
MODULES = {
    "run": "measuring", "plan": "measuring", "rerun": "measuring", "aa": "measuring", "gate": "measuring",
    "report": "results", "compare": "results", "history": "results", "export": "results", "curves": "results",
    "verify": "results", "list": "preparing", "check": "proving", "check-study": "proving",
    "images": "preparing", "data": "preparing", "doctor": "preparing", "sbom": "preparing", "lock": "preparing",
    "dev": "dev",
}


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
    return typer.main.get_group(import_module(f"{__name__}.{module}").app).commands


app = typer.Typer(cls=_Group, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


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
