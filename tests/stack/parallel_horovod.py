"""Horovod's workers, as three local places, and as two processes of one."""
from tests.stack import reports
from tests.stack.reports import losses, of


class Horovod(reports.Together):
    package, cell, mode_of_pair = "horovod", reports.Reporting.cell._replace(parallel="horovod"), "Horovod over Gloo"

    def test_two_workers_of_a_sequence_model_read_other_batches_and_hold_the_same_weights(self):
        for task in ("bert", "gnmt"):
            found = self.run_changed(task=task, nodes=2, input="pipeline", steps=2, batch=2, measure="phases")
            self.assert_equal_weights(found)
            self.assertNotEqual(losses(found["node0"]), losses(found["node1"]))

    def test_the_profile_has_the_exchange(self):
        for events in self.run_changed(measure="operators", steps=3).values():
            found = of(events, "operators")[0]["operators"]
            self.assertIn("HorovodAllreduce", found)
            self.assertTrue(any(name.startswith("optimizer/") for name in found), sorted(found))
