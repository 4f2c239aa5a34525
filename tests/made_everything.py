"""A made session with every kind of table, whose runs are all unequal: no number agrees with another by chance."""

import random
from collections.abc import Iterator

from tests import made_rows as made
from workloads.spec.cell import Cell

STACKS = ("torch-2.13", "tf-2.21", "mxnet-1.9", "torch-1.4")
ROUNDS = 5
PHASES = ("load", "forward", "backward", "communication", "update")
SUBJECTS = [{"stack": name, "parallel": "", "settings": {}} for name in STACKS[:2]]
NUMBERS = [{"id": name, "source": "Table 5", "text": "", "quantity": quantity, "of": SUBJECTS[0], "to": None,
            "where": {}, "value": value, "unit": unit, **more}
           for name, quantity, value, unit, more in (
               ("n1", "step", 0.004, "s", {}), ("n2", "step", 1.25, "x", {"to": SUBJECTS[1]}),
               ("n3", "max_batch", 112, "count", {}), ("n4", "kernel_share", 77.0, "%", {}),
               ("n5", "epoch", 3.5, "s", {}), ("n6", "relu", 0.1, "s", {}), ("n7", "power", 200, "W", {}),
               ("n8", "memory", 10**9, "bytes",
                {"of": {**SUBJECTS[0], "parallel": "sync"}, "where": {"nodes": [2]}}), ("n9", "forward", 0.1, "s", {}))]
CLAIM = {"id": "c1", "text": "one is faster", "kind": "faster", "quantity": "step", "of": SUBJECTS[0],
         "to": SUBJECTS[1], "over": ["task"], "where": {"batch": [10]}, "cases": [["lenet5"]]}


def records() -> list[made.Record]:
    """All of them, the same in every call."""
    draw = random.Random(7)
    cells = [made.cell(stack, **values) for values in (
        {"steps": 20}, {"measure": "infer", "steps": 20, "sync": "end"}, {"task": "gnmt", "steps": 20},
        {"measure": "epochs", "epochs": 3}, {"measure": "phases", "steps": 20}, {"measure": "operators", "steps": 20},
        {"measure": "kernels", "steps": 20, "device": "gpu", "gpus": 1}, {"measure": "graph"},
        {"measure": "max_batch"}, {"steps": 20, "nodes": 2, "parallel": "allreduce"}) for stack in STACKS]
    runs = [record for cell in cells for index in range(ROUNDS) for record in run(cell, index, draw)]
    return [made.session(), {**made.plan(*cells, rounds=ROUNDS, baseline=STACKS[0], claims=[CLAIM]),
                             "published": NUMBERS}, *runs, {"event": "closed", "reason": "done"}]


def run(cell: Cell, index: int, draw: random.Random) -> Iterator[made.Record]:
    """The records of a run of what a cell's measure tells."""
    lines = [*_lines(cell, draw)]
    data = {**made.FACTS["data"], "tokens": draw.uniform(300, 400), "padded_tokens": draw.uniform(500, 600)}
    facts = {**made.FACTS, "communication": "exposed", **({"data": data} if cell.task == "gnmt" else {})}
    after = {**made.AFTER, "peak_bytes": draw.randrange(2 * 10**8, 3 * 10**9)}
    if cell.device == "gpu" or cell.measure == "infer":
        after.update(gpu_watts=draw.uniform(100, 300), gpu_sm_clock=draw.uniform(1e9, 2e9),
                     gpu_allocated_bytes=draw.randrange(10**9, 10**10))
    warm = draw.uniform(1, 5), draw.uniform(0.1, 0.2)
    nodes = range(cell.nodes) if cell.nodes > 1 else ()
    places = {f"node{node}": {"group_peak_bytes": draw.randrange(2 * 10**8, 3 * 10**9)} for node in nodes}
    return made.run(cell, index, *lines, facts=facts, after=after, warm=warm, places=places)


def _lines(cell: Cell, draw: random.Random) -> Iterator[made.Record]:
    match cell.measure:
        case "epochs":
            for index in range(3):
                yield made.epoch(index, draw.uniform(2, 9), validation_seconds=draw.uniform(0.2, 0.9),
                                 loss=draw.uniform(0.1, 2), accuracy=draw.uniform(0.3, 0.9), steps=50)
        case "operators":
            yield {"event": "operators", "steps": 20, "operators": {name: [20, draw.uniform(0.1, 0.9)] for name in (
                "aten::conv2d", "aten::relu", "aten::relu_", "aten::copy_")}}
        case "kernels":
            yield {"event": "kernels", "steps": 20, "kernel_seconds": draw.uniform(0.2, 0.9),
                   "copy_seconds": draw.uniform(0.05, 0.1), "overlap_seconds": draw.uniform(0.01, 0.05),
                   "gap_seconds": draw.uniform(0.1, 0.4), "launch_seconds": draw.uniform(0.05, 0.2),
                   "kernels": draw.randrange(2000, 9000),
                   "top": [["gemm", draw.randrange(400, 900), draw.uniform(0.05, 0.1)]]}
        case "graph":
            yield {"event": "graph", "nodes_before": draw.randrange(400, 900), "nodes_after": draw.randrange(100, 300),
                   "removed": {"expensive": draw.randrange(20), "cheap": draw.randrange(20, 90),
                               "noop": draw.randrange(90)},
                   "passes": {"pruning": 9, "constant_folding": 8, "arithmetic": 7, "dependency": 6}}
        case "max_batch":
            largest = draw.randrange(40, 400)
            tried = [{"batch": batch, "ending": ending, "seconds": 1.0, "peak_bytes": None}
                     for batch, ending in ((largest, "ok"), (largest + 16, "oom"))]
            yield {"event": "max_batch", "largest": largest, "smallest_oom": largest + 16,
                   "limit_bytes": draw.randrange(10**9, 9 * 10**9), "tried": tried}
        case _:
            yield _steps(cell, draw)


def _steps(cell: Cell, draw: random.Random) -> made.Record:
    level = draw.uniform(0.003, 0.03)
    seconds = [level * draw.uniform(0.9, 1.1) for _ in range(cell.steps)]
    losses = [2.0 - draw.random() for _ in seconds]
    if cell.sync == "end":
        return made.steps([sum(seconds)], count=len(seconds))
    phases = PHASES if cell.measure == "phases" else PHASES[:1]
    return made.steps(seconds, loss=losses, phases={name: [each * draw.uniform(0.05, 0.3) for each in seconds]
                                                    for name in phases})
