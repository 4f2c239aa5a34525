"""What lanes read of a user's file: its functions, a batch, arrays by name. Python 3.6 and later, numpy only."""
import functools
import inspect
import linecache
import os
import random
import sys
import types
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec

import numpy as np

from workloads.inputs import weights
from workloads.process.errors import DataError, Unsupported, place_of
from workloads.spec import frameworks
from workloads.spec.cell import DEFAULTS
from workloads.spec.models import own_model

TIMED, CHECKED = 0, 1            # numbers of batches: what is proved is proved on another batch than was exported


class _Beside:
    """Imports the modules that came along with a user's file, before any other of their names."""

    def __init__(self, texts):
        self._texts = texts

    def find_spec(self, name, path=None, target=None):
        """See importlib."""
        place = name.replace(".", "/")
        file = next((each for each in (place + "/__init__.py", place + ".py") if each in self._texts), "")
        if not file and not any(each.startswith(place + "/") for each in self._texts):
            return None
        is_package = file != place + ".py"
        spec = ModuleSpec(name, self if file else None, origin="<%s>" % file, is_package=is_package)  # type: ignore
        spec.has_location = bool(file)
        return spec

    def create_module(self, spec):
        """As others are made."""

    def exec_module(self, module):
        """Run the module's text."""
        _run(module, self._texts[module.__spec__.origin[1:-1]])


def _run(module, text):
    """Run a module's text, whose lines tracebacks and compilers can read."""
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(True), module.__file__)
    exec(compile(text, module.__file__, "exec"), module.__dict__)


