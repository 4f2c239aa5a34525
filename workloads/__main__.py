"""python -m workloads '<cell JSON>' [--data FOLDER]: measure one cell in this stack, JSON lines on standard output.

Exit code 0: ended ok; 1: another ending, which the "end" event names; 2: the cell or the data cannot be read.
"""
import gc
import importlib
import importlib.util
import os
import re
import sys
import traceback

from workloads.measuring import max_batch
from workloads.places import cluster
from workloads.process import emit, environment, gpu_libraries, lifetime, waiting
from workloads.process.errors import DataError, NotFinite, Unsupported, explained, place_of
from workloads.spec import frameworks, library, turns
from workloads.spec.cell import Cell, CellError, loads, switched
from workloads.spec.measures import FORWARD

USAGE = "usage: python -m workloads '<cell JSON>' [--data FOLDER]"


def main(arguments):
    """The exit code, or no return; every run that could begin ends with an "end" event."""
    send = emit.take_over()
    waiting.end_with_runner()
    try:
        cell, folder = _read(arguments)
        if cell.measure == "max_batch":
            return _end(send, *max_batch.measure(cell, folder, send))
        environment.enter(cell)
        name = "own" if cell.source else find_adapter(cell.stack)
        joined = None if cell.parallel == "none" else _joined(cell, name, arguments[0], folder)
        adapter = _imported(name, cell)
    except CellError as error:
        return _end(send, "error", "cell: %s" % error, 2)
    except (ImportError, OSError, AttributeError) as error:     # a library is missing, or numpy is of another age
        return _end(send, "error", "the framework cannot be imported: %s" % _explained(error))
    runner = waiting.opened(send)
    if runner:
        cell = _forked(runner, cell, turns.may_fork(cell) and frameworks.may_fork(name))
        if not turns.may_take(cell):
            runner.close()
            runner = None
    code = _measured(cell, adapter, folder, send, joined, runner)
    if joined is None:
        _leave(code)
    return code                # other places wait for what frameworks tell each other at the end


def _imported(name: str, cell: Cell):
    """The adapter; its framework is imported whole.

    What an import makes stays, so Python looks for garbage once, after it: an eighth to a sixth less CPU for TensorFlow
    and PyTorch.
    """
    gc.disable()
    adapter = importlib.import_module("workloads.frameworks." + name)
    has_optimizer = cell.measure not in FORWARD + ("product",)
    for module in filter(importlib.util.find_spec, frameworks.later(name, has_optimizer)):
        importlib.import_module(module)
    gc.enable()
    gc.collect()
    return adapter


def _forked(runner, cell: Cell, may_fork):
    """The cell, or in a child of this process, which has imported, the Cell that the runner tells.

    This process waits until the child has ended, and then for the runner; it ends as a child ends that failed.
    """
    while True:
        words = runner.wait("imported", **{"forks": True} if may_fork else {})
        if len(words) == 1:
            return cell
        child = os.fork()
        if not child:
            lifetime.end_with_parent()
            environment.enter_forked(os.getppid())
            return switched(loads(" ".join(words[1:])))
        lifetime.end_as_unless_well(os.waitpid(child, 0)[1])


def _joined(cell: Cell, adapter, text: str, folder: str):
    """The Cluster of a parallel cell, its variables set and the helpers of this place started."""
    joined = cluster.read(cell, adapter)
    os.environ.update(cluster.variables(joined, joined.place.main))
    return joined._replace(helpers=tuple(each.pid for each in cluster.start_helpers(joined, text, folder)))


def _read(arguments):
    if len(arguments) == 1:
        return switched(loads(arguments[0])), "/data"
    if len(arguments) == 3 and arguments[1] == "--data":
        return switched(loads(arguments[0])), arguments[2]
    raise CellError(USAGE)


def find_adapter(stack=""):
    """The name of this environment's framework, and of its adapter: the one that the worker is told, or the only one.

    stack: the cell's, whose name says which of several it is for where it is one of ours. Raises CellError where there
    is none, or several and nobody said which.
    """
    chosen = os.environ.get(frameworks.CHOSEN)
    packages = [package for package, _ in frameworks.PACKAGES if importlib.util.find_spec(package)]
    if chosen:
        if chosen not in map(frameworks.adapter, packages):
            raise CellError("this interpreter has no %s, which %s names" % (chosen, frameworks.CHOSEN))
        return chosen
    installed = [frameworks.adapter(package) for package in frameworks.meant(packages, stack)]
    if len(installed) > 1:
        raise CellError("this interpreter has %s: say which one with %s" % (" and ".join(installed), frameworks.CHOSEN))
    if installed:
        return installed[0]
    if library.installed(sys.prefix):
        return "library"
    raise CellError("this interpreter has none of %s: run the cell in a stack's image or environment"
                    % ", ".join(package for package, _ in frameworks.PACKAGES))


def _explained(error):
    """The error's words on one line, the middle of long ones left out, without a terminal's colours."""
    words = " ".join(re.sub("\x1b\\[[0-9;]*m", "", str(error)).split())
    short = words if len(words) <= 500 else words[:200] + " ... " + words[-295:]
    return explained(short, getattr(sys.modules.get("numpy"), "__version__", ""))


def _measured(cell: Cell, adapter, folder: str, send, joined, runner):
    from workloads.measuring import measures  # imports numpy, whose threads the environment sets
    from workloads.measuring.watch import Compiling
    try:
        with Compiling(cell, send) as emitting:
            measures.run(cell, adapter, folder, emitting, joined, runner)
    except Unsupported as error:
        return _end(send, "unsupported", str(error))
    except NotFinite as error:
        return _end(send, "not_finite", str(error))
    except DataError as error:
        return _end(send, "error", str(error), 2)
    except Exception as error:
        status = "oom" if adapter.is_oom(error) else "error"
        traceback.print_exc()
        return _end(send, status, "%s%s: %s" % (place_of(error), type(error).__name__, _explained(error)),
                    of_gpu=_of_gpu(cell, adapter))
    return _end(send, "ok", "", of_gpu=_of_gpu(cell, adapter))


def _of_gpu(cell: Cell, adapter):
    """What an ending says of a GPU's run: its allocator's peak, where one is told, and the libraries that it loaded.

    At the end, since frameworks load some of them with the first operation that needs them.
    """
    peak = adapter.device_peak_bytes(cell)
    libraries = gpu_libraries.loaded() if cell.device == "gpu" else {}
    return dict({"allocator_peak": peak} if peak else {}, **{"gpu_libraries": libraries} if libraries else {})


def _end(send, status, message: str, code=None, of_gpu=None):
    """The exit code; of most endings it follows from the status."""
    send("end", status=status, message=message, **dict(environment.used(), **of_gpu or {}))
    if message:
        print(message, file=sys.stderr)
    return int(status != "ok") if code is None else code


def _leave(code) -> None:
    """End this process at once: what frameworks do at the end takes up to a second of a run, and nobody needs it."""
    sys.stdout.flush()
    sys.stderr.flush()
    lifetime.end_descendants()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
