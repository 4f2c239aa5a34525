"""The sequence models and their LSTM layers; the LSTM against the numpy reference. ADAPTER may be library, too.

That two stacks compute the same is shown by `evenbench check`.
"""
import unittest

import numpy as np

from tests.stack import is_of, part, setUpModule, test_adapter  # noqa: F401  skips
from tests.stack.test_adapter import Watch, taken, varied
from workloads.frameworks.numpy import recurrent
from workloads.inputs import sequence_batches
from workloads.process import errors
from workloads.spec import sequence_tasks
from workloads.spec.cell import SWITCHES, Cell

adapter = part("sequences")
LSTMS = SWITCHES["lstm"]
LOOPS = ("native", "eager", "graph", "xla", "compile")


# a float64 training cell that differs from it by the changes
cell_of = Cell(stack="here", task="lstm", measure="train", batch=3, cpus=1, precision="float64", length=5, hidden=4,
               warmup=0, steps=3, learning_rate=0.05, optimizer="momentum")._replace


def built(cell):
    """The workload with weights of which no array is constant, those weights, and what the cell reads."""
    workload = adapter.Workload(cell)
    weights = varied(sequence_tasks.parameters(cell), cell.precision)
    workload.load(weights)
    return workload, weights, sequence_batches.read(None, cell)


def has_no_gradient(name, weights):
    """Whether it is zero by its formula: a key's bias adds the same to all scores of a query, which a softmax does not
    see, and a bias right before a normalisation moves the mean that this takes away."""
    return name.endswith(".attention.key.bias") or (name.endswith(".bias") and name[:-4] + "norm.mean" in weights)


class SequenceCase(test_adapter.AdapterCase):
    """Workloads of cells that a stack may refuse."""

    def workload(self, **changes):
        """What built gives, None where the stack refuses the cell with a reason."""
        return self.tried(built, cell_of(**changes))


class Layer(SequenceCase):
    """The lstm task by every kind of LSTM, against numpy."""

    def test_every_kind_computes_the_lstm_or_is_refused_with_a_reason(self):
        done = []
        for kind in LSTMS:
            for precision, limit in (("float64", 1e-12), ("float32", 1e-5)):
                found = self.workload(lstm=kind, precision=precision)
                if found:
                    workload, weights, given = found
                    expected = recurrent.lstm(weights, "lstm", given.batches[0]["x"])
                    self.assert_close(expected, workload.check(given.batches[0])["activation"]["lstm"], limit,
                                      kind + " " + precision)
                    done.append(kind)
        self.assertIn("native", done)
        self.assertIn("cudnn", done)

    def test_every_kind_has_the_gradients_of_native(self):
        for kind in LSTMS[1:]:
            found, native = (self.workload(lstm=each, precision="float32") for each in (kind, "native"))
            if found:
                ours, theirs = (each[0].check(each[2].batches[0]) for each in (found, native))
                for name in theirs["gradient"]:
                    self.assert_close(theirs["gradient"][name], ours["gradient"][name], 2e-5, kind + " " + name)
                    self.assert_close(theirs["weight"][name], ours["weight"][name], 1e-5, kind + " " + name)

    def test_what_ran_is_said(self):
        said = {kind: found[0].kernels()["lstm"] for kind, found in
                ((kind, self.workload(lstm=kind, precision="float32")) for kind in LSTMS) if found}
        self.assertTrue(said.get("cell", "not seen").startswith(("plain operations", "not seen")), said)
        self.assertTrue(all(said.values()), said)
        if is_of("mxnet"):                             # one operator, which native packs its vector for in each step
            self.assertEqual(("RNN", "RNN, packed once"), (said["native"], said["cudnn"]))

    def test_the_bias_s_gradient_is_the_difference_quotient(self):
        found = self.workload()
        if not found:
            self.skipTest("no float64 here")
        workload, weights, given = found
        gradient = workload.check(given.batches[0])["gradient"]["lstm.bias"]
        for at in (0, 5, 10, 15):            # one of each gate
            losses = []
            for change in (-1e-6, 1e-6):
                moved = dict(weights, **{"lstm.bias": weights["lstm.bias"] + change * (np.arange(16) == at)})
                losses.append(0.5 * np.mean(recurrent.lstm(moved, "lstm", given.batches[0]["x"]) ** 2))
            self.assertAlmostEqual((losses[1] - losses[0]) / 2e-6, gradient[at], delta=1e-8)

    def test_amp_computes_nearly_the_same_or_is_refused_with_a_reason(self):
        found = self.workload(precision="amp", measure="infer", steps=1)
        if found:
            workload, weights, given = found
            watch = Watch()
            workload.infer(workload.batches(*given.inputs), 1, watch)
            logits = np.asarray(workload.value(watch.handles[0]), np.float64)
            expected = recurrent.lstm(weights, "lstm", given.batches[0]["x"])
            self.assert_close(expected, logits, 0.05, "h")


