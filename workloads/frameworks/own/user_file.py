"""What lanes read of a user's file: its functions, a batch, arrays by name. Python 3.6 and later, numpy only."""
import linecache
import random
import sys
import types
from collections import OrderedDict

import numpy as np

from workloads.inputs import weights
from workloads.process.errors import DataError
from workloads.spec.models import own_model

TIMED, CHECKED = 0, 1            # numbers of batches: what is proved is proved on another batch than was exported


class UserFile:
    """The file of a cell's model, run."""

    def __init__(self, cell):
        self._cell, self._model = cell, own_model.loads(cell.source)
        self.name, self.lane = self._model.file, own_model.BY_NAME[self._model.lane]
        random.seed(cell.seed)
        np.random.seed(cell.seed % 2 ** 32)
        self._module = self._run(self.name, self._model.files[self.name])
        self._same = self._run("--same", self._model.same) if self._model.same else None

    def _run(self, name, text):
        """The module of a file's text, whose lines tracebacks and compilers can read. Raises DataError."""
        module = types.ModuleType("own_" + "".join(each if each.isalnum() else "_" for each in name))
        module.__file__ = "<%s>" % name
        sys.modules[module.__name__] = module
        linecache.cache[module.__file__] = (len(text), None, text.splitlines(True), module.__file__)
        try:
            exec(compile(text, module.__file__, "exec"), module.__dict__)
        except ImportError as error:
            missing = (error.name or "PACKAGE").partition(".")[0]
            raise DataError("%s: %s: it is not in the environment of lane %s, %s: --with %s==VERSION adds it" % (
                name, error, self.lane.name, self.lane.stack, missing)) from error
        return module

    def has(self, function):
        """Whether the file has a function of that name."""
        return callable(getattr(self._module, function, None))

    def call(self, function, *arguments):
        """What the file's function returns. Raises DataError where there is none."""
        if not self.has(function):
            raise DataError("%s: found no %s(), which a file of kind %s has" % (self.name, function, self.lane.kind))
        return getattr(self._module, function)(*arguments)

    def batch(self, number=TIMED):
        """(inputs, targets) of the cell's size: arrays, or trees of them, in its precision."""
        made = self.call("batch", np.random.RandomState([self._cell.seed, number]), self._cell.batch)
        if not isinstance(made, tuple) or len(made) != 2:
            raise DataError("%s: batch(): found %s, expected a tuple of inputs and targets"
                            % (self.name, type(made).__name__))
        return mapped(self._cast, made)

    def _cast(self, array):
        array = np.asarray(array)
        if array.dtype.kind == "f":
            return array.astype("float64" if self._cell.precision == "float64" else "float32")
        return array.astype("int64") if array.dtype.kind in "iu" else array

    def weights(self, own):
        """The arrays that all lanes begin with, under this file's own names; own: the file's, by name.

        Raises DataError where --same gives other names or shapes.
        """
        if self._same is None:
            return weights.of_own_model(own, self._cell.seed)
        given = self._given(self._arrays())
        for name in sorted(set(own) ^ set(given)):
            raise DataError("%s: weight %s is %s --same gives it" % (
                self.name, name, "not there, but" if name in given else "there, but nothing of"))
        for name, array in given.items():
            if array.shape != own[name].shape:
                raise DataError("%s: weight %s has shape %s, and --same gives it %s"
                                % (self.name, name, own[name].shape, array.shape))
        return {name: array.astype(own[name].dtype) for name, array in given.items()}

    def shared(self, own):
        """Gradients or weights under the names that all files share, from this file's own.

        --same only moves numbers, so what it does to their positions says where each came from.
        """
        if self._same is None:
            return own
        arrays, places, first = self._arrays(), OrderedDict(), 0
        for name, array in arrays.items():
            places[name] = np.arange(first, first + array.size, dtype="float64").reshape(array.shape)
            first += array.size
        total, taken = np.zeros(first), self._given(places)
        for name, array in own.items():
            np.add.at(total, np.rint(taken[name]).astype("int64").ravel(), np.asarray(array, "float64").ravel())
        shared, first = OrderedDict(), 0
        for name, array in arrays.items():
            shared[name] = total[first:first + array.size].reshape(array.shape)
            first += array.size
        return shared

    def _arrays(self):
        made = self._same.arrays(np.random.RandomState(self._cell.seed))
        return OrderedDict((name, np.asarray(made[name], "float64")) for name in sorted(made))

    def _given(self, arrays):
        convert = getattr(self._same, self.name[:-len(".py")].replace("-", "_"), dict)
        return {name: np.asarray(array) for name, array in convert(dict(arrays)).items()}


def mapped(function, tree):
    """The tree of tuples, lists and dicts with each leaf changed; None stays."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {name: mapped(function, each) for name, each in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)(mapped(function, each) for each in tree)
    return function(tree)


def flat(tree, name="output"):
    """The leaves of a tree by path, in order; None is left out."""
    if isinstance(tree, dict):
        parts = [flat(each, "%s.%s" % (name, key)) for key, each in tree.items()]
    elif isinstance(tree, (tuple, list)):
        parts = [flat(each, "%s.%d" % (name, index)) for index, each in enumerate(tree)]
    else:
        return OrderedDict() if tree is None else OrderedDict([(name, tree)])
    return OrderedDict(item for part in parts for item in part.items())


def demand_repeatable(name, one, other):
    """Raise DataError where two inferences of one batch differ."""
    for place in one:
        if not np.array_equal(one[place], other[place], equal_nan=True):
            raise DataError("%s: two inferences of one batch differ in %s: it is random, so nothing can be compared"
                            % (name, place))

