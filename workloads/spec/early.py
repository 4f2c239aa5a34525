"""Which workers may be started ahead of their turn: they import while others do, and wait. Standard library only."""
from workloads.spec import tasks

VARIABLE = "EVENBENCH_EARLY"         # whether a worker waits once it has imported


def may_be(cell):
    """Whether a cell's worker can wait: it is alone, on CPUs, and imports in its own process."""
    return cell.device == "cpu" and cell.nodes == 1 and cell.parallel == "none" and cell.measure != "max_batch"


def later(adapter, cell):
    """What the framework imports by itself when the cell asks for it: module names, which older ones may lack.

    PyTorch 2 imports its compiler with the first optimizer, whatever the loop: as long as all of PyTorch.
    """
    has_optimizer = cell.measure not in tasks.FORWARD + ("product",)
    return ("torch._dynamo",) if adapter == "pytorch" and has_optimizer else ()
