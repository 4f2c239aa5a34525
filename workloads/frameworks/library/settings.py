"""A cell's switches as the bare library takes them: nearly all are refused. Python 3.6 and later."""
from workloads.process.errors import Unsupported
from workloads.spec.models import lstm_kernels

_LOOPS = ("native", "eager")


def apply(cell):
    """Nothing: the library's threads are those of the environment."""


def tuned(cell, features):
    """The cell as it is: its loop is refused."""
    return cell


def demand(cell, library):
    """Raise Unsupported for what the library has not."""
    missing = lstm_kernels.missing(library, cell.device, cell.lstm)
    device = {"onednn": "cpu", "cudnn": "gpu"}[library]
    for is_refused, reason in (
            (cell.task != "lstm", "the bare %s has the lstm task alone" % library),
            (cell.device != device, "the bare %s runs on a %s" % (library, device)),
            (cell.precision != "float32", "the bare %s computes in float32 here" % library),
            (cell.loop not in _LOOPS, "the bare %s has no loop %s: a step is a few calls" % (library, cell.loop)),
            (missing, missing),
            (cell.optimizer in ("adam", "adamw"), "the bare %s is updated by sgd or momentum" % library),
            (cell.init == "framework", "a library has no initial weights of its own"),
            (cell.onednn == "off" and library == "onednn", "without oneDNN nothing is left here")):
        if is_refused:
            raise Unsupported(reason)