@unittest.skipUnless(is_of("pytorch"), "only PyTorch's arrays are packed")
class Packed(SequenceCase):
    """What a GPU's layers are laid out as, tried on a CPU: PyTorch's in one buffer."""

    def packed(self, cell):
        """The workload of a cell with its layers packed."""
        workload = adapter.Workload(cell)
        workload._net.pack_lstms()
        own = part("settings")
        workload._optimize(own.optimizer(cell, [p for p in workload._net.parameters() if p.requires_grad]))
        return workload

    def test_a_packed_layer_computes_and_is_updated_as_a_plain_one(self):
        for task in ("lstm", "gnmt"):
            cell = cell_of(task=task)
            packed = self.packed(cell)
            plain, weights, given = built(cell)
            packed.load(weights)
            found, expected = (each.check(given.inputs[0][0]) for each in (packed, plain))
            for kind in ("gradient", "weight"):
                self.assertEqual(list(expected[kind]), list(found[kind]))
                for name in expected[kind]:
                    np.testing.assert_allclose(found[kind][name], expected[kind][name], rtol=1e-12, atol=1e-15)

    def test_the_second_bias_stays_zero_and_is_no_parameter(self):
        cell = cell_of()
        packed, (plain, weights, given) = self.packed(cell), built(cell)
        packed.load(weights)
        packed.train(packed.synthetic(given.inputs[0]), 3, Watch())
        self.assertEqual(0.0, float(packed._net.weights["lstm.recurrent.bias"].abs().max()))
        self.assertEqual(plain.parameters(), packed.parameters())
        self.assertEqual(sorted(weights), sorted(packed.weights()))


class _PlainCudnn:
    """What tf.raw_ops has for cuDNN's LSTM, computed by plain operations; keeps what it was told of training."""

    def __init__(self):
        self.told = []

    def CudnnRNNV2(self, input, input_h, input_c, params, rnn_mode, is_training):
        import tensorflow as tf
        self.told.append(is_training)
        inputs, hidden, state = int(input.shape[2]), int(input_h.shape[2]), (input_h[0], input_c[0])
        ends = np.cumsum([4 * hidden * inputs, 4 * hidden * hidden, 4 * hidden, 4 * hidden])
        first, second = (tf.reshape(part, (4 * hidden, -1)) for part in (params[:ends[0]], params[ends[0]:ends[1]]))
        bias, outs = params[ends[1]:ends[2]] + params[ends[2]:ends[3]], []
        for step in range(int(input.shape[0])):
            i, f, g, o = tf.split(tf.matmul(input[step], first, transpose_b=True)
                                  + tf.matmul(state[0], second, transpose_b=True) + bias, 4, 1)
            c = tf.sigmoid(f) * state[1] + tf.sigmoid(i) * tf.tanh(g)
            state = tf.sigmoid(o) * tf.tanh(c), c
            outs.append(state[0])
        return (tf.stack(outs),)


