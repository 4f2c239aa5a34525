"""Commands that look things up: list, help, paper."""

from typing import Annotated

import typer

from runner import paths, screen
from runner.application import listing
from runner.cli import complete
from runner.cli.options import RESULTS, Commands, Folders, Results
from runner.cli.output import Output
from runner.errors import InputError

app = Commands()


@app.command("list")
def list_(what: Annotated[str, typer.Argument(metavar="WHAT", autocompletion=lambda: complete.LISTS,
                                              help="stacks, outdated, tasks, studies or results.")] = "stacks",
          results: Results = RESULTS,
          scale: Annotated[str | None, typer.Option(help="Of studies; if left out each one's first, and all that have "
                                                         "results.")] = None,
          *, folders: Folders, output: Output) -> None:
    """List stacks, their pins that the package index has left behind (outdated), tasks, studies or results.

    Of each experiment of a study what is done, stale and missing.
    """
    output.rows(*listing.of(what, results, scale, folders.places))
    for line in listing.left_behind() if what == "results" else ():
        screen.say(line)


@app.command("help")
def help_(context: typer.Context,
          topic: Annotated[str, typer.Argument(metavar="[TOPIC]", help="agents, or a command.")] = "") -> None:
    """Print a command's help, or how agents and scripts use evenbench (help agents)."""
    root = context.find_root()
    command = root.command.get_command(root, topic) if topic else root.command    # type: ignore[attr-defined]
    if topic == "agents":
        typer.echo((paths.ROOT / "AGENTS.md").read_text(encoding="utf-8"), nl=False)
    elif command is None:
        raise InputError(f'help: found "{topic}", expected agents or a command: run `evenbench --help`')
    else:
        typer.echo(command.get_help(typer.Context(command, parent=root, info_name=topic) if topic else root))


@app.command("paper")
def paper_(name: Annotated[str, typer.Argument(metavar="STUDY", help="A published study's id, or its file.",
                                               autocompletion=complete.studies)],
           scale: Annotated[str, typer.Option(help="One of the study's scales.")] = "quick", *, folders: Folders,
           output: Output) -> None:
    """Show a paper's figures and tables by its own numbers, what of them runs here, its numbers and claims."""
    output.rows(*listing.paper(name, scale, folders.places))
