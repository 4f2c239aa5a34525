"""An image task: a model's table with the sizes it was made for; and the same as text, which a user's own travels as.

A cell of a user's own task holds that text, so that a worker needs no file of it anywhere, a changed table is another
cell, and a record can be repeated where the file is gone. The text is JSON, read as strictly as a stranger's has to be.
Python 3.6 and later, standard library only.
"""
import functools
import json
from typing import NamedTuple

from workloads.spec import layers

CHANNELS = 3
LONGEST = 60000       # characters: within a cell, quoted once more, the kernel still takes it as one argument
_DEEPEST = 8          # of layers within layers
_MOST = 2 ** 20       # of a size
_LONGEST_TITLE = 100
_WORDS = {(layers.Act, "kind"): ("relu", "relu6", "tanh", "swish", "sigmoid"), (layers.Pool, "kind"): ("max", "mean"),
          (layers.SqueezeExcite, "act"): ("relu", "relu6", "tanh", "swish", "sigmoid"),
          (layers.GlobalPool, "kind"): ("mean",), (layers.Encoder, "gelu"): ("erf", "tanh")}
_LEAST = {"pad": 0}                # of whole numbers; of the others 1
_SHARES = {"decay": (0.0, 1.0), "rate": (0.0, 0.99), "epsilon": (1e-12, 1.0)}
_NESTED = {(layers.Residual, "body"): 1, (layers.Residual, "shortcut"): 1, (layers.Branch, "branches"): 2}
# how many axes goes into a layer; the others take any
_AXES = dict.fromkeys((layers.Conv, layers.Norm, layers.Pool, layers.GlobalPool, layers.Branch, layers.SqueezeExcite,
                       layers.Tokens), 3)
_AXES.update(dict.fromkeys((layers.Encoder, layers.LayerNorm, layers.First), 2))
_AXES[layers.Dense] = 1
_KINDS = {kind.__name__: kind for kind in (*_AXES, layers.Act, layers.Residual, layers.Flatten, layers.Dropout)}


class Task(NamedTuple):
    """Classify (3, image, image) with cross-entropy."""

    table: tuple
    image: int            # pixels it was made for
    least: int            # pixels below which a layer's window no longer fits
    classes: int
    title: str


class TableError(ValueError):
    """A task that cannot be: the message names the layer, found and expected."""


