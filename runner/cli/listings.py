"""The command list: rows of equal keys of stacks, tasks, studies or results."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from runner import paths, screen
from runner.application import listing
from runner.cli import complete
from runner.cli.options import RESULTS, Commands, Folders, Results, Scale
from runner.cli.output import Output
from runner.errors import InputError
from runner.machine import host, nvml
from runner.planning import paper_index
from runner.planning.plan import Wishes, of_fullest_form, plan, run_seconds
from runner.report import paper as papers
from runner.results import sessions
from runner.stacks import definition
from runner.study import file

app = Commands()


@app.command("list")
def list_(what: Annotated[str, typer.Argument(metavar="WHAT", autocompletion=lambda: complete.LISTS,
                                              help="stacks, outdated, tasks, studies or results.")] = "stacks",
          results: Results = RESULTS, scale: Scale = None, *, folders: Folders, output: Output) -> None:
    """List stacks, their pins that the package index has left behind (outdated), tasks, studies or results.

    Of each experiment of a study what is done, stale and missing.
    """
    if what not in complete.LISTS:
        raise InputError(f'list: found "{what}", expected one of {", ".join(complete.LISTS)}')
    if scale and what != "studies":
        raise InputError(f"list {what}: found --scale, which only studies have")
    if what == "studies":
        found = listing.studies(results, scale, folders.places, screen.say)
        output.rows(found, [_by_study(found)])
    else:
        output.rows({"stacks": lambda: listing.stacks(folders.places), "tasks": listing.tasks,
                     "outdated": lambda: listing.outdated(folders.places),
                     "results": lambda: sessions.listing(results)}[what]())
    if what == "results":
        from runner.doctor import host as doctor  # here: it asks an engine, as no other list does

        for each in doctor.left():
            screen.say(f"{each.what}: {each.found}: {each.mend}")


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


def _by_study(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each study below its title."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        label = f"{row['experiment'].partition('/')[0]}: {row['title']}"
        groups.setdefault(label, []).append({name: value for name, value in row.items() if name != "title"})
    return groups


@app.command()
def paper(name: Annotated[str, typer.Argument(metavar="STUDY", help="A published study's id, or its file.",
                                              autocompletion=complete.studies)],
          scale: Scale = "quick", *, folders: Folders, output: Output) -> None:
    """Show a paper's figures and tables by its own numbers, what of them runs here, its numbers and claims."""
    places = folders.places
    whole = file.read(name, places.studies)
    if not whole.places:
        names = [each for each in file.available(places.studies) if file.repeats_publication(each, places.studies)]
        raise InputError(f"paper {name}: found a study of no paper, expected one of {', '.join(names)}")
    known_stacks, machine, here = definition.read_all(places.stacks), host.observe(), nvml.observe()
    made = of_fullest_form([file.read(name, places.studies, scale, on_gpu)
                            for on_gpu in ((False, True) if here.gpus else (False,))], lambda read: plan(
        read, known_stacks, machine, Wishes(), lambda stack: stack.unbuildable, here))
    index = paper_index.rows(made, lambda each: run_seconds(each.cell, here, cpus=machine.cpus))
    output.rows(index, papers.parts(whole, made, [*paper_index.lines(index), ""]),
                documented=papers.parts(whole, made, [index]))
