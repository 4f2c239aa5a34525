"""Repeat a stored session, or one of its cells, from its record, and say what has changed since."""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from runner import __version__, paths
from runner.cells import KEY_DIGITS, key
from runner.datasets import choice
from runner.errors import InputError
from runner.launchers import choose
from runner.machine import host, nvml
from runner.measuring import job, own_models, own_stacks
from runner.measuring.bench import Request
from runner.planning.plan import Plan, Planned, Skipped
from runner.processes import Say
from runner.results import records, sessions, store
from runner.results.sessions import Session
from runner.stacks import definition
from runner.stacks.definition import Stack
from runner.stacks.own import OwnStack
from runner.study import claims, published
from runner.study.claims_file import Place
from runner.study.file import Experiment, Node, Study
from workloads.spec.cell import Cell, parse
from workloads.spec.tasks import is_known

_MOST_ROUNDS = 200_000      # the runs of the longest A/A session


def recorded(folder: Path) -> Session:
    """The session in a folder. Raises InputError where it has no plan."""
    session = sessions.read(folder)
    if not session.plan:
        raise InputError(f"{folder}: the events hold no plan, so there is nothing to repeat")
    return session


def named(name: str, results: Path) -> Session:
    """The session of a name; latest of an unfinished rerun means the one that it repeats. Raises InputError."""
    folder = store.located(name, results)
    latest = sessions.read(folder)
    if name == store.LATEST and latest.state != "done" and "rerun_of" in latest.first:
        with suppress(InputError):               # the other is elsewhere
            folder = store.located(str(latest.first["rerun_of"]), results)
    return recorded(folder)


def chosen(recorded: Session, cell: str) -> Session:
    """The record with one cell alone, by its number, key or the key's beginning; "": all of it. Raises InputError."""
    cells = recorded.plan["cells"]
    if not cell:
        return recorded
    some = [item for item in cells if item["key"].startswith(cell)]
    if cell.isascii() and cell.isdigit() and len(cell) < KEY_DIGITS:
        if not 1 <= int(cell) <= len(cells) and not some:
            raise InputError(f"--cell: found {cell}, expected 1 to {len(cells)}, as in {recorded.id}'s plan, or a key")
        some = [cells[int(cell) - 1]] if 1 <= int(cell) <= len(cells) else some
    if len(some) != 1:
        known = ", ".join(item["key"] for item in cells[:8]) + (" ..." if len(cells) > 8 else "")
        raise InputError(f'--cell: found "{cell}", which begins {len(some) or "no"} keys of {recorded.id}, expected '
                         f"one; known: {known}")
    # claims, published numbers and the index are of the whole study
    own = [each for each in recorded.plan.get("experiments", ()) if some[0]["key"] in each["cells"]]
    return replace(recorded, plan={**recorded.plan, "cells": some, "skipped": [], "claims": [], "published": [],
                                   "index": [], "experiments": own})


def until(recorded: Session) -> float | None:
    """The width of intervals for which its rounds were added; None where they were not."""
    width = recorded.first.get("until")
    return width if isinstance(width, float) else None


def plan_again(recorded: Session, stacks: Mapping[str, Stack], rounds: int | None, seed: int) -> Plan:
    """The plan of a record in this seed's orders; cells of what is gone are skipped. Raises InputError."""
    record, name = recorded.plan, str(recorded.first.get("study", "rerun"))
    try:
        numbers = tuple(map(published.from_record, record.get("published", ())))
        claimed = tuple(map(claims.from_record, record.get("claims", ())))
        cells = [Planned(key(cell), str(item["experiment"]), cell, item.get("is_seed_fixed") is True)
                 for item in record["cells"] for cell in [parse(item["cell"])]]   # whatever the record has for its key
        skipped = [Skipped(str(item["experiment"]), parse(item["cell"]), str(item["reason"]))
                   for item in record["skipped"]]
        if not isinstance(record["rounds"], int) or not 1 <= record["rounds"] <= _MOST_ROUNDS:
            raise ValueError(f"rounds: found {record['rounds']!r:.40}, expected 1 to {_MOST_ROUNDS}")
        kept = [records.Experiment.model_validate(each) for each in record.get("experiments", ())]
        experiments = tuple(Experiment(each.id, each.title, (), {}, (), {}, each.assumed, scaled=tuple(each.scaled),
                                       node=Node(**each.node) if each.node else None) for each in kept)
        places = tuple(map(Place.model_validate, record.get("index", ())))
        study = Study(name, str(record.get("title") or name), record["rounds"], str(record["baseline"]),
                      str(record.get("scale") or ""), experiments, {}, numbers, claimed, places=places)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{recorded.id}: its plan cannot be repeated: {' '.join(str(error).split())}") from error
    skipped += [Skipped(each.experiment, each.cell, reason) for each in cells if (reason := _gone(each.cell, stacks))]
    left = tuple(each for each in cells if not _gone(each.cell, stacks))
    of_key = {item["key"]: cell.key for item, cell in zip(record["cells"], cells, strict=True) if cell in left}
    keys = {each.id: tuple(of_key[key] for key in each.cells if key in of_key) for each in kept}
    return Plan(study, rounds or study.rounds, study.baseline, seed, left, tuple(skipped), keys,
                settings=record.get("settings", {}), stacks=tuple(record.get("stacks", ())))


