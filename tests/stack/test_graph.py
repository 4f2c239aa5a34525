"""What TensorFlow 1's graph optimisers remove: python -m tests.stack test_graph tensorflow, in a stack of 1.15."""
import unittest

from tests.stack import adapter, setUpModule  # noqa: F401  skips
from tests.stack.test_adapter import taken
from workloads.inputs import images, weights
from workloads.profiles import graph_operations
from workloads.spec import tasks
from workloads.spec.cell import Cell


def built(**changes):
    """The Workload with seeded weights of a training cell of LeNet-5 with the changes, and its batches."""
    cell = Cell(stack="here", task="lenet5", measure="graph", batch=3, steps=3, warmup=0, **changes)
    workload = adapter.Workload(tasks.table(cell.task, cell.classes), cell)
    workload.load(weights.seeded(tasks.parameters(cell), cell.seed))
    return workload, workload.synthetic(*images.synthetic(cell).inputs)


class Graph(unittest.TestCase):
    """The nodes of a training step."""

    def test_what_the_passes_remove_adds_up_and_is_hardly_a_product_for_the_training_needs_them(self):
        workload, batches = built()
        found = workload.graph(batches)
        self.assertEqual(found["nodes_before"] - found["nodes_after"], sum(found["passes"].values()))
        self.assertGreater(found["passes"]["pruning"], 0)          # initialisers at least
        self.assertEqual(set(graph_operations.CLASSES), set(found["removed"]))
        # LeNet-5 has 2 convolutions and 3 products, forward and twice backward but for the first one's input
        self.assertLessEqual(found["removed"]["expensive"], 1)
        self.assertGreaterEqual(found["nodes_run"], 14)

    def test_the_losses_are_the_same_without_the_optimisers(self):
        found = []
        for choice in ("default", "off", "no_pruning", "no_constant_folding", "no_arithmetic", "no_dependency"):
            workload, batches = built(graph_opt=choice)
            found.append([float(loss) for loss in taken(workload, "train", batches, 3)])
        for losses in found[1:]:
            for expected, loss in zip(found[0], losses):
                self.assertAlmostEqual(expected, loss, places=5)
