"""Measures of models that generate token after token: what a prompt takes, and what each token after it.

prefill: a step reads a prompt of spec.sequence_tasks.prompt(cell) tokens, keeps its keys and values and gives the first
token: the time to the first token. decode: a step gives one token more for each sequence of the batch, from the token
before it and the keys and values that were kept; after the last position the same tokens are generated again. With
cell.decode "program" a step gives all tokens of a sequence, as the framework generates them with nobody between.
"""
from typing import NamedTuple

import numpy as np

from workloads.frameworks import contract
from workloads.measuring.count_sketch import encoded, sketch
from workloads.process.errors import Unsupported
from workloads.spec import sequence_tasks
from workloads.spec.cell import Cell
from workloads.spec.measures import GENERATING

# the greatest relative difference between logits by the cache and by a pass over the whole sequence
LIMITS = {"float64": 1e-10, "float32": 1e-3, "tf32": 1e-1, "amp": 1e-1}


def of_steps(cell: Cell, series):
    """The Sequences with facts that say what a step of prefill or decode takes; of other measures as they are."""
    if cell.measure not in GENERATING:
        return series
    each = sequence_tasks.prompt(cell) if cell.measure == "prefill" else 1
    tokens = cell.batch * (sequence_tasks.new_tokens(cell) if sequence_tasks.is_program(cell) else each)
    facts = {name: fact for name, fact in series.facts.items() if name != "pass_tokens"}       # steps, not batches
    return series._replace(facts=dict(facts, tokens=tokens, padded_tokens=tokens, prompt=sequence_tasks.prompt(cell)))


class Pass(NamedTuple):
    """How many steps there are until the first one's work comes again; 0 where all have the same."""

    pass_steps: int


def of_pass(cell: Cell, series):
    """The Pass of a cell's steps: a token's work grows with those before it, up to the last position."""
    if cell.measure == "decode" and not sequence_tasks.is_program(cell):
        return Pass(sequence_tasks.new_tokens(cell))
    return Pass(0)


def steps(cell: Cell, workload):
    """The workload's method that takes the cell's steps."""
    return workload.decode_program if sequence_tasks.is_program(cell) else getattr(workload, cell.measure)


def demand(cell: Cell, adapter: "contract.Adapter", workload: contract.Workload) -> None:
    """Raise Unsupported for a workload that does not generate."""
    if not workload.generates:
        raise Unsupported("%s keeps no keys and values here: it trains the model and infers whole sequences"
                          % adapter.NAME)


def check(cell: Cell, workload: contract.Sequences, batches, emit) -> None:
    """Of a model that generates, send the logits of the batch's tokens by the cache.

    Raises ArithmeticError where they are not those of a pass over the whole sequence.
    """
    if not (sequence_tasks.generates(cell.task) and workload.generates):
        return
    by_cache, whole = (np.asarray(each, np.float64) for each in workload.cached(*batches))
    difference, limit = np.linalg.norm(by_cache - whole) / np.linalg.norm(whole), LIMITS[cell.precision]
    if not difference <= limit:
        raise ArithmeticError("decoding with the cache differs from a pass over the whole sequence by %.1e, expected "
                              "at most %.0e" % (difference, limit))
    emit("tensor", kind="decoded", name="logits", shape=list(by_cache.shape), norm=float(np.linalg.norm(by_cache)),
         sketch=encoded(sketch("decoded", by_cache)), from_whole=float(difference))
    if cell.precision == "float64":            # in float32 rounding may turn round two logits that are nearly equal
        _check_tokens(cell, workload, batches, emit)


def _check_tokens(cell: Cell, workload: contract.Sequences, batches, emit) -> None:
    """Send the tokens of a sequence in one program. Raises ArithmeticError where a call a token gives others."""
    by_token = _generated(workload, workload.decode, sequence_tasks.new_tokens(cell), batches)
    whole, = _generated(workload, workload.decode_program, 1, batches)
    if not np.array_equal(np.stack(by_token, 1), whole):
        raise ArithmeticError("one program generates other tokens than a call a token does")
    emit("tensor", kind="decoded", name="tokens", shape=list(whole.shape), norm=float(np.linalg.norm(whole)),
         sketch=encoded(sketch("decoded", whole)))


def _generated(workload: contract.Sequences, take, count, batches):
    """What each of count steps gives."""
    kept = _Kept()
    take(workload.synthetic(batches), count, kept)
    return [np.asarray(workload.tokens(handle), np.float64) for handle in kept.handles]


class _Kept(contract.Watch):
    """A watch that keeps all handles."""

    def __init__(self):
        self.handles = []

    def stepped(self, handle, phases=None) -> None:
        """Keep it."""
        self.handles.append(handle)
