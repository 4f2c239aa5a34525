"""Code of the user's own: setup() once, then step() as it stands. Nothing of it is set, changed or proved."""
import inspect
import itertools
import platform
import random
import sys

import numpy as np

from workloads.frameworks import contract
from workloads.frameworks.own.user_file import UserFile
from workloads.process.errors import DataError
from workloads.spec import frameworks
from workloads.spec.measures import UNIT

_MOST_ARRAYS = 1000      # of a result that are compared
_NOT_FINITE = 1e30       # what NaN and infinities are compared as: equal to each other, and to nothing else


class Workload(contract.Workload):
    """The file's setup() and step(). Raises DataError."""

    def __init__(self, cell, folder):
        self.cell, self._file = cell, UserFile(cell, folder)
        self._begin()
        self._wait = self._file.function("sync")
        self.units = self._counted()

    def _begin(self):
        """Set up what steps begin with, from the same seeds each time."""
        random.seed(self.cell.seed)
        np.random.seed(self.cell.seed % 2 ** 32)
        given = dict(self._file.options, rng=np.random.RandomState(self.cell.seed), size=self.cell.batch)
        setup = self._file.function("setup")
        self._state = None
        if setup is not None:
            wanted = [name for name in _parameters(self._file, "setup", setup) if name != "data"]
            unknown = [name for name in wanted if name not in given]
            if unknown:
                raise DataError("%s: setup() has a parameter %s, expected rng, size, data, or a name that --set gives "
                                "a value, such as --set %s=32" % (self._file.name, unknown[0], unknown[0]))
            with self._file.ran():
                self._state = setup(**{name: given[name] for name in wanted})
        self._step = self._taking("step")

    def _taking(self, name):
        """The file's function as one of no arguments, which gets the state where it has a parameter for it."""
        function = self._file.function(name)
        if function is None:
            return None
        count = len([each for each in _parameters(self._file, name, function) if each != "data"])
        if count > 1:
            raise DataError("%s: found %s() with %d parameters, expected %s() or %s(state)" % (
                self._file.name, name, count, name, name))
        state = self._state
        return (lambda: function(state)) if count else function

    def _counted(self):
        """(how many a step is, of what), such as (512, "tokens"); None where the file does not say."""
        units = self._taking("units")
        if units is None:
            return None
        with self._file.ran():
            made = units()
        if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], str) and UNIT.match(made[1])
                and made[1] != "steps" and isinstance(made[0], (int, float)) and 0 < made[0] < float("inf")):
            raise DataError('%s: units(): found %.60r, expected a number and a word in small letters, such as return '
                            '512, "tokens"' % (self._file.name, made))
        return made

    def load(self, weights):
        """It has none that are known."""

    def weights(self):
        """See load."""
        return {}

    def parameters(self):
        """Nobody counts them."""
        return 0

    def synthetic(self):
        """Nothing: the file has what its steps need."""
        return itertools.repeat(None)

    def train(self, batches, count, watch):
        """As infer: what a step does is the file's."""
        self.infer(batches, count, watch)

    def infer(self, batches, count, watch):
        """Take count steps; the watch gets what each one returns."""
        step = self._step
        with self._file.ran():
            for _ in contract.watched(batches, count, watch):
                watch.stepped(step())

    def sync(self, handle):
        """By the file's sync(), else until JAX has made what a step returned; other libraries return when it is made.
        """
        if self._wait is not None:
            self._wait()
        elif "jax" in sys.modules:
            sys.modules["jax"].block_until_ready(handle)

    def value(self, handle):
        """Nothing: what a step returns is no loss that is known."""

    def check(self):
        """What the first step returns, unless another first one returns something else."""
        kinds = []
        for _ in range(2):
            self._begin()
            with self._file.ran():
                kinds.append(_arrays(self._step()))
        one, other = kinds
        is_same = one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)
        return {"inferred": one} if is_same else {}


def _parameters(file, name, function):
    """The names of those that a function must be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:                       # of a builtin nothing is known
        return []
    wanted = [each.name for each in parameters
              if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return wanted + [each.name for each in parameters if each.default is not each.empty and each.name in file.options]


def _arrays(result):
    """Copies of the numbers that a step returned, by path; what holds none is left out."""
    found = {}

    def take(path, value):
        if len(found) >= _MOST_ARRAYS:
            return
        if isinstance(value, dict):
            for name, each in value.items():
                take("%s.%s" % (path, name), each)
            return
        array = _numbers(value)
        if array is not None:
            found[path] = np.where(np.isfinite(array), array, _NOT_FINITE)
        elif isinstance(value, (tuple, list)):
            for index, each in enumerate(value):
                take("%s.%d" % (path, index), each)

    take("output", result)
    return found


def _numbers(value):
    """The value as an array of float64, None where it is none."""
    if hasattr(value, "detach"):             # PyTorch's, of whatever precision
        value = value.detach().cpu().double()
    try:
        array = np.asarray(value)
        return array.astype("float64") if array.dtype.kind in "biuf" and array.size else _narrow(array)
    except (ValueError, TypeError, RuntimeError):      # of lists of unequal length, and what is no array
        return None


def _narrow(array):
    """Numbers of a type that is not numpy's own, such as JAX's bfloat16; None of anything else."""
    return array.astype("float64") if array.dtype.kind == "V" and array.dtype.names is None and array.size else None


def facts(cell):
    """What runs it: a Python alone is known of code."""
    return {"framework": frameworks.WITHOUT, "version": platform.python_version(), "build": sys.version,
            "device": cell.device, "threads": None, "inter_op_threads": 0, "onednn": None}
