"""What ends a run early inside a worker, each with the word it ends with. Python 3.6 and later."""

import traceback

from workloads.spec import refusals
from workloads.spec.cell import Cell

# in lower case: what allocators of hosts and GPUs, C++ and the frameworks say where memory ran out
_OUT_OF_MEMORY = ("out of memory", "memoryerror", "bad_alloc", "alloc_failed", "cannot allocate", "can't allocate",
                  "failed to allocate", "memory allocation failed", "not enough memory", "resource_exhausted",
                  "oom when allocating")


_OF_NUMPY = ("numpy", "multiarray", "_array_api")      # in lower case: in errors of an older or newer one
_OF_NUMPY_1 = ("multiarray", "_array_api", "numpy is not available", "dtype size changed", "using numpy 1")


class Unsupported(Exception):
    """The stack cannot do what the cell asks; the message says which capability is missing."""


def refuse_convolutions(cell: Cell, has_fixed: bool) -> None:
    """Raise Unsupported for a choice of convolution algorithms that a CPU, or a framework, does not have."""
    reason = refusals.convolutions(cell, has_fixed)
    if reason:
        raise Unsupported(reason)


def refuse_emulated_bfloat16(capability) -> None:
    """Raise Unsupported for a GPU that only emulates bfloat16; capability: (major, minor), None where it is not told.

    PyTorch's own is_bf16_supported() counts that as having it: a Tesla T4 was 5.6 times slower than with float16.
    """
    _refuse_before_ampere("bfloat16", capability)


def refuse_missing_tf32(capability) -> None:
    """Raise Unsupported for a GPU without TF32, which frameworks switch on everywhere; capability as above."""
    _refuse_before_ampere("TF32", capability)


def _refuse_before_ampere(numbers, capability) -> None:
    if capability and tuple(capability) < (8, 0):
        raise Unsupported("this GPU has no %s: it needs compute capability 8.0, not %d.%d"
                          % ((numbers,) + tuple(capability)))


class DataError(Exception):
    """The data folder is missing, cut short or not in the layout that its name promises."""


class NotFinite(Exception):
    """The loss became NaN or infinite: a failed run, not a throughput."""


def place_of(error):
    """Where a user's own file raised the error or called what did, such as "net.py, line 7: "; "" where none did."""
    of_files = [each for each in traceback.extract_tb(error.__traceback__) if each[0].endswith((".py>", "--same>"))]
    return "%s, line %d: " % (of_files[-1][0][1:-1], of_files[-1][1]) if of_files else ""


def explained(text: str, numpy):
    """The text of an error, and where it is of numpy which one there is; numpy: its version, "" where there is none.

    A framework that was compiled for NumPy 1 says why on standard error alone, in a text of many lines.
    """
    if not numpy or not any(word in text.lower() for word in _OF_NUMPY):
        return text
    is_older = numpy.split(".")[0] != "1" and any(word in text.lower() for word in _OF_NUMPY_1)
    older = "; a framework that was compiled for NumPy 1 needs numpy<2 there" if is_older else ""
    return "%s (numpy %s is installed%s)" % (text, numpy, older)


def says_out_of_memory(text: str):
    """Whether a message, or what a process last wrote, says that memory ran out."""
    lower = text.lower()
    return any(saying in lower for saying in _OUT_OF_MEMORY)


def is_out_of_memory(error, of_framework) -> bool:
    """Whether an exception says that memory, the host's or the device's, ran out.

    of_framework: the classes of exceptions, one or a tuple, whose messages are the framework's and are read.
    """
    return isinstance(error, MemoryError) or (isinstance(error, of_framework) and says_out_of_memory(str(error)))