@unittest.skipUnless(is_of("tensorflow"), "TensorFlow's layer")
class CudnnVector(SequenceCase):
    """TensorFlow's layer for GPUs, which keeps cuDNN's vector, on a CPU."""

    def setUp(self):
        self.kernels = part("models.kernels")
        self.addCleanup(setattr, self.kernels, "raw", self.kernels.raw)
        self.kernels.raw = _PlainCudnn()

    def found(self, is_training):
        """(h (batch, time, numbers), the vector's gradient of half the mean square, the layer, weights, batch)."""
        import tensorflow as tf
        recurrent_layers, blocks = part("models.recurrent"), part("models.blocks")
        weights = varied(sequence_tasks.parameters(cell_of()), "float32")
        batch = sequence_batches.read(None, cell_of(precision="float32")).batches[0]
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            layer = recurrent_layers.layer("lstm", 4, 4, cell_of(precision="float32", lstm="cudnn", device="gpu"),
                                           "float32")
            stored, = layer.stored
            value = stored.native(*[weights[name] for name in stored.names])
            h = layer.whole(tf.constant(batch["x"].transpose(1, 0, 2)), blocks.Mode("cudnn", is_training))
            gradient, = tf.gradients(0.5 * tf.reduce_mean(h * h), [stored.variable])
            session.run(stored.variable.assign(value))
            h, gradient = session.run([h, tf.convert_to_tensor(gradient)])
        return h.transpose(1, 0, 2), gradient, stored, weights, batch

    def test_it_computes_the_lstm_from_canonical_arrays_and_gives_them_back(self):
        h, _, stored, weights, batch = self.found(is_training=True)
        self.assert_close(recurrent.lstm(weights, "lstm", batch["x"]), h, 1e-5, "h")
        for name, array in zip(stored.names, stored.canonical(stored.native(*[weights[n] for n in stored.names]))):
            np.testing.assert_array_equal(weights[name], array)

    def test_the_second_bias_has_no_gradient_and_the_others_are_those_of_plain_operations(self):
        _, gradient, stored, _, batch = self.found(is_training=True)
        self.assertEqual((16, 0.0), (stored.still, float(np.abs(gradient[-16:]).max())))
        workload, _, _ = built(cell_of(precision="float32", lstm="cell"))
        expected = workload.check(batch)["gradient"]
        for name, array in zip(stored.names, stored.canonical(gradient)):
            self.assert_close(expected[name], array, 1e-5, name)

    def test_inference_is_not_told_to_keep_what_a_backward_pass_wants(self):
        for is_training in (True, False):
            self.found(is_training)
            self.assertEqual(is_training, self.kernels.raw.told[-1])


