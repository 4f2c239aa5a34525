"""Studies to cells: a pure function of the study, the stacks there are and the machine."""

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from runner import formatting
from runner.cells import compared, comparison_key, key, lanes_key
from runner.errors import InputError, unknown
from runner.grouping import grouped
from runner.machine import gpus
from runner.machine.host import Machine
from runner.results.looks import looks
from runner.results.records import Product, Unit
from runner.stacks.definition import Stack
from runner.study.file import EVERY, Experiment, Node, Study
from workloads.spec import cell as cells
from workloads.spec import cluster, duration, frameworks, measures, refusals, sequence_tasks, tasks, turns
from workloads.spec.cell import Cell
from workloads.spec.data.datasets import train_images

_CPU_RATE = 2e10                 # FLOPs a second of a CPU: half of what small models reach on old cores
_ADAPTERS = tuple(each.name for each in frameworks.FRAMEWORKS)      # a bare library's program has one LSTM
_GPU_SHARE = 0.2                 # of its best product's rate, in training and inference of image models
_UNMEASURED_GPU = 1e13           # FLOPs a second in float32: a data centre's card of 2016
# beside a run's steps: on two cores in virtual environments PyTorch's and TensorFlow's workers took 4.0 s, JAX's 4.6,
# MXNet's 1.9 (medians of 524 runs); with an H100 11 s, most of them imports and CUDA's start
_START_SECONDS = {"cpu": 4.0, "gpu": 11.0}
# of a run that takes turns, on two cores: all of a comparison start side by side, most of them from what has imported
_TURNS_START_SECONDS = 1.5


class Planned(NamedTuple):
    """A cell to run, for the experiment that asked for it first."""

    key: str
    experiment: str
    cell: Cell
    is_seed_fixed: bool = False      # the study or the user says the seed: every round has it

    def cell_of(self, round_index: int) -> Cell:
        """The cell as a round runs it: weights, order and dropout differ by round and are equal in all stacks of it.

        The first round has the cell's own seed. What only looks at a model, such as a check, keeps the seed.
        """
        if self.is_seed_fixed or self.cell.measure not in measures.TIMED:
            return self.cell
        return self.cell._replace(seed=(self.cell.seed + round_index) % 2**62)

    def record(self) -> dict[str, Any]:
        """As the plan's record has it."""
        return {"key": self.key, "experiment": self.experiment, "cell": self.cell._asdict(),
                **({"is_seed_fixed": True} if self.is_seed_fixed else {})}


class Skipped(NamedTuple):
    """A cell that will not run, and why; its ending is `skipped`."""

    experiment: str
    cell: Cell
    reason: str


class Plan(NamedTuple):
    """What a session does: every cell once a round."""

    study: Study
    rounds: int
    baseline: str
    seed: int
    cells: tuple[Planned, ...]
    skipped: tuple[Skipped, ...]
    keys: Mapping[str, tuple[str, ...]] = MappingProxyType({})          # of every experiment's cells, shared ones too
    settings: Mapping[str, Any] = MappingProxyType({})                  # that the user put over the study's
    stacks: tuple[str, ...] = ()                                        # that the user chose instead of the study's

    def order(self, round_index: int) -> list[Planned]:
        """The cells in a round's own order, drawn from the seed; a comparison's together, so drift is between pairs."""
        drawn = random.Random(f"{self.seed}:{round_index}")
        shuffled = list(grouped(self.cells, lambda planned: lanes_key(planned.cell)).values())
        drawn.shuffle(shuffled)
        for block in shuffled:
            drawn.shuffle(block)
        return [planned for block in shuffled for planned in block]

    def without(self, reasons: Mapping[str, str], measure: str = "") -> "Plan":
        """The plan without some stacks, or a measure of them, with these reasons; the baseline is one that is left."""
        out = [planned for planned in self.cells
               if planned.cell.stack in reasons and measure in ("", planned.cell.measure)]
        left = tuple(planned for planned in self.cells if planned not in out)
        gone = tuple(Skipped(planned.experiment, planned.cell, reasons[planned.cell.stack]) for planned in out)
        names = [planned.cell.stack for planned in left]
        baseline = self.baseline if self.baseline in names or not names else names[0]
        return self._replace(cells=left, skipped=(*self.skipped, *gone), baseline=baseline)

    def record(self) -> dict[str, Any]:
        """The plan as the store keeps it."""
        return {
            "event": "plan", "rounds": self.rounds, "looks": looks(self.rounds), "baseline": self.baseline,
            "scale": self.study.scale,
            "cells": [planned.record() for planned in self.cells],
            "skipped": [{**skip._asdict(), "cell": skip.cell._asdict()} for skip in self.skipped],
            "published": [number.record() for number in self.study.published],
            "claims": [claim.record() for claim in self.study.claims],
            **({"index": [place.record() for place in self.study.places]} if self.study.places else {}),
            "title": self.study.title, "settings": dict(self.settings), "stacks": list(self.stacks),
            "experiments": [{"id": each.id, "title": each.title, "assumed": dict(each.assumed),
                             "scaled": list(each.scaled), "cells": list(self.keys.get(each.id, ())),
                             **({"node": each.node._asdict()} if each.node else {})}
                            for each in self.study.experiments],
        }