class UserFile:
    """The file of a cell's model, run; folder: what --data named, for functions with a parameter data.

    settings: gives what decides how the framework computes, by name, none of which the file may change.
    """

    def __init__(self, cell, folder="", settings=dict):
        self._cell, self._model, self._folder = cell, own_model.loads(cell.source), folder
        self.name, self.lane = self._model.file, own_model.lane(cell.source)
        self.options = self._model.options
        random.seed(cell.seed)
        np.random.seed(cell.seed % 2 ** 32)
        self._settings, self._set = settings, settings()
        sys.meta_path.insert(0, _Beside({file: text for file, text in self._model.files.items() if file != self.name
                                         and file.partition("/")[0] not in own_model.NOT_BESIDE}))
        self._module = self._opened(self.name, self._model.files[self.name])
        self._same = self._opened("--same", self._model.same) if self._model.same else None

    def _opened(self, name, text):
        """The module of a file's text. Raises DataError, Unsupported."""
        module = types.ModuleType("own_" + "".join(each if each.isalnum() else "_" for each in name))
        module.__file__ = "<%s>" % name
        sys.modules[module.__name__] = module
        with self.ran(name):
            _run(module, text)
        return module

    @contextmanager
    def ran(self, name=""):
        """Raise for what a file of this name may not do: import what is missing, end, change how others compute."""
        name = name or self.name
        try:
            yield
        except ModuleNotFoundError as error:
            missing = (error.name or "PACKAGE").partition(".")[0]
            is_own = frameworks.CHOSEN in os.environ           # where evenbench installs nothing
            where = sys.prefix if is_own else "the environment of lane %s, %s" % (self.lane.name, self.lane.stack)
            title = own_model.TITLES.get(missing)
            if title:
                alone = ": keras-on-%s alone can run it" % title.lower() if self.lane.kind == "keras" else ""
                raise Unsupported("%s uses %s itself, which is not in %s%s" % (name, title, where, alone)) from error
            raise DataError("%s%s: it is not in %s: %s" % (
                place_of(error) or name + ": ", error, where,
                "install it there" if is_own else "--with %s==VERSION adds it" % missing)) from error
        except SystemExit as error:
            raise DataError("%s: found sys.exit(%s), expected a file that ends nothing" % (name, error)) from error
        for setting, now in self._settings().items():
            if now != self._set[setting]:
                raise DataError("%s: it sets %s to %s, found %s before: all columns compute by equal settings, so take "
                                "that line out" % (name, setting, now, self._set[setting]))

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
        self._demand_parameters(name, function)
        with self.ran():
            return function(*arguments, **self._options(name))

    def _options(self, name):
        """What --set gives the file's function besides."""
        return self.options if name == "batch" else {}

    def _demand_parameters(self, name, function):
        """Raise DataError where a function cannot be called with what it is given."""
        words = own_model.PARAMETERS[self.lane.kind][name]
        try:
            signature = inspect.signature(function)
        except ValueError:                       # of a builtin nothing is known
            return
        try:
            signature.bind(*words, **self._options(name))
        except TypeError:
            code = getattr(getattr(function, "func", function), "__code__", None)
            line = ", line %d" % code.co_firstlineno if code else ""
            raise DataError("%s%s: found %s%s, expected %s(%s)" % (
                self.name, line, name, signature, name, ", ".join(words))) from None

    def made(self, name, kind, *arguments):
        """What the file's function returns, which is of the kind. Raises DataError."""
        expected = "an instance of %s.%s" % (kind.__module__, kind.__name__)
        if isinstance(self.function(name), kind):
            raise DataError("%s: found %s itself a %s, expected a function %s() that returns %s" % (
                self.name, name, type(self.function(name)).__name__, name, expected))
        found = self.call(name, *arguments)
        if not isinstance(found, kind):
            raise DataError("%s: %s(): found %s, expected %s" % (
                self.name, name, type(found).__name__, expected))
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

        own = self.function("loss")
        if own:
            self._demand_parameters("loss", own)
        return own or lost

    def demand_classes(self, outputs, targets, unused=()):
        """Raise DataError where cross-entropy of outputs (..., classes) has targets that are none; unused: may be."""
        if self.function("loss") or isinstance(targets, (dict, tuple, list)) or targets.dtype.kind == "f":
            return
        count = next(iter(flat(outputs).values())).shape[-1]
        wrong = targets[((targets < 0) | (targets >= count)) & ~np.isin(targets, unused)]
        if wrong.size:
            raise DataError("%s: batch(): found a target %d, expected 0 to %d: the outputs' last axis has %d"
                            % (self.name, wrong[0], count - 1, count))

    def batch(self, number=TIMED):
        """(inputs, targets) of the cell's size: arrays, or trees of them, in its precision.

        Raises DataError where what is checked follows from more than rng and size.
        """
        made = self._drawn(number, self._cell.batch)
        if number == CHECKED:
            self._demand_drawn(self._cell.batch, self._cell.batch // 2 or 2, made)
        return made

    def _drawn(self, number, size):
        made = self.call("batch", np.random.RandomState([self._cell.seed, number]), size)
        if not isinstance(made, tuple) or len(made) != 2:
            raise DataError("%s: batch(): found %s, expected a tuple of inputs and targets"
                            % (self.name, type(made).__name__))
        made = mapped(self._cast, made)
        shapes = [array.shape for array in flat(made).values()]
        if not shapes or not all(size in shape for shape in shapes):
            raise DataError("%s: batch(rng, %d): found arrays of shapes %s, expected an axis of %d samples in each"
                            % (self.name, size, ", ".join(map(str, shapes)) or "none", size))
        return made

    def _demand_drawn(self, size, other, made):
        """Raise DataError where a batch is random besides rng, or an array has no axis of so many samples."""
        one, again, fewer = (dict(flat(inputs, "inputs"), **flat(targets, "targets")) for inputs, targets in (
            made, self._drawn(CHECKED, size), self._drawn(CHECKED, other)))
        for name, array in one.items():
            if not np.array_equal(array, again.get(name)):
                raise DataError("%s: batch() gives other numbers for the same rng in %s: draw from rng alone, which "
                                "is a numpy.random.RandomState" % (self.name, name))
            shape = fewer[name].shape if name in fewer else ()
            if (size, other) not in zip(array.shape, shape):
                raise DataError("%s: batch(): found %s of shape %s for %d samples and %s for %d, expected an axis that "
                                "follows size" % (self.name, name, array.shape, size, shape, other))

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
        with self.ran("--same"):
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
    if isinstance(tree, Mapping):
        return {name: mapped(function, each) for name, each in tree.items()}
    if isinstance(tree, (tuple, list)):
        leaves = [mapped(function, each) for each in tree]
        return type(tree)(*leaves) if hasattr(tree, "_fields") else type(tree)(leaves)
    return function(tree)


def flat(tree, name="output"):
    """The leaves of a tree by path, in order; None is left out. A dataclass is its fields."""
    if hasattr(tree, "__dataclass_fields__") and not isinstance(tree, Mapping):
        tree = {field: getattr(tree, field) for field in tree.__dataclass_fields__}
    if isinstance(tree, Mapping):
        parts = [flat(each, "%s.%s" % (name, key)) for key, each in tree.items()]
    elif isinstance(tree, (tuple, list)):
        parts = [flat(each, "%s.%d" % (name, index)) for index, each in enumerate(tree)]
    else:
        return OrderedDict() if tree is None else OrderedDict([(name, tree)])
    return OrderedDict(item for part in parts for item in part.items())


def demand_repeatable(name, one, other):
    """Raise DataError where two inferences of one batch differ, or give nothing that could."""
    if not one:
        raise DataError("%s: the model's outputs hold no arrays, so nothing can be compared" % name)
    place = next((place for place in one if not np.array_equal(one[place], other[place], equal_nan=True)), "")
    if place:
        raise DataError("%s: two inferences of one batch differ in %s: it is random, so nothing can be compared"
                        % (name, place))


def demand_training_repeatable(name, one, other):
    """Raise DataError where two passes in training over one batch differ by more than the order of sums explains."""
    for place in one:
        if np.linalg.norm(one[place] - other[place]) > 1e-3 * np.linalg.norm(one[place]):
            raise DataError("%s: its training is random: %s gives other numbers for the same batch, so nothing can be "
                            "compared; dropout is switched off, other noise is not" % (name, place))
