"""python -m tests.gpu.inside.beside '<cell JSON>' TURNS: our loop and a user's by turns, cell.steps steps each.

Both are built in one process, so that driver, clocks, allocator and cuDNN's choices are the same. A turn is: our steps,
then theirs; the next turn begins with theirs. Each block ends with the device idle.
"""

import sys
import time

from tests.gpu.inside import ours


def main(text, turns):
    cell = ours.prepared(text)
    from tests.gpu.inside import bare

    workload, batches, arrays = ours.built(cell)
    step, source = bare.loop(cell, arrays)
    ours.say(event="built", source=source)

    def ours_timed():
        return ours.block(cell, workload, batches)

    def bare_timed():
        began = time.perf_counter()
        for _ in range(cell.steps):
            loss = step()
        workload.sync(loss)
        return time.perf_counter() - began

    for timed in (ours_timed, bare_timed):      # compilation, autotuning, the allocator
        timed()
    for turn in range(int(turns)):
        order = (ours_timed, bare_timed) if turn % 2 == 0 else (bare_timed, ours_timed)
        seconds = {timed.__name__: timed() for timed in order}
        ours.say(event="turn", ours=seconds["ours_timed"], bare=seconds["bare_timed"])


if __name__ == "__main__":
    main(*sys.argv[1:])
