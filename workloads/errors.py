"""What ends a run early inside a worker, each with the word it ends with. Python 3.6 and later."""


class Unsupported(Exception):
    """The stack cannot do what the cell asks; the message says which capability is missing."""


class DataError(Exception):
    """The data folder is missing, cut short or not in the layout that its name promises."""


class NotFinite(Exception):
    """The loss became NaN or infinite: a failed run, not a throughput."""
