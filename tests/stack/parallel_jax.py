"""JAX's parallel workers: three local places over Gloo, and devices of one process, as on a node of several GPUs.

    python -m unittest tests.stack.parallel_jax

Inside a stack of JAX; elsewhere it is skipped.
"""
import importlib.util
import unittest

import numpy as np

from tests.stack.places import run_places
from tests.stack.reports import Reporting, losses, of, values_of
from workloads.spec.cell import Cell

WORKERS = 3
UPDATE = {"measure": "check", "precision": "float64", "weight_decay": 0.1}


def setUpModule():
    if not importlib.util.find_spec("jax"):
        raise unittest.SkipTest("runs inside a stack of JAX")


def cell_of(**changes):
    """A synchronous cell of three workers that differs from it by the changes."""
    values = {"stack": "here", "task": "lenet5", "measure": "train", "batch": 4, "nodes": WORKERS, "steps": 6,
              "warmup": 2, "input": "synthetic", "parallel": "allreduce"}
    return Cell(**dict(values, **changes))


class Parallel(Reporting):
    """What the workers send."""

    close = 1e-10                # JAX rounds nothing to float32 in float64

    def run_changed(self, **changes):
        """The events of each worker of a changed cell's run, which ends well."""
        return self.run_all(cell_of(**changes))

    def mode(self, events):
        """What the worker says of how it trains with the others."""
        return of(events, "start")[0]["facts"]["mode"]

    def test_stamped_workers_hold_equal_weights_and_take_the_steps_of_plain_ones(self):
        """One program, or four: the losses are the same."""
        plain, stamped = (self.run_changed(measure=measure) for measure in ("train", "phases"))
        self.assert_together(stamped, 6)
        self.assertEqual({"shard_map over Gloo"}, {self.mode(events) for events in stamped.values()})
        self.assertEqual({"full"}, {of(events, "start")[0]["facts"]["communication"] for events in stamped.values()})
        for name in plain:
            np.testing.assert_allclose(losses(stamped[name]), losses(plain[name]), rtol=1e-5)

    def test_workers_with_running_statistics_of_their_own_hold_equal_weights(self):
        """And each tells what was compiled."""
        found = self.run_changed(task="resnet18_cifar", image=8, nodes=2, steps=1, warmup=1, batch=2)
        self.assertEqual(1, len({of(events, "weights")[0]["sha256"] for events in found.values()}))
        for events in found.values():
            told, = of(events, "compiled")
            self.assertGreaterEqual(told["programs"], 1)
            self.assertEqual(1, len(values_of(of(events, "steps"), "seconds")))

    def test_an_update_of_three_workers_is_that_of_one_with_the_whole_batch(self):
        found = self.run_changed(**UPDATE)
        self.assertEqual(WORKERS, len(found))
        whole = self.whole_update(WORKERS * 4)
        for events in found.values():
            self.assert_same_update(whole, events)

    def test_an_update_of_two_devices_of_a_process_is_that_of_one_with_the_whole_batch(self):
        """As on a node of two GPUs, there with NCCL."""
        events = self.run_changed(nodes=1, gpus=2, **UPDATE)["node0"]
        self.assertEqual("shard_map over a process's CPU devices", self.mode(events))
        self.assert_same_update(self.whole_update(8), events)

    def whole_update(self, batch):
        """The events of one worker's update on so many samples."""
        return self.run_changed(parallel="none", nodes=1, batch=batch, **UPDATE)["node0"]

    def test_two_workers_with_two_devices_each_take_the_steps_of_one_with_the_whole_batch(self):
        """Momentum is kept from step to step."""
        changes = {"optimizer": "momentum", "weight_decay": 0.1, "learning_rate": 0.05}
        whole = losses(self.run_changed(parallel="none", nodes=1, batch=8, **changes)["node0"])
        parts = [losses(events) for events in self.run_changed(nodes=2, gpus=2, batch=2, **changes).values()]
        np.testing.assert_allclose(np.mean(parts, axis=0), whole, rtol=1e-5)

    def test_many_gpus_without_a_mode_sequence_models_and_eager_workers_are_refused(self):
        for changes, reason in (({"nodes": 1, "gpus": 2, "parallel": "none"}, "JAX trains on many GPUs with parallel"),
                                ({"nodes": 2, "task": "lstm"}, "sequence tasks run in one place"),
                                ({"nodes": 2, "loop": "eager"}, "that is loop xla")):
            end = run_places(cell_of(**changes))["node0"][-1]
            self.assertEqual("unsupported", end["status"], end)
            self.assertIn(reason, end["message"])

    def test_the_profile_has_the_exchange_the_convolutions_and_the_update(self):
        for events in self.run_changed(measure="operators", nodes=2, steps=3).values():
            found = of(events, "operators")[0]["operators"]
            for scope in ("conv/", "gradient/conv/", "exchange/", "optimizer/"):
                self.assertTrue([name for name in found if name.startswith(scope)], (scope, sorted(found)))


if __name__ == "__main__":
    unittest.main()
