"""What `evenbench list` shows of stacks, tasks and studies: rows of equal keys, for people and for programs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from runner import own_tasks, paths
from runner.errors import InputError
from runner.machine import host, nvml
from runner.planning import coverage
from runner.planning.plan import Plan, Wishes, of_fullest_form, plan
from runner.stacks import definition
from runner.study import file


def stacks() -> list[dict[str, Any]]:
    """A row a stack."""
    return [{"stack": s.name, "framework": f"{s.framework} {s.version}", "python": s.python,
             "devices": ", ".join(s.devices), "studies": ", ".join(s.studies)}
            for s in definition.read_all(paths.STACKS).values()]


def all_tasks() -> list[dict[str, Any]]:
    """A row a task, with the cell fields that it decides; None where there are no pixels."""
    no_pixels = {"image": None, "classes": None}         # of sequence tasks
    return [{"task": name, "title": own_tasks.title(name), **no_pixels, **_decided(name)}
            for name in own_tasks.names()]


def _decided(name: str) -> dict[str, Any]:
    return {field: value for field, value in own_tasks.defaults(name).items() if field != "table"}


def studies(results: Path, scale: str | None, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Every experiment at the scale, or without one at its study's default and at all scales with results."""
    known_stacks, known = definition.read_all(paths.STACKS), coverage.endings(results)
    machine, here = host.observe(), nvml.observe()
    made_of = {name: definition.fingerprint(each) for name, each in known_stacks.items()}
    rows = []
    for name in file.available(paths.STUDIES):
        default, *others = file.scales(name, paths.STUDIES)
        for each in [default, *others] if scale is None else [scale] if scale in (default, *others) else []:
            forms = [file.read(name, paths.STUDIES, each, on_gpu)
                     for on_gpu in ((False, True) if here.gpus else (False,))]
            try:
                plans = _planned(forms, lambda read: plan(read, known_stacks, machine, Wishes(), lambda stack: None,
                                                          here))
            except InputError as error:                # one study that cannot be planned hides no other
                say(str(error))
                continue
            states = coverage.experiments(plans, known, made_of)
            if each in (scale, default) or any(state.is_touched for state in states):
                rows += [state.record() for state in states]
    if scale and not rows:
        raise InputError(f'--scale: no study has a scale "{scale}"; `evenbench list studies` shows what there is')
    return rows


def _planned(forms: Sequence[file.Study], of: Callable[[file.Study], Plan]) -> list[Plan]:
    """A plan an experiment, of the form of a study that `evenbench run` would measure here. Raises InputError."""
    chosen = of_fullest_form(forms, of).study if len(forms) > 1 else forms[0]
    return [of(chosen._replace(experiments=(one,))) for one in chosen.experiments]
