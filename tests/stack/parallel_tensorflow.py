"""TensorFlow's parallel workers, as three local places, with servers and a coordinator where the mode has them.

    python -m unittest tests.stack.parallel_tensorflow

Inside a stack of TensorFlow 2.4 or later; elsewhere it is skipped. Python 3.6 and later.
"""
import importlib.util
import math
import unittest

import numpy as np

from tests.stack.places import run_places
from tests.stack.reports import Reporting, losses, of, values_of
from workloads.spec.cell import Cell

WORKERS = 3


def setUpModule():
    if importlib.util.find_spec("tensorflow") is None:
        raise unittest.SkipTest("runs inside a stack of TensorFlow")
    import tensorflow as tf
    if not hasattr(tf.distribute.experimental, "coordinator"):
        raise unittest.SkipTest(f"TensorFlow {tf.__version__} trains on one node alone here")


def cell_of(**changes):
    """A synchronous cell of three workers that differs from it by the changes."""
    values = {"stack": "here", "task": "lenet5", "measure": "train", "batch": 4, "nodes": WORKERS, "steps": 6,
              "warmup": 2, "input": "synthetic", "parallel": "allreduce"}
    return Cell(**dict(values, **changes))


class Parallel(Reporting):
    """What the places that report send."""

    def run_changed(self, **changes):
        """The events of each reporter of a changed cell's run, which ends well."""
        return self.run_all(cell_of(**changes))

    def test_synchronous_workers_hold_equal_weights_and_phases_fill_their_steps(self):
        found = self.run_changed(measure="phases", batch=128)      # what lies between two steps is no phase's
        self.assert_together(found, 6)

    def test_the_coordinator_tells_of_every_worker_and_of_every_step(self):
        found = self.run_changed(parallel="ps-async", steps=10)
        self.assertEqual({"coordinator"}, set(found))
        events = found["coordinator"]
        told = of(events, "warm") + of(events, "steps")
        self.assertEqual(set(range(WORKERS)), {event["worker"] for event in told})
        self.assertLessEqual(WORKERS * 10, len(values_of(told, "seconds")))
        self.assertTrue(all(map(math.isfinite, values_of(of(events, "steps"), "loss"))))
        self.assertGreater(min(values_of(told, "seconds")), 0.0)

    def test_every_worker_s_own_loader_reads_from_disk(self):
        """80 images: synchronous workers go round their shard, six batches of four, more than once."""
        for mode in ("allreduce", "ps-async"):
            for events in self.run_changed(parallel=mode, input="loader", measure="phases", steps=8).values():
                self.assertIn("from disk by tf.data", of(events, "start")[0]["facts"]["loading"])
                self.assertTrue(all(map(math.isfinite, losses(events))))

    def test_one_asynchronous_worker_takes_the_steps_of_one_alone_and_phases_fill_them(self):
        """Momentum stands on the server, and weights that were pulled before are the weights."""
        changes = {"nodes": 1, "optimizer": "momentum", "weight_decay": 0.1, "learning_rate": 0.05}
        alone = losses(self.run_changed(parallel="none", **changes)["node0"])
        blocks = of(self.run_changed(measure="phases", parallel="ps-async", **changes)["coordinator"], "steps")
        np.testing.assert_allclose(values_of(blocks, "loss"), alone, rtol=1e-4)
        self.assert_stamped(blocks, {"load", "forward", "backward", "communication", "dispatch"})

    def test_an_update_of_three_workers_is_that_of_one_with_the_whole_batch(self):
        changes = {"measure": "check", "precision": "float64", "weight_decay": 0.1}
        whole = self.run_changed(parallel="none", nodes=1, batch=WORKERS * 4, **changes)["node0"]
        for events in self.run_changed(**changes).values():
            self.assert_same_update(whole, events)

    def test_an_update_of_two_devices_of_a_process_is_that_of_one_with_the_whole_batch(self):
        """As on a node of two GPUs, there with NCCL."""
        changes = {"measure": "check", "precision": "float64", "weight_decay": 0.1, "nodes": 1}
        whole = self.run_changed(parallel="none", batch=8, **changes)["node0"]
        events = self.run_changed(gpus=2, **changes)["node0"]
        self.assertEqual("MirroredStrategy over logical CPUs", of(events, "start")[0]["facts"]["mode"])
        self.assert_same_update(whole, events)

    def test_two_devices_of_a_process_take_the_steps_of_one(self):
        changes = {"nodes": 1, "optimizer": "momentum", "learning_rate": 0.05}
        alone = losses(self.run_changed(parallel="none", batch=8, **changes)["node0"])
        both = losses(self.run_changed(gpus=2, **changes)["node0"])
        np.testing.assert_allclose(both, alone, rtol=1e-4)

    def test_weights_on_the_host_are_updated_as_those_of_one_device(self):
        """The parameter server of one node, by one update and by losses."""
        from workloads.frameworks.tensorflow.optimizers import IS_KERAS_3
        alone = {"parallel": "none", "nodes": 1, "batch": 8, "weight_decay": 0.1}
        served = dict(alone, parallel="central")
        if IS_KERAS_3:
            events = run_places(cell_of(**served))["node0"]
            self.assertEqual("unsupported", events[-1]["status"])
            self.assertIn("Keras 3 has no CentralStorageStrategy", events[-1]["message"])
            return
        check = {"measure": "check", "precision": "float64"}
        events = self.run_changed(**dict(served, **check, batch=4, gpus=2))["node0"]
        self.assertEqual("CentralStorageStrategy, weights on the host", of(events, "start")[0]["facts"]["mode"])
        self.assert_same_update(self.run_changed(**alone, **check)["node0"], events)
        steps = {"optimizer": "momentum", "learning_rate": 0.05}
        expected = losses(self.run_changed(**alone, **steps)["node0"])
        for gpus in (1, 2):
            found = losses(self.run_changed(**dict(served, **steps, batch=8 // gpus, gpus=gpus))["node0"])
            np.testing.assert_allclose(found, expected, rtol=1e-4)

    def test_the_profile_tells_forward_from_backward_and_has_the_exchange(self):
        for events in self.run_changed(measure="operators", steps=3).values():
            found = of(events, "operators")[0]["operators"]
            calls = {kind: sum(found[name][0] for name in found if kind(name)) for kind in (_is_forward, _is_backward)}
            self.assertEqual([3 * 2, 3 * 2], list(calls.values()), sorted(found))
            self.assertEqual(3 * 4, found["gradient/TanhGrad"][0])
            self.assertIn("CollectiveReduceV2", found)
            self.assertTrue(any(name.startswith("optimizer/") for name in found))


def _is_forward(name):
    return name.endswith("Conv2D") and "/" not in name


def _is_backward(name):
    return name.startswith("gradient/") and "Conv2DBackpropFilter" in name


if __name__ == "__main__":
    unittest.main()
