"""What stands still: a container in its freezer."""

import time
from typing import Any

from docker.errors import APIError


def pause(container: Any) -> None:
    """The engine pauses the container, asked again where it says that it could not.

    Under control groups of version 1 a busy machine's freezer may not be done in the third of a second that runc
    waits for it; the container then goes on, and the next try succeeds (moby issue 48205, runc pull request 4388).
    """
    for left in reversed(range(20)):
        try:
            container.pause()
            break
        except APIError as error:
            if not left or "unable to freeze" not in str(error):
                raise
        time.sleep(0.5)
