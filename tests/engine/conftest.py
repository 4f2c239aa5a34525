"""Without an engine these tests are skipped, with the sentence that says how to get one; CI starts its own first."""

import pytest

from runner import engine
from runner.errors import EngineUnreachable


@pytest.fixture(scope="session", autouse=True)
def needs_an_engine() -> None:
    try:
        engine.connect().close()
    except EngineUnreachable as error:
        pytest.skip(str(error))
