"""A cell's key and the words people read for it; the cell itself is workloads.spec.cell's, for both sides."""

import hashlib
import json
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from runner import formatting
from runner.grouping import grouped
from workloads.spec import cluster, measures, sequence_tasks
from workloads.spec.cell import Cell, content
from workloads.spec.models import own_model
from workloads.spec.tasks import is_known, is_sequence, of, parameters, title

KEY_DIGITS = 16
_SHOWN = ("task", "measure", "batch", "image")     # always part of a label; other fields only where they differ


def key(cell: Cell) -> str:
    """A hash of the cell's content, so that two experiments with equal cells share their runs."""
    return _hash(content(cell))


def comparison_key(cell: Cell) -> str:
    """Key of the comparison: all fields but the stack; of a parallel mode only whether it is synchronous."""
    return _hash({name: value for name, value in content(compared(cell)).items() if name != "stack"})


def lanes_key(cell: Cell) -> str:
    """The key of the group that takes turns together; a tuned cell joins its native comparison."""
    return comparison_key(cell._replace(loop="native") if cell.loop == "tuned" else cell)


class Comparison(NamedTuple):
    """What is compared: cells that are equal but for the stack."""

    key: str
    label: str


def comparisons(cells: Iterable[Cell]) -> dict[Cell, Comparison]:
    """Each cell's comparison. Labels that would read alike also say what differs."""
    keys = {cell: comparison_key(cell) for cell in cells}
    cell_of = {own: cell for cell, own in keys.items()}
    labels: dict[str, str] = {}
    for shown, alike in grouped(cell_of, lambda own: label(cell_of[own])).items():
        of_each = {own: settings(cell_of[own]) for own in alike}
        differing = [name for name in Cell._fields if len({values.get(name) for values in of_each.values()}) > 1]
        labels |= {own: ", ".join([shown, *(f"{name} {values.get(name)}" for name in differing)])
                   for own, values in of_each.items()}
    return {cell: Comparison(own, labels[own]) for cell, own in keys.items()}


def compared(cell: Cell) -> Cell:
    """The cell as others are compared with it: "sync" or "async" for the framework's own mode, without its switches.

    Lanes of a user's own model, which are its columns, differ in their loop and in which of its files they run.
    """
    cell = cell._replace(parallel=cluster.kind(cell.parallel), switches="")
    return cell._replace(loop="native", source=own_model.common(cell.source)) if cell.source else cell


def settings(cell: Cell) -> dict[str, object]:
    """What reports say of what is compared: every field but the stack; of a user's own files a digest."""
    values = {name: value for name, value in compared(cell)._asdict().items() if name not in ("stack", "source")}
    return {**values, **({"source": _digest(compared(cell).source)} if cell.source else {})}


def model_name(cell: Cell) -> str:
    """What a check of the cell is a proof of: its task; a user's own, which may change, with its text's digest."""
    return f"{cell.task}@{_digest(own_model.common(cell.source))}" if cell.source else cell.task


def built(stack: str, loop: str) -> str:
    """The name under which a check proves a stack: tuned, what is built is another program than the stack's own."""
    return f"{stack}, tuned" if loop == "tuned" else stack


def _hash(values: dict[str, object]) -> str:
    return _digest(json.dumps(values, sort_keys=True, separators=(",", ":")), KEY_DIGITS)


def _digest(text: str, digits: int = 8) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:digits]


def label(cell: Cell) -> str:
    """A comparison's only name: "LeNet-5 (tanh, 62 k parameters), training, batch 42", then all but the defaults."""
    name = title(cell.task) if is_known(cell) else cell.task
    size = _model_size(Cell("", cell.task, "", image=cell.image, classes=cell.classes, preset=cell.preset,
                            length=cell.length, hidden=cell.hidden))
    model = f"{name[:-1]}, {size})" if size and name.endswith(")") else f"{name} ({size})" if size else name
    has_image = is_known(cell) and not is_sequence(cell.task) and cell.image != of(cell).image
    batch = "" if cell.measure == "step" and cell.batch == 1 else f", batch {cell.batch}"
    sizes = f"{model}, {_done(cell)}{batch}{f', {cell.image} px' if has_image else ''}"
    quiet = {"stack", "steps", "warmup", "warm", "seconds",
             "seed", "cpus", "memory_bytes", "learning_rate", "data", "source", "decode", *_SHOWN}
    if cell.source or (is_sequence(cell.task) and cell.input == "synthetic"):
        quiet.add("input")                       # the usual one
    if is_sequence(cell.task) and cell.optimizer.startswith("adam"):
        quiet.add("optimizer")
    if _generates(cell):
        quiet.add("prompt")                      # which `_done` says
    if is_known(cell) and not is_sequence(cell.task) and cell.classes == of(cell).classes:
        quiet.add("classes")
    switches = [f"{name} {value}" for name, value in content(compared(cell)).items() if name not in quiet]
    options = own_model.loads(cell.source).options if cell.source else {}
    return ", ".join([sizes, *(f"{name} {value}" for name, value in options.items()), *switches])


def _done(cell: Cell) -> str:
    """The measure's title; where tokens are generated, as in "generating 128 tokens after 32, a call a token"."""
    title = measures.TITLES[cell.measure]
    if not _generates(cell):
        return title
    form = "a sequence in one program" if cell.decode == "program" else "a call a token"
    return f"{title} {sequence_tasks.new_tokens(cell)} tokens after {sequence_tasks.prompt(cell)}, {form}"


def _generates(cell: Cell) -> bool:
    return cell.measure == "decode" and sequence_tasks.generates(cell.task)


@lru_cache(maxsize=1000)
def _model_size(cell: Cell) -> str:
    """How large the cell's model is, such as "0.5 M parameters, 2 layers"; "" of a task that is none of ours."""
    if not is_known(cell) or (not is_sequence(cell.task) and cell.image < of(cell).least):
        return ""
    count = sum(math.prod(each.shape) for each in parameters(cell))
    layers = getattr(sequence_tasks.sizes(cell), "layers", None) if is_sequence(cell.task) else None
    return f"{formatting.parameters(count)} parameters" + (f", {layers} layers" if layers else "")
