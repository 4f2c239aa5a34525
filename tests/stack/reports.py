"""What the places of a parallel run send, read for tests inside a stack. Python 3.6 and later."""
import base64
import math
import unittest

import numpy as np

from tests.stack.places import run_places

CLOSE = 1e-6                     # relative: TensorFlow rounds its loss to float32


def of(events, name):
    """The events of that name."""
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

    close = CLOSE

    def run_all(self, cell):
        """The events of each reporter of a run that ends well."""
        found = {name: events for name, events in run_places(cell).items() if events}
        for events in found.values():
            self.assertEqual("ok", events[-1]["status"], events[-1].get("message"))
        return found

    def assert_together(self, found, steps):
        """The workers hold equal weights, and each step of each has all phases and a loss."""
        self.assertEqual({"node0", "node1", "node2"}, set(found))
        self.assertEqual(1, len({of(events, "weights")[0]["sha256"] for events in found.values()}))
        for events in found.values():
            self.assertEqual(steps, len(losses(events)))
            self.assertTrue(all(map(math.isfinite, losses(events))))
            self.assert_stamped(of(events, "steps"), {"load", "forward", "backward", "communication", "update"})

    def assert_stamped(self, blocks, names):
        """Each step has each phase, and they fill it."""
        seconds, phases = sum(values_of(blocks, "seconds")), 0.0
        for block in blocks:
            self.assertEqual(names, set(block["phases"]))
            for values in block["phases"].values():
                self.assertEqual(len(block["seconds"]), len(values))
                self.assertGreater(min(values), 0.0)
            phases += sum(map(sum, block["phases"].values()))
        self.assertLess(abs(seconds - phases), 0.15 * seconds)

    def assert_same_update(self, expected, events):
        """Loss, gradients and weights are those of the other events, to rounding."""
        expected, found = tensors(expected), tensors(events)
        self.assertEqual(sorted(expected), sorted(found))
        self.assertGreater(len(found), 2)
        for name, sketch in expected.items():
            self.assertLessEqual(np.abs(sketch - found[name]).max(), self.close * np.abs(sketch).max(), name)
