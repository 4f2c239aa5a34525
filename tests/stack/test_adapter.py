"""An adapter against the numpy reference: python -m tests.stack test_adapter pytorch [Equality ...]."""
import itertools
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from tests.stack import adapter, is_of, part, setUpModule  # noqa: F401  skips
from workloads.frameworks import contract, numpy
from workloads.inputs import images as data
from workloads.inputs import passes, records
from workloads.inputs import weights as initial
from workloads.measuring import epochs, matrix_products, watch
from workloads.process import errors
from workloads.profiles import walls
from workloads.spec import layers, tasks
from workloads.spec.cell import Cell
from workloads.spec.layers import Act, Conv, Dense, Dropout, Encoder, Flatten, Norm, Pool, Residual, Tokens

FORWARD = 1e-10        # relative, float64
BACKWARD = 1e-6        # TensorFlow rounds its loss to float32
LOOPS = ("eager", "graph", "fit", "xla", "compile")

# every layer with each of its forms, small enough to move every array and look at the loss
EVERY_LAYER = (
    Conv(4, (3, 3), 2, (1, 1), bias=True), Act("tanh"),
    Conv(8, (1, 3), 1, (0, 1), groups=2), Norm(1e-3, 0.8), Act("swish"),
    Residual((Conv(8, (3, 3), 1, (1, 1), groups=8), Norm()), (Conv(8, (1, 1)), Norm())), Act("relu6"),
    Residual((layers.SqueezeExcite(2, "swish"), Conv(8, (5, 5), 1, (2, 2)), Norm())), Act(),
    layers.Branch(((Pool("mean", 3, 1, pad=1), Conv(2, (1, 1))), (Pool("max", 3, 1, pad=1),), (
        Conv(4, (1, 1), bias=True), layers.Branch(((Conv(2, (3, 1), 1, (1, 0)),), (Conv(2, (1, 3), 1, (0, 1)),)))))),
    Pool("max", 3, 2, pad=1), Residual((layers.SqueezeExcite(3, "relu"), Norm())), Act("sigmoid"), Pool("mean", 2, 2),
    Dropout(0.5), Flatten(), Dense(6), Act(), Dropout(0.5), Dense(4),
)
# a float64 training cell that differs from it by the changes
cell_of = Cell(stack="here", task="lenet5", measure="check", batch=3, image=32, classes=4, cpus=1, precision="float64",
               learning_rate=0.05)._replace
POOLED = (Conv(4, (3, 3)), Norm(), Act(), layers.GlobalPool(), Flatten(), Dense(4))
TOKENS = (Conv(8, (8, 8), 8, bias=True), Tokens(), Encoder(2, 12), Encoder(4, 6, "tanh", 1e-5), layers.LayerNorm(),
          layers.First(), Dense(4))


def varied(parameters, precision="float64"):
    """Weights in which no array is constant, so that none can stand for another; float32 but for float64."""
    return initial.with_vectors(initial.seeded(parameters, 5, "float64" if precision == "float64" else "float32"), 5)


def built(table, cell):
    """The adapter's workload, the reference and their common weights."""
    weights = varied(layers.parameters(table, tasks.input_shape(cell.image)), cell.precision)
    workload, reference = adapter.Workload(table, cell), numpy.Workload(table, cell)
    workload.load(weights)
    reference.load(weights)
    return workload, reference, weights


def seeded(cell, table=None):
    """The workload with seeded weights, and its batches; of another table than its task's, if there is one."""
    table = table or tasks.table(cell.task, cell.classes)
    workload = adapter.Workload(table, cell)
    workload.load(initial.seeded(layers.parameters(table, tasks.input_shape(cell.image)), cell.seed))
    return workload, workload.synthetic(*data.synthetic(cell).inputs)


