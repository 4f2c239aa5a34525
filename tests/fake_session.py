"""A session of two stacks and three rounds that tests script."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from runner.datasets.choice import Data
from runner.launchers.protocol import Launcher
from runner.measuring import job, session
from runner.measuring.bench import Bench, Event, Request
from runner.planning.plan import Wishes, plan
from runner.results import sessions, store
from runner.results.reader import measurements
from tests.clock import FakeClock
from tests.fakes import MACHINE, READING, FakeLauncher, good_lines, stack, study
from tests.studies import parse

STUDY = b"""
[study]
id = "s"
title = "S"
rounds = 3
[[experiment]]
id = "e"
measure = "train"
task = "lenet5"
stacks = ["a", "b"]
"""
PLAIN = Wishes()
STACKS = {name: stack(name) for name in ("a", "b")}


def job_of(launcher: Launcher, names: Iterable[str] = STACKS, wishes: Wishes = PLAIN, **parts: Any) -> job.Job:
    """The job of a training in stacks of these names; parts: of the job instead."""
    stacks = {name: stack(name) for name in names}
    made = plan(study(*stacks), stacks, MACHINE, wishes, lambda each: None)
    return job.Job(Request("s"), made, stacks, launcher, MACHINE, Data("digits32", Path("d")))._replace(**parts)


def bench(folder: Path, script: Any = lambda cell, run: good_lines(), seed: int = 1) -> Bench:
    clock = FakeClock(step=0.001)
    planned = plan(parse(STUDY), STACKS, MACHINE, Wishes(seed=seed), lambda stack: None)
    return Bench(planned, STACKS, FakeLauncher(clock, script), folder, folder, seconds_estimate=600.0, clock=clock,
                 readings=lambda: READING)


def run(made: Bench, heard: Callable[[Event], object] = lambda event: None) -> bool:
    """Run the bench's session, its events stored and heard; whether all went well."""
    return stored(made, session.run(made), heard)


def stored(made: Bench, events: Iterator[Event], heard: Callable[[Event], object] = lambda event: None) -> bool:
    """Store what comes in the bench's session; whether all runs of it went well."""
    with store.Store(made.folder) as opened:
        opened.append({"event": "session", "schema": store.SCHEMA, "command": "c"})
        opened.append(made.plan.record())
        for event in events:
            opened.append(event)
            heard(event)
    return session.exit_code(sessions.read(made.folder)) == 0


def events(folder: Path, kind: str) -> list[store.Record]:
    """The records of a kind that a folder's session has."""
    return [record for record in store.read(folder) if record["event"] == kind]


def sent(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of a kind that its workers sent."""
    return [record["line"] for record in events(folder, "line") if record["line"]["event"] == kind]


def endings(folder: Path) -> list[str]:
    """How its runs went, in their order."""
    return [record["ending"] for record in events(folder, "ending")]


def rounds(folder: Path) -> list[list[int]]:
    """The rounds of each cell's runs that went well and count."""
    return [[run.round for run in row.ok_runs] for row in measurements(store.read(folder)).rows]