def dumps(task):
    """The task as text. Raises TableError."""
    if not isinstance(task, Task):
        raise TableError("found %s, expected a Task" % _short(task))
    try:
        text = json.dumps(dict(task._asdict(), table=_written(task.table)), separators=(",", ":"), sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise TableError("found what is no layer: %s" % error) from error
    loads(text)
    return text


def _written(value):
    """A layer as a list of its name and what it says, a tuple of layers as a list of them."""
    if type(value) in _KINDS.values():
        return [type(value).__name__] + [_written(each) for each in value]
    return [_written(each) for each in value] if isinstance(value, (tuple, list)) else value


@functools.lru_cache(maxsize=256)
def loads(text):
    """The Task of text. Raises TableError for what is no task, or none that could be computed."""
    if len(text) > LONGEST:
        raise TableError("found a table of %d characters, expected at most %d" % (len(text), LONGEST))
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TableError("not JSON: %s" % error) from error
    if not isinstance(values, dict) or set(values) != set(Task._fields):
        raise TableError("found other keys, expected %s" % ", ".join(Task._fields))
    task = Task(_layers(values["table"], "", 0), *(_size(values, name) for name in ("image", "least", "classes")),
                title=values["title"])
    _check(task)
    return task


def _size(values, name):
    return _whole(values[name], name, 2 if name == "classes" else 1)


def _layers(values, path, depth):
    """The tuple of layers in a list of what dumps wrote of each."""
    if not isinstance(values, list) or depth > _DEEPEST:
        raise TableError("%s: expected a list of layers, at most %d deep" % (path or "table", _DEEPEST))
    return tuple(_layer(value, layers.join(path, index), depth) for index, value in enumerate(values))


def _layer(value, path, depth):
    if not isinstance(value, list) or not value or not isinstance(value[0], str) or value[0] not in _KINDS:
        raise TableError("%s: found %s, expected one of %s" % (path, _short(value), ", ".join(sorted(_KINDS))))
    kind = _KINDS[value[0]]
    if len(value) != len(kind._fields) + 1:
        raise TableError("%s: %s: found %d values, expected %s"
                         % (path, value[0], len(value) - 1, ", ".join(kind._fields) or "none"))
    return kind(*(_field(kind, name, each, path, depth) for name, each in zip(kind._fields, value[1:])))


def _field(kind, name, value, path, depth):
    """A layer's field in its own type."""
    here = "%s: %s.%s" % (path, kind.__name__, name)
    nested = _NESTED.get((kind, name))
    if nested == 1:
        return _layers(value, layers.join(path, name), depth + 1)
    if nested:
        if not isinstance(value, list):
            raise TableError("%s: expected a list of branches" % here)
        return tuple(_layers(each, layers.join(path, index), depth + 1) for index, each in enumerate(value))
    if (kind, name) in _WORDS:
        return _one_of(value, _WORDS[kind, name], here)
    if name in _SHARES:
        return _share(value, _SHARES[name], here)
    if name == "bias":
        return _one_of(value, (False, True), here)
    if name in ("kernel", "pad") and kind is layers.Conv:
        if not isinstance(value, list) or len(value) != 2:
            raise TableError("%s: found %s, expected (height, width)" % (here, _short(value)))
        return tuple(_whole(each, here, _LEAST.get(name, 1)) for each in value)
    return _whole(value, here, _LEAST.get(name, 1))


def _one_of(value, known, here):
    if not any(value is each or (isinstance(value, str) and value == each) for each in known):
        raise TableError("%s: found %s, expected one of %s" % (here, _short(value), ", ".join(map(str, known))))
    return value


def _share(value, limits, here):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not limits[0] <= value <= limits[1]:
        raise TableError("%s: found %s, expected %g to %g" % ((here, _short(value)) + limits))
    return float(value)


def _whole(value, here, least):
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise TableError("%s: found %s, expected a whole number from %d to %d" % (here, _short(value), least, _MOST))
    return value


def _short(value):
    return repr(value)[:60]


def _check(task):
    """Raise TableError where no layer could take what the one before gives."""
    if not isinstance(task.title, str) or not 0 < len(task.title) <= _LONGEST_TITLE or not task.title.isprintable():
        raise TableError("title: found %s, expected a line of at most %d characters"
                         % (_short(task.title), _LONGEST_TITLE))
    if not task.table or not isinstance(task.table[-1], layers.Dense):
        raise TableError("the last layer: expected Dense, which gets the classes' units")
    if task.least > task.image:
        raise TableError("least: found %d, expected at most image, %d" % (task.least, task.image))
    for size in (task.least, task.image):
        try:
            for leaf in layers.leaves(task.table, input_shape(size)):
                _check_leaf(leaf)
        except (ValueError, IndexError) as error:
            raise TableError("at %d pixels: %s" % (size, error)) from error


def _check_leaf(leaf):
    layer, shape = leaf.layer, leaf.shape
    here = "%s: %s" % (leaf.path, type(layer).__name__)
    axes = _AXES.get(type(layer), len(shape))
    if len(shape) != axes:
        raise TableError("%s: found an input of shape %r, expected one of %d axes" % (here, shape, axes))
    if isinstance(layer, layers.Conv) and (shape[0] % layer.groups or layer.filters % layer.groups):
        raise TableError("%s: groups: found %d, expected a divisor of %d channels and of %d filters"
                         % (here, layer.groups, shape[0], layer.filters))
    if isinstance(layer, layers.Pool) and 2 * layer.pad > layer.size:
        raise TableError("%s: pad: found %d, expected at most half of size, %d" % (here, layer.pad, layer.size))
    if isinstance(layer, layers.Encoder) and shape[1] % layer.heads:
        raise TableError("%s: heads: found %d, expected a divisor of %d numbers" % (here, layer.heads, shape[1]))


def model(task, classes):
    """The layers of a task with so many classes."""
    return task.table[:-1] + (layers.Dense(classes),)


def input_shape(image):
    """The shape of one sample, without the batch."""
    return (CHANNELS, image, image)
