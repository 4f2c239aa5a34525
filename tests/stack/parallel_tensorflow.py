"""TensorFlow's parallel workers, from 2.4 on: three local places, with servers and a coordinator where it has them."""
import math
import unittest

import numpy as np

from tests.stack import reports
from tests.stack.reports import CHECK, PAIR, TRAINED, WORKERS, losses, of, values_of


class Parallel(reports.Together):
    package, mode_of_pair = "tensorflow", "MirroredStrategy over logical CPUs"
    loading, loading_modes = "tf.data", ("allreduce", "ps-async")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import tensorflow as tf
        if not hasattr(tf.distribute.experimental, "coordinator"):
            raise unittest.SkipTest(f"TensorFlow {tf.__version__} trains on one node alone here")

    def test_two_devices_of_a_process_take_the_steps_of_one(self):
        found = self.run_changed(**dict(PAIR, **TRAINED))["node0"]
        np.testing.assert_allclose(losses(found), losses(self.alone(**TRAINED)), rtol=1e-4)

    def test_the_coordinator_tells_of_every_worker_and_of_every_step(self):
        found = self.run_changed(parallel="ps-async", steps=10)
        self.assertEqual({"coordinator"}, set(found))
        events = found["coordinator"]
        told = of(events, "warm") + of(events, "steps")
        self.assertEqual(set(range(WORKERS)), {event["worker"] for event in told})
        self.assertLessEqual(WORKERS * 10, len(values_of(told, "seconds")))
        self.assertTrue(all(map(math.isfinite, losses(events))))
        self.assertGreater(min(values_of(told, "seconds")), 0.0)

    def test_one_asynchronous_worker_takes_the_steps_of_one_alone_and_phases_fill_them(self):
        """Momentum stands on the server, and weights that were pulled before are the weights."""
        changes = dict(TRAINED, weight_decay=0.1, nodes=1, batch=4)
        blocks = of(self.run_changed(measure="phases", parallel="ps-async", **changes)["coordinator"], "steps")
        np.testing.assert_allclose(values_of(blocks, "loss"), losses(self.alone(**changes)), rtol=1e-4)
        self.assert_stamped(blocks, {"load", "forward", "backward", "communication", "dispatch"})

    def test_weights_on_the_host_are_updated_as_those_of_one_device(self):
        """The parameter server of one node, by one update and by losses."""
        from workloads.frameworks.tensorflow.optimizers import IS_KERAS_3
        served = {"parallel": "central", "nodes": 1, "weight_decay": 0.1}
        if IS_KERAS_3:
            self.refused("Keras 3 has no CentralStorageStrategy", batch=8, **served)
            return
        events = self.run_changed(**dict(CHECK, gpus=2, **served))["node0"]
        self.assertEqual("CentralStorageStrategy, weights on the host", self.mode(events))
        self.assert_same_update(self.alone(**CHECK), events)
        expected = losses(self.alone(weight_decay=0.1, **TRAINED))
        for gpus in (1, 2):
            found = losses(self.run_changed(**dict(served, **TRAINED, batch=8 // gpus, gpus=gpus))["node0"])
            np.testing.assert_allclose(found, expected, rtol=1e-4)

    def test_the_profile_tells_forward_from_backward_and_has_the_exchange(self):
        for events in self.run_changed(measure="operators", steps=3).values():
            found = of(events, "operators")[0]["operators"]
            forward = [name for name in found if name.endswith("Conv2D") and "/" not in name]
            backward = [name for name in found if name.startswith("gradient/") and "Conv2DBackpropFilter" in name]
            self.assertEqual([3 * 2, 3 * 2], [sum(found[name][0] for name in names) for names in (forward, backward)])
            self.assertEqual(3 * 4, found["gradient/TanhGrad"][0])
            self.assertIn("CollectiveReduceV2", found)
            self.assertTrue(any(name.startswith("optimizer/") for name in found))
