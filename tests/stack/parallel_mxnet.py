"""MXNet's parallel workers, as three local places each with a server of its own."""
import numpy as np

from tests.stack import reports
from tests.stack.places import run_places
from tests.stack.reports import CHECK, PAIR, TRAINED, losses, of


class Parallel(reports.Driven):
    package, cell = "mxnet", reports.Reporting.cell._replace(parallel="ps-sync")
    phases, batch = frozenset(("load", "forward", "backward", "communication")), 4
    test_an_update_of_two_devices_of_a_place_is_that_of_one_with_the_whole_batch = None      # checks are of one device
    close, same_losses = 1e-10, 1e-5
    loading, loading_modes = "gluon", ("ps-sync",)

    @classmethod
    def setUpClass(cls):
        """Updates are compared in float64 where the servers keep it."""
        super().setUpClass()
        found = run_places(cls.cell._replace(**CHECK))
        if {events[-1]["status"] for events in found.values()} == {"unsupported"}:
            cls.check, cls.close = dict(CHECK, precision="float32"), 1e-5

    def test_asynchronous_workers_train_and_leave_with_the_servers_last_weights(self):
        found = self.run_changed(parallel="ps-async")
        self.assert_losses(found, 6)
        self.assert_equal_weights(found)

    def test_three_workers_losses_are_those_of_one_with_the_whole_batch(self):
        """Momentum and weight decay stand on the servers; step after step shows that they are kept there."""
        changes = dict(TRAINED, weight_decay=0.1)
        parts = [losses(events) for events in self.run_changed(**changes).values()]
        np.testing.assert_allclose(np.mean(parts, axis=0), losses(self.alone(batch=12, **changes)), rtol=1e-5)

    def test_two_devices_of_a_process_exchange_gradients_themselves_or_by_a_server(self):
        alone = losses(self.alone(**TRAINED))
        for parallel, mode in (("none", "KVStore device"), ("ps-sync", "KVStore dist_sync")):
            both = self.run_changed(parallel=parallel, **dict(PAIR, **TRAINED))["node0"]
            self.assertEqual(mode, self.mode(both))
            np.testing.assert_allclose(losses(both), alone, rtol=1e-5)

    def test_the_profile_names_operators_one_by_one(self):
        """The ten weights are updated on the servers, each on one of them: together the places tell of all."""
        updates = 0
        for events in self.run_changed(measure="operators", steps=3).values():
            operators = {name: used for event in of(events, "operators") for name, used in event["operators"].items()}
            self.assertEqual([6, 6, 12], [operators[name][0] for name in (
                "Convolution", "_backward_Convolution", "_backward_Activation/tanh")])     # of 2, 2 and 4 a step
            self.assertIn("KVStoreDistDefaultStoragePushPull", operators)
            self.assertTrue(all(seconds >= 0 for _, seconds in operators.values()))
            updates += operators.get("server/multi_sgd_update", (0, 0.0))[0]
        self.assertEqual(3 * 10, updates)