def updated(weights, gradients, cell):
    """The weights after one update for each dict of gradients; weight decay is an L2 term in it, but adamw's."""
    after, first, second = dict(weights), {}, {}
    for step, gradient in enumerate(gradients, 1):
        for name, array in gradient.items():
            shrunk = cell.optimizer == "adamw"
            slope = array if shrunk else array + cell.weight_decay * after[name]
            if cell.optimizer == "momentum":
                slope = first[name] = 0.9 * first.get(name, 0.0) + slope
            elif cell.optimizer in ("adam", "adamw"):
                first[name] = 0.9 * first.get(name, 0.0) + 0.1 * slope
                second[name] = 0.999 * second.get(name, 0.0) + 0.001 * slope ** 2
                slope = first[name] / (1 - 0.9 ** step) / (np.sqrt(second[name] / (1 - 0.999 ** step)) + 1e-8)
            kept = 1 - cell.learning_rate * cell.weight_decay if shrunk else 1
            after[name] = kept * after[name] - cell.learning_rate * slope
    return after


class Watch(contract.Watch):
    """Keeps what train and infer hand over, the order of the calls, and the last step's phases."""

    def __init__(self):
        self.handles, self.calls, self.phases = [], [], None

    def loading(self):
        self.calls.append("loading")

    def loaded(self):
        self.calls.append("loaded")

    def stepped(self, handle, phases=None):
        self.calls.append("stepped")
        self.handles.append(handle)
        self.phases = phases


def taken(workload, measure, batches, count):
    """The values of so many steps of a measure."""
    watch = Watch()
    getattr(workload, measure)(batches, count, watch)
    return [workload.value(handle) for handle in watch.handles]


class AdapterCase(unittest.TestCase):
    """Comparisons of arrays by their greatest difference, relative to the greatest value."""

    def tried(self, make, *arguments):
        """What make gives, None where the stack refuses it with a reason."""
        try:
            return make(*arguments)
        except errors.Unsupported as reason:
            self.assertGreater(len(str(reason)), 10)
            return None

    def assert_close(self, expected, found, tolerance, what):
        expected, found = np.asarray(expected, np.float64), np.asarray(found, np.float64)
        self.assertEqual(expected.shape, found.shape, what)
        difference = np.abs(expected - found).max() / max(np.abs(expected).max(), 1e-30)
        self.assertLessEqual(difference, tolerance, what)

    def assert_all_close(self, expected, found, tolerance):
        self.assertEqual(sorted(expected), sorted(found))
        for name in expected:
            self.assert_close(expected[name], found[name], tolerance, name)


