"""python -m tests.stack.blocks_by_turns COUNT '<cell JSON>', inside a stack of TensorFlow: COUNT operations at once.

Trains the cell a block of its steps for each line of standard input, and says each block's seconds.
"""
import sys

from workloads.measuring import measures
from workloads.process import emit, environment
from workloads.spec.cell import loads


def main(arguments):
    """Serve blocks until standard input ends."""
    count, cell = int(arguments[0]), loads(arguments[1])
    send = emit.take_over()
    environment.enter(cell)
    from workloads.frameworks import tensorflow as adapter  # here: its threads are set by now
    from workloads.frameworks.tensorflow import settings
    settings.inter_op_threads = lambda cell: count
    settings.apply(cell)
    images = measures._images(cell, "/data", None)
    workload, batches = measures._ours(cell, adapter, images)
    for _ in sys.stdin:
        send("block", seconds=measures._our_block(cell, workload, batches)[0],
             at_once=adapter.facts(cell)["inter_op_threads"])


if __name__ == "__main__":
    main(sys.argv[1:])
