"""What is done with a task: train, infer, epochs, check. The framework's adapter is handed in, never imported here."""
import hashlib
import importlib
import os
import sys
import time
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import NamedTuple

import numpy as np

from workloads.frameworks import contract
from workloads.inputs import images as data
from workloads.inputs import loading, passes, records, sequence_batches, weights
from workloads.measuring import epochs as course
from workloads.measuring import generating, matrix_products
from workloads.measuring.count_sketch import encoded, sketch
from workloads.measuring.turns import TurnsTogether, TurnWatch
from workloads.measuring.watch import ENDLESS, ENDS, Beats, Over, Recorded, Watch, WorkersWatch
from workloads.places import agreement
from workloads.process import environment, processor
from workloads.process.errors import DataError, NotFinite, Unsupported
from workloads.profiles import traces, walls
from workloads.spec import duration, layers, placement, refusals, sequence_tasks, switches, tasks
from workloads.spec.cell import Cell
from workloads.spec.measures import GENERATING, HARNESSES, PARTS_OF


def run(cell: Cell, adapter: "contract.Adapter", folder: str, emit, cluster=None, gate=None) -> None:
    """Measure the cell in this stack and send its events, from "start" to what comes before "end".

    gate: of a worker that takes turns, which it waits for there.
    In a place of a parallel run that only serves, serve until stopped.
    """
    if not (cell.source or tasks.is_known(cell)):
        raise DataError('task "%s" is unknown; known: %s' % (cell.task, ", ".join(tasks.NAMES)))
    if cell.measure == "product":
        matrix_products.measure(cell, adapter, emit)
        return
    measure = _kind(cell).get(cell.measure)
    if not measure and (cell.source or cell.measure not in HARNESSES):
        raise Unsupported("measure %s is not there for tasks of this kind" % cell.measure)
    cell = cell._replace(measure=PARTS_OF.get(cell.measure, cell.measure))      # the steps are those that are profiled
    _refuse(cell)
    for switch, is_on in (("augment", cell.augment != "none"), ("images", cell.images)):
        if is_on and (cell.measure != "epochs" or cell.input == "synthetic" or tasks.is_sequence(cell.task)):
            raise Unsupported("%s is for the images that measure epochs reads, with input pipeline" % switch)
    if cluster and not cluster.place.reports:
        parallel(adapter).serve(cluster.place.main, cell, cluster)
        return
    cell = _tuned(of_process(cell, cluster), adapter)
    held = placement.blocks_of(os.environ, cell.seed)
    images = _images(cell, folder, cluster)
    if cell.measure in HARNESSES:
        harness(cell, adapter, images, folder, emit)
        return
    workload = _workload(cell, adapter, cluster, folder)
    _start(cell, adapter, workload, images, emit, cluster)
    told = {"cluster": cluster} if measure in (train, phases) else {}
    if measure in (train, phases, infer, generate):
        watching = partial(TurnsTogether, gate, cluster.helpers) if cluster else partial(TurnWatch, gate)
        told["watching"] = watching if gate else Watch
    measure(cell, adapter, workload, images, folder, emit, **told)
    compiled = workload.compiled()             # most of it in the first step
    if compiled:
        emit("compiled", **compiled)
    del held                                   # not before: arrays would take its place


def _refuse(cell: Cell) -> None:
    """Raise Unsupported for what the task has not, or this processor."""
    problem = (sequence_tasks.generating_problem(cell) or refusals.loaders(cell)
               or refusals.emulated_bfloat16(cell, processor.features()))
    if cell.attention != "default" and not tasks.is_transformer(cell):
        problem = "attention is a switch of transformers: %s" % ", ".join(tasks.TRANSFORMERS)
    if problem:
        raise Unsupported(problem)


def _kind(cell: Cell):
    """The measures of tasks of the cell's kind."""
    if cell.source:
        return OWN_MEASURES
    return SEQUENCE_MEASURES if tasks.is_sequence(cell.task) else MEASURES


def _tuned(cell: Cell, adapter: "contract.Adapter"):
    """The cell with what its loop=tuned sets besides the loop; another cell as it is. Raises Unsupported."""
    if cell.loop != "tuned":
        return cell
    if cell.parallel != "none" or cell.gpus > 1:
        raise Unsupported("loop tuned is of one process on one device")
    settings = importlib.import_module(adapter.__name__ + ".settings")
    return settings.tuned(cell, processor.features())


