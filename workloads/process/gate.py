"""Where a worker that was started ahead of its turn waits, once it has imported. Python 3.6 and later, Linux.

Standard input is then a socket to the runner: a byte to it says that the imports are done, and one back that the turn
is here.
"""
import os

from workloads.spec import early


def wait():
    """Return when the turn is here: at once in a worker that was started in its turn. Standard input is empty then."""
    if os.environ.pop(early.VARIABLE, ""):
        os.write(0, b".")
        os.read(0, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
