"""Horovod's workers, as three local places, and as two processes of one.

    python -m unittest tests.stack.parallel_horovod

Inside a stack that has Horovod; elsewhere it is skipped. Python 3.6 and later.
"""
import importlib.util
import unittest

from tests.stack.reports import Reporting, losses, of
from workloads.spec.cell import Cell

WORKERS = 3
CELL = Cell(stack="here", task="lenet5", measure="train", batch=4, nodes=WORKERS, steps=6, warmup=2,
            input="synthetic", parallel="horovod")


def setUpModule():
    if importlib.util.find_spec("horovod") is None:
        raise unittest.SkipTest("runs inside a stack that has Horovod")


class Horovod(Reporting):
    """What the workers send."""

    def run_changed(self, **changes):
        """The events of each worker of a changed cell's run, which ends well."""
        return self.run_all(CELL._replace(**changes))

    def test_workers_hold_equal_weights_and_phases_fill_their_steps(self):
        found = self.run_changed(measure="phases", batch=128)      # what lies between two steps is no phase's
        self.assert_together(found, 6)
        self.assertEqual({"Horovod over Gloo"}, {of(events, "start")[0]["facts"]["mode"] for events in found.values()})

    def test_an_update_of_three_workers_is_that_of_one_with_the_whole_batch(self):
        changes = {"measure": "check", "precision": "float64", "weight_decay": 0.1}
        whole = self.run_changed(parallel="none", nodes=1, batch=WORKERS * 4, **changes)["node0"]
        for events in self.run_changed(**changes).values():
            self.assert_same_update(whole, events)

    def test_an_update_of_two_processes_of_a_place_is_that_of_one_with_the_whole_batch(self):
        """As on a node of two GPUs, there with NCCL."""
        changes = {"measure": "check", "precision": "float64", "weight_decay": 0.1, "nodes": 1}
        whole = self.run_changed(parallel="none", batch=8, **changes)["node0"]
        self.assert_same_update(whole, self.run_changed(gpus=2, **changes)["node0"])

    def test_two_workers_of_a_sequence_model_read_other_batches_and_hold_the_same_weights(self):
        for task in ("bert", "gnmt"):
            found = self.run_changed(task=task, nodes=2, input="pipeline", steps=2, batch=2, measure="phases")
            self.assertEqual(1, len({of(events, "weights")[0]["sha256"] for events in found.values()}))
            self.assertNotEqual(losses(found["node0"]), losses(found["node1"]))

    def test_the_profile_has_the_exchange(self):
        for events in self.run_changed(measure="operators", steps=3).values():
            found = of(events, "operators")[0]["operators"]
            self.assertIn("HorovodAllreduce", found)
            self.assertTrue(any(name.startswith("optimizer/") for name in found), sorted(found))


if __name__ == "__main__":
    unittest.main()
