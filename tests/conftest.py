"""Settings of the tools that tests use, and the third of the slow tests that CI runs.

slow(1) puts a test into third 1; a parametrised group marked slow is dealt out by turns. The number of commits picks
CI's third, so three commits in a row run all; THIRD=1 .ci/run, or pytest --third 1, repeats one.
"""

import os
import resource
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from runner.measuring import alone
from runner.stacks import environments

# a shared machine's load says nothing about the code: nothing fails for being slow. The same examples each time, so
# that a change is judged by itself; the thorough profile (--hypothesis-profile=thorough) draws others each time
settings.register_profile("evenbench", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("thorough", settings.get_profile("evenbench"), max_examples=10_000, derandomize=False)
settings.load_profile("evenbench")

THIRDS = (0, 1, 2)
FOUND = cache(environments.find_interpreter)


@pytest.fixture
def known_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each interpreter is started once for all tests that plan with it, however often they look for it."""
    monkeypatch.setattr(environments, "find_interpreter", FOUND)


@pytest.fixture(autouse=True)
def by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of a test's own process keeps out none but its own."""
    monkeypatch.setattr(alone, "MACHINE", f"evenbench-test-{os.getpid()}")


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file gets longer than 100 kB here: numpy then says of a write how far it came, and no more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--third", type=int, choices=THIRDS, help="of the tests marked slow, run those of this third")


def in_third(third: int, *values: Any) -> Any:
    """A case of make test-slow, of which CI runs those of one third."""
    return pytest.param(*values, marks=pytest.mark.slow(third))


def third_of(test: pytest.Item) -> int | None:
    """The third that a slow test is in: its mark's number, else by its place in its parametrised group."""
    mark = test.get_closest_marker("slow")
    if mark is None:
        return None
    places = getattr(getattr(test, "callspec", None), "indices", {})
    return int(next(iter((*mark.args, *places.values())), 0)) % len(THIRDS)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    third = config.getoption("--third")
    if third is not None:
        left = [item for item in items if third_of(item) not in (None, third)]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
