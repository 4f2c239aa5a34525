"""JAX's parallel workers: three local places over Gloo, and devices of one process, as on a node of several GPUs."""
import numpy as np

from tests.stack import reports
from tests.stack.reports import losses, of, values_of


class Parallel(reports.Driven):
    package, mode_of_pair = "jax", "shard_map over a process's CPU devices"
    close, same_losses = 1e-10, 1e-5         # JAX rounds nothing to float32 in float64

    def test_stamped_workers_take_the_steps_of_plain_ones(self):
        """One program, or four: the losses are the same."""
        plain, stamped = (self.run_changed(measure=measure) for measure in ("train", "phases"))
        self.assertEqual({"shard_map over Gloo"}, {self.mode(events) for events in stamped.values()})
        self.assertEqual({"full"}, {of(events, "start")[0]["facts"]["communication"] for events in stamped.values()})
        for name in plain:
            np.testing.assert_allclose(losses(stamped[name]), losses(plain[name]), rtol=1e-5)

    def test_workers_with_running_statistics_of_their_own_hold_equal_weights(self):
        """And each tells what was compiled."""
        found = self.run_changed(task="resnet18_cifar", image=8, nodes=2, steps=1, warmup=1, batch=2)
        self.assert_equal_weights(found)
        for events in found.values():
            told, = of(events, "compiled")
            self.assertGreaterEqual(told["programs"], 1)
            self.assertEqual(1, len(values_of(of(events, "steps"), "seconds")))

    def test_many_gpus_without_a_mode_sequence_models_and_eager_workers_are_refused(self):
        self.refused("JAX trains on many GPUs with parallel", nodes=1, gpus=2, parallel="none")
        self.refused("sequence tasks run in one place", nodes=2, task="lstm")
        self.refused("that is loop xla", nodes=2, loop="eager")

    def test_the_profile_has_the_exchange_the_convolutions_and_the_update(self):
        for events in self.run_changed(measure="operators", nodes=2, steps=3).values():
            found = of(events, "operators")[0]["operators"]
            for scope in ("conv/", "gradient/conv/", "exchange/", "optimizer/"):
                self.assertTrue([name for name in found if name.startswith(scope)], (scope, sorted(found)))