def _gone(cell: Cell, stacks: Mapping[str, Stack]) -> str | None:
    if cell.stack not in stacks:
        return f"stack {cell.stack} is not here any more"
    return None if cell.source or is_known(cell) else f"task {cell.task} is not here any more"


def data_argument(recorded: Session, asked: str | None) -> str | None:
    """NAME=FOLDER of this command or the recorded one; None for the stand-in. Raises InputError without a folder."""
    names = {str(item["cell"].get("data", choice.STAND_IN)) for item in recorded.plan["cells"]} or {choice.STAND_IN}
    told = recorded.first.get("data")
    argument = asked or (told if isinstance(told, str) else None)
    names_now = choice.names(argument)
    if not names <= set(names_now):
        raise InputError(f"{recorded.id} read {', '.join(sorted(names))}, found {', '.join(names_now)}: "
                         "give --data NAME=FOLDER, or several with commas")
    return argument


def differences(recorded: Session, now: host.Machine, launcher: str, fingerprints: Mapping[str, str]
                ) -> list[str]:
    """A line for each change since the record: machine, launcher, evenbench, stacks."""
    first, then = recorded.first, recorded.first.get("machine", {})
    machine = now._asdict() if isinstance(then, dict) else {}
    around = {"launcher": launcher, "evenbench": __version__, "governor": host.governor()}
    return [*(f"machine: {name} was {then.get(name)}, is {value}" for name, value in machine.items()
              if then.get(name) != value),
            *(f"{what} was {first[what]}, is {value}" for what, value in around.items()
              if what in first and first[what] != value),
            *(f"{name}: stack or workloads have changed ({before[:8]} then, {fingerprints[name][:8]} now)"
              for name, before in recorded.made_of().items() if fingerprints.get(name, before) != before)]


def check_trusted(recorded: Session, is_trusted: bool) -> None:
    """Raise InputError where a record holds Python files, a stranger's perhaps, and nobody said that they may run."""
    if not is_trusted and any(item["cell"].get("source") for item in recorded.plan["cells"]):
        raise InputError(f"{recorded.id} holds Python files of a model, which a rerun runs: --run-code where you trust "
                         "them")


def again(recorded: Session, request: Request, say: Say) -> job.Job:
    """The job that repeats a session; differences are said and recorded. Raises InputError."""
    gpus, known = nvml.observe(), definition.read_all(request.places.stacks)
    cells = [item["cell"] for item in recorded.plan["cells"]]
    chosen_now = own_stacks.again(request.wishes.stacks, recorded.first, cells, known, paths.ROOT, gpus, say)
    try:
        lanes = own_models.of_cells([parse(cell) for cell in cells if cell.get("source")], chosen_now.stacks)
    except (TypeError, ValueError) as error:
        raise InputError(f"{recorded.id}: its plan cannot be repeated: {error}") from error
    lanes = {name: each for name, each in lanes.items() if each.stack or name not in recorded.first.get("own", {})}
    packages = [str(each) for each in list(recorded.first.get("with") or ())]
    stacks = {**chosen_now.stacks, **own_models.stacks_of(lanes, chosen_now.stacks, packages, say)}
    asked = request.launcher or choose.again(recorded.first.get("launcher"))
    launcher = choose.for_stacks(asked, say, gpus, chosen_now.named)
    env = {str(name): str(value) for name, value in dict(recorded.first.get("env") or {}).items()}
    stacks = {name: stack.model_copy(update={"env": tuple(env.items())}) for name, stack in stacks.items()}
    request = request._replace(data=data_argument(recorded, request.data))
    data, *others = choice.several(request.data, paths.cache_folder())
    plan = plan_again(recorded, stacks, request.wishes.rounds, secrets.randbelow(2**31))
    missing = {stack: reason for stack in dict.fromkeys(each.cell.stack for each in plan.cells)
               if (reason := launcher.of(stacks[stack]).missing(stacks[stack]))}
    plan, here = plan.without(missing), launcher.machine(host.observe())
    launcher.check([each.cell for each in plan.cells])
    used = {each.cell.stack: launcher.fingerprint(stacks[each.cell.stack]) for each in plan.cells
            if not isinstance(stacks[each.cell.stack], OwnStack)}
    changed = differences(recorded, here, launcher.name, used) + own_stacks.changes(recorded.first, stacks)
    for line in changed or [f"nothing that {recorded.id} recorded differs now"]:
        say(line)
    more = {"until": request.until, "env": env, "with": packages}
    facts = {"rerun_of": recorded.id, "differs": changed, **{name: value for name, value in more.items() if value}}
    return job.Job(request, plan, stacks, launcher, here, data, gpus, facts, tuple(others))