class Here(NamedTuple):
    """The stacks and machines that cells are planned for."""

    stacks: Mapping[str, Stack]
    machine: Machine
    gpus: gpus.Gpus
    hosts: int = 1                   # such machines, over which the nodes of a run are spread
    node: Node | None = None         # what the study's nodes had
    missing: Callable[[str], str | None] = lambda stack: None      # why the launcher cannot run a stack, or None


class Wishes(NamedTuple):
    """What the user asked for on top of the study."""

    stacks: tuple[str, ...] = ()                # instead of the experiments' own
    rounds: int | None = None
    seed: int = 1
    baseline: str = ""
    settings: Mapping[str, Any] = MappingProxyType({})     # cell fields, over the study's; a tuple: each of it
    data: tuple[str, ...] = ()                  # sets that cells may read which say so, and else that of the settings

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The settings, one value of each; a tuple among them is several."""
        each = (value if isinstance(value, tuple) else (value,) for value in self.settings.values())
        return (dict(zip(self.settings, values, strict=True)) for values in itertools.product(*each))


def plan(study: Study, stacks: Mapping[str, Stack], machine: Machine, wishes: Wishes,
         missing: Callable[[Stack], str | None], gpus: gpus.Gpus = gpus.NONE, hosts: int = 1) -> Plan:
    """The cells of a study, and the skipped ones with reasons; gpus: the machine's; hosts: how many machines.

    missing(stack) says why the launcher cannot run a stack, or None. Raises InputError for an unknown stack, and for
    one that a comparison has twice.
    """
    here = Here(stacks, machine, gpus, hosts, missing=cache(lambda name: missing(stacks[name])))
    planned: dict[str, Planned] = {}
    keys: dict[str, dict[str, None]] = {}
    skipped: list[Skipped] = []
    for experiment in study.experiments:
        for cell, is_seed_fixed, reason in _expanded(study, experiment, here, wishes):
            if reason:
                skipped.append(Skipped(experiment.id, cell, reason))
            else:
                earlier = planned.setdefault(key(cell), Planned(key(cell), experiment.id, cell))
                planned[earlier.key] = earlier._replace(is_seed_fixed=earlier.is_seed_fixed or is_seed_fixed)
                keys.setdefault(experiment.id, {})[key(cell)] = None
    for one, *others in grouped((each.cell for each in planned.values()), compared).values():
        for other in others:
            name, *found = next(each for each in zip(Cell._fields, one, other, strict=True) if each[1] != each[2])
            raise InputError(f'{name}: found "{found[0]}" and "{found[1]}" of {one.stack}, expected one of them: they '
                             "are one comparison")
    # where the seed of one is said, that of all that it is compared with stays, too
    fixed = {comparison_key(each.cell) for each in planned.values() if each.is_seed_fixed}
    chosen = tuple(each._replace(is_seed_fixed=True) if fixed and comparison_key(each.cell) in fixed else each
                   for each in planned.values())
    baseline = _baseline(chosen, skipped, wishes.baseline, study, stacks)
    return Plan(study, wishes.rounds or study.rounds, baseline, wishes.seed, chosen, tuple(skipped),
                {name: tuple(of_name) for name, of_name in keys.items()}, wishes.settings, wishes.stacks)


def of_cells(identifier: str, rounds: int, seed: int, cells: Iterable[Cell]) -> Plan:
    """The plan of these cells, at least one, without a study; the first one's stack is the baseline."""
    planned = tuple(Planned(key(cell), cell.measure, cell) for cell in cells)
    study = Study(identifier, identifier, rounds, planned[0].cell.stack, "", ())
    return Plan(study, rounds, planned[0].cell.stack, seed, planned, ())


