"""A part of the campaign (tests/faults), bounded: each quick fault once, and the runner killed a few times."""

import time
from collections.abc import Iterator
from itertools import product
from random import Random

import pytest

from tests.faults import engines, faults
from tests.faults.faults import FAULTS, Amount
from tests.faults.lab import Lab

pytestmark = [pytest.mark.engine, pytest.mark.slow]
IN_CONTAINERS = ("runner killed (SIGKILL)", "worker killed", "one of two workers paused", "memory limit hit",
                 "pipe: garbage", "pipe: a gigabyte in one line", "pipe: a gigabyte of short events",
                 "worker leaves without an end, exit code 0", "container removed by somebody else",
                 "engine killed and started again", "engine ended and started again", "engine hangs for 25 s",
                 "disk full under results/")
ON_THE_HOST = ("runner killed (SIGKILL)", "memory limit hit", "pipe: a gigabyte in one line")
NAMED = {fault.name: fault for fault in FAULTS}


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if lacking := engines.missing():
        pytest.skip(lacking)
    root = tmp_path_factory.mktemp("f")
    with engines.started(root / "e") as engine:
        yield faults.placed(root / "lab", engine)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return faults.placed(tmp_path_factory.mktemp("f") / "lab", None)


@pytest.mark.parametrize(("place", "name"), [*product(["containers"], IN_CONTAINERS), *product(["host"], ON_THE_HOST)])
def test_a_fault_ends_as_promised_and_leaves_nothing(place: str, name: str, request: pytest.FixtureRequest) -> None:
    if lacking := NAMED[name].lacks():
        pytest.skip(lacking)
    outcome = faults.once(NAMED[name], request.getfixturevalue(place), Amount(4, time.monotonic() + 60), Random(1))
    assert outcome.is_good, outcome
