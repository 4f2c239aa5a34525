"""How workers that train together agree on a number: the first one says it to all others. Python 3.6 and later.

By a connection of its own beside the framework's, which is the same for all frameworks, and silent while steps are
timed: they agree between parts of the warm-up, and once on how many steps are timed.
"""
import socket
import time

from workloads.places.addresses import patiently
from workloads.spec.cluster import PATIENCE_SECONDS

_LONGEST = 32                # bytes of a number


def open_for(cluster):
    """The agreement of this worker with the others of its Cluster; where there is but one, or none, with itself."""
    if cluster is None or cluster.workers == 1 or cluster.place.main != "worker":
        return Alone()
    host, port = cluster.address("agreement", 0).split(":")
    if cluster.worker:
        return Follower(host, int(port))
    return Leader(host if host.startswith("127.") else "", int(port), cluster.workers - 1)   # a name may be another's


class Alone:
    """Of one worker."""

    def say(self, number: int):
        """The number."""
        return number

    def close(self) -> None:
        """Nothing is open."""


class Leader:
    """The worker whose numbers hold. It listens from the beginning, so that nobody comes too early."""

    def __init__(self, host: str, port: int, others):
        self._others, self._heard_by = others, []
        self._door = socket.socket()
        self._door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._door.bind((host, port))
        self._door.listen(others)
        self._door.settimeout(PATIENCE_SECONDS)

    def say(self, number: int):
        """The number, once it is on its way to all. Raises OSError."""
        while len(self._heard_by) < self._others:
            self._heard_by.append(self._door.accept()[0])
        for other in self._heard_by:
            other.sendall(b"%d\n" % number)
        return number

    def close(self) -> None:
        """Nothing more will be said."""
        for each in self._heard_by + [self._door]:
            each.close()


class Follower:
    """A worker that takes the leader's numbers."""

    def __init__(self, host, port, clock=time.monotonic, wait=time.sleep):
        self._address, self._clock, self._wait = (host, port), clock, wait
        self._lines = self._connection = None

    def say(self, number: int):
        """The leader's number in place of this one. Raises OSError."""
        if self._lines is None:
            self._connection = patiently(
                lambda: socket.create_connection(self._address, timeout=PATIENCE_SECONDS), self._clock, self._wait)
            self._lines = self._connection.makefile("rb")
        line = self._lines.readline(_LONGEST)
        if not line.endswith(b"\n"):
            raise OSError("the first worker went away before all had agreed on the number of steps")
        return int(line)

    def close(self) -> None:
        """Nothing more will be asked."""
        if self._lines is not None:
            self._lines.close()
            self._connection.close()