def too_large(made: Plan, machine: Machine) -> list[str]:
    """A line for what cells ask for beyond the machine's CPUs and memory; it is measured all the same."""
    cpus = max((each.cell.cpus for each in made.cells), default=0)
    size = max((each.cell.memory_bytes for each in made.cells), default=0)
    lines = []
    if cpus > machine.cpus:
        lines.append(f"a run asks for {cpus} CPUs, and {machine.cpus} can be used: its threads take turns on them")
    if size > machine.memory_bytes:
        lines.append(f"a run may hold {formatting.size(size)}, and {formatting.size(machine.memory_bytes)} can be "
                     "used: beyond them the kernel ends it")
    return lines


def of_fullest_form(forms: Sequence[Study], planned: Callable[[Study], Plan]) -> Plan:
    """Plan every form of a study; return the plan with the most runnable cells, the later form's on a tie."""
    return max((planned(form) for form in reversed(forms)), key=lambda each: len(each.cells))


def _expanded(study: Study, experiment: Experiment, here: Here, wishes: Wishes) -> list[tuple[Cell, bool, str]]:
    """Every cell of an experiment's grid, whether its seed is set, and why it is skipped, "" where it is not."""
    stacks = here.stacks
    names = wishes.stacks or _stacks(experiment, stacks, wishes)
    for needed in (*names, *(form for name in names for form in study.forms.get(name, ()))):
        if needed not in stacks:
            whose = "--stack" if needed in wishes.stacks else f"study {study.id}: experiment {experiment.id}"
            raise unknown(f"{whose}: stack", needed, sorted(stacks))
    here = here._replace(node=experiment.node)
    every = [(name, {**combination, **own, **wished, **({"data": data} if data in wishes.data else {})})
             for combination in experiment.combinations()
             for data in [combination.get("data") or _own_data(combination["task"])]
             for wished in wishes.combinations() for name in names for own in experiment.variants_of(name)]
    known = {name: [stacks[form] for form in (name, *study.forms.get(name, ()))] for name in names}
    forms = {name: _forms(known[name], [settings for owner, settings in every if owner == name], here)
             for name in names}
    expanded = []
    for name, settings in every:
        formed = [(_cell(form, settings, here), form) for form in forms[name]]
        # the first form of a stack that is for the cell's device, else the first
        cell = next((cell for cell, stack in formed if cell.device in stack.devices), formed[0][0])
        expanded.append((cell, "seed" in settings, _skip_reason(cell, known[name], settings, here)))
    return expanded


def _skip_reason(cell: Cell, forms: Sequence[Stack], settings: Mapping[str, Any], here: Here) -> str:
    """Why a cell is skipped, and what keeps the launcher from a form of its stack that could run it; "": it is not."""
    reason = _impossible(cell, here) or here.missing(cell.stack) or ""
    unavailable = (missing for form in forms if reason and form.name != cell.stack
                   and (missing := here.missing(form.name)) and not _impossible(_cell(form, settings, here), here))
    return "; ".join(dict.fromkeys([reason, *unavailable]))