def of_process(cell: Cell, cluster):
    """The cell with the batch of this process: cell.batch for each GPU that it drives."""
    return cell._replace(batch=cell.batch * cell.gpus // (cluster.processes if cluster else 1))


def _workload(cell: Cell, adapter: "contract.Adapter", cluster=None, folder: str = ""):
    """The cell's Workload with the weights that it starts from."""
    workload = _unweighted(cell, adapter, cluster, folder)
    if cell.init == "seeded" and not cell.source:              # a model of the user's own draws them by its own names
        numbers = "float64" if cell.precision == "float64" else "float32"
        workload.load(weights.seeded(tasks.parameters(cell), cell.seed, numbers))
    return workload


def _unweighted(cell: Cell, adapter: "contract.Adapter", cluster, folder: str):
    if tasks.is_sequence(cell.task):
        if cluster or cell.gpus > 1:
            return parallel(adapter).Sequences(cell, cluster)
        return importlib.import_module(adapter.__name__ + ".sequences").Workload(cell)
    table = folder if cell.source else tasks.model(cell)
    is_alone = not cluster and cell.gpus == 1
    return adapter.Workload(table, cell) if is_alone else parallel(adapter).Workload(table, cell, cluster)


def parallel(adapter: "contract.Adapter"):
    """The adapter's module for runs in many places, or on many GPUs."""
    return importlib.import_module(adapter.__name__ + ".parallel")


def _images(cell: Cell, folder: str, cluster):
    """What this worker reads: enough for all of them, of which it takes its own part where the mode shards."""
    if cell.source:
        return _OWN_BATCH
    if tasks.is_sequence(cell.task):
        series = generating.of_steps(cell, sequence_batches.read(folder, cell))
        return series.part(cluster.worker, cluster.workers) if cluster and cluster.mode.is_sharded else series
    whole = cell._replace(batch=cell.batch * (cluster.workers if cluster else 1))
    if cell.input == "loader":
        images = records.found(folder, cell)
    else:
        images = data.synthetic(whole) if cell.input == "synthetic" else data.read(folder, whole)
    return images.part(cluster.worker, cluster.workers) if cluster and cluster.mode.is_sharded else images


def _start(cell: Cell, adapter: "contract.Adapter", workload: contract.Workload, images, emit, cluster=None) -> None:
    facts = environment.facts()
    facts.update(adapter.facts(cell), numpy=np.__version__, loop=workload.loop, layout=workload.layout,
                 precision=workload.precision, data=images.facts, loading=loading.told(cell, workload),
                 **workload.kernels())
    if cluster:
        facts.update(mode=cluster.mode.title, communication=workload.communication)
    if tasks.is_transformer(cell):
        facts["attention"] = workload.attention
    if workload.units:
        facts["units"] = list(workload.units)
    if workload.mode:                          # which says more than the mode's title
        facts["mode"] = workload.mode
    facts["left_off"] = switches.left_off(facts["framework"], cell, facts)
    emit("start", facts=facts, parameters=workload.parameters(), cpu_seconds=environment.used()["cpu_seconds"],
         **_flops(cell, images))


def _flops(cell: Cell, series):
    """flops: what a step computes, the padding of sequences too; needed_flops: what its samples alone need.

    At the mean length of the batches, so that attention, which is quadratic in it, is counted a little too low.
    """
    if cell.source:
        return {}
    if not tasks.is_sequence(cell.task):
        return {"flops": tasks.step_flops(cell)}
    return {"flops": tasks.step_flops(cell, series.facts["padded_tokens"]),
            "needed_flops": tasks.step_flops(cell, series.facts["tokens"])}


def train(cell: Cell, adapter, workload, images, folder: str, emit, cluster=None, watching=Watch) -> None:
    """Warm-up and timed training steps, each with its loss."""
    _train(cell, workload, images, emit, workload.train, cluster, watching)


def phases(cell: Cell, adapter, workload, images, folder: str, emit, cluster=None, watching=Watch) -> None:
    """The same, each step with the seconds of its phases; stamping costs time, so the steps are told apart."""
    _train(cell, workload, images, emit, workload.train_phases, cluster, watching)


def _train(cell: Cell, workload: contract.Workload, images, emit, steps, cluster, watching) -> None:
    """Parallel runs send a digest of the weights too: after synchronous steps it is the same in all workers."""
    is_coordinator = workload.is_coordinator
    watch = WorkersWatch(cell, emit) if is_coordinator else _watch(
        watching, cell, workload, images, workload.value, emit)
    _take(cell, steps, _batches(cell, workload, images), watch, cluster)
    if is_coordinator:
        watch.close()
    if cell.parallel != "none":
        emit("weights", sha256=_digest(workload.weights()))


def _watch(watching, cell: Cell, workload: contract.Workload, images, value, emit):
    """A Watch of that kind, with the device's own clock where the framework has a door to it.

    Images are normalised before the clock, so all passes cost the same; the first pass over sequences meets each shape
    for the first time, and is awaited.
    """
    pass_steps = images.pass_steps if tasks.is_sequence(cell.task) else 0
    return watching(cell, workload.sync, value, emit, device=workload.device_clock(), pass_steps=pass_steps,
                    programs=workload.programs)


def _take(cell: Cell, steps, batches, watch, cluster=None) -> None:
    """Take the cell's steps by a workload's method, until the watch says that they are enough where they are open."""
    if duration.is_open(cell) and cell.parallel != "none":
        agreed = agreement.open_for(cluster)
        if isinstance(watch, TurnsTogether):
            watch.take(steps, batches, agreed)
        else:
            _take_together(cell, steps, batches, watch, agreed)
        agreed.close()
        return
    try:
        steps(batches, ENDLESS if duration.is_open(cell) else cell.warmup + cell.steps, watch)
    except Over:
        pass


def _take_together(cell: Cell, steps, batches, watch, agreed) -> None:
    """The same of workers that train together and must take as many steps: the first one's watch says how many.

    It is asked between parts of the warm-up, after each of which all wait for each other anyway, and once for the timed
    steps, in which nobody speaks.
    """
    left = max(1, cell.warmup)
    while left > 0:
        steps(batches, left, watch)
        left = agreed.say(watch.left())
        watch.resumed()                            # what they waited for each other is of no step
    count = agreed.say(watch.timed_steps())
    watch.begin(ENDS[-left], count)
    steps(batches, count, watch)


def _digest(arrays):
    """Of what the optimizer updates: a worker's running statistics are of its own part of the data."""
    digest = hashlib.sha256()
    for name in sorted(name for name in arrays if not _is_running(name)):
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def _is_running(name: str) -> bool:
    """Whether an array is one of normalisation's running statistics, by its canonical name."""
    return name.endswith((".mean", ".variance"))


def operators(cell: Cell, adapter: "contract.Adapter", workload: contract.Workload, images, folder: str, emit) -> None:
    """What the framework's profiler says of cell.steps training steps: calls and seconds by its own names."""
    with Beats(emit):                          # reading a profile can take longer than any step
        profile = workload.profile(_batches(cell, workload, images), cell.warmup, cell.steps)
    emit("operators", steps=cell.steps, operators={name: list(used) for name, used in profile.items()})


def kernels(cell: Cell, adapter: "contract.Adapter", workload: contract.Workload, images, folder: str, emit) -> None:
    """Where a GPU's time goes in cell.steps training steps: kernels, copies and gaps. Raises Unsupported.

    Of a CPU there is nothing to tell: what runs an operator there is the thread that issues it, so nothing is launched,
    nothing is copied, and what lies between operators is the framework's own work; measure operators times those.
    """
    if cell.device != "gpu" or cell.gpus > 1:
        raise Unsupported("kernels are traced on one GPU; on a CPU measure operators says where the time goes")
    with Beats(emit):                          # reading a profile can take longer than any step
        trace = workload.trace(_batches(cell, workload, images), cell.warmup, cell.steps)
    if not trace.spans:
        raise Unsupported("the profiler saw nothing on the GPU: %s" % trace.source)
    emit("kernels", steps=cell.steps, **traces.account(trace))


def parts(cell: Cell, adapter: "contract.Adapter", workload: contract.Workload, images, folder: str, emit) -> None:
    """Where the time of cell.steps steps goes: input, and the operators by the wall. Raises Unsupported."""
    if cell.measure in GENERATING:
        generating.demand(cell, adapter, workload)
    watch = Recorded(cell, workload.recorder(), workload.sync)
    with Beats(emit):                          # reading a profile can take longer than any step
        try:
            generating.steps(cell, workload)(_batches(cell, workload, images), ENDLESS, watch)
        except Over:
            found = walls.within(walls.INPUT, walls.INPUT + "/", watch.operators)
            names, spans = walls.last_step(found)
            emit("parts", steps=cell.steps, seconds=watch.seconds, input_seconds=watch.input_seconds,
                 operators=walls.walls(found), names=names, spans=spans)


def graph(cell: Cell, adapter: "contract.Adapter", workload: contract.Workload, images, folder: str, emit) -> None:
    """What the framework's graph optimisers remove from a training step's graph. Raises Unsupported."""
    emit("graph", **workload.graph(_batches(cell, workload, images)))


def infer(cell: Cell, adapter, workload: contract.Workload, images, folder: str, emit, watching=Watch) -> None:
    """Warm-up and timed forward passes in evaluation mode."""
    watch = _watch(watching, cell, workload, images, None, emit)
    _take(cell, workload.infer, _batches(cell, workload, images), watch)


def generate(cell: Cell, adapter, workload: contract.Sequences, series, folder: str, emit, watching=Watch) -> None:
    """Warm-up and timed prompts, or tokens after one, or whole sequences of them."""
    generating.demand(cell, adapter, workload)
    watch = _watch(watching, cell, workload, generating.of_pass(cell, series), None, emit)
    _take(cell, generating.steps(cell, workload), _batches(cell, workload, series), watch)


def _batches(cell: Cell, workload: contract.Workload, images):
    return getattr(workload, _FEEDS[cell.input])(*images.inputs)


class _OwnBatch(NamedTuple):
    """What is told of the one batch that a user's own file makes."""

    inputs: tuple = ()
    facts: dict = {"name": "the model's own batch", "stand_in": False}


_OWN_BATCH = _OwnBatch()
_FEEDS = {"pipeline": "batches", "synthetic": "synthetic", "loader": "loaded"}


def epochs(cell: Cell, adapter: "contract.Adapter", workload: contract.Images, images, folder: str, emit) -> None:
    """Whole epochs: training and validation timed apart, accuracy from the confusion matrix."""
    if cell.input == "synthetic":
        held_out, steps = data.synthetic(cell), 1
        batches = _batches(cell, workload, images)
    else:
        held_out, ahead = data.read(folder, cell, "test"), passes.drawn(cell, len(images.labels))
        steps = ahead.samples // cell.batch
        batches = workload.passes(images.images, images.labels, ahead)
    with Beats(emit):                          # an epoch can take longer than a watchdog waits
        course.follow(course.Course(cell, workload, held_out, steps, emit), batches)


def sequence_epochs(cell: Cell, adapter, workload: contract.Workload, series, folder: str, emit) -> None:
    """Whole passes over the batches; there is nothing to classify, so no validation."""
    with Beats(emit):
        course.follow(course.Course(cell, workload, None, series.steps, emit), _batches(cell, workload, series))


def check(cell: Cell, adapter: "contract.Adapter", workload: contract.Images, images, folder: str, emit) -> None:
    """Send sketches of every activation, logits, loss, every gradient and every array after one update.

    Running variances are sent as the biased estimate, so that stacks that keep n / (n - 1) times it can be compared.
    A stack that only infers has activations and logits alone.
    """
    pictures, labels = images.first(cell.batch)
    with _drawn(cell, workload) as is_one:
        if is_one:
            _send(emit, "inferred", {"logits": workload.predict(pictures)})
    update = workload.check(pictures, labels)
    if adapter.unbiased_variance(cell):
        _unbias(cell, update["weight"])
    _send_update(update, emit)


def sequence_check(cell: Cell, adapter, workload: contract.Sequences, series, folder: str, emit) -> None:
    """The same; the models of sequences keep biased running variances themselves."""
    batch, = series.first(cell.batch)
    with _drawn(cell, workload) as is_one:
        generating.check(cell, workload, (batch,), emit)
        if is_one:
            _send(emit, "inferred", {"logits": _answer(workload, batch)})
    _send_update(workload.check(batch), emit)


def own_check(cell: Cell, adapter: "contract.Adapter", workload, images, folder: str, emit) -> None:
    """The same of a user's own model, whose workload says all kinds of arrays itself. Raises NotFinite."""
    for kind, arrays in workload.check().items():
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise NotFinite("%s has NaN or infinite values" % " ".join(dict.fromkeys([kind, name])))
        _send(emit, kind, arrays)
    emit("loaded", modules=sorted({name.partition(".")[0] for name in sys.modules}))


@contextmanager
def _drawn(cell: Cell, workload: contract.Workload):
    """Let no array of a single device's workload be constant meanwhile, so that what infers shows each of them.

    Gives whether it is one: of several each has its own, and what they say apart from gradients is not compared.
    """
    if cell.parallel != "none" or cell.gpus > 1:
        yield False
        return
    own = workload.weights()
    workload.load(weights.with_vectors(own, cell.seed))
    yield True
    workload.load(own)


def _answer(workload: contract.Sequences, batch):
    """What a sequence model infers for a batch."""
    last = _Last()
    workload.infer(workload.synthetic([batch]), 1, last)
    workload.sync(last.handle)
    return workload.value(last.handle)


class _Last(contract.Watch):
    """A watch that keeps the last step's handle."""

    def stepped(self, handle, phases=None) -> None:
        """Keep it."""
        self.handle = handle


def _send_update(update, emit) -> None:
    for kind in ("activation", "gradient"):
        _send(emit, kind, update[kind])
    running = {name: array for name, array in update["weight"].items() if _is_running(name)}
    _send(emit, "weight", {name: array for name, array in update["weight"].items() if name not in running})
    _send(emit, "statistic", running)
    _send(emit, "logits", {"logits": update["logits"]})
    _send(emit, "loss", {} if update["loss"] is None else {"loss": update["loss"]})


def _unbias(cell: Cell, arrays) -> None:
    """Turn new = decay * old + (1 - decay) * n / (n - 1) * variance into what it is without n / (n - 1), in place."""
    table = tasks.model(cell)
    for leaf in layers.leaves(table, tasks.input_shape(cell.image)):
        if isinstance(leaf.layer, layers.Norm):
            name = layers.join(leaf.path, "variance")
            count = cell.batch * leaf.out[-1] * leaf.out[-2]
            kept = leaf.layer.decay * 1.0             # seeded running variances begin at 1
            arrays[name] = kept + (arrays[name] - kept) * (count - 1) / count


def _send(emit, kind: str, arrays) -> None:
    """One event an array: an event of them all would be megabytes long."""
    for name, array in arrays.items():
        array = np.asarray(array, dtype=np.float64)
        emit("tensor", kind=kind, name=name, shape=list(array.shape), norm=_finite(np.linalg.norm(array)),
             sketch=encoded(sketch(name, array)))


def _finite(number):
    return float(number) if np.isfinite(number) else None


def harness(cell: Cell, adapter: "contract.Adapter", images, folder: str, emit) -> None:
    """Our loop and a hand-written one by turns, cell.steps blocks of cell.warmup steps each; seconds a block.

    Ours is timed twice: by the samples that it reports, and by the wall around it, which also reads the losses.
    """
    block = cell._replace(measure=HARNESSES[cell.measure], steps=cell.warmup, warmup=0, warm="fixed", seconds=0.0)
    settings = importlib.import_module(adapter.__name__ + ".settings")
    bare = importlib.import_module(adapter.__name__ + ".bare")
    settings.apply(block)                         # for both, whichever is built first
    (workload, batches), (step, sync), _held = _scattered(
        cell.seed, lambda: _ours(block, adapter, images), lambda: bare.loop(block, folder))
    _start(block, adapter, workload, images, emit)
    for turn in range(cell.steps + 1):
        ours = _our_block(block, workload, batches)
        theirs = _bare_block(block, step, sync)
        if turn:                                  # the first turn warms both up
            emit("harness", reported=ours[0], wall=ours[1], bare=theirs, steps=block.steps)


def _ours(block, adapter: "contract.Adapter", images):
    """Our workload and its batches."""
    workload = _workload(block, adapter)
    return workload, _batches(block, workload, images)


def _scattered(seed: int, *builders):
    """What each builder returns, and what must be held as long as that is used: blocks of memory of drawn sizes.

    Where arrays happen to lie moves a step's time (spec.placement): one process of torch-1.7 said 0.86 to 1.16 for our
    loop over a bare one. So each is built after blocks whose sizes are drawn from the seed: over processes of different
    seeds places average out, and the geometric mean of that ratio was 1.00. The first is built first by even seeds,
    last by odd ones: an order drawn from each seed had ours first in four of the seeds 0 to 4.
    """
    random = Random(seed)
    held, built = [], {}
    for index in sorted(range(len(builders)), reverse=seed % 2 == 1):
        held += placement.blocks(random)
        built[index] = builders[index]()
    return [built[index] for index in range(len(builders))] + [held]


def _our_block(block, workload: contract.Workload, batches):
    """Seconds of a block by its samples and by the wall."""
    samples = []
    steps, value = getattr(workload, block.measure), workload.value if block.measure == "train" else None
    watch = Watch(block, workload.sync, value, lambda event, seconds=(), **values: samples.extend(seconds))
    began = time.perf_counter()
    steps(batches, block.steps, watch)
    return sum(samples), time.perf_counter() - began


def _bare_block(block, step, sync):
    began = time.perf_counter()
    for _ in range(block.steps):
        sync(step())
    return time.perf_counter() - began


MEASURES = {"train": train, "infer": infer, "epochs": epochs, "phases": phases, "operators": operators,
            "kernels": kernels, "graph": graph, "check": check, "prefill": generate, "decode": generate}
MEASURES.update(dict.fromkeys(PARTS_OF, parts))
OWN_MEASURES = {"train": train, "infer": infer, "step": infer, "check": own_check, "parts": parts, "parts_infer": parts}
SEQUENCE_MEASURES = dict(MEASURES, epochs=sequence_epochs, check=sequence_check)
