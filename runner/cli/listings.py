"""The command list: rows of equal keys of stacks, tasks, studies or results."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from runner import paths, screen
from runner.cli import complete
from runner.cli.options import RESULTS, Commands, Results, Scale
from runner.cli.output import Output
from runner.errors import InputError
from runner.machine import host, nvml
from runner.planning import coverage, paper_index
from runner.planning.plan import Plan, Wishes, of_fullest_form, plan, run_seconds
from runner.report import paper as papers
from runner.results import earlier_sessions
from runner.stacks import definition
from runner.study import file
from workloads.spec import tasks

app = Commands()


@app.command("list")
def list_(what: Annotated[str, typer.Argument(metavar="WHAT", autocompletion=lambda: complete.LISTS,
                                              help="stacks, outdated, tasks, studies or results.")] = "stacks",
          results: Results = RESULTS, scale: Scale = None, *, output: Output) -> None:
    """List stacks, their pins that the package index has left behind (outdated), tasks, studies or results.

    Of each experiment of a study what is done, stale and missing.
    """
    if what not in complete.LISTS:
        raise InputError(f'list: found "{what}", expected one of {", ".join(complete.LISTS)}')
    if scale and what != "studies":
        raise InputError(f"list {what}: found --scale, which only studies have")
    if what == "studies":
        found = studies(results, scale, screen.say)
        output.rows(found, [_by_study(found)])
    else:
        output.rows({"stacks": _stacks, "outdated": _outdated, "tasks": _tasks,
                     "results": lambda: earlier_sessions.listing(results)}[what]())
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
          scale: Scale = "quick", *, output: Output) -> None:
    """Show a paper's figures and tables by its own numbers, what of them runs here, its numbers and claims."""
    whole = file.read(name, paths.STUDIES)
    if not whole.places:
        names = [each for each in file.available(paths.STUDIES) if file.repeats_publication(each, paths.STUDIES)]
        raise InputError(f"paper {name}: found a study of no paper, expected one of {', '.join(names)}")
    known_stacks, machine, here = definition.read_all(paths.STACKS), host.observe(), nvml.observe()
    made = of_fullest_form([file.read(name, paths.STUDIES, scale, on_gpu)
                            for on_gpu in ((False, True) if here.gpus else (False,))], lambda read: plan(
        read, known_stacks, machine, Wishes(), lambda stack: stack.unbuildable, here))
    index = paper_index.rows(made, lambda each: run_seconds(each.cell, here, cpus=machine.cpus))
    output.rows(index, papers.parts(whole, made, [*paper_index.lines(index), ""]),
                documented=papers.parts(whole, made, [index]))


def _stacks() -> list[dict[str, Any]]:
    return [{"stack": s.name, "framework": f"{s.framework} {s.version}", "python": s.python,
             "devices": ", ".join(s.devices), "studies": ", ".join(s.studies)}
            for s in definition.read_all(paths.STACKS).values()]


def _outdated() -> list[dict[str, Any]]:
    """Of the stacks that are meant to be today's."""
    from runner.stacks import outdated  # here: requests takes a tenth of a second, which other lists do without

    stacks = (each for each in definition.read_all(paths.STACKS).values() if outdated.OF_TODAY.issuperset(each.studies))
    found = outdated.outdated(stacks, cache(outdated.released))
    if not found:
        screen.say(f"no pin is more than {outdated.ALLOWED} releases behind the index")
    return [pin._asdict() for pin in found]


def _tasks() -> list[dict[str, Any]]:
    """With the cell fields that a task decides; None where there are no pixels."""
    no_pixels = {"image": None, "classes": None}         # of sequence tasks
    return [{"task": name, "title": tasks.title(name), **no_pixels, **tasks.defaults(name)}
            for name in tasks.NAMES]


def studies(results: Path, scale: str | None, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Every experiment at the scale, or without one at its study's first and at all scales with results."""
    known_stacks, known = definition.read_all(paths.STACKS), coverage.endings(results)
    machine, here = host.observe(), nvml.observe()
    made_of = cache(lambda name: definition.fingerprint(known_stacks[name]))
    rows = []
    for name in file.available(paths.STUDIES):
        forms = [file.experiments(name, paths.STUDIES, on_gpu) for on_gpu in ((False, True) if here.gpus else (False,))]
        for index, each in enumerate(forms[0]):
            if scale not in (None, each) or (scale is None and index and not known):
                continue
            try:
                plans = _planned([form[each] for form in forms], lambda read: plan(
                    read, known_stacks, machine, Wishes(), lambda stack: None, here))
            except InputError as error:                # one study that cannot be planned hides no other
                say(str(error))
                continue
            states = coverage.experiments(plans, known, made_of)
            if scale or not index or any(state[name] for state in states for name in ("done", "stale", "failed")):
                rows += states
    if scale and not rows:
        raise InputError(f'--scale: no study has a scale "{scale}"; `evenbench list studies` shows what there is')
    return rows


def _planned(forms: Sequence[file.Study], of: Callable[[file.Study], Plan]) -> list[Plan]:
    """A plan an experiment, of the form of a study that `evenbench run` would measure here. Raises InputError."""
    chosen = of_fullest_form(forms, of).study if len(forms) > 1 else forms[0]
    return [of(chosen._replace(experiments=(one,))) for one in chosen.experiments]
