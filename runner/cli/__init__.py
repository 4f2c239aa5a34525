"""The command line. Exit codes: 0 done, 1 a run did not end well, 2 the input is wrong, 3 a gate could not tell, 130
interrupted.

Only the module of the command that was given is imported: to read results takes no Docker client.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from runner import __version__, paths, screen
from runner.errors import BenchError, Stopped


class Entry(NamedTuple):
    """A command in the list of commands: its module, its group, and its line there, its docstring's first sentence."""

    module: str
    group: str
    summary: str


# the commands, in the order of --help, which reads them here: to import all their modules takes a second
COMMANDS = {
    "run": Entry("measuring", "Measure", "Measure a study; the same command resumes an interrupted session."),
    "plan": Entry("measuring", "Measure", "Show the cells of a study, the skipped ones with reasons, and about how "
                                          "long it takes; runs nothing."),
    "rerun": Entry("measuring", "Measure", "Repeat a stored session, or one of its cells, from its record, and say "
                                           "what differs now."),
    "why": Entry("measuring", "Measure", "Say why rows of a result are behind: what takes the time, and which switch "
                                         "moves it."),
    "gate": Entry("measuring", "Measure", "Is the head slower than the base? Exit code 1 where it is, by more than "
                                          "allowed, 0 where not, 3 if unclear."),
    "report": Entry("results", "Look", "Print the answer of a session again and write its page, report.html."),
    "compare": Entry("results", "Look", "Compare two sessions: which ratios to the baseline moved, and what differed "
                                        "around them."),
    "history": Entry("results", "Look", "Show each cell's ratio to its baseline over all sessions, where it moved, "
                                        "and what had changed then."),
    "export": Entry("results", "Look", "Write a session's raw samples as one table, a row a sample, for notebooks."),
    "curves": Entry("results", "Look", "Say how far the loss curves of a session's stacks lie apart; 1 where equal "
                                       "trainings in float64 do not agree."),
    "list": Entry("listings", "Look", "List stacks, tasks, studies (what is done, stale and missing of each "
                                       "experiment), data sets or results."),
    "aa": Entry("measuring", "Prove", "Run a stack under two names, and say how often it is called faster or slower "
                                      "than itself."),
    "verify": Entry("results", "Prove", "Say which files of a result are not as its session and reports left them; 1 "
                                        "where any is not."),
    "check": Entry("proving", "Prove", "Prove that stacks compute the same: weights, batch, every activation, "
                                       "gradient and update, compared."),
    "check-study": Entry("proving", "Prove", "Judge each claim of a study on the numbers that its own paper prints; "
                                             "1 where one does not hold unmarked."),
    "init": Entry("preparing", "Prepare", "Write a model's file to begin with, in PyTorch, JAX or Keras: model.py."),
    "images": Entry("preparing", "Prepare", "Build the images of stacks and of the runner (if none is named, all "
                                            "that run without a GPU)."),
    "data": Entry("preparing", "Prepare", "Data sets: list, get, verify, prepare."),
    "doctor": Entry("preparing", "Prepare", "Look at what measuring needs: engine, interpreters, disk, load; each "
                                            "lack with the command that mends it."),
    "sbom": Entry("preparing", "Maintain", "Say what the images or virtual environments of stacks hold: CycloneDX "
                                           "JSON with versions, hashes and licences."),
    "lock": Entry("preparing", "Maintain", "Make the locks of stacks and of the runner (requirements.txt) anew from "
                                           "their requirements.in."),
}
_OF_STUDIES_AND_STACKS = ("measuring", "proving", "preparing", "listings")        # modules whose commands read them


class _Commands(Mapping[str, Any]):
    """Typer's commands by name, each made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return commands_of(COMMANDS[name].module)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Group(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _Commands()})

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print what the command line has, which needs no command's module."""
        self.commands = {name: TyperCommand(name, help=entry.summary, rich_help_panel=entry.group)
                         for name, entry in COMMANDS.items()}
        super().format_help(ctx, formatter)


@cache
def commands_of(module: str) -> Mapping[str, Any]:
    """The commands that a module of this package has, by name."""
    commands = typer.main.get_group(import_module(f"{__name__}.{module}").app).commands
    more = typer.Typer(add_completion=False)
    more.command()(_own_folders if module in _OF_STUDIES_AND_STACKS else _everywhere)
    for command in (each for each in commands.values() if not hasattr(each, "commands")):
        command.params += typer.main.get_command(more).params
    return commands


def _naming(variable: str) -> Callable[[list[Path] | None], None]:
    """What lets paths say the folders that an option names to whoever asks."""
    return lambda folders: paths.name_own_folders(variable, folders or ())


Quiet = Annotated[bool, typer.Option("-q", "--quiet", expose_value=False, callback=screen.hush,
                                     help="Say nothing on standard error but what is wrong.")]


def _everywhere(quiet: Quiet = False) -> None:
    """An option that every command has, and no command's function is told of."""


def _own_folders(
    own_studies: Annotated[list[Path] | None, typer.Option(
        "--studies", metavar="DIR", expose_value=False, callback=_naming(paths.OWN_STUDIES),
        help=f"A folder with studies of your own, NAME.toml; repeatable, or {paths.OWN_STUDIES}.")] = None,
    own_stacks: Annotated[list[Path] | None, typer.Option(
        "--stacks", metavar="DIR", expose_value=False, callback=_naming(paths.OWN_STACKS),
        help=f"A folder with stacks of your own, NAME/stack.toml; repeatable, or {paths.OWN_STACKS}.")] = None,
    quiet: Quiet = False) -> None:
    """Options that every command of studies and stacks has, and no command's function is told of."""


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
    """Run the command. What the user can mend becomes one line on standard error and exit code 2."""
    try:
        app(standalone_mode=True)
    except (BenchError, OSError) as error:
        line = error if isinstance(error, BenchError) else paths.unusable(error)
        if line is None:
            raise
        screen.hush(False)
        screen.say(f"evenbench: {line}")
        sys.exit(2)
    except Stopped:
        sys.exit(130)