class Equality(AdapterCase):
    """A table of every layer: logits, activations, loss, gradients, one update."""

    def check(self, table, cell):
        workload, reference, weights = built(table, cell)
        sample = data.synthetic(cell)
        self.assert_close(reference.logits(sample.images), workload.predict(sample.images), FORWARD, "predict")
        found = workload.check(sample.images, sample.labels)
        activations = reference.activations(sample.images)
        paths = [leaf.path for leaf in layers.leaves(table, tasks.input_shape(cell.image))]
        self.assertEqual(sorted(paths), sorted(found["activation"]))
        self.assert_all_close(activations, found["activation"], FORWARD)
        last = paths[-1]
        self.assert_close(activations[last], found["logits"], FORWARD, "logits")
        loss = numpy.model.cross_entropy(activations[last], sample.labels)
        self.assert_close(loss, found["loss"], BACKWARD, "loss")
        self.assert_slope(reference, weights, found["gradient"], sample)
        parameters = layers.parameters(table, tasks.input_shape(cell.image))
        self.assertEqual(sorted(p.name for p in parameters if p.is_trainable), sorted(found["gradient"]))
        expected = updated(weights, [found["gradient"]], cell)
        expected.update(self.statistics(table, cell, weights, found["activation"]))
        self.assert_all_close(expected, found["weight"], BACKWARD)
        self.assert_all_close(found["weight"], workload.weights(), 0.0)
        return workload, reference, weights, found, sample

    def assert_slope(self, reference, weights, gradient, sample, names=None):
        """Along the gradient the reference's loss rises by its norm."""
        names = sorted(gradient) if names is None else names
        norm = np.sqrt(sum(np.sum(gradient[name] ** 2) for name in names))
        step = 1e-6 / (max(norm, 1e-3) * max(norm, 1.0))        # a steep loss also bends soon
        losses = []
        for sign in (1, -1):
            moved = {name: weights[name] + sign * step * gradient[name] for name in names}
            reference.load(dict(weights, **moved))
            losses.append(reference.loss(sample.images, sample.labels))
        reference.load(weights)
        slope = (losses[0] - losses[1]) / (2 * step)
        self.assertLessEqual(abs(slope - norm ** 2), 1e-5 * norm ** 2 + 1e-9, names)

    def statistics(self, table, cell, weights, activations):
        """The running mean and variance after one batch."""
        after = {}
        for place in layers.leaves(table, tasks.input_shape(cell.image)):
            if isinstance(place.layer, Norm):
                head, _, index = place.path.rpartition(".")           # never a table's first
                x = activations[layers.join(head, int(index) - 1)]
                values = x.size // x.shape[1]
                scale = values / (values - 1.0) if adapter.unbiased_variance(cell) else 1.0
                decay, mean, variance = place.layer.decay, place.path + ".mean", place.path + ".variance"
                after[mean] = decay * weights[mean] + (1 - decay) * x.mean(axis=(0, 2, 3))
                after[variance] = decay * weights[variance] + (1 - decay) * scale * x.var(axis=(0, 2, 3))
        return after

    def test_every_layer_in_every_layout_or_it_is_refused_with_a_reason(self):
        for table, image in ((EVERY_LAYER, 32), (POOLED, 9), (TOKENS, 16)):
            for layout in ("best", "nhwc", "nchw"):
                try:
                    workload, reference, weights, found, sample = self.check(table, cell_of(image=image, layout=layout))
                except errors.Unsupported as reason:
                    self.assertGreater(len(str(reason)), 10)
                    self.assertTrue(layout != "best" or table is TOKENS, reason)
                    continue
                if layout != "best":
                    self.assertEqual(layout, workload.layout)
                    continue
                for name in found["gradient"]:
                    self.assert_slope(reference, weights, found["gradient"], sample, [name])

    def test_what_only_infers_has_the_same_weights_and_gives_what_the_reference_evaluates(self):
        for table, image in ((EVERY_LAYER, 32), (TOKENS, 16)):
            cell = cell_of(measure="infer", image=image)
            workload, reference, weights = built(table, cell)
            images = data.synthetic(cell).images
            self.assert_close(reference.logits(images), workload.predict(images), FORWARD, "logits")
            self.assert_all_close(weights, workload.weights(), 0)


class Definition(AdapterCase):
    """What would be a different model is seen to differ, and what is counted is the published count."""

    def assert_differs(self, wrong, right, cell, least=1e-6, changed=lambda weights: weights):
        weights = varied(layers.parameters(right, tasks.input_shape(cell.image)))
        workload, reference = adapter.Workload(wrong, cell), numpy.Workload(right, cell)
        workload.load(changed(weights))
        reference.load(weights)
        images = data.synthetic(cell).images
        expected, found = reference.logits(images), workload.predict(images)
        self.assertEqual(expected.shape, found.shape)
        self.assertGreater(np.abs(expected - found).max() / np.abs(expected).max(), least)

    def test_v1s_stride_in_v15_and_another_epsilon_are_seen(self):
        self.assert_differs(tasks.table("resnet50_v1", 4), tasks.table("resnet50", 4), cell_of(task="resnet50"))
        self.assert_differs((*POOLED[:1], Norm(1e-3), *POOLED[2:]), POOLED, cell_of(image=9))

    def test_padding_as_keras_calls_same_is_seen(self):
        """It pads a 3x3 convolution of stride 2 by 0 and 1, like a 4x4 one padded by 1 with zeros in front."""
        def wider(weights):
            padded = np.pad(weights["0.weight"], ((0, 0), (0, 0), (1, 0), (1, 0)), "constant")
            return dict(weights, **{"0.weight": padded})
        rest = Act("relu"), Flatten(), Dense(4)
        self.assert_differs((Conv(6, (4, 4), 2, (1, 1)), *rest), (Conv(6, (3, 3), 2, (1, 1)), *rest), cell_of(image=8),
                            1e-3, wider)

    def test_nets_have_their_published_parameter_counts(self):
        for task, classes, count in (("lenet5", 10, 62006), ("resnet18", 1000, 11689512)):
            workload = adapter.Workload(tasks.table(task, classes), cell_of(task=task, classes=classes))
            self.assertEqual(count, workload.parameters())


