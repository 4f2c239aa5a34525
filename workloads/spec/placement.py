"""Where a run's arrays lie in memory: drawn anew for every run, so that no layout favours a stack in all of them.

The length of an unused variable of the environment moves a process's stack, and blocks of memory that are held before
the first array move the arrays. Either moves a step's time, for all processes of one command alike (Mytkowicz et al.
2009, "Producing wrong data without doing anything obviously wrong!"). Standard library only.
"""
from random import Random

VARIABLE = "EVENBENCH_PADDING"       # its value means nothing
PASSED = "EVENBENCH_ENV"             # the names of variables that the user passes on, with spaces between
MOST = 4096                          # characters of it; a page
_BLOCKS = 20


def variables(length: int, passed=()):
    """The environment's part that is so long, none for 0, and what the user passes on: (name, value) of each."""
    own = dict(passed, **{PASSED: " ".join(name for name, _ in passed)}) if passed else {}
    return dict({VARIABLE: "x" * length} if length else {}, **own)


def blocks(random):
    """Blocks of drawn sizes; arrays that are made while they are held lie elsewhere."""
    return [bytearray(random.randrange(MOST)) for _ in range(_BLOCKS)]


def blocks_of(environment, seed: int):
    """The blocks of a run, which follow from its environment's padding and its cell's seed."""
    return blocks(Random("%d:%d" % (len(environment.get(VARIABLE, "")), seed)))
