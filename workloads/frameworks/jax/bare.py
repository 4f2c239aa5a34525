"""Training and inference as one writes them by hand in JAX: what evenbench's own loops are compared with."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.frameworks import peers
from workloads.process.errors import Unsupported
from workloads.spec import sequence_tasks
from workloads.spec.measures import GENERATING


def loop(cell, folder=""):
    """(step, sync): step() takes a step on one random batch that stays in memory, sync(what it returned) waits for it.

    It infers where that is the cell's measure, else it trains with plain SGD, or with AdamW. LeNet-5, the LSTM and
    AdamW are written out here, ResNet-50 is Haiku's, GPT-2, Llama and ViT are KerasHub's, from
    folder/peers/<stack>. Raises Unsupported for other tasks, and where the library is not.
    """
    if cell.measure in GENERATING:
        return _generating(cell, folder), jax.block_until_ready
    made = _MADE.get(cell.task)
    if made is None:
        raise Unsupported("JAX has no peer for %s: it is for %s" % (cell.task, ", ".join(sorted(_MADE))))
    weights, running, batch, answer, loss_of = made(cell, folder)
    if cell.measure == "infer":
        infer = jax.jit(answer)
        return lambda: infer(weights, running, batch[0]), jax.block_until_ready
    return _training(cell, weights, running, batch, loss_of), jax.block_until_ready


def _training(cell, weights, running, batch, loss_of):
    updated, moments = _sgd, ()
    if cell.optimizer == "adamw":
        updated, moments = _adamw, (0, *(jax.tree.map(jnp.zeros_like, weights) for _ in range(2)))

    @functools.partial(jax.jit, donate_argnums=0)
    def update(state, batch):
        weights, running, moments = state
        (loss, running), slopes = jax.value_and_grad(loss_of, has_aux=True)(weights, running, *batch)
        weights, moments = updated(cell.learning_rate, weights, slopes, moments)
        return (weights, running, moments), loss

    kept = [(weights, running, moments)]

    def step():
        kept[0], loss = update(kept[0], batch)
        return loss

    return step


def _sgd(rate, weights, slopes, moments):
    return jax.tree.map(lambda weight, slope: weight - rate * slope, weights, slopes), moments


def _adamw(rate, weights, slopes, moments):
    """Without weight decay: Kingma and Ba 2015, algorithm 1."""
    step, means, squares = moments
    step = step + 1
    means = jax.tree.map(lambda mean, slope: 0.9 * mean + 0.1 * slope, means, slopes)
    squares = jax.tree.map(lambda square, slope: 0.999 * square + 0.001 * slope ** 2, squares, slopes)

    def moved(weight, mean, square):
        return weight - rate * (mean / (1 - 0.9 ** step)) / (jnp.sqrt(square / (1 - 0.999 ** step)) + 1e-8)

    return jax.tree.map(moved, weights, means, squares), (step, means, squares)


def _drawn(random, *shape):
    return jnp.asarray(random.standard_normal(shape) * np.sqrt(1.0 / np.prod(shape[:-1])), jnp.float32)


def _lenet5(cell, folder):
    """(weights, running statistics, batch, logits as a function, loss and statistics as one).

    LeNet-5, height before width before channels.
    """
    random = np.random.RandomState(0)
    shapes = {"conv1": (5, 5, 3, 6), "conv2": (5, 5, 6, 16), "dense1": (400, 120), "dense2": (120, 84),
              "dense3": (84, cell.classes)}
    weights = {name: (_drawn(random, *shape), jnp.zeros(shape[-1])) for name, shape in shapes.items()}
    images = jnp.asarray(random.uniform(-1, 1, (cell.batch, cell.image, cell.image, 3)), jnp.float32)
    labels = jnp.asarray(random.randint(0, cell.classes, cell.batch))

    def answer(weights, running, x):
        for name in ("conv1", "conv2"):
            kernel, bias = weights[name]
            x = lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jnp.tanh(x + bias)
            x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
        x = x.reshape(x.shape[0], -1)
        for name in ("dense1", "dense2"):
            x = jnp.tanh(x @ weights[name][0] + weights[name][1])
        return x @ weights["dense3"][0] + weights["dense3"][1]

    def loss_of(weights, running, images, labels):
        return _entropy(answer(weights, running, images), labels), running

    return weights, {}, (images, labels), answer, loss_of


def _entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()


def _resnet50(cell, folder):
    """The same of Haiku's ResNet-50, which is v1.5 as ours is; its padding is "SAME", a pixel less on one side."""
    haiku = peers.library(cell, folder, "haiku")
    random = np.random.RandomState(0)
    images = jnp.asarray(random.uniform(-1, 1, (cell.batch, cell.image, cell.image, 3)), jnp.float32)
    labels = jnp.asarray(random.randint(0, cell.classes, cell.batch))
    net = haiku.transform_with_state(lambda x, is_training: haiku.nets.ResNet50(cell.classes)(x, is_training))
    # its own init is compiled for minutes, whole or operation by operation: its arrays, filled by numpy
    weights, running = jax.eval_shape(lambda key, x: net.init(key, x, True), jax.random.key(0), images)
    weights = {module: {name: _filled(random, name, array.shape) for name, array in arrays.items()}
               for module, arrays in weights.items()}
    running = {module: {name: (jnp.ones if "var_ema" in module and name != "counter" else jnp.zeros)(
        array.shape, array.dtype) for name, array in arrays.items()} for module, arrays in running.items()}

    def answer(weights, running, x):
        return net.apply(weights, running, None, x, False)[0]

    def loss_of(weights, running, images, labels):
        logits, running = net.apply(weights, running, None, images, True)
        return _entropy(logits, labels), running

    return weights, running, (images, labels), answer, loss_of