class Weights(AdapterCase):
    """What is loaded comes back, and the framework's own initialisation stays where nothing is loaded."""

    def test_weights_come_back_as_they_were_loaded(self):
        for precision in ("float64", "float32"):
            weights = initial.seeded(layers.parameters(EVERY_LAYER, (3, 32, 32)), 5, precision)
            workload = adapter.Workload(EVERY_LAYER, cell_of(precision=precision))
            workload.load(weights)
            found = workload.weights()
            self.assertEqual({np.dtype(precision)}, {array.dtype for array in found.values()})
            self.assert_all_close(weights, found, 0.0)

    def test_weights_that_came_back_do_not_change_with_training(self):
        workload, _, weights = built(EVERY_LAYER, cell_of())
        before = workload.weights()
        workload.train(workload.synthetic(*data.synthetic(cell_of()).inputs), 1, Watch())
        self.assert_all_close(weights, before, 0.0)

    def test_a_workload_that_loaded_nothing_has_the_frameworks_own_weights(self):
        workload = adapter.Workload(EVERY_LAYER, cell_of(init="framework"))
        parameters = layers.parameters(EVERY_LAYER, (3, 32, 32))
        found = workload.weights()
        self.assertEqual({p.name: p.shape for p in parameters}, {name: a.shape for name, a in found.items()})
        self.assertGreater(np.std(found["0.weight"]), 0.0)


