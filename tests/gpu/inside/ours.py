"""evenbench's own workload of a cell, built as a worker builds it, for programs that put something beside it."""

import importlib
import json
import os

from workloads.process import environment
from workloads.spec import tasks
from workloads.spec.cell import loads


def prepared(text):
    """The Cell of JSON text, with the variables that a framework reads at import set."""
    cell = loads(text)
    os.environ.update(environment.variables(cell))
    return cell


def say(**values):
    """A JSON line."""
    print(json.dumps(values), flush=True)


def built(cell, adapter="pytorch"):
    """(workload, its batches, the arrays of the batch): the input lies on the device."""
    from workloads.inputs import images, sequences, weights

    module = importlib.import_module("workloads.frameworks." + adapter)
    if tasks.is_sequence(cell.task):
        data = sequences.read(None, cell)
        workload = importlib.import_module(module.__name__ + ".sequences").Workload(cell)
    else:
        data = images.synthetic(cell)
        workload = module.Workload(tasks.table(cell.task, cell.classes), cell)
    numbers = "float64" if cell.precision == "float64" else "float32"
    workload.load(weights.seeded(tasks.parameters(cell), cell.seed, numbers))
    return workload, workload.synthetic(*data.inputs), data


def block(cell, workload, batches):
    """Seconds of cell.steps training steps, as the worker's own watch takes and reports them."""
    from workloads.measuring.watch import Watch

    samples = []

    def keep(event, seconds=(), **values):
        if event == "steps":
            samples.extend(seconds)

    watch = Watch(cell._replace(warmup=0), workload.sync, workload.value, keep)
    workload.train(batches, cell.steps, watch)
    return sum(samples)
