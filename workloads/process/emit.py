"""JSON lines on a private copy of descriptor 1, which then points to 2, so that a framework's chatter cannot mix in."""
import json
import os


class Lines:
    """Where events leave: each call writes one line of valid JSON, whole."""

    def __init__(self, descriptor):
        self._descriptor = descriptor

    def __call__(self, event, **values) -> None:
        """Write the event. Raises ValueError for NaN and infinity, which JSON has not."""
        line = json.dumps(dict({"event": event}, **values), allow_nan=False) + "\n"
        rest = memoryview(line.encode())
        while rest:
            rest = rest[os.write(self._descriptor, rest):]


def take_over():
    """The Lines on what was standard output; from now on descriptor 1 is standard error."""
    return Lines(descriptor())


def descriptor():
    """What was standard output; from now on descriptor 1 is standard error."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept
