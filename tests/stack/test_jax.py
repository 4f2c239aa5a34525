"""What only JAX's adapter has: threads, compiling, operators' names, a CTC loss and depthwise convolutions of its own.

    python -m tests.stack test_jax jax
"""
import itertools
import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

import numpy as np

from tests.stack import adapter, part, setUpModule, test_adapter  # noqa: F401  skips
from tests.stack.test_adapter import seeded
from workloads.inputs import sequence_batches
from workloads.measuring import measures
from workloads.spec.cell import Cell
from workloads.spec.layers import Act, Conv, Dense, Dropout, Flatten, GlobalPool, Norm

if adapter:
    import jax
    import jax.numpy as jnp

# prints what a process of its own sees of training steps with so many CPUs
_SCRIPT = """
import json, sys
from tests import stack
from workloads.frameworks import jax
stack.adapter = jax
from tests.stack import test_jax
print(json.dumps(test_jax.seen(int(sys.argv[1]))))
"""
# convolutions enough to be shared by threads, and compiled in a second
_WIDE = (Conv(64, (3, 3), 1, (1, 1)), Act(), Conv(64, (3, 3), 1, (1, 1)), GlobalPool(), Flatten(), Dense(10))
# a training cell of LeNet-5 that differs from it by the changes
cell_of = Cell(stack="here", task="lenet5", measure="train", batch=3)._replace
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


def seen(cpus):
    """{"pool": threads as the facts have them, "busy": each one's CPU seconds over 40 training steps, sorted, "wall":
    the steps' own, "compiled": what was compiled}."""
    workload, batches = seeded(cell_of(batch=16, cpus=cpus), _WIDE)
    workload.train(batches, 2, Watch())
    before, began = _thread_seconds(), time.perf_counter()
    workload.train(batches, 40, Watch())
    wall, after = time.perf_counter() - began, _thread_seconds()
    return {"pool": adapter.facts(workload.cell)["threads"], "wall": wall, "compiled": workload.compiled(),
            "busy": sorted(seconds - before.get(name, 0.0) for name, seconds in after.items())}


def _thread_seconds():
    """The CPU seconds of each thread of this process by its number."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        used = (task / "stat").read_text().rpartition(")")[2].split()[11:13]        # utime, stime
        found[task.name] = sum(map(int, used)) * _TICK
    return found


class Watch(test_adapter.Watch):
    """Keeps the losses, and so waits for each step."""

    def stepped(self, loss, phases=None):
        super().stepped(float(np.asarray(loss).flat[0]))        # by numpy: nothing is compiled for it


class Threads(unittest.TestCase):
    """What holds for a whole process is seen in one of its own for each number of CPUs."""

    @classmethod
    def setUpClass(cls):
        cls.seen = {}
        for cpus in (1, 2, 5):
            said = subprocess.check_output([sys.executable, "-c", _SCRIPT, str(cpus)])
            cls.seen[cpus] = json.loads(said.decode().splitlines()[-1])

    def test_xla_s_pool_has_the_threads_that_the_cell_allows_whatever_the_machine_has(self):
        self.assertEqual({1: 1, 2: 2, 5: 5}, {cpus: found["pool"] for cpus, found in self.seen.items()})

    def test_no_more_cpus_compute_at_a_time_than_the_cell_allows(self):
        """Whatever threads there are: a share of a CPU more is the ticks of the kernel's count."""
        for cpus in (1, 2):
            found = self.seen[cpus]
            self.assertLessEqual(sum(found["busy"]), 1.05 * cpus * found["wall"], (cpus, found))

    def test_the_work_is_shared_where_the_cell_allows_a_second_cpu_and_else_done_by_one_thread(self):
        """XLA deals the work out anew in each product, so the others' parts are added up; beside a machine's other
        load the busiest does the most, and the others were still at half of it or more."""
        for cpus, shared in ((1, False), (2, True)):
            busy = self.seen[cpus]["busy"]
            self.assertEqual(shared, sum(busy) - max(busy) > 0.2 * max(busy), (cpus, busy))

    def test_what_is_compiled_is_counted_and_timed(self):
        for found in self.seen.values():
            self.assertGreaterEqual(found["compiled"]["programs"], 1)
            self.assertGreater(found["compiled"]["seconds"], 0.0)
            self.assertGreater(found["compiled"]["tracing_seconds"], 0.0)


class Programs(unittest.TestCase):
    """What is compiled, and how often."""

    def test_a_step_is_compiled_once(self):
        workload, batches = seeded(cell_of())
        workload.train(batches, 1, Watch())
        before = workload.compiled()["programs"]
        workload.train(batches, 3, Watch())
        self.assertEqual(before, workload.compiled()["programs"])

    def test_a_cpu_s_program_takes_numpy_s_batches_of_sequences(self):
        cell = cell_of(task="gnmt", length=8, hidden=8)
        batches = part("sequences").Workload(cell).batches(*sequence_batches.read(None, cell).inputs)
        self.assertEqual({np.ndarray}, {type(array) for array in next(batches)[0].values()})

    def test_sequences_that_are_padded_to_buckets_are_compiled_once_for_each_of_few_shapes(self):
        cell = cell_of(task="gnmt", steps=12, warmup=0, length=8, hidden=8, padding="buckets")
        given = sequence_batches.read(None, cell)
        shapes = [sequence_batches.read(None, cell._replace(padding=how)).facts["shapes"]
                  for how in ("batch", "buckets")]
        workload = part("sequences").Workload(cell)
        batches = workload.batches(*given.inputs)
        before = workload.compiled()["programs"]
        workload.infer(batches, 24, Watch())                    # two passes
        self.assertEqual(shapes[1], workload.compiled()["programs"] - before)
        self.assertLess(shapes[1], shapes[0])

    def test_shapes_that_the_warm_up_did_not_meet_are_told_with_the_steps_that_compiled_them(self):
        cell = cell_of(task="gnmt", measure="infer", steps=12, warmup=1, length=8, hidden=8)
        given, sent, workload = sequence_batches.read(None, cell), [], part("sequences").Workload(cell)
        measures.infer(cell, None, workload, given, None, lambda event, **values: sent.append((event, values)))
        compiled = [values.get("compiled", 0) for event, values in sent if event == "steps"]
        self.assertEqual(given.facts["shapes"] - 1, sum(compiled))


class Phases(unittest.TestCase):
    """A step as four programs."""

    def losses(self, name):
        """Those of three steps of a net with dropout and a normalisation, by train or train_phases."""
        table = (Conv(4, (3, 3), 2), Norm(), Act(), Flatten(), Dropout(0.5), Dense(10))
        workload, batches = seeded(cell_of(optimizer="momentum", learning_rate=0.1), table)
        watch = Watch()
        getattr(workload, name)(batches, 3, watch)
        return watch.handles

    def test_a_stamped_step_is_the_plain_one_dropout_s_mask_included(self):
        plain, stamped = (self.losses(name) for name in ("train", "train_phases"))
        self.assertEqual(3, len(set(plain)))
        np.testing.assert_allclose(stamped, plain, rtol=1e-5)


class Products(unittest.TestCase):
    """Of one row, as of one token that is generated."""

    def test_the_weight_of_one_row_s_product_is_not_transposed_in_each_call(self):
        blocks = part("models.blocks")
        weights = {"%d.%s" % (layer, kind): jnp.ones((128,) * (2 if kind == "weight" else 1))
                   for layer in range(2) for kind in ("weight", "bias")}

        def answer(weights, x):
            mode = blocks.Mode("native", False)
            return blocks.dense(weights, "1", jnp.tanh(blocks.dense(weights, "0", x, mode)), mode)

        compiled = jax.jit(answer).lower(weights, jnp.ones((1, 1, 128))).compile()
        self.assertNotIn(" transpose(", compiled.as_text())


class Operators(unittest.TestCase):
    """XLA's names become scopes and operations."""

    def test_names_are_the_scope_and_the_operation(self):
        for operation, expected in (
                ("jit(_step)/jvp(conv)/conv_general_dilated", "conv/conv_general_dilated"),
                ("jit(_step)/transpose(jvp(conv))/conv_general_dilated", "gradient/conv/conv_general_dilated"),
                ("jit(_step)/jvp(relu)/jit(relu)/max", "relu/max"),
                ("jit(_step)/optimizer/sub", "optimizer/sub"),
                ("jit(program)/shard_map/exchange/psum", "exchange/psum"),
                ("jit(_step)/jvp(lstm)/while/body/closed_call/dot_general", "lstm/dot_general"),
                ("jit(_step)/jvp(conv)/transpose", "conv/transpose"),
                ("jit(_step)/transpose(jvp(lstm))/while/body/mul", "gradient/lstm/mul")):
            self.assertEqual(expected, part("profiling.operators").named(operation))

    def test_a_product_with_what_is_added_is_the_product_and_a_kernel_without_an_operation_keeps_its_own_name(self):
        operations = {("m", "dot_add_fusion.7"): "jit(f)/dense/dense/add", ("m", "add_fusion"): "jit(f)/dense/add",
                      ("jit_f", "dot.1"): "jit(f)/dense/dot_general"}
        kernels = *operations, ("jit_f", "copy.7"), ("jit_g", "dot.1")
        self.assertEqual(["dense/dot_general", "dense/add", "dense/dot_general", "copy", "dot"],
                         [part("profiling.operators").kernel_name(kernel, operations) for kernel in kernels])

    def test_a_step_has_convolutions_forward_and_backward_and_an_update(self):
        workload, batches = seeded(cell_of(measure="operators"))
        found = workload.profile(batches, 1, 2)
        for scope in ("conv/", "gradient/conv/", "dense/", "gradient/dense/", "optimizer/"):
            self.assertTrue([name for name in found if name.startswith(scope)], scope)
        self.assertTrue(all(calls % 2 == 0 for calls, _ in found.values()))


class Losses(unittest.TestCase):
    """CTC against the sum over all paths."""

    def by_paths(self, shares, text, blank):
        """-log of the summed shares of all label sequences that become the text."""
        total = 0.0
        for path in itertools.product(range(shares.shape[1]), repeat=len(shares)):
            heard = [label for label, _ in itertools.groupby(path)]
            if [label for label in heard if label != blank] == list(text):
                total += np.prod([step[label] for step, label in zip(shares, path)])
        return -np.log(total)

    def test_ctc_is_the_sum_over_all_paths_up_to_each_sample_s_own_steps(self):
        jax.config.update("jax_enable_x64", True)
        shares = np.random.RandomState(1).dirichlet(np.ones(3), (5, 3))          # (time, batch, labels)
        text, steps, characters = np.array([[0, 1], [0, 0], [1, 0]]), np.array([5, 4, 3]), np.array([2, 2, 1])
        expected = [self.by_paths(shares[:steps[i], i], text[i, :characters[i]], 2) for i in range(3)]
        found = part("models.deepspeech2").ctc(jnp.log(shares), *map(jnp.asarray, (text, steps, characters)), 2)
        np.testing.assert_allclose(found, expected, 1e-12)

    def test_ctc_s_gradient_is_finite_where_few_states_can_be_reached(self):
        ctc, arguments = part("models.deepspeech2").ctc, (jnp.array([[1, 1, 1]]), jnp.array([5]), jnp.array([3]), 2)
        slope = jax.grad(lambda log_p: ctc(log_p, *arguments).sum())(jnp.log(jnp.full((5, 1, 3), 1.0 / 3)))
        self.assertTrue(np.isfinite(slope).all())


class Depthwise(unittest.TestCase):
    """The sum of shifted products against XLA's grouped convolution."""

    def test_it_is_the_grouped_convolution_in_both_layouts_with_strides_and_paddings(self):
        jax.config.update("jax_enable_x64", True)
        model, random = part("model"), np.random.RandomState(1)
        x, weight = random.standard_normal((2, 4, 9, 8)), random.standard_normal((4, 1, 3, 5))
        for layout, stride in itertools.product(("nhwc", "nchw"), (1, 2)):
            layer = Conv(4, (3, 5), stride, (1, 2), groups=4)
            arrays = {"0.weight": jnp.asarray(model.own(weight, layout))}
            found = [model.forward((layer,), arrays, jnp.asarray(model.images(x, layout)),
                                   model.Mode(model.Form(layout, None, is_own), True)) for is_own in (True, False)]
            np.testing.assert_allclose(found[0], found[1], 1e-12, 1e-12)