def _forms(forms: Sequence[Stack], settings: Sequence[Mapping[str, Any]], here: Here) -> Sequence[Stack]:
    """The form of a stack, if possible not missing, that runs most of an experiment's cells; all where none runs."""
    if len(forms) == 1:
        return forms
    can = {stack.name: sum(_impossible(_cell(stack, each, here), here) is None for each in settings) for stack in forms}
    able = [stack for stack in forms if can[stack.name]]
    there = [stack for stack in able if not here.missing(stack.name)] or able if len(able) > 1 else able
    return [max(there, key=lambda stack: can[stack.name])] if there else forms


def _own_data(task: str) -> str:
    """The one data set that a sequence model can read, "" for others."""
    return str(sequence_tasks.SEQUENCES[task].model.DATA) if tasks.is_sequence(task) else ""


def _stacks(experiment: Experiment, stacks: Mapping[str, Stack], wishes: Wishes) -> tuple[str, ...]:
    """The experiment's stacks by name; where it has every one, those of its cells' device that build models."""
    if experiment.stacks != (EVERY,):
        return experiment.stacks
    settings = {**experiment.settings, **wishes.settings}
    device, measure = settings.get("device", "cpu"), settings.get("measure", "infer")       # of a grid: with reasons
    return tuple(name for name, stack in stacks.items() if device in stack.devices and stack.framework in _ADAPTERS
                 and _has(stack, measure))


def _has(stack: Stack, measure: str) -> bool:
    """Whether the measure is one that the stack's framework may have: a runtime that only infers has few."""
    return measure in measures.UNTRAINED or not frameworks.only_infers(stack.framework)


