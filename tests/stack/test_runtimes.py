"""A runtime that only infers, as onnxruntime, against the numpy reference: graphs, threads and what it refuses."""
import importlib
import os
import unittest

import numpy as np

from tests.stack import adapter, part, setUpModule, test_adapter  # noqa: F401  skips
from tests.stack.test_adapter import EVERY_LAYER, POOLED, TOKENS, AdapterCase, Watch, built, varied
from workloads.frameworks.onnx_graphs import model
from workloads.inputs import images as data
from workloads.inputs import sequence_batches as batches
from workloads.process.errors import Unsupported
from workloads.spec import layers, sequence_tasks, tasks

FLOAT32 = 1e-5              # relative; normalising by three images' own statistics loses a digit more
NORMALISED = 1e-4
TABLES = (EVERY_LAYER, POOLED, TOKENS)
# an inference cell in float32 that differs from it by the changes
cell_of = test_adapter.cell_of(measure="infer", precision="float32")._replace


class Equality(AdapterCase):
    """Tables with every layer in each of its forms."""

    def test_what_is_inferred_is_the_reference_s(self):
        for table in TABLES:
            (workload, expected, _), sample = built(table, cell_of()), data.synthetic(cell_of())
            self.assert_close(expected.logits(sample.images), workload.predict(sample.images), FLOAT32, "logits")

    def test_every_layer_s_output_is_the_reference_s_in_shape_and_numbers(self):
        for table in TABLES:
            (workload, expected, _), sample = built(table, cell_of(measure="check")), data.synthetic(cell_of())
            found = workload.check(sample.images, sample.labels)
            self.assert_all_close(expected.activations(sample.images), found["activation"], NORMALISED)
            self.assert_close(expected.logits(sample.images, is_training=True), found["logits"], NORMALISED, "logits")

    def test_what_is_written_is_valid_onnx(self):
        onnx = importlib.import_module("onnx")             # a stack's package, not this repository's, as graph's is
        written = importlib.import_module("workloads.frameworks.onnx_graphs.graph").Graph
        for is_training in (False, True):
            for table in TABLES:
                graph = written(varied(layers.parameters(table, tasks.input_shape(32)), "float32"), is_training)
                logits = model.forward(table, graph, graph.input("images", np.empty((0,) * 4, np.float32)))
                whole = onnx.shape_inference.infer_shapes(graph.serialized([logits]), strict_mode=True)
                onnx.checker.check_model(whole, full_check=True)

    def test_other_weights_are_another_answer(self):
        (workload, expected, _), sample = built(POOLED, cell_of()), data.synthetic(cell_of())
        before, weights = workload.predict(sample.images), workload.weights()
        for each in (workload, expected):
            each.load(dict(weights, **{"1.variance": 4 * weights["1.variance"]}))
        self.assert_close(expected.logits(sample.images), workload.predict(sample.images), FLOAT32, "logits")
        self.assertGreater(np.abs(before - workload.predict(sample.images)).max(), 1e-3)

    def test_a_rest_of_a_batch_is_answered_too(self):
        (workload, expected, _), sample = built(TOKENS, cell_of(batch=2)), data.synthetic(cell_of(batch=5))
        self.assert_close(expected.logits(sample.images), workload.predict(sample.images), FLOAT32, "logits")


class Steps(AdapterCase):
    """Inference by the adapter's own loop."""

    def test_each_step_loads_a_batch_and_gives_its_logits(self):
        workload, expected, _ = built(POOLED, cell_of(batch=2))
        sample, watch = data.synthetic(cell_of(batch=4)), Watch()
        workload.infer(workload.batches(*sample.inputs), 3, watch)
        self.assertEqual(3 * ["loading", "loaded", "stepped"], watch.calls)
        logits = expected.logits(sample.images)
        for expected_part, handle in zip((logits[:2], logits[2:], logits[:2]), watch.handles):
            self.assert_close(expected_part, workload.value(handle), FLOAT32, "logits")

    def test_bert_does_not_see_padding(self):
        cell = cell_of(task="bert", length=12, batch=2)
        workload = part("sequences").Workload(cell)
        workload.load(varied(sequence_tasks.parameters(cell), cell.precision))
        batch = dict(batches.read(None, cell).batches[0])
        longer = dict(batch, **{name: np.pad(batch[name], ((0, 0), (0, 5))) for name in ("ids", "types", "mask")})
        row = np.arange(len(batch["ids"]))[:, None]
        longer["positions"] = batch["positions"] + 5 * row          # they count through the whole batch
        watch = Watch()
        for each in (batch, longer):
            workload.infer(workload.synthetic([each]), 1, watch)
        self.assert_close(*watch.handles, FLOAT32, "logits")

    def test_parameters_are_those_that_an_optimizer_would_update(self):
        self.assertEqual(62_006, adapter.Workload(tasks.table("lenet5", 10), cell_of()).parameters())


class Settings(unittest.TestCase):
    """Threads as they are seen, and what is refused."""

    def test_as_many_threads_compute_as_the_cell_has_cpus(self):
        for cpus in range(1, len(os.sched_getaffinity(0)) + 1):
            self.assertEqual(cpus, adapter.facts(cell_of(cpus=cpus))["threads"])

    def test_what_it_has_not_is_refused_with_a_reason(self):
        for changes, reason in (({"measure": "train"}, "only infers"), ({"loop": "eager"}, "no loop eager"),
                                ({"precision": "float64"}, "--precision float32"), ({"precision": "amp"}, "float32"),
                                ({"device": "gpu"}, "on the CPU"), ({"task": "gpt2"}, "bert alone"),
                                ({"init": "framework"}, "no initial weights")):
            with self.assertRaisesRegex(Unsupported, reason):
                adapter.Workload(POOLED, cell_of(**changes))
        for module, call in (("parallel", "Workload"), ("product", "made"), ("bare", "loop")):
            function = getattr(part(module), call)
            with self.assertRaises(Unsupported):
                function(*[None] * (1 if call == "loop" else 3))
