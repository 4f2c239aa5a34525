"""Where a worker waits for its runner's word: lines on what was standard input. Python 3.6 and later, Linux."""
import fcntl
import os

from workloads.spec import turns

_RUNNER_GONE = 1         # the exit code


class Gate:
    """The runner's words, as they come."""

    def __init__(self, descriptor, emit):
        """emit sends where the worker waits."""
        self._descriptor, self._emit, self._rest = descriptor, emit, b""

    def wait(self, at, **told):
        """Tell the runner where this worker waits, and what else there is to tell; then next()."""
        self._emit("waiting", at=at, **told)
        return self.next()

    def close(self) -> None:
        """Hear no more words: from here on the kernel ends this process as soon as the runner is gone."""
        _end_with(self._descriptor)

    def next(self):
        """The words of the runner's next line, once it comes. Ends this process where the runner is gone."""
        while b"\n" not in self._rest:
            some = os.read(self._descriptor, 4096)
            if not some:
                os._exit(_RUNNER_GONE)
            self._rest += some
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode().split(" ")


def end_with_runner() -> None:
    """Let the kernel end this process as soon as standard input closes, where the runner holds it and says nothing."""
    if os.environ.pop(turns.ENDS, ""):
        _end_with(0)


def _end_with(descriptor) -> None:
    """Have SIGIO, which ends a process, sent when something happens to a pipe; no thread waits for it (fcntl(2))."""
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)


def opened(emit):
    """The Gate of a worker that takes turns, None of any other. Standard input is then empty."""
    if not os.environ.pop(turns.VARIABLE, ""):
        return None
    gate = Gate(os.dup(0), emit)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return gate
