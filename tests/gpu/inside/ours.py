"""evenbench's own workload of a cell, built as a worker builds it, for programs that put something beside it."""

import gc
import importlib
import json
import os
from functools import lru_cache

from workloads.process import environment
from workloads.spec import tasks
from workloads.spec.cell import Cell, loads


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
    from workloads.inputs import sequence_batches

    module = importlib.import_module("workloads.frameworks." + adapter)
    if tasks.is_sequence(cell.task):
        data = sequence_batches.read(None, cell)
        workload = importlib.import_module(module.__name__ + ".sequences").Workload(cell)
    else:
        data = _images(cell.batch, cell.image, cell.classes, cell.seed)
        workload = module.Workload(tasks.table(cell.task, cell.classes), cell)
    numbers = "float64" if cell.precision == "float64" else "float32"
    workload.load(_seeded(tuple(tasks.parameters(cell)), cell.seed, numbers))
    if tasks.is_sequence(cell.task):
        workload.kernels()        # as a worker asks before its steps: whether that costs any shows beside a bare loop
    return workload, workload.synthetic(*data.inputs), data


@lru_cache(maxsize=1)                  # seconds of drawing that the cells of one process need once
def _seeded(parameters, seed, numbers):
    from workloads.inputs import weights

    return weights.seeded(parameters, seed, numbers)


@lru_cache(maxsize=1)
def _images(batch, image, classes, seed):
    from workloads.inputs import images

    return images.synthetic(Cell("", "", "", batch=batch, image=image, classes=classes, seed=seed))


def freed(cell, adapter="pytorch"):
    """Give the memory of a cell's workload back, once nothing refers to it."""
    gc.collect()
    if cell.device == "gpu" and adapter == "pytorch":
        import torch

        torch.cuda.empty_cache()


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
