"""What TensorFlow 1's graph optimisers remove: python -m tests.stack test_graph tensorflow, in a stack of 1.15."""
import unittest

from tests.stack import setUpModule  # noqa: F401  skips
from tests.stack.test_adapter import seeded, taken
from workloads.profiles import graph_operations
from workloads.spec.cell import Cell

# a training cell of LeNet-5 that differs from it by the changes
cell_of = Cell(stack="here", task="lenet5", measure="graph", batch=3, steps=3, warmup=0)._replace


class Graph(unittest.TestCase):
    """The nodes of a training step."""

    def test_what_the_passes_remove_adds_up_and_is_hardly_a_product_for_the_training_needs_them(self):
        workload, batches = seeded(cell_of())
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
            workload, batches = seeded(cell_of(graph_opt=choice))
            found.append([float(loss) for loss in taken(workload, "train", batches, 3)])
        for losses in found[1:]:
            for expected, loss in zip(found[0], losses):
                self.assertAlmostEqual(expected, loss, places=5)
