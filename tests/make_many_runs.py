"""Write a store of many made runs, to judge the speed of what reads it: python -m tests.make_many_runs FOLDER [RUNS].

Three stacks, five rounds, 100 steps a run, rates with noise and drift. `evenbench report FOLDER` then shows it.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests import made_rows as made

STACKS = {"torch-2.13-cpu": 1500.0, "tf-2.21": 1850.0, "mxnet-1.9": 1480.0}
ROUNDS, STEPS = 5, 100


def records(runs: int) -> Iterator[made.Record]:
    """A whole session of about as many runs."""
    random = np.random.default_rng(1)
    comparisons = max(1, runs // (len(STACKS) * ROUNDS))
    cells = [made.cell(stack, batch=1 + index, steps=STEPS) for index in range(comparisons) for stack in STACKS]
    yield made.session(id="many")
    yield made.plan(*cells, rounds=ROUNDS, baseline="torch-2.13-cpu")
    for index in range(ROUNDS):
        for cell in cells:
            rate = STACKS[cell.stack] * (1 - 0.02 * index) * np.exp(0.03 * random.standard_normal())
            seconds = cell.batch / rate * np.exp(0.05 * random.standard_normal(STEPS))
            losses = 2.3 * np.exp(-np.arange(STEPS) / STEPS)
            line = made.steps(seconds.tolist(), loss=losses.tolist(), phases={"load": (0.05 * seconds).tolist()})
            yield from made.run(cell, index, line)
    yield {"event": "closed", "reason": "done"}


def main(arguments: list[str]) -> None:
    """Write FOLDER/events.jsonl."""
    folder, runs = Path(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 10_000
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "events.jsonl").open("w") as file:
        for record in records(runs):
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
