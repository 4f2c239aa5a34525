"""Without an engine these tests are skipped, with the sentence that says how to get one; CI starts its own first."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.datasets import choice
from runner.errors import EngineUnreachable
from runner.launchers.docker import DockerLauncher
from runner.stacks import engine
from tests.fakes import quiet


@pytest.fixture(scope="session", autouse=True)
def needs_an_engine() -> None:
    try:
        engine.connect().close()
    except EngineUnreachable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    made = engine.connect()
    yield made
    made.close()


@pytest.fixture(scope="module")
def launcher(client: Any) -> DockerLauncher:
    return DockerLauncher(client)


@pytest.fixture(scope="session")
def data() -> Path:
    return choice.digits32(paths.cache_folder(), quiet)
