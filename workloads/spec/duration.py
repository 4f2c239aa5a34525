"""How long a cell's warm-up and timed steps last. Python 3.6 and later, standard library only.

A cell says how many steps there are, or leaves it open: with warm = "steady" its warm-up ends when steps are steady,
and with seconds its timed steps last at least so long. Batches of sequences are not alike, but come in the same order
in every pass over them: open cells time whole passes of them, so that all stacks time the same batches as often as each
other. Where a pass begins does not matter to that.
"""
import math

from workloads.spec import measures
from workloads.spec.cell import Cell

# of a warm-up that ends when steps are steady
WARM_UP_STEPS = (10, 10000)
WARM_UP_SECONDS = (0.5, 20.0)

# of timed steps that are to last so long: slow ones are enough after MOST_SECONDS, if there are LEAST_STEPS of them
MOST_SECONDS = 60.0
LEAST_STEPS = 12


def is_open(cell: Cell) -> bool:
    """Whether the steps themselves say how many there are: by being steady, or by how long they take."""
    return cell.measure in measures.OPEN and (cell.warm == "steady" or cell.seconds > 0)


def are_enough(cell: Cell, steps, seconds: float, pass_steps: int = 0):
    """Whether so many timed steps, which took so long, are all that the cell wants.

    pass_steps: of a pass over batches that are not alike; 0 where all are.
    """
    if pass_steps and is_open(cell):
        return _are_whole(cell, steps, seconds, pass_steps)
    if not cell.seconds:
        return steps >= cell.steps
    if steps >= cell.steps and seconds >= cell.seconds:
        return True
    return steps >= LEAST_STEPS and seconds >= _most(cell)


def _are_whole(cell: Cell, steps, seconds: float, pass_steps: int):
    """The same of whole passes: none is begun that would end too late, and the first one alone is cut."""
    is_wanted = steps >= cell.steps and seconds >= cell.seconds
    if steps < pass_steps:
        return seconds >= _most(cell) and (is_wanted or bool(cell.seconds and steps >= LEAST_STEPS))
    if steps % pass_steps:
        return False
    is_last = cell.seconds and seconds >= cell.seconds and seconds * (steps + pass_steps) > _most(cell) * steps
    return is_wanted or bool(is_last)


def is_part_of_pass(cell: Cell, steps, pass_steps: int) -> bool:
    """Whether so many timed steps of an open cell are no whole passes, since one would have taken too long."""
    return bool(pass_steps and is_open(cell) and steps % pass_steps)


def _most(cell: Cell):
    return max(MOST_SECONDS, cell.seconds)


def agreed(cell: Cell, step, pass_steps: int = 0):
    """How many timed steps workers that train together take, where each is taken to last so many seconds.

    The least number of them that are_enough.
    """
    enough = max(cell.steps, math.ceil(cell.seconds / step)) if step > 0 else cell.steps
    until_late = math.ceil(_most(cell) / step) if step > 0 else enough
    if not pass_steps or not is_open(cell):
        return min(enough, max(LEAST_STEPS, until_late)) if cell.seconds else enough
    cut = max(until_late, min(enough, LEAST_STEPS) if cell.seconds else enough)
    if cut < pass_steps and step > 0:
        return cut
    passes = math.ceil(enough / float(pass_steps))
    if cell.seconds and step > 0:
        one = step * pass_steps
        passes = min(passes, max(1, math.ceil(cell.seconds / one), int(_most(cell) / one)))
    return passes * pass_steps


def guess(cell: Cell, step, pass_steps: int = 0):
    """About how many seconds warm-up and timed steps of an open cell take, of which one takes so long."""
    warm_up = cell.warmup * step
    if cell.warm == "steady":
        warm_up = max(warm_up, min(WARM_UP_SECONDS[1], max(WARM_UP_SECONDS[0], WARM_UP_STEPS[0] * step)))
    timed = agreed(cell, step, pass_steps) * step
    if not pass_steps:                         # the last step's end is not guessed
        timed = max(cell.seconds, min(timed, cell.steps * step))
    return warm_up + timed
