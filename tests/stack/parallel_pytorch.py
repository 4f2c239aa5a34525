"""PyTorch's parallel training in three processes."""
from tests.stack import reports
from tests.stack.reports import CHECK, PAIR, of


class Parallel(reports.Together):
    """Training with all-reduce, during the backward pass and after it."""

    package, cell = "torch", reports.Reporting.cell._replace(learning_rate=0.05)
    batch, mode_of_pair, close = 42, "DistributedDataParallel over Gloo", 1e-10
    loading, sequences = "DataLoader", ("bert", "gnmt", "deepspeech2", "tacotron2")
    overlaps = ("default", "off")

    def test_the_exchange_after_the_backward_pass_trains_as_the_one_during_it(self):
        found = self.run_changed(measure="phases", overlap="off", task="resnet18_cifar", image=8)
        self.assert_equal_weights(found)
        self.assert_losses(found, 6)
        self.assertEqual({"full"}, {of(events, "start")[0]["facts"]["communication"] for events in found.values()})
        for events in found.values():
            self.assert_stamped(of(events, "steps"), self.phases)
        for changes, batch in (({}, 12), (PAIR, 8)):
            whole = self.alone(batch=batch, **CHECK)
            for events in self.run_changed(**dict(CHECK, overlap="off", **changes)).values():
                self.assert_same_update(whole, events)

    def test_the_first_process_of_a_node_reports_a_gpu_s_share_of_the_batch(self):
        events = self.run_changed(**PAIR)["node0"]
        self.assert_losses({"": events}, 6)
        self.assertEqual(1, len(of(events, "weights")))

    def test_dataparallel_is_of_gpus(self):
        self.refused("", nodes=1, gpus=2, parallel="none")

    def test_the_profile_has_a_convolution_its_backward_pass_and_the_update(self):
        for events in self.run_changed(measure="operators", overlap="off", steps=2).values():
            found = of(events, "operators")[0]["operators"]
            self.assertTrue({"conv2d", "aten::conv2d"} & set(found), sorted(found))
            backward = [name for name in found if "convolution_backward" in name]
            self.assertTrue(backward, sorted(found))
            for name in ("optimizer.step", "exchange", *backward):
                calls, seconds = found[name]
                self.assertEqual(0, calls % 2, name)
                self.assertGreater(seconds, 0.0, name)
            tanh = [name for name in found if name.endswith("tanh")]
            self.assertEqual([2 * 4], [found[name][0] for name in tanh])
