"""PyTorch's parallel training in three processes, inside a stack: python -m unittest tests.stack.parallel_pytorch.

Python 3.6 and later.
"""
import base64
import math
import unittest

import numpy as np

from tests.stack.places import run_places
from workloads.frameworks import pytorch
from workloads.inputs import images
from workloads.inputs import weights as initial
from workloads.measuring import measures
from workloads.spec import layers, tasks
from workloads.spec.cell import Cell

WORKERS = 3
OVERLAPS = ("default", "off")
CELL = Cell(stack="here", task="lenet5", measure="train", batch=4, steps=6, warmup=2, nodes=WORKERS,
            input="synthetic", parallel="allreduce", learning_rate=0.05)


def of(events, name):
    """The events of that name."""
    return [event for event in events if event["event"] == name]


def tensors(events, kind):
    """The sketches of a kind by name."""
    return {event["name"]: np.frombuffer(base64.b64decode(event["sketch"]), "<f8")
            for event in of(events, "tensor") if event["kind"] == kind}


class Parallel(unittest.TestCase):
    """Training with all-reduce, during the backward pass and after it."""

    def run_cell(self, **changes):
        """The events of each worker, all of which ended ok."""
        found = run_places(CELL._replace(**changes))
        self.assertEqual(["node0", "node1", "node2"], sorted(found))
        for name, events in found.items():
            self.assertEqual(("end", "ok"), (events[-1]["event"], events[-1].get("status")), (name, events[-1]))
        return found

    def test_workers_hold_the_same_weights_and_a_step_s_phases_are_the_step(self):
        for overlap, communication, changes in (("default", "exposed", {"batch": 42}),
                                                ("off", "full", {"task": "resnet18_cifar", "image": 8})):
            found = self.run_cell(measure="phases", overlap=overlap, **changes)
            self.assertEqual(1, len({of(events, "weights")[0]["sha256"] for events in found.values()}))
            for events in found.values():
                self.assertEqual(communication, of(events, "start")[0]["facts"]["communication"])
                self.assert_losses(of(events, "steps"))
                self.assert_phases(of(events, "steps"))

    def assert_losses(self, blocks):
        losses = [loss for block in blocks for loss in block["loss"]]
        self.assertEqual(CELL.steps, len(losses))
        self.assertTrue(all(map(math.isfinite, losses)), losses)

    def assert_phases(self, blocks):
        for block in blocks:
            self.assertEqual({"load", "forward", "backward", "communication", "update"}, set(block["phases"]))
            for seconds in block["phases"].values():
                self.assertEqual(len(block["seconds"]), len(seconds))
        seconds = sum(sum(block["seconds"]) for block in blocks)
        phases = sum(sum(sum(values) for values in block["phases"].values()) for block in blocks)
        self.assertLess(abs(seconds - phases), 0.15 * seconds)

    def test_every_worker_s_own_loader_reads_from_disk(self):
        """80 images: ten steps go round a shard more than once."""
        for events in self.run_cell(input="loader", warmup=4).values():
            self.assertIn("from disk by DataLoader", of(events, "start")[0]["facts"]["loading"])
            self.assert_losses(of(events, "steps"))

    def test_three_workers_check_like_one_that_has_all_their_samples(self):
        wanted = self.alone(CELL._replace(measure="check", precision="float64", batch=WORKERS * CELL.batch))
        for overlap in OVERLAPS:
            found = self.run_cell(measure="check", precision="float64", overlap=overlap)
            for events in found.values():
                self.assert_equal(wanted, events)

    def alone(self, cell):
        """The events of a check by one worker in this process."""
        cell, sent = cell._replace(nodes=1, parallel="none"), []
        table = tasks.table(cell.task, cell.classes)
        workload = pytorch.Workload(table, cell)
        workload.load(initial.seeded(layers.parameters(table, tasks.input_shape(cell.image)), cell.seed, "float64"))
        measures.check(cell, pytorch, workload, images.synthetic(cell), "",
                       lambda event, **values: sent.append(dict(values, event=event)))
        return sent

    def assert_equal(self, wanted, events):
        for kind in ("gradient", "weight", "loss"):
            expected, found = tensors(wanted, kind), tensors(events, kind)
            self.assertEqual(sorted(expected), sorted(found))
            for name, sketch in expected.items():
                difference = np.abs(sketch - found[name]).max() / np.abs(sketch).max()
                self.assertLess(difference, 1e-10, (kind, name))

    def test_two_processes_of_a_node_check_like_one_that_has_all_their_samples(self):
        """As on a node of two GPUs, there with NCCL."""
        changes = {"measure": "check", "precision": "float64", "nodes": 1}
        wanted = self.alone(CELL._replace(batch=2 * CELL.batch, **changes))
        for overlap in OVERLAPS:
            events = run_places(CELL._replace(gpus=2, overlap=overlap, **changes))["node0"]
            self.assertEqual("ok", events[-1].get("status"), events[-1])
            self.assertEqual("DistributedDataParallel over Gloo", of(events, "start")[0]["facts"]["mode"])
            self.assert_equal(wanted, events)

    def test_the_first_process_of_a_node_reports_a_gpu_s_share_of_the_batch(self):
        events = run_places(CELL._replace(nodes=1, gpus=2))["node0"]
        self.assertEqual("ok", events[-1].get("status"), events[-1])
        self.assert_losses(of(events, "steps"))
        self.assertEqual(1, len(of(events, "weights")))

    def test_two_workers_of_a_sequence_model_read_other_batches_and_hold_the_same_weights(self):
        for task in ("bert", "gnmt", "deepspeech2", "tacotron2"):
            for overlap in OVERLAPS:
                found = run_places(CELL._replace(task=task, nodes=2, overlap=overlap, input="pipeline", steps=2,
                                                 batch=2, measure="phases"))
                first, second = (found["node0"], found["node1"])
                self.assertEqual(("ok", "ok"), (first[-1]["status"], second[-1]["status"]), (task, first[-1]))
                self.assertEqual(1, len({of(events, "weights")[0]["sha256"] for events in (first, second)}))
                self.assertNotEqual(of(first, "steps")[0]["loss"], of(second, "steps")[0]["loss"])

    def test_dataparallel_is_of_gpus(self):
        end = run_places(CELL._replace(nodes=1, gpus=2, parallel="none"))["node0"][-1]
        self.assertEqual("unsupported", end.get("status"), end)

    def test_the_profile_has_a_convolution_its_backward_pass_and_the_update(self):
        for events in self.run_cell(measure="operators", overlap="off", steps=2).values():
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


if __name__ == "__main__":
    unittest.main(warnings="default")
