"""What the places of a parallel run send, and what holds of it in every framework. Python 3.6 and later.

    python -m unittest tests.stack.parallel_X          inside a stack of X; elsewhere it is skipped
"""
import base64
import importlib.util
import itertools
import math
import unittest

import numpy as np

from tests.stack.places import run_places
from workloads.spec.cell import Cell

WORKERS = 3
CHECK = {"measure": "check", "precision": "float64", "weight_decay": 0.1}
TRAINED = {"optimizer": "momentum", "learning_rate": 0.05}
PAIR = {"nodes": 1, "gpus": 2}             # as on a node of two GPUs, there with NCCL


def of(events, name):
    return [event for event in events if event["event"] == name]


def values_of(blocks, key):
    """The values of the blocks, one after the other."""
    return [value for block in blocks for value in block[key]]


def losses(events):
    """The loss of each timed step."""
    return values_of(of(events, "steps"), "loss")


def tensors(events):
    """The sketches by kind and name of what all workers share."""
    return {(event["kind"], event["name"]): np.frombuffer(base64.b64decode(event["sketch"]))
            for event in of(events, "tensor") if event["kind"] in ("gradient", "weight", "loss")}


class Reporting(unittest.TestCase):
    """Runs of local places and what must hold of them."""

    package = ""                 # that the stack must have
    cell = Cell(stack="here", task="lenet5", measure="train", batch=4, nodes=WORKERS, steps=6, warmup=2,
                input="synthetic", parallel="allreduce")
    close, same_losses = 1e-6, 1e-4          # relative: TensorFlow rounds its loss to float32

    @classmethod
    def setUpClass(cls):
        if importlib.util.find_spec(cls.package) is None:
            raise unittest.SkipTest("runs inside a stack of " + cls.package)

    def run_changed(self, **changes):
        """The events of each reporter of a changed cell's run, which ends well."""
        found = {name: events for name, events in run_places(self.cell._replace(**changes)).items() if events}
        for events in found.values():
            self.assertEqual("ok", events[-1]["status"], events[-1].get("message"))
        return found

    def alone(self, **changes):
        """The events of one worker with the whole batch."""
        return self.run_changed(**dict({"parallel": "none", "nodes": 1, "batch": 8}, **changes))["node0"]

    def refused(self, reason, **changes):
        """Expect that a changed cell's run is unsupported for this reason."""
        end = run_places(self.cell._replace(**changes))["node0"][-1]
        self.assertEqual("unsupported", end["status"], end)
        self.assertIn(reason, end["message"])

    def mode(self, events):
        """What a worker says of how it trains with the others."""
        return of(events, "start")[0]["facts"]["mode"]

    def assert_equal_weights(self, found):
        self.assertEqual(1, len({of(events, "weights")[0]["sha256"] for events in found.values()}))

    def assert_losses(self, found, steps):
        for events in found.values():
            self.assertEqual(steps, len(losses(events)))
            self.assertTrue(all(map(math.isfinite, losses(events))))

    def assert_stamped(self, blocks, names):
        """Each step has each phase, and they fill it."""
        seconds, phases = sum(values_of(blocks, "seconds")), 0.0
        for block in blocks:
            self.assertEqual(names, set(block["phases"]))
            for values in block["phases"].values():
                self.assertEqual(len(block["seconds"]), len(values))
            phases += sum(map(sum, block["phases"].values()))
        self.assertLess(abs(seconds - phases), 0.15 * seconds)

    def assert_same_update(self, expected, events):
        """Loss, gradients and weights are those of the other events, to rounding."""
        expected, found = tensors(expected), tensors(events)
        self.assertEqual(sorted(expected), sorted(found))
        self.assertGreater(len(found), 2)
        for name, sketch in expected.items():
            self.assertLessEqual(np.abs(sketch - found[name]).max(), self.close * np.abs(sketch).max(), name)


class Together(Reporting):
    """Synchronous workers, in every framework that has them."""

    phases = frozenset(("load", "forward", "backward", "communication", "update"))
    batch = 128                  # of stamped steps: what lies between two steps is no phase's
    check = CHECK
    mode_of_pair = ""
    loading = ""                 # what a worker says that reads with its framework's own loader, in one of these modes
    loading_modes = ("allreduce",)
    sequences, overlaps = (), ("default",)             # of two workers of a sequence model

    def test_workers_hold_equal_weights_and_phases_fill_their_steps(self):
        found = self.run_changed(measure="phases", batch=self.batch)
        self.assertEqual({"node0", "node1", "node2"}, set(found))
        self.assert_equal_weights(found)
        self.assert_losses(found, 6)
        for events in found.values():
            self.assert_stamped(of(events, "steps"), self.phases)

    def test_an_update_of_three_workers_is_that_of_one_with_the_whole_batch(self):
        whole = self.alone(batch=WORKERS * 4, **self.check)
        for events in self.run_changed(**self.check).values():
            self.assert_same_update(whole, events)

    def test_an_update_of_two_devices_of_a_place_is_that_of_one_with_the_whole_batch(self):
        events = self.run_changed(**dict(PAIR, **self.check))["node0"]
        self.assertIn(self.mode_of_pair, self.mode(events))
        self.assert_same_update(self.alone(**self.check), events)

    def test_every_worker_s_own_loader_reads_from_disk(self):
        """80 images: in ten steps a worker goes round its shard, six batches of four, more than once."""
        if not self.loading:
            self.skipTest("no loader is tried in this mode")
        for mode in self.loading_modes:
            found = self.run_changed(parallel=mode, input="loader", measure="phases", steps=8)
            for events in found.values():
                self.assertIn("from disk by " + self.loading, of(events, "start")[0]["facts"]["loading"])
                self.assertTrue(all(map(math.isfinite, losses(events))))
            if mode != "ps-async":                     # whose steps are all workers' together
                self.assert_losses(found, 8)

    def test_two_workers_of_a_sequence_model_read_other_batches_and_hold_the_same_weights(self):
        if not self.sequences:
            self.skipTest("no sequence model is tried in this mode")
        for task, overlap in itertools.product(self.sequences, self.overlaps):
            found = self.run_changed(task=task, nodes=2, overlap=overlap, input="pipeline", steps=2, batch=2,
                                     measure="phases")
            self.assert_equal_weights(found)
            self.assertNotEqual(losses(found["node0"]), losses(found["node1"]))


class Driven(Together):
    """Where one process drives all devices of its place."""

    def test_two_workers_with_two_devices_each_take_the_steps_of_one_with_the_whole_batch(self):
        """Momentum is kept from step to step."""
        parts = [losses(events) for events in self.run_changed(nodes=2, gpus=2, batch=2, **TRAINED).values()]
        np.testing.assert_allclose(np.mean(parts, axis=0), losses(self.alone(**TRAINED)), rtol=self.same_losses)
