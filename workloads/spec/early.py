"""Which workers may be started ahead of their turn: they import while others do, and wait. Standard library only."""

VARIABLE = "EVENBENCH_EARLY"         # whether a worker waits once it has imported


def may_be(cell):
    """Whether a cell's worker can wait: it is alone, on CPUs, and imports in its own process."""
    return cell.device == "cpu" and cell.nodes == 1 and cell.parallel == "none" and cell.measure != "max_batch"