def _filled(random, name, shape):
    """An array of Haiku's by its name: a weight, a normalisation's scale, or what begins at zero."""
    if name == "w":
        return _drawn(random, *shape)
    return jnp.ones(shape) if name == "scale" else jnp.zeros(shape)


def _of_keras_hub(cell, folder):
    """The same of KerasHub's nets."""
    net, inputs, labels = peers.of_keras_hub(cell, folder, "jax")
    weights, running = _variables(net)

    def answer(weights, running, inputs):
        return net.stateless_call(weights, running, inputs, training=False)[0]

    def loss_of(weights, running, inputs, labels):
        logits, running = net.stateless_call(weights, running, inputs, training=True)
        return _entropy(logits, labels), running

    return weights, running, (jax.tree.map(jnp.asarray, inputs), jnp.asarray(labels)), answer, loss_of


def _variables(net):
    return tuple([variable.value for variable in variables]
                 for variables in (net.trainable_variables, net.non_trainable_variables))


def _generating(cell, folder):
    """step() of measure prefill or decode by KerasHub's GPT-2, whose variables are a jitted function's arguments."""
    net, inputs, _ = peers.of_keras_hub(cell, folder, "jax")
    scope = peers.library(cell, folder, "keras").StatelessScope
    values = _variables(net)

    @jax.jit
    def given(values, ids, cache, position):
        pairs = zip(net.trainable_variables + net.non_trainable_variables, values[0] + values[1])
        with scope(state_mapping=list(pairs)):
            logits, _, cache = net.call_with_cache(ids, cache, position)
        return logits[:, -1].argmax(-1).astype(ids.dtype), cache

    ids = jnp.asarray(inputs["token_ids"][:, :sequence_tasks.prompt(cell)])
    return peers.generating(cell, functools.partial(given, values), ids, jnp.zeros(peers.keras_hub_cache(cell)),
                            jnp.int32)


def _lstm(cell, folder):
    """The same of one LSTM layer over time-major random vectors; half the mean of the outputs' squares.

    As flax's nn.RNN with its OptimizedLSTMCell: each gate has its weights, and a step makes a product of all inputs'
    and one of all recurrent ones.
    """
    sizes, random = sequence_tasks.sizes(cell), np.random.RandomState(0)
    hidden = sizes.hidden
    weights = ([_drawn(random, hidden, hidden) for _ in range(4)], [_drawn(random, hidden, hidden) for _ in range(4)],
               [jnp.zeros(hidden) for _ in range(4)])
    x = jnp.asarray(random.standard_normal((sizes.length, cell.batch, hidden)), jnp.float32)

    def answer(weights, running, x):
        def step(state, x):
            h, c = state
            inputs, recurrent, bias = (jnp.concatenate(of_gates, -1) for of_gates in weights)
            i, f, g, o = jnp.split(x @ inputs + (h @ recurrent + bias), 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((x.shape[1], hidden), x.dtype)
        return lax.scan(step, (zeros, zeros), x)[1]

    def loss_of(weights, running, x):
        return 0.5 * (answer(weights, running, x) ** 2).mean(), running

    return weights, {}, (x,), answer, loss_of


_MADE = {"lenet5": _lenet5, "lstm": _lstm, "resnet50": _resnet50,
         **dict.fromkeys(peers.KERAS_HUB, _of_keras_hub)}
