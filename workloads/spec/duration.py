"""How long a cell's warm-up and timed steps last. Python 3.6 and later, standard library only.

A cell says how many steps there are, or leaves it open: with warm = "steady" its warm-up ends when steps are steady,
and with seconds its timed steps last at least so long.
"""
MEASURES = ("train", "infer", "phases", "prefill", "decode")      # whose numbers of steps may be left open

# of a warm-up that ends when steps are steady
WARM_UP_STEPS = (10, 10000)
WARM_UP_SECONDS = (1.0, 20.0)

# of timed steps that are to last so long: slow ones are enough after MOST_SECONDS, if there are LEAST_STEPS of them
MOST_SECONDS = 60.0
LEAST_STEPS = 12


def is_open(cell):
    """Whether the steps themselves say how many there are: by being steady, or by how long they take."""
    return cell.measure in MEASURES and (cell.warm == "steady" or cell.seconds > 0)


def problem(cell):
    """Why a cell cannot leave the number of its steps open, or None: workers of one run must take as many."""
    if is_open(cell) and cell.parallel != "none":
        return ("workers that train together take a fixed number of steps: "
                "say --set warm=fixed --set seconds=0 and a number of steps")
    return None


def are_enough(cell, steps, seconds):
    """Whether so many timed steps, which took so long, are all that the cell wants."""
    if not cell.seconds:
        return steps >= cell.steps
    if steps >= cell.steps and seconds >= cell.seconds:
        return True
    return steps >= LEAST_STEPS and seconds >= max(MOST_SECONDS, cell.seconds)


def guess(cell, step):
    """About how many seconds warm-up and timed steps of an open cell take, of which one takes so long."""
    warm_up = cell.warmup * step
    if cell.warm == "steady":
        warm_up = max(warm_up, min(WARM_UP_SECONDS[1], max(WARM_UP_SECONDS[0], WARM_UP_STEPS[0] * step)))
    timed = cell.steps * step
    if cell.seconds:
        slow = max(MOST_SECONDS, cell.seconds, LEAST_STEPS * step)
        timed = max(cell.seconds, min(timed, slow))
    return warm_up + timed
