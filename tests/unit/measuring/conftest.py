"""Stores that a test's sessions opened are closed behind it."""

from collections.abc import Iterator

import pytest

from tests.fake_session import close_stores


@pytest.fixture(autouse=True)
def closed_stores() -> Iterator[None]:
    yield
    close_stores()
