"""A session of two stacks and three rounds that tests script."""

from pathlib import Path
from typing import Any

from runner.measuring.bench import Bench
from runner.planning.plan import Wishes, plan
from runner.results import store
from runner.study.file import parse
from tests.clock import FakeClock
from tests.fakes import MACHINE, READING, FakeLauncher, QuietProgress, good_lines, stack

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
STACKS = {name: stack(name) for name in ("a", "b")}
OPENED: list[store.Store] = []             # by bench, for the test to close


def bench(folder: Path, script: Any = lambda cell, run: good_lines(), seed: int = 1) -> Bench:
    clock = FakeClock(step=0.001)
    planned = plan(parse(STUDY, "s.toml"), STACKS, MACHINE, Wishes(seed=seed), lambda stack: None)
    for earlier in (each for each in OPENED if each.folder == folder):        # whose session is over
        earlier.close()
    OPENED.append(store.Store(folder))
    OPENED[-1].append({"event": "session", "schema": store.SCHEMA, "command": "c"})
    return Bench(planned, STACKS, FakeLauncher(clock, script), folder, OPENED[-1], QuietProgress(), clock=clock,
                 readings=lambda: READING)


def close_stores() -> None:
    while OPENED:
        OPENED.pop().close()