class Steps(AdapterCase):
    """Training and inference by the adapter's own loops."""

    def training(self):
        """(a workload that trains LeNet-5, one batch of it over and over)."""
        cell = cell_of(measure="train")
        workload = built(tasks.table("lenet5", cell.classes), cell)[0]
        return workload, workload.synthetic(*data.synthetic(cell).inputs)

    def test_training_lowers_the_loss(self):
        workload, batches = self.training()
        losses = taken(workload, "train", batches, 30)
        self.assertEqual({float}, {type(loss) for loss in losses})
        self.assertLess(losses[-1], 0.5 * losses[0])

    def test_training_is_over_the_pipelines_batches_in_order(self):
        (workload, _), (checking, _) = self.training(), self.training()
        sample = data.synthetic(cell_of(batch=6))
        losses = taken(workload, "train", workload.batches(*sample.inputs), 2)
        checked = [checking.check(sample.images[i:i + 3], sample.labels[i:i + 3])["loss"] for i in (0, 3)]
        self.assert_close(checked, losses, BACKWARD, "losses")

    def test_the_framework_s_own_loader_reads_the_files_in_their_order_over_and_over(self):
        cell = cell_of(measure="train", input="loader", data="digits32", image=40)
        sample = data.synthetic(cell_of(batch=9, image=32))
        with tempfile.TemporaryDirectory() as folder:
            for number, some in enumerate((slice(0, 5), slice(5, 9), *[slice(0, 0)] * 3), 1):
                content = np.concatenate([sample.labels[some, None].astype(np.uint8),
                                          sample.images[some].reshape(-1, 3 * 32 * 32)], 1)
                content.tofile(str(Path(folder) / ("data_batch_%d.bin" % number)))
            read = records.found(folder, cell).part(1, 2)                  # images 1, 3, 5, 7: a batch of three a pass
            workload, losses = built(tasks.table("lenet5", cell.classes), cell)[0], Watch()
            try:
                workload.train(workload.loaded(read), 2, losses)
            except errors.Unsupported as reason:
                self.skipTest(reason)
        workload.sync(losses.handles[-1])
        checking = built(tasks.table("lenet5", cell.classes), cell)[0]
        images = data.scaled(sample.images[[1, 3, 5]], cell.image)
        checked = [checking.check(images, sample.labels[[1, 3, 5]])["loss"] for _ in range(2)]
        self.assert_close(checked, [workload.value(handle) for handle in losses.handles], BACKWARD, "losses")

    def test_each_step_tells_the_watch(self):
        (workload, batches), watch = self.training(), Watch()
        workload.train(batches, 3, watch)
        self.assertEqual(3, watch.calls.count("stepped"))
        self.assertIn(watch.calls[:3], (["loading", "loaded", "stepped"], ["stepped"] * 3))

    def test_the_parts_of_profiled_steps_add_up_to_them_within_a_tenth(self):
        for measure in ("train", "infer")[:1 if is_of("mxnet") else 2]:      # its profiler is set up once in a process
            cell = cell_of(measure=measure, batch=16, warmup=3, steps=5)
            workload, sample = built(tasks.table("lenet5", cell.classes), cell)[0], data.synthetic(cell)
            try:
                recorded = watch.Recorded(cell, workload.recorder(), workload.sync)
            except errors.Unsupported as reason:
                self.skipTest(reason)
            with self.assertRaises(watch.Over):
                getattr(workload, measure)(workload.synthetic(sample.images, sample.labels), watch.ENDLESS, recorded)
            spent = walls.walls(recorded.operators)
            self.assertAlmostEqual(1.0, sum(spent.values()) / recorded.seconds, delta=0.1, msg=measure)
            self.assertGreater(len(walls.of_operators(recorded.operators)), 3 * cell.steps)

    def test_training_can_be_continued(self):
        workload, batches = self.training()
        parts = taken(workload, "train", batches, 2) + taken(workload, "train", batches, 3)
        whole, batches = self.training()
        self.assert_close(taken(whole, "train", batches, 5), parts, BACKWARD, "losses")

    def test_inference_gives_the_logits_of_predict_and_changes_nothing(self):
        workload, _, weights = built(EVERY_LAYER, cell_of(measure="infer"))
        sample = data.synthetic(cell_of(batch=6))
        first, second, again = taken(workload, "infer", workload.batches(*sample.inputs), 3)
        expected = workload.predict(sample.images)
        self.assert_close(expected, np.concatenate([first, second]), FORWARD, "logits")
        self.assert_close(first, again, FORWARD, "logits of the first batch, again")
        self.assert_all_close(weights, workload.weights(), 0.0)

    def test_predict_takes_more_images_than_a_batch_and_a_rest(self):
        workload, reference, _ = built(EVERY_LAYER, cell_of())
        images = data.synthetic(cell_of(batch=7)).images
        self.assert_close(reference.logits(images), workload.predict(images), FORWARD, "logits")

    def test_dropout_acts_in_training_only(self):
        table = (Flatten(), Dropout(0.5), Dense(4))
        workload, reference, _ = built(table, cell_of(measure="train", learning_rate=0.0))
        sample = data.synthetic(cell_of())
        self.assertEqual(3, len(set(taken(workload, "train", workload.synthetic(*sample.inputs), 3))))
        self.assert_close(reference.logits(sample.images), workload.predict(sample.images), FORWARD, "logits")

    def test_the_bare_loop_trains_and_infers(self):
        cell = cell_of(measure="train", precision="float32")
        workload = adapter.Workload(tasks.table("lenet5", cell.classes), cell)     # the process's settings

        def values(measure, count):
            step, sync = part("bare").loop(cell._replace(measure=measure))
            handles = []
            for _ in range(count):
                handles.append(step())
                sync(handles[-1])
            return [workload.value(handle) for handle in handles]

        losses, logits = values("train", 30), values("infer", 2)
        self.assertLess(losses[-1], losses[0])
        self.assertEqual((3, 4), logits[0].shape)
        self.assert_close(logits[0], logits[1], 0.0, "logits of the same batch, again")

    def test_a_task_that_no_peer_has_is_refused_with_a_reason(self):
        with self.assertRaisesRegex(errors.Unsupported, "no peer for alexnet: it is for"):
            part("bare").loop(cell_of(measure="train", task="alexnet"))


