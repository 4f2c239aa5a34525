"""MXNet's parallel workers, as three local places each with a server of its own.

    python -m unittest tests.stack.parallel_mxnet

Inside a stack of MXNet, Python 3.6 and later; elsewhere it is skipped.
"""
import base64
import importlib.util
import math
import unittest

import numpy as np

from tests.stack.places import run_places
from workloads.spec.cell import Cell

WORKERS = 3
EXACT, ROUNDED = 1e-10, 1e-5          # relative, of float64 and of float32


def setUpModule():
    if importlib.util.find_spec("mxnet") is None:
        raise unittest.SkipTest("runs inside a stack of MXNet")


def cell_of(**changes):
    """A synchronous cell of three workers that differs from it by the changes."""
    values = {"stack": "here", "task": "lenet5", "measure": "train", "batch": 4, "nodes": WORKERS, "steps": 6,
              "warmup": 2, "input": "synthetic", "parallel": "ps-sync"}
    return Cell(**dict(values, **changes))


def values_of(events, name, key):
    """The values of every event of that name, one after the other."""
    return [value for event in events if event["event"] == name for value in event[key]]


def tensors(events):
    """The sketches by kind and name; logits belong to one worker's samples."""
    return {(event["kind"], event["name"]): np.frombuffer(base64.b64decode(event["sketch"]))
            for event in events if event["event"] == "tensor" and event["kind"] in ("gradient", "weight", "loss")}


class Parallel(unittest.TestCase):
    """What three workers send."""

    def run_all(self, **changes):
        """The events of each worker of a run that ends well."""
        found = run_places(cell_of(**changes))
        self.assertEqual(["node0", "node1", "node2"], sorted(found))
        for events in found.values():
            self.assertEqual("ok", events[-1]["status"], events[-1].get("message"))
        return list(found.values())

    def test_every_worker_s_own_loader_reads_from_disk(self):
        """80 images: a shard has six batches of four a pass."""
        self.assert_trained(self.run_all(input="loader", steps=8), 8)

    def assert_trained(self, workers, steps):
        for events in workers:
            losses = values_of(events, "steps", "loss")
            self.assertEqual(steps, len(losses))
            self.assertTrue(all(map(math.isfinite, losses)))

    def assert_equal_weights(self, workers):
        digests = [event["sha256"] for events in workers for event in events if event["event"] == "weights"]
        self.assertEqual((WORKERS, 1), (len(digests), len(set(digests))))

    def test_phases_of_synchronous_workers_fill_their_steps_and_their_weights_end_equal(self):
        workers = self.run_all(measure="phases", steps=10)
        self.assert_trained(workers, 10)
        self.assert_equal_weights(workers)
        for events in workers:
            blocks = [event["phases"] for event in events if event["event"] == "steps"]
            names = {name for each in blocks for name in each}
            self.assertEqual({"load", "forward", "backward", "communication"}, names)
            stamped = sum(seconds for each in blocks for phase in each.values() for seconds in phase)
            whole = sum(values_of(events, "steps", "seconds"))
            self.assertLess(abs(stamped - whole), 0.15 * whole)

    def test_asynchronous_workers_train_and_leave_with_the_servers_last_weights(self):
        workers = self.run_all(parallel="ps-async")
        self.assert_trained(workers, 6)
        self.assert_equal_weights(workers)

    def test_three_workers_losses_are_those_of_one_with_the_whole_batch(self):
        """Momentum and weight decay stand on the servers; step after step shows that they are kept there."""
        changes = {"optimizer": "momentum", "weight_decay": 0.1, "learning_rate": 0.05}
        parts = [values_of(events, "steps", "loss") for events in self.run_all(**changes)]
        whole = run_places(cell_of(batch=12, nodes=1, parallel="none", **changes))["node0"]
        np.testing.assert_allclose(np.mean(parts, axis=0), values_of(whole, "steps", "loss"), rtol=ROUNDED)

    def test_two_devices_of_a_process_take_the_steps_of_one(self):
        """As on a node of two GPUs, where they exchange gradients themselves or by a server."""
        changes = {"nodes": 1, "optimizer": "momentum", "learning_rate": 0.05}
        alone = run_places(cell_of(parallel="none", batch=8, **changes))["node0"]
        for parallel, mode in (("none", "KVStore device"), ("ps-sync", "KVStore dist_sync")):
            both = run_places(cell_of(parallel=parallel, gpus=2, **changes))["node0"]
            self.assertEqual("ok", both[-1]["status"], both[-1].get("message"))
            self.assertEqual(mode, both[0]["facts"]["mode"])
            np.testing.assert_allclose(values_of(both, "steps", "loss"), values_of(alone, "steps", "loss"),
                                       rtol=ROUNDED)

    def test_two_workers_with_two_devices_each_take_the_steps_of_one(self):
        changes = {"optimizer": "momentum", "learning_rate": 0.05}
        alone = run_places(cell_of(parallel="none", batch=8, nodes=1, **changes))["node0"]
        found = run_places(cell_of(batch=2, nodes=2, gpus=2, **changes))
        for events in found.values():
            self.assertEqual("ok", events[-1]["status"], events[-1].get("message"))
        parts = [values_of(events, "steps", "loss") for events in found.values()]
        np.testing.assert_allclose(np.mean(parts, axis=0), values_of(alone, "steps", "loss"), rtol=ROUNDED)

    def test_an_update_of_three_workers_is_that_of_one_with_the_whole_batch(self):
        precision, tolerance, workers = self.checked()
        cell = cell_of(measure="check", batch=12, nodes=1, parallel="none", precision=precision)
        expected = tensors(run_places(cell)["node0"])
        for events in workers:
            found = tensors(events)
            self.assertEqual(sorted(expected), sorted(found))
            for name, array in expected.items():
                self.assertLessEqual(np.abs(array - found[name]).max(), tolerance * np.abs(array).max(), name)

    def checked(self):
        """(precision, tolerance, each worker's events) of a check, in float64 where the servers keep it."""
        found = run_places(cell_of(measure="check", precision="float64"))
        if {events[-1]["status"] for events in found.values()} == {"unsupported"}:
            return "float32", ROUNDED, self.run_all(measure="check")
        return "float64", EXACT, list(found.values())

    def test_the_profile_names_operators_one_by_one(self):
        """The ten weights are updated on the servers, each on one of them: together the places tell of all."""
        updates = 0
        for events in self.run_all(measure="operators", steps=3):
            operators = {name: used for event in events if event["event"] == "operators"
                         for name, used in event["operators"].items()}
            self.assertEqual([6, 6, 12], [operators[name][0] for name in (
                "Convolution", "_backward_Convolution", "_backward_Activation/tanh")])     # of 2, 2 and 4 a step
            self.assertIn("KVStoreDistDefaultStoragePushPull", operators)
            self.assertTrue(all(seconds >= 0 for _, seconds in operators.values()))
            updates += operators.get("server/multi_sgd_update", (0, 0.0))[0]
        self.assertEqual(3 * 10, updates)


if __name__ == "__main__":
    unittest.main()
