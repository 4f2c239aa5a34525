"""A container that the engine could not freeze is asked for again, any other error is told."""

import pytest
from docker.errors import APIError

from tests import freezer


class Container:
    """What answers with these errors, then pauses."""

    def __init__(self, *errors: str) -> None:
        self.errors, self.is_paused = list(errors), False

    def pause(self) -> None:
        if self.errors:
            raise APIError(self.errors.pop(0))
        self.is_paused = True


def test_a_container_that_could_not_be_frozen_is_paused_by_the_next_try_and_another_error_is_told() -> None:
    container = Container("OCI runtime pause failed: unable to freeze: unknown")
    freezer.pause(container)
    assert container.is_paused
    with pytest.raises(APIError, match="No such container"):
        freezer.pause(Container("No such container: node1"))
