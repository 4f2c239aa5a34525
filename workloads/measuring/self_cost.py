"""python -m workloads.measuring.self_cost '<cell JSON>': the framework's own first step, and nothing of ours.

But for the cell's switches, which change what a framework starts: JAX's pool of threads, and memory on a GPU.

Prints one "end" event when the step is over, so that what evenbench adds before its own first step can be told.
"""
import importlib
import sys

from workloads.__main__ import find_adapter
from workloads.process import emit, environment
from workloads.spec.cell import loads


def main(arguments):
    """The exit code."""
    cell = loads(arguments[0])
    send = emit.take_over()
    environment.enter(cell)
    adapter = "workloads.frameworks." + find_adapter(cell.stack)
    importlib.import_module(adapter + ".settings").apply(cell)
    step, sync = importlib.import_module(adapter + ".bare").loop(cell)
    sync(step())
    send("end", status="ok", message="", **environment.used())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
