"""Horovod's workers, as three local places, and as two processes of one."""
from tests.stack import reports
from tests.stack.reports import of


class Horovod(reports.Together):
    package, cell, mode_of_pair = "horovod", reports.Reporting.cell._replace(parallel="horovod"), "Horovod over Gloo"
    sequences = ("bert", "gnmt")

    def test_the_profile_has_the_exchange(self):
        for events in self.run_changed(measure="operators", steps=3).values():
            found = of(events, "operators")[0]["operators"]
            self.assertIn("HorovodAllreduce", found)
            self.assertTrue(any(name.startswith("optimizer/") for name in found), sorted(found))