def _cell(stack: Stack, settings: Mapping[str, Any], here: Here) -> Cell:
    """The cell; a machine's nodes share it equally, at most as much as the study's had, where settings say nothing."""
    sharing = math.ceil(settings.get("nodes", 1) / here.hosts)
    share = Node(max(1, here.machine.cpus // sharing), here.machine.limit_bytes // sharing)
    has = Node(*map(min, here.node, share)) if here.node else share
    of_task = {} if settings.get("source") else tasks.defaults(settings["task"])
    is_rate = settings.get("measure") in ("train", "infer") and settings.get("nodes", 1) == 1
    # a GPU's rates run ahead where nobody says it: a wait in each step would understate the rate of small ones
    ahead = {"sync": "blocks"} if settings.get("device") == "gpu" and is_rate else {}
    defaults = {**has._asdict(), **ahead, **of_task}
    try:
        cell: Cell = cells.parse({**defaults, **settings, "stack": stack.name})
    except cells.CellError as error:
        raise InputError(f"cell of {stack.name}: {error}") from error
    if cluster.impossible(stack.framework, cell.parallel, cell.nodes):
        return cell
    return cell._replace(parallel=stack.mode(cell.parallel))


def _impossible(cell: Cell, here: Here) -> str | None:
    """Why no launcher could run the cell in its stack here, or None."""
    stack = here.stacks[cell.stack]
    if not (cell.source or tasks.is_sequence(cell.task)) and cell.image < (least := tasks.of(cell).least):
        return f"{cell.task} needs images of at least {least} pixels"
    if cell.device == "gpu" and (lacking := gpus.lacking(cell, stack, here.stacks, here.gpus)):
        return lacking
    if cell.device not in stack.devices:
        return f"{stack.name} runs on {', '.join(stack.devices)}, not on a {cell.device}"
    if cell.device == "cpu" and (what := of_a_gpu(cell)):
        return f"{what} needs a GPU"
    if cell.parallel != "none" and cell.measure not in measures.ON_NODES:
        return f"measure {cell.measure} is of one node; on many there are {', '.join(measures.ON_NODES)}"
    if not _has(stack, cell.measure):
        return f"{stack.name} only infers: it has no measure {cell.measure}"
    reason: str | None = cluster.impossible(stack.framework, cell.parallel, cell.nodes) or refusals.refused(
        refusals.of_version(stack.framework, stack.version), cell)
    return reason


def of_a_gpu(cell: Cell) -> str | None:
    """What of a cell no CPU has, or None."""
    if cell.conv != "default":
        return f"conv {cell.conv}"
    if cell.gpus > 1:
        return f"gpus {cell.gpus}"
    return "measure kernels" if cell.measure == "kernels" else None


def _baseline(chosen: Iterable[Planned], skipped: Iterable[Skipped], wished: str, study: Study,
              stacks: Mapping[str, Stack]) -> str:
    """The stack that ratios are taken to: the wished one, or a form of it, where it runs, else the first that does.

    wished: by the user; "": the study's. Raises InputError where no cell has the user's, also no skipped one.
    """
    baseline = wished or study.baseline
    forms = (baseline, *study.forms.get(baseline, ()))
    if baseline and not any(form in stacks for form in forms):
        raise unknown("baseline: stack", baseline, sorted(stacks))
    names = [planned.cell.stack for planned in chosen]
    every = sorted({*names, *(skip.cell.stack for skip in skipped)})
    if wished and every and not set(forms).intersection(every):
        raise InputError(f'--baseline: stack "{wished}" is in no cell of study {study.id}; these are: '
                         f'{", ".join(every)}')
    return next((form for form in forms if form in names), names[0] if names else baseline)


def estimate_seconds(chosen: Plan, known: Mapping[str, float],
                     products: Mapping[Unit, Product] = MappingProxyType({}), cpus: int = 0) -> float:
    """How long the plan takes: known seconds of earlier runs by key, else as run_seconds guesses."""
    return chosen.rounds * sum(known.get(each.key) or run_seconds(each.cell, products, cpus) for each in chosen.cells)


def run_seconds(cell: Cell, products: Mapping[Unit, Product] = MappingProxyType({}), cpus: int = 0) -> float:
    """The guess of a run: start-up, and warm-up and steps as FLOPs and the device's rate foretell them.

    products: what matrix products reached here, as far as measured; cpus: of all hosts, 0 where there are enough.
    """
    starts = max(1.0, cell.nodes / cpus) if cpus else 1.0
    sharing = max(1.0, cell.nodes * cell.cpus / cpus) if cpus and cell.device == "cpu" else 1.0
    product = products.get(Unit.of(cell))        # of one GPU, since each of several has such a batch
    rate = _CPU_RATE * cell.cpus if cell.device == "cpu" else _GPU_SHARE * (
        product.flops_per_second if product else _UNMEASURED_GPU)
    step = tasks.step_flops(cell) * sharing / rate + 0.002                             # that long beside the FLOPs
    if turns.may_take(cell):
        return _TURNS_START_SECONDS * starts + float(turns.guess(cell, step, _pass_steps(cell)))
    steps = duration.guess(cell, step, _pass_steps(cell)) if duration.is_open(cell) else _steps(cell) * step
    return _START_SECONDS[cell.device] * starts + float(steps)


def _pass_steps(cell: Cell) -> int:
    """Of a pass over batches that are not alike, of which a worker has its part; 0 where all are alike."""
    if not tasks.is_sequence(cell.task) or cell.input == "synthetic":
        return 0
    return max(1, int(sequence_tasks.pass_batches(cell)) // (cell.nodes * cell.gpus))


def _steps(cell: Cell) -> int:
    """The training steps of a run; a data set without a fixed number of images counts with its usual one."""
    if cell.measure == "graph":
        return 1                 # to count its nodes takes about as long
    if cell.measure != "epochs":
        return cell.steps + cell.warmup
    if tasks.is_sequence(cell.task):
        return cell.epochs * int(sequence_tasks.pass_batches(cell))
    images = 0 if cell.input == "synthetic" else cell.images or train_images(cell.data)
    return cell.epochs * max(1, images // cell.batch)
