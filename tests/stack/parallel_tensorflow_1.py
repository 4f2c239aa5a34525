"""TensorFlow 1.15's parameter server of one node, on logical CPUs."""
import unittest

import numpy as np

from tests.stack import reports
from tests.stack.reports import CHECK, losses
from workloads.spec.cell import Cell

SERVED = {"parallel": "central", "gpus": 2, "batch": 4}


class Served(reports.Reporting):
    package = "tensorflow"
    cell = Cell(stack="here", task="lstm", measure="train", batch=8, steps=3, warmup=2, length=5, hidden=4,
                input="synthetic", learning_rate=0.05)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import tensorflow as tf
        if tf.executing_eagerly():
            raise unittest.SkipTest("TensorFlow 2 has CentralStorageStrategy")

    def served(self, **changes):
        return self.run_changed(**dict(SERVED, **changes))["node0"]

    def test_an_update_of_two_devices_is_that_of_one_with_the_whole_batch(self):
        events = self.served(**CHECK)
        self.assertEqual("parameter server: weights on the host", self.mode(events))
        self.assert_same_update(self.alone(**CHECK), events)

    def test_two_devices_take_the_steps_of_one(self):
        for optimizer in ("momentum", "adam"):
            alone = losses(self.alone(optimizer=optimizer))
            np.testing.assert_allclose(losses(self.served(optimizer=optimizer)), alone, rtol=1e-4)

    def test_gnmt_trains(self):
        self.assert_losses({"": self.served(task="gnmt", preset="small", optimizer="adam", input="pipeline")}, 3)

    def test_models_whose_batches_cannot_be_cut_are_refused(self):
        self.refused("trains gnmt and lstm alone", task="bert", preset="small", **SERVED)