class Epochs(AdapterCase):
    """Passes over images: the order and the moves drawn in numpy, the framework's own shuffling, whole epochs."""

    def losses(self, cell, sample, steps):
        """Those of training steps that change nothing: what each batch held."""
        workload, reference, _ = built(tasks.table("lenet5", cell.classes), cell)
        batches = workload.passes(*sample.inputs, passes.drawn(cell, len(sample.labels)))
        return taken(workload, "train", batches, steps), reference

    def test_every_pass_is_in_the_order_and_every_image_is_moved_as_was_drawn(self):
        for augment in ("none", "flip_crop"):
            cell = cell_of(measure="epochs", epochs=2, learning_rate=0.0, augment=augment)
            sample = data.synthetic(cell._replace(batch=7))
            found, reference = self.losses(cell, sample, 4)
            ahead, around = passes.drawn(cell, 7), passes.padded(sample.images)
            expected = []
            for index, first in itertools.product(range(2), (0, 3)):
                numbers = ahead.orders[index][first:first + 3]
                images = sample.images[numbers]
                if ahead.moves is not None:
                    images = np.stack([passes.moved(around[number], ahead.moves[index][first + place], cell.image)
                                       for place, number in enumerate(numbers)])
                expected.append(reference.loss(images, sample.labels[numbers]))
            self.assertEqual(4, len(set(expected)))
            self.assert_close(expected, found, BACKWARD, "losses of " + augment)

    def shuffled(self, **changes):
        """(losses of each image by itself, of pass one, of pass two) by the framework's own shuffling."""
        cell = cell_of(measure="epochs", epochs=2, learning_rate=0.0, batch=1, order="framework", **changes)
        sample = data.synthetic(cell._replace(batch=8))
        found, reference = self.losses(cell, sample, 16)
        return self.each_loss(reference, sample), found[:8], found[8:]

    def each_loss(self, reference, sample):
        return [reference.loss(sample.images[i:i + 1], sample.labels[i:i + 1]) for i in range(8)]

    def test_the_framework_s_own_order_takes_every_image_once_a_pass_and_differs_between_passes(self):
        each, first, second = self.shuffled()
        for found in (first, second):
            self.assert_close(sorted(each), sorted(found), BACKWARD, "losses")
        self.assertNotEqual(first, second)
        self.assertGreater(np.abs(np.array(each) - first).max(), 1e-3)

    def test_the_framework_s_own_order_is_the_seed_s(self):
        self.assert_close(self.shuffled()[1], self.shuffled()[1], BACKWARD, "losses")
        self.assertGreater(np.abs(np.array(self.shuffled()[1]) - self.shuffled(seed=2)[1]).max(), 1e-3)

    def test_images_move_in_the_framework_s_own_order_too(self):
        each, first, _ = self.shuffled(augment="flip_crop")
        self.assertEqual(8, len(set(first)))
        self.assertGreater(np.abs(np.sort(each) - np.sort(first)).max(), 1e-3)

    def test_a_training_s_steps_may_be_in_the_framework_s_own_order(self):
        cell = cell_of(measure="train", learning_rate=0.0, batch=1, order="framework")
        workload, reference, _ = built(tasks.table("lenet5", cell.classes), cell)
        sample = data.synthetic(cell._replace(batch=8))
        each, found = self.each_loss(reference, sample), taken(workload, "train", workload.batches(*sample.inputs), 8)
        self.assert_close(sorted(each), sorted(found), BACKWARD, "losses")
        self.assertGreater(np.abs(np.array(each) - found).max(), 1e-3)

    def course(self, **changes):
        """The epoch events of two epochs of three steps."""
        cell = cell_of(measure="epochs", epochs=2, **changes)
        workload = built(tasks.table("lenet5", cell.classes), cell)[0]
        sample, told = data.synthetic(cell._replace(batch=10)), []
        steps = epochs.Course(cell, workload, data.synthetic(cell._replace(batch=5, seed=2)), 3,
                              lambda event, **values: told.append(values))
        epochs.follow(steps, workload.passes(sample.images, sample.labels, passes.drawn(cell, 10)))
        return told

    def test_an_epoch_learns_times_and_validates(self):
        first, second = self.course()
        self.assertLess(second["loss"], first["loss"])
        self.assertEqual([5, 5], [int(np.sum(epoch["confusion"])) for epoch in (first, second)])
        self.assertGreater(first["train_seconds"] * first["validation_seconds"], 0.0)

    def test_fit_that_drives_the_epochs_itself_learns_alike_or_is_refused_with_a_reason(self):
        try:
            found = self.course(loop="fit")
        except errors.Unsupported as reason:
            self.skipTest(reason)
        own = self.course()
        self.assert_close([epoch["loss"] for epoch in own], [epoch["loss"] for epoch in found], 1e-5, "losses")
        self.assertEqual([epoch["confusion"] for epoch in own], [epoch["confusion"] for epoch in found])


