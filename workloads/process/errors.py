"""What ends a run early inside a worker, each with the word it ends with. Python 3.6 and later."""


class Unsupported(Exception):
    """The stack cannot do what the cell asks; the message says which capability is missing."""


def refuse_convolutions(cell, has_fixed):
    """Raise Unsupported for a choice of convolution algorithms that a CPU, or a framework, does not have."""
    if cell.conv != "default" and cell.device == "cpu":
        raise Unsupported("conv is the choice of a GPU's convolution algorithms: a CPU has none")
    if cell.conv == "fixed" and not has_fixed:
        raise Unsupported("this framework has no switch for one fixed convolution algorithm")


class DataError(Exception):
    """The data folder is missing, cut short or not in the layout that its name promises."""


class NotFinite(Exception):
    """The loss became NaN or infinite: a failed run, not a throughput."""
