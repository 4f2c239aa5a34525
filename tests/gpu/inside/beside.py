"""python -m tests.gpu.inside beside '[<cell>, ...]' TURNS: our loop and a user's by turns, cell.steps steps each.

Both are built in one process, so that driver, clocks, allocator and cuDNN's choices are the same. A turn is: our steps,
then theirs; the next turn begins with theirs. Each block ends with the device idle. The cells of one call must want the
same variables in the environment; one that fails is said and the next goes on.
"""

import json
import time

from tests.gpu.inside import ours


def main(text, turns):
    for index, values in enumerate(json.loads(text)):
        cell = ours.prepared(json.dumps(values))
        try:
            _measured(index, cell, int(turns))
        except Exception as error:                     # of one cell
            ours.say(event="failed", index=index, message=f"{type(error).__name__}: {error}".splitlines()[0])
        ours.freed(cell)


def _measured(index, cell, turns):
    from tests.gpu.inside import bare

    workload, batches, arrays = ours.built(cell)
    step, source = bare.loop(cell, arrays)

    def ours_timed():
        return ours.block(cell, workload, batches)

    def bare_timed():
        began = time.perf_counter()
        for _ in range(cell.steps):
            loss = step()
        workload.sync(loss)
        return time.perf_counter() - began

    for timed in (ours_timed, bare_timed):             # compilation, the allocator
        timed()
    for turn in range(turns):
        order = (ours_timed, bare_timed) if turn % 2 == 0 else (bare_timed, ours_timed)
        seconds = {timed.__name__: timed() for timed in order}
        ours.say(event="turn", index=index, ours=seconds["ours_timed"], bare=seconds["bare_timed"], source=source)