class Models(SequenceCase):
    """Every task that the framework has."""

    def test_every_loop_trains_alike_or_is_refused_with_a_reason(self):
        for task in sequence_tasks.SEQUENCES:
            trained = {}
            for loop in LOOPS:
                found = self.workload(task=task, loop=loop)
                if found and task == "lstm":          # the others have dropout, which no two loops draw alike
                    trained[loop] = taken(found[0], "train", found[0].batches(*found[2].inputs), 3)
            for loop in trained:
                self.assert_close(trained["native"], trained[loop], 1e-6, task + " " + loop)

    def test_every_model_trains_infers_and_is_updated(self):
        for task in sequence_tasks.SEQUENCES:
            found = self.workload(task=task, precision="float32", length=0, hidden=0)
            if found:
                workload, weights, given = found
                self.assertTrue(np.isfinite(taken(workload, "train", workload.batches(*given.inputs), 2)).all(), task)
                logits = taken(workload, "infer", workload.synthetic(*given.inputs), 2)[-1]
                self.assertTrue(np.isfinite(logits).all(), task)
                after = workload.weights()
                for parameter in sequence_tasks.parameters(cell_of(task=task)._replace(length=0, hidden=0)):
                    self.assertEqual(parameter.shape, after[parameter.name].shape)
                    if not has_no_gradient(parameter.name, weights):
                        self.assertFalse(np.array_equal(weights[parameter.name], after[parameter.name]), parameter.name)

    def test_a_transformer_that_only_infers_gives_what_one_that_trains_evaluates(self):
        """Its weights may lie in another order (TensorFlow's), and are the same arrays."""
        for task in ("gpt2", "llama", "bert"):
            logits = {}
            for measure in ("train", "infer"):
                found, watch = self.tried(built, cell_of(task=task, measure=measure, length=0, hidden=0)), Watch()
                if found:
                    workload, weights, given = found
                    workload.infer(workload.synthetic(*given.inputs), 1, watch)
                    logits[measure] = workload.value(watch.handles[0])
                    for name, array in workload.weights().items():
                        self.assert_close(weights[name], array, 0, name)
            if logits:
                self.assert_close(logits["train"], logits["infer"], 1e-12, task)

    def test_a_transformer_computes_nearly_the_same_in_bfloat16_or_is_refused_with_a_reason(self):
        for task in ("gpt2", "llama", "bert"):
            logits = []
            for precision in ("float32", "amp"):
                found = self.tried(built, cell_of(task=task, measure="check", precision=precision, length=0, hidden=0))
                if found:
                    workload, _, given = found
                    logits.append(workload.check(given.batches[0])["logits"])
            if len(logits) == 2:
                self.assert_close(*logits, 0.05, task)

    def test_what_padding_to_buckets_adds_changes_neither_loss_nor_gradients(self):
        """Of models without batch normalisation, which counts padded steps: Deep Speech 2 and Tacotron 2 have one."""
        for task, length in (("bert", 0), ("gnmt", 8)):
            found = self.workload(task=task, batch=1, length=length, hidden=8, steps=16)
            if found:
                workload, weights, given = found
                longer = sequence_batches.read(None, workload.cell._replace(padding="buckets")).batches
                pair = next((plain, more) for plain, more in zip(given.batches, longer)
                            if sum(map(np.size, plain.values())) < sum(map(np.size, more.values())))
                checks = []
                for batch in pair:
                    workload.load(weights)
                    checks.append(workload.check(batch))
                self.assertAlmostEqual(checks[0]["loss"], checks[1]["loss"], delta=1e-6 * checks[0]["loss"])
                for name, gradient in checks[0]["gradient"].items():
                    if not has_no_gradient(name, weights):
                        self.assert_close(gradient, checks[1]["gradient"][name], 1e-6, task + " " + name)

    def test_what_is_made_for_each_shape_of_a_batch_is_counted(self):
        """By JAX and MXNet; the others make nothing for a shape, or keep no account of it."""
        found = self.workload(task="bert", batch=1, length=0, hidden=8, precision="float32", steps=16)
        if found:
            workload, _, given = found
            shapes, before = given.facts["shapes"], workload.programs()
            self.assertGreater(shapes, 1)
            workload.infer(workload.batches(*given.inputs), 32, Watch())                   # two passes
            counts = workload.loop in ("hybridized", "xla")
            self.assertEqual(shapes if counts else 0, workload.programs() - before)

    def test_phases_are_told_apart_or_are_refused_with_a_reason(self):
        for changes in ({}, {"task": "gpt2", "length": 0, "hidden": 0}):
            found = self.workload(measure="phases", precision="float32", **changes)
            if not found:
                continue
            (workload, _, given), watch = found, Watch()
            try:
                workload.train_phases(workload.batches(*given.inputs), 2, watch)
            except errors.Unsupported as reason:
                self.assertGreater(len(str(reason)), 10)
            else:
                self.assertEqual(2, len(watch.handles))
                self.assertLessEqual({"forward", "backward", "update"}, set(watch.phases))
