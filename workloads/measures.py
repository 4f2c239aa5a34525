"""What is done with a task: train, infer, epochs, check. The framework's adapter is handed in, never imported here."""
import importlib
import time

import numpy as np

from workloads import data, environment, weights
from workloads.errors import DataError, NotFinite
from workloads.sketch import encoded, sketch
from workloads.spec import layers, tasks
from workloads.timing import LossWatch, Watch


def run(cell, adapter, folder, emit):
    """Measure the cell in this stack and send its events, from "start" to what comes before "end"."""
    if cell.task not in tasks.TASKS:
        raise DataError('task "%s" is unknown; known: %s' % (cell.task, ", ".join(tasks.TASKS)))
    table = tasks.table(cell.task, cell.classes)
    images = data.synthetic(cell) if cell.input == "synthetic" else data.read(folder, cell)
    workload = adapter.Workload(table, cell)
    parameters = layers.parameters(table, tasks.input_shape(cell.image))
    if cell.init == "seeded":
        workload.load(weights.seeded(parameters, cell.seed, "float64" if cell.precision == "float64" else "float32"))
    _start(cell, adapter, workload, images, emit)
    MEASURES[cell.measure](cell, adapter, workload, images, folder, emit)


def _start(cell, adapter, workload, images, emit):
    facts = environment.facts()
    facts.update(adapter.facts(cell), numpy=np.__version__, loop=workload.loop, layout=workload.layout,
                 precision=workload.precision, data=images.facts)
    emit("start", facts=facts, parameters=workload.parameters(), flops=tasks.step_flops(cell))


def train(cell, adapter, workload, images, folder, emit):
    """Warm-up and timed training steps, each with its loss."""
    watch = Watch(cell, workload.sync, workload.value, emit)
    workload.train(_batches(cell, workload, images), cell.warmup + cell.steps, watch)


def infer(cell, adapter, workload, images, folder, emit):
    """Warm-up and timed forward passes in evaluation mode."""
    watch = Watch(cell, workload.sync, None, emit)
    workload.infer(_batches(cell, workload, images), cell.warmup + cell.steps, watch)


def _batches(cell, workload, images):
    feed = workload.synthetic if cell.input == "synthetic" else workload.batches
    return feed(images.images, images.labels)


def epochs(cell, adapter, workload, images, folder, emit):
    """Whole epochs: training and validation timed apart, accuracy from the confusion matrix."""
    held_out = data.synthetic(cell) if cell.input == "synthetic" else data.read(folder, cell, "test")
    batches = _batches(cell, workload, images)
    steps = len(images.labels) // cell.batch
    for index in range(cell.epochs):
        train_seconds, losses = _epoch(cell, workload, batches, steps)
        if not np.isfinite(losses).all():
            raise NotFinite("the loss became %s in epoch %d" % (losses[-1], index))
        began = time.perf_counter()
        confusion = _confusion(cell, workload, held_out)
        emit("epoch", index=index, steps=steps, train_seconds=train_seconds,
             validation_seconds=time.perf_counter() - began, loss=float(np.mean(losses)),
             accuracy=float(np.trace(confusion) / confusion.sum()), confusion=confusion.tolist())


def _epoch(cell, workload, batches, steps):
    """Seconds and losses of one pass over the training images."""
    watch = LossWatch()
    began = time.perf_counter()
    workload.train(batches, steps, watch)
    workload.sync(watch.handles[-1])
    seconds = time.perf_counter() - began
    return seconds, [workload.value(handle) for handle in watch.handles]


def _confusion(cell, workload, held_out):
    """The matrix (true class, predicted class) of counts over the held-out images."""
    matrix = np.zeros((cell.classes, cell.classes), dtype=np.int64)
    for first in range(0, len(held_out.labels) - cell.batch + 1, cell.batch):    # whole batches: one shape, one graph
        some = slice(first, first + cell.batch)
        predicted = np.argmax(workload.predict(held_out.images[some]), axis=1)
        np.add.at(matrix, (held_out.labels[some], predicted), 1)
    return matrix


def check(cell, adapter, workload, images, folder, emit):
    """Send sketches of every activation, logits, loss, every gradient and every array after one update.

    Running variances are sent as the biased estimate, so that stacks that keep n / (n - 1) times it can be compared.
    """
    found = workload.check(images.images[:cell.batch], images.labels[:cell.batch])
    if adapter.unbiased_variance(cell):
        _unbias(cell, found["weight"])
    for kind in ("activation", "gradient"):
        _send(emit, kind, found[kind])
    running = {name: array for name, array in found["weight"].items() if name.endswith((".mean", ".variance"))}
    _send(emit, "weight", {name: array for name, array in found["weight"].items() if name not in running})
    _send(emit, "statistic", running)
    _send(emit, "logits", {"logits": found["logits"]})
    _send(emit, "loss", {"loss": found["loss"]})


def _unbias(cell, arrays):
    """Turn new = decay * old + (1 - decay) * n / (n - 1) * variance into what it is without n / (n - 1), in place."""
    table = tasks.table(cell.task, cell.classes)
    for place in layers.places(table, tasks.input_shape(cell.image)):
        if isinstance(place.layer, layers.Norm):
            name = layers.join(place.path, "variance")
            count = cell.batch * place.out[-1] * place.out[-2]
            kept = place.layer.decay * 1.0             # seeded running variances begin at 1
            arrays[name] = kept + (arrays[name] - kept) * (count - 1) / count


def _send(emit, kind, arrays):
    """One event an array: an event of them all would be megabytes long."""
    for name, array in arrays.items():
        array = np.asarray(array, dtype=np.float64)
        emit("tensor", kind=kind, name=name, shape=list(array.shape), norm=_finite(np.linalg.norm(array)),
             sketch=encoded(sketch(name, array)))


def _finite(number):
    return float(number) if np.isfinite(number) else None


def harness(cell, adapter, workload, images, folder, emit):
    """Our LeNet-5 training loop and a bare one by turns, cell.steps blocks of cell.warmup steps each; seconds a block.

    Ours is timed twice: by the samples that it reports, and by the wall around it, which also reads the losses.
    """
    bare = importlib.import_module(adapter.__name__ + ".bare")
    step, sync = bare.lenet5(cell.batch, cell.learning_rate)
    batches = _batches(cell, workload, images)
    for turn in range(cell.steps + 1):
        ours = _our_block(cell, workload, batches)
        theirs = _bare_block(cell, step, sync)
        if turn:                                  # the first turn warms both up
            emit("harness", reported=ours[0], wall=ours[1], bare=theirs, steps=cell.warmup)


def _our_block(cell, workload, batches):
    """Seconds of a block by its samples and by the wall."""
    samples = []
    watch = Watch(cell._replace(steps=cell.warmup, warmup=0), workload.sync, workload.value,
                  lambda event, seconds=(), **values: samples.extend(seconds))
    began = time.perf_counter()
    workload.train(batches, cell.warmup, watch)
    return sum(samples), time.perf_counter() - began


def _bare_block(cell, step, sync):
    began = time.perf_counter()
    for _ in range(cell.warmup):
        sync(step())
    return time.perf_counter() - began


MEASURES = {"harness": harness, "train": train, "infer": infer, "epochs": epochs, "check": check}
