"""What lanes read of a user's file: its functions, a batch, arrays by name. Python 3.6 and later, numpy only."""
import functools
import inspect
import linecache
import random
import sys
import types
from collections import OrderedDict
from contextlib import contextmanager

import numpy as np

from workloads.inputs import weights
from workloads.process.errors import DataError
from workloads.spec.cell import DEFAULTS
from workloads.spec.models import own_model

TIMED, CHECKED = 0, 1            # numbers of batches: what is proved is proved on another batch than was exported


class UserFile:
    """The file of a cell's model, run; folder: what --data named, for functions with a parameter data."""

    def __init__(self, cell, folder=""):
        self._cell, self._model, self._folder = cell, own_model.loads(cell.source), folder
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
        with self._packages(name):
            exec(compile(text, module.__file__, "exec"), module.__dict__)
        return module

    @contextmanager
    def _packages(self, name):
        """Raise DataError where a file of this name imports a package that the environment lacks, or wants to end."""
        try:
            yield
        except ImportError as error:
            missing = (error.name or "PACKAGE").partition(".")[0]
            raise DataError("%s: %s: it is not in the environment of lane %s, %s: --with %s==VERSION adds it" % (
                name, error, self.lane.name, self.lane.stack, missing)) from error
        except SystemExit as error:
            raise DataError("%s: found sys.exit(%s), expected a file that ends nothing" % (name, error)) from error

    def function(self, name):
        """The file's function of that name, None where there is none."""
        found = getattr(self._module, name, None)
        return self._with_data(self.name, found) if callable(found) else None

    def _with_data(self, name, function):
        """The function, with the folder where it has a parameter data. Raises DataError where there is no folder."""
        if not inspect.isfunction(function) or "data" not in inspect.getfullargspec(function).args:
            return function
        if self._cell.data == DEFAULTS["data"]:
            raise DataError("%s: %s() has a parameter data: name its folder, --data %s=FOLDER"
                            % (name, function.__name__, own_model.DATA))
        return functools.partial(function, data=self._folder)

    def call(self, name, *arguments):
        """What the file's function returns. Raises DataError where there is none."""
        function = self.function(name)
        if function is None:
            raise DataError("%s: found no %s(), which a file of kind %s has" % (self.name, name, self.lane.kind))
        with self._packages(self.name):
            return function(*arguments)

    def made(self, name, kind, *arguments):
        """What the file's function returns, which is of the kind. Raises DataError."""
        found = self.call(name, *arguments)
        if not isinstance(found, kind):
            raise DataError("%s: %s(): found %s, expected an instance of %s.%s" % (
                self.name, name, type(found).__name__, kind.__module__, kind.__name__))
        return found

    def loss(self, cross_entropy, mean_square):
        """The file's loss(outputs, targets); else cross-entropy over the first output's last axis, or the mean square.

        The latter is of real targets. It raises DataError for targets that have none of these.
        """
        def lost(outputs, targets):
            first = next(iter(flat(outputs).values()))
            if isinstance(targets, (dict, tuple, list)):
                raise DataError("%s: found targets of several arrays, expected a loss(outputs, targets)" % self.name)
            if "float" not in str(targets.dtype):
                return cross_entropy(first, targets)
            if tuple(first.shape) != tuple(targets.shape):
                raise DataError("%s: found outputs %s and targets %s, expected equal shapes, or a loss(outputs, "
                                "targets)" % (self.name, tuple(first.shape), tuple(targets.shape)))
            return mean_square(first, targets)

        return self.function("loss") or lost

    def batch(self, number=TIMED):
        """(inputs, targets) of the cell's size: arrays, or trees of them, in its precision."""
        made = self.call("batch", np.random.RandomState([self._cell.seed, number]), self._cell.batch)
        if not isinstance(made, tuple) or len(made) != 2:
            raise DataError("%s: batch(): found %s, expected a tuple of inputs and targets"
                            % (self.name, type(made).__name__))
        made = mapped(self._cast, made)
        shapes = [array.shape for array in flat(made).values()]
        if not any(self._cell.batch in shape for shape in shapes):
            raise DataError("%s: batch(): found arrays of shapes %s, expected %d samples"
                            % (self.name, ", ".join(map(str, shapes)) or "none", self._cell.batch))
        return made

    def _cast(self, array):
        array = np.asarray(array)
        if array.dtype.kind not in "biufc":
            raise DataError("%s: batch(): found an array of %s, expected numbers" % (self.name, array.dtype))
        if array.dtype.kind == "f":
            return array.astype("float64" if self._cell.precision == "float64" else "float32")
        return array.astype("int64") if array.dtype.kind in "iu" and array.dtype.itemsize > 1 else array

    def weights(self, own):
        """The arrays that all lanes begin with, under this file's own names; own: the file's, by name.

        Raises DataError where --same gives other names or shapes.
        """
        if self._same is None:
            return weights.of_own_model(own, self._cell.seed)
        given = self._given(self._arrays())
        said = [words % names for words, names in (("nothing for %s", _unlike(own, given)),
                                                   ("%s, which it has not", _unlike(given, own))) if names]
        if said:
            raise DataError("%s: --same gives it %s" % (self.name, " and ".join(said)))
        return {name: array.astype(own[name].dtype) for name, array in given.items()}

    def shared(self, own):
        """Gradients, weights or statistics under the names that all files share, from this file's own.

        --same only moves numbers, so what it does to their positions says where each came from. Of an array that comes
        from none of these, nothing is said.
        """
        if self._same is None:
            return own
        arrays, places, first = self._arrays(), OrderedDict(), 0
        for name, array in arrays.items():
            places[name] = np.arange(first, first + array.size, dtype="float64").reshape(array.shape)
            first += array.size
        total, is_told, taken = np.zeros(first), np.zeros(first, bool), self._given(places)
        for name, array in own.items():
            where = np.rint(taken[name]).astype("int64").ravel()
            np.add.at(total, where, np.asarray(array, "float64").ravel())
            is_told[where] = True
        return OrderedDict((name, total[place.astype("int64")]) for name, place in places.items()
                           if is_told[place.astype("int64")].any())

    def _arrays(self):
        with self._packages("--same"):
            made = self._with_data("--same", self._same.arrays)(np.random.RandomState(self._cell.seed))
        return OrderedDict((name, np.asarray(made[name], "float64")) for name in sorted(made))

    def _given(self, arrays):
        convert = getattr(self._same, self.name[:-len(".py")].replace("-", "_"), dict)
        return {name: np.asarray(array) for name, array in convert(dict(arrays)).items()}


def _unlike(arrays, others):
    """The arrays that the others lack, or have in another shape: "0.weight (8, 30), 0.bias (8,)"."""
    names = [name for name in sorted(arrays) if name not in others or others[name].shape != arrays[name].shape]
    return ", ".join(["%s %s" % (name, arrays[name].shape) for name in names[:8]] + ["..."] * (len(names) > 8))


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