class Optimizers(AdapterCase):
    """Two updates, so that what an optimizer remembers is seen."""

    def test_every_optimizer_with_and_without_weight_decay(self):
        for (precision, limit), optimizer, weight_decay in itertools.product(
                (("float64", BACKWARD), ("float32", 1e-4)), ("sgd", "momentum", "adam", "adamw"), (0.0, 0.1)):
            cell = cell_of(image=9, optimizer=optimizer, weight_decay=weight_decay, precision=precision)
            workload, _, weights = built(POOLED, cell)
            sample = data.synthetic(cell)
            found = [workload.check(sample.images, sample.labels) for _ in range(2)]
            expected = updated(weights, [each["gradient"] for each in found], cell)
            for name in found[0]["gradient"]:
                self.assert_close(expected[name], found[1]["weight"][name], limit,
                                  "%s %s %s" % (name, precision, optimizer))


class Switches(AdapterCase):
    """What a stack cannot do is said with a reason; what it does is said and right."""

    def workload(self, **changes):
        cell = cell_of(**changes)
        return self.tried(built, tasks.table("lenet5", cell.classes), cell)

    def test_every_loop_trains_alike_or_is_refused_with_a_reason(self):
        wanted = cell_of(measure="train", precision="float32")
        sample, trained = data.synthetic(wanted), {}
        for loop in ("native", *LOOPS):
            found = self.workload(measure="train", precision="float32", loop=loop, optimizer="momentum")
            if found:
                trained[loop] = taken(found[0], "train", found[0].synthetic(*sample.inputs), 3)
                self.assertIsInstance(found[0].loop, str)
        self.assertIn("native", trained)
        for loop in trained:
            self.assert_close(trained["native"], trained[loop], 1e-4, loop)

    def test_a_tuned_cell_of_a_gpu_that_is_not_there_is_refused_with_a_reason(self):
        settings = part("settings")
        cell = cell_of(measure="train", precision="float32", loop="tuned", device="gpu")
        with self.assertRaises(errors.Unsupported) as refused:
            tuned = settings.tuned(cell, ())
            built(tasks.table("lenet5", tuned.classes), tuned)
            self.skipTest("a GPU is here")
        self.assertGreater(len(str(refused.exception)), 10)

    def test_every_loop_ends_when_the_watch_has_enough(self):
        cell = cell_of(measure="train", precision="float32", seconds=0.02, steps=3, warmup=1)
        sample = data.synthetic(cell)
        for loop in ("native", "fit"):
            found = self.workload(measure="train", precision="float32", loop=loop)
            if found:
                told = []
                watching = watch.Watch(cell, found[0].sync, found[0].value,
                                       lambda event, told=told, **values: told.append((event, values)))
                with self.assertRaises(watch.Over):
                    found[0].train(found[0].synthetic(sample.images, sample.labels), watch.ENDLESS, watching)
                timed = [seconds for event, values in told if event == "steps" for seconds in values["seconds"]]
                self.assertGreaterEqual((len(timed), sum(timed)), (3, 0.02 if len(timed) == 3 else 0.0))

    def test_the_losses_that_fit_tells_hold_after_very_many_steps(self):
        steps = sys.modules.get("workloads.frameworks.tensorflow.images_v2")
        if steps is None or not hasattr(steps.keras.Model, "train_step"):
            self.skipTest("its own loop tells each batch's loss")
        losses = np.random.RandomState(1).uniform(0.25, 0.35, 200000).astype(np.float32)
        told, total = [], np.float32(0)                          # a running mean, as Keras has it: in float32
        callback = steps._Stepped(SimpleNamespace(stepped=told.append))
        for index, loss in enumerate(losses):
            total += loss
            callback.on_train_batch_end(index, {"loss": total / np.float32(index + 1)})
        self.assert_close(losses[:3], [handle.last() for handle in told[:3]], 1e-5, "first")
        self.assert_close(losses[-200:].mean(dtype=np.float64), told[-1].last(), 5e-3, "mean of the last 200")

    def test_a_precision_computes_nearly_the_same_or_is_refused_with_a_reason(self):
        images = data.synthetic(cell_of()).images
        for changes, limit in (({"precision": "amp"}, 0.05), ({"precision": "float32"}, 1e-5),
                               ({"precision": "float32", "onednn": "off"}, 1e-4)):
            found = self.workload(**changes)
            self.assertTrue(found or changes != {"precision": "float32"})
            if found:
                self.assert_close(found[1].logits(images), found[0].predict(images), limit, "logits")
        self.assertIsNone(self.workload(precision="tf32"), "on a CPU")

    def test_what_took_effect_is_said(self):
        workload = self.workload()[0]
        self.assertEqual("float64", workload.precision)
        self.assertIn(workload.layout, ("nchw", "nhwc"))

    def test_facts_are_observed(self):
        self.workload(cpus=1)
        facts = adapter.facts(cell_of(cpus=1))
        self.assertEqual(adapter.NAME, facts["framework"])
        self.assertEqual(1, facts["threads"])
        self.assertLessEqual({"version", "device", "inter_op_threads", "onednn", "build"}, set(facts))

    @unittest.skipUnless(is_of("tensorflow"), "only TensorFlow is told how many operations may run at once")
    def test_tensorflow_may_run_as_many_operations_at_once_as_it_has_cpus_and_one_more_with_others(self):
        for cpus, changes, count in (
                (3, {}, 3), (3, {"parallel": "allreduce", "nodes": 2}, 3), (3, {"measure": "operators"}, 1),
                (1, {"parallel": "allreduce", "nodes": 3}, 2), (1, {"parallel": "horovod", "nodes": 3}, 2),
                (1, {"parallel": "async", "nodes": 3}, 4)):
            self.assertEqual(count, adapter.settings.inter_op_threads(cell_of(cpus=cpus, **changes)))

    @unittest.skipUnless(is_of("pytorch"), "only PyTorch has a door to the device's clock")
    def test_pytorch_s_device_clock_gives_the_seconds_between_marks_and_forgets_them(self):
        from workloads.frameworks.pytorch.profiling.device_clock import DeviceClock

        moments = [3.0, 10.0, 12.5, 20.0, 21.0]

        class Event:
            """A CUDA event that is recorded at the next of these milliseconds."""

            def record(self):
                self.moment = moments.pop(0)

            def elapsed_time(self, after):
                return after.moment - self.moment

        clock = DeviceClock(Event)
        for count, expected in ((3, [0.007, 0.0025]), (1, []), (1, [])):
            for _ in range(count):
                clock.mark()
            self.assertEqual(expected, clock.seconds())

    def test_out_of_memory_is_told_from_other_errors(self):
        self.assertTrue(adapter.is_oom(MemoryError()))
        self.assertFalse(adapter.is_oom(ValueError("shapes differ")))


class Products(unittest.TestCase):
    """The matrix product that rates are held against: told raw, as many times as the clock needs."""

    def events(self, precision):
        """What a product of this precision sends, by the smallest of its sizes."""
        sent = []
        cell = cell_of(measure="product", precision=precision, memory_bytes=2 ** 27)
        matrix_products.measure(cell, adapter, lambda event, **values: sent.append(dict(values, event=event)))
        return sent

    def test_products_of_both_kinds_of_numbers_are_told(self):
        for precision in ("float32", "float64"):
            start, *blocks = self.events(precision)
            self.assertEqual("start", start["event"])
            self.assertEqual([(precision, 512)], [(block["numbers"], block["size"]) for block in blocks])
            self.assertTrue(all(seconds > 0 for block in blocks for seconds in block["seconds"]))

    def test_amp_is_held_against_the_faster_of_its_two_kinds_of_numbers(self):
        numbers = {block["numbers"] for block in self.events("amp")[1:]}
        self.assertIn("float32", numbers)
        self.assertLessEqual(numbers, {"bfloat16", "float32"})
