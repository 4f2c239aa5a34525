"""TensorFlow 1.15's parameter server of one node, on logical CPUs.

    python -m unittest tests.stack.parallel_tensorflow_1

Inside a stack of TensorFlow 1.15; elsewhere it is skipped. Python 3.6 and later.
"""
import importlib.util
import math
import unittest

import numpy as np

from tests.stack.places import run_places
from tests.stack.reports import Reporting, losses, of
from workloads.spec.cell import Cell

CELL = Cell(stack="here", task="lstm", measure="train", batch=8, steps=3, warmup=2, length=5, hidden=4,
            input="synthetic", learning_rate=0.05)
SERVED = {"parallel": "central", "gpus": 2, "batch": 4}


def setUpModule():
    if importlib.util.find_spec("tensorflow") is None:
        raise unittest.SkipTest("runs inside a stack of TensorFlow")
    import tensorflow as tf
    if tf.executing_eagerly():
        raise unittest.SkipTest("TensorFlow 2 has CentralStorageStrategy")


class Served(Reporting):
    """What a process with two devices sends."""

    def run_changed(self, **changes):
        """The events of a changed cell's run, which ends well."""
        return self.run_all(CELL._replace(**changes))["node0"]

    def test_an_update_of_two_devices_is_that_of_one_with_the_whole_batch(self):
        changes = {"measure": "check", "precision": "float64", "weight_decay": 0.1}
        events = self.run_changed(**SERVED, **changes)
        self.assertEqual("parameter server: weights on the host", of(events, "start")[0]["facts"]["mode"])
        self.assert_same_update(self.run_changed(**changes), events)

    def test_two_devices_take_the_steps_of_one(self):
        for optimizer in ("momentum", "adam"):
            alone = losses(self.run_changed(optimizer=optimizer))
            np.testing.assert_allclose(losses(self.run_changed(optimizer=optimizer, **SERVED)), alone, rtol=1e-4)

    def test_gnmt_trains(self):
        events = self.run_changed(**dict(SERVED, task="gnmt", preset="small", optimizer="adam", input="pipeline"))
        self.assertEqual(3, len(losses(events)))
        self.assertTrue(all(map(math.isfinite, losses(events))))

    def test_models_whose_batches_cannot_be_cut_are_refused(self):
        events = run_places(CELL._replace(**dict(SERVED, task="bert", preset="small")))["node0"]
        self.assertEqual("unsupported", events[-1]["status"])
        self.assertIn("trains gnmt and lstm alone", events[-1]["message"])


if __name__ == "__main__":
    unittest.main()
