"""Why a framework cannot run a cell, where its kind and version tell that before it is imported.

Python 3.6 and later, standard library only. A worker asks with what it sees of its framework, a plan with what is known
of its version, so that no cell is planned that its worker refuses for one of these reasons.
"""
from typing import NamedTuple

from workloads.spec import measures, tasks
from workloads.spec.cell import Cell
from workloads.spec.models import lstm_kernels

NO_LOADER = "input = loader reads by PyTorch's and gluon's DataLoader and TensorFlow 2's tf.data alone"
# what TensorFlow 1.15 trains with a parameter server: each array of a batch has a row a sample, by which it is cut
CENTRAL = ("gnmt", "lstm")
ON_A_GPU = "operators are timed on a CPU: a GPU's run after the profiler's clock has left them"
BFLOAT16 = ("avx512_bf16", "amx_bf16")       # a CPU's instructions, one of which it must have
NO_GRAPH = "the nodes of a whole graph are counted in TensorFlow 1 alone"


class Able(NamedTuple):
    """What a framework has."""

    framework: str
    version: str
    has_fixed: bool              # a switch for one fixed convolution algorithm
    is_session: bool             # TensorFlow 1: a graph in a session, whose nodes can be counted


def of_version(framework: str, version: str):
    """What a version of a framework is known to have.

    TensorFlow 2's determinism only narrows the choice of algorithms, and so does PyTorch's from 1.13 on, which came
    with benchmark_limit and cuDNN 8's interface.
    """
    number = tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])
    is_session = framework == "tensorflow" and (0,) < number < (2,)
    return Able(framework, version, is_session or (framework == "pytorch" and (0,) < number < (1, 13)), is_session)


def emulated_bfloat16(cell: Cell, features):
    """Why a CPU with these instructions has no rate of bfloat16 to measure, or None; a check may compute in it.

    That of a user's own model, which is of what is timed next, does not.
    """
    if cell.precision != "amp" or cell.device != "cpu" or not (cell.source or cell.measure in measures.TIMED):
        return None
    if not features or any(name in features for name in BFLOAT16):
        return None
    return ("precision = amp is bfloat16, for which this CPU has no instructions (%s): it would convert each number "
            "to float32 and back" % " or ".join(BFLOAT16))


def refused(able, cell: Cell):
    """Why the framework cannot run the cell, or None. cell.parallel is its own mode."""
    return (convolutions(cell, able.has_fixed) or graphs(able, cell) or _lstm(able, cell) or many(able, cell)
            or loaders(cell) or _no_loader(able, cell))


def convolutions(cell: Cell, has_fixed: bool):
    """Why a CPU, or a framework, does not have the cell's choice of convolution algorithms, or None."""
    if cell.conv != "default" and cell.device == "cpu":
        return "conv is the choice of a GPU's convolution algorithms: a CPU has none"
    if cell.conv == "fixed" and not has_fixed:
        return "this framework has no switch for one fixed convolution algorithm"
    return None


def loaders(cell: Cell):
    """Why the cell's batches cannot come from a framework's own loader, or None."""
    if cell.input != "loader":
        return None
    if tasks.is_sequence(cell.task) or cell.gpus > 1 or cell.measure not in measures.LOADED:
        return "input = loader is of images on one device: measure %s" % ", ".join(measures.LOADED)
    return None


def _no_loader(able, cell: Cell):
    if cell.input == "loader" and (able.is_session or able.framework not in ("pytorch", "tensorflow", "mxnet")):
        return NO_LOADER
    return None


def graphs(able, cell: Cell):
    """Why there is no graph to count or to optimise, or None."""
    if cell.measure == "graph" and not able.is_session:
        return NO_GRAPH
    if cell.graph_opt != "default" and able.framework != "tensorflow":
        return "graph_opt is of TensorFlow's graphs"
    return None


def _lstm(able, cell: Cell):
    if not tasks.is_sequence(cell.task) or (able.framework, cell.device) not in lstm_kernels.IMPLEMENTATIONS:
        return None
    return lstm_kernels.missing(able.framework, cell.device, cell.lstm)


def many(able, cell: Cell):
    """Why the framework does not train the cell in many places or on many GPUs, or None; one of each it can."""
    if cell.parallel == "none" and cell.gpus == 1:
        return None
    if able.framework == "tensorflow" and cell.parallel != "horovod":
        if able.is_session and cell.parallel == "central":
            return None if cell.task in CENTRAL else (
                "parallel = central of TensorFlow %s trains %s alone" % (able.version, " and ".join(CENTRAL)))
        if able.is_session:
            return ("TensorFlow %s trains in many places, and all models on many GPUs, by Horovod alone: parallel = "
                    "horovod in tf-1.15-horovod or tf-1.15-nv" % able.version)
        if tasks.is_sequence(cell.task):
            return "sequence tasks of TensorFlow run in one place, on one GPU, except in 1.15"
        if cell.parallel == "none":
            return "TensorFlow trains on many GPUs with parallel = sync"
    if able.framework == "tensorflow" and cell.parallel == "horovod" and not able.is_session:
        return "Horovod trains TensorFlow 1 here: TensorFlow %s has parallel = allreduce" % able.version
    if able.framework == "pytorch" and cell.parallel == "none" and tasks.is_sequence(cell.task):
        return "DataParallel cuts images: sequence models train on many GPUs with parallel = sync"
    return None
