"""What can be looked up: stacks, their pins, tasks, experiments of studies, results, and papers."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from runner import screen
from runner.errors import InputError
from runner.grouping import grouped
from runner.machine import host, nvml
from runner.paths import Places
from runner.planning import coverage, paper_index
from runner.planning.plan import Plan, Wishes, of_fullest_form, plan, run_seconds
from runner.report import paper as papers
from runner.report.tables import Shown
from runner.results import sessions
from runner.stacks import definition
from runner.study import file
from workloads.spec import tasks as known_tasks


def of(what: str, results: Path, scale: str | None, places: Places) -> Shown:
    """The rows of one of these; of studies below each one's title. Raises InputError."""
    if what == "studies":
        found = studies(results, scale, places)
        titled = grouped(found, lambda row: f"{row['experiment'].partition('/')[0]}: {row['title']}")
        return Shown(found, [{title: [{name: value for name, value in row.items() if name != "title"} for row in rows]
                              for title, rows in titled.items()}])
    lists: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "stacks": lambda: stacks(places), "outdated": lambda: outdated(places), "tasks": tasks,
        "results": lambda: sessions.listing(results)}
    if what not in lists:
        raise InputError(f'list: found "{what}", expected one of stacks, outdated, tasks, studies, results')
    if scale:
        raise InputError(f"list {what}: found --scale, which only studies have")
    return Shown(lists[what]())


def left_behind() -> list[str]:
    """What runners that are gone have left on this machine, with the way to remove it."""
    from runner.doctor import host as doctor  # here: it asks an engine, as no list does

    return [f"{each.what}: {each.found}: {each.mend}" for each in doctor.left()]


def stacks(places: Places) -> list[dict[str, Any]]:
    """Every stack."""
    return [{"stack": s.name, "framework": f"{s.framework} {s.version}", "python": s.python,
             "devices": ", ".join(s.devices), "studies": ", ".join(s.studies)}
            for s in definition.read_all(places.stacks).values()]


def outdated(places: Places) -> list[dict[str, Any]]:
    """Pins of today's stacks that the package index has left behind."""
    from runner.stacks import outdated as pins  # here: requests takes a tenth of a second, which other lists do without

    today = (each for each in definition.read_all(places.stacks).values() if pins.OF_TODAY.issuperset(each.studies))
    found = pins.outdated(today, cache(pins.released))
    if not found:
        screen.say(f"no pin is more than {pins.ALLOWED} releases behind the index")
    return found


def tasks() -> list[dict[str, Any]]:
    """Every task with the cell fields that it decides; None where there are no pixels."""
    no_pixels = {"image": None, "classes": None}         # of sequence tasks
    return [{"task": name, "title": known_tasks.title(name), **no_pixels, **known_tasks.defaults(name)}
            for name in known_tasks.NAMES]


def studies(results: Path, scale: str | None, places: Places) -> list[dict[str, Any]]:
    """Every experiment at the scale, or without one at its study's first and at all scales with results."""
    known_stacks, known = definition.read_all(places.stacks), coverage.endings(results)
    machine, here = host.observe(), nvml.observe()
    made_of = cache(lambda name: known_stacks[name].made_of())

    def planned(study: file.Study) -> Plan:
        return plan(study, known_stacks, machine, Wishes(), lambda stack: None, here)

    rows = []
    for name in file.available(places.studies):
        forms = [file.experiments(name, places.studies, on_gpu)
                 for on_gpu in ((False, True) if here.gpus else (False,))]
        for index, each in enumerate(forms[0]):
            if scale not in (None, each) or (scale is None and index and not known):
                continue
            read = [form[each] for form in forms]
            try:                                       # the form that `evenbench run` would measure here
                chosen = of_fullest_form(read, planned).study if read[1:] else read[0]
                plans = [planned(chosen._replace(experiments=(one,))) for one in chosen.experiments]
            except InputError as error:                # one study that cannot be planned hides no other
                screen.say(str(error))
                continue
            states = coverage.experiments(plans, known, made_of)
            if scale or not index or any(state[name] for state in states for name in ("done", "stale", "failed")):
                rows += states
    if scale and not rows:
        raise InputError(f'--scale: no study has a scale "{scale}"; `evenbench list studies` shows what there is')
    return rows


def paper(name: str, scale: str | None, places: Places) -> Shown:
    """A published study at the scale. Raises InputError for a study of no paper."""
    whole = file.read(name, places.studies)
    if not whole.places:
        names = [each for each in file.available(places.studies) if file.repeats_publication(each, places.studies)]
        raise InputError(f"paper {name}: found a study of no paper, expected one of {', '.join(names)}")
    stacks, machine, here = definition.read_all(places.stacks), host.observe(), nvml.observe()
    forms = [file.read(name, places.studies, scale, on_gpu) for on_gpu in ((False, True) if here.gpus else (False,))]
    made = of_fullest_form(forms, lambda read: plan(read, stacks, machine, Wishes(), lambda stack: stack.unbuildable,
                                                    here))
    index = paper_index.rows(made, lambda each: run_seconds(each.cell, cpus=machine.cpus))
    return Shown(index, papers.parts(whole, made, [*paper_index.lines(index), ""]),
                 documented=papers.parts(whole, made, [index]))
