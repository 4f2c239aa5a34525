"""Claims and measurements for the tests of how claims are judged."""

from collections.abc import Mapping, Sequence
from typing import Any

from runner.analysis import doubts
from runner.analysis.claims import judging
from runner.analysis.claims.measured_here import ours
from runner.analysis.summary_format import ClaimNumber, JudgedClaim
from runner.results.rows import Measurements
from runner.study import claims
from runner.study.claims import Claim
from runner.study.published import Published
from runner.study.subjects import Subject
from tests import made_rows as made
from workloads.spec.cell import Cell

TF, TORCH, MXNET = Subject("tf"), Subject("torch"), Subject("mxnet")
ABOUT_ONE = [1.0, 1.01, 0.99, 1.005, 0.995]        # what five runs scatter by


def here(number: Published, rows: Any) -> tuple[float | None, int]:
    """Our value of a published number, and how many cells it is of."""
    found = ours(number, rows)
    return found.ours, found.cells


def claim(kind: str, of: Subject | None = TF, to: Subject | None = TORCH, quantity: str = "step",
          cases: tuple[Any, ...] = ((),), where: Mapping[str, Any] | None = None, **values: Any) -> Claim:
    made_claim = Claim(id="c", text="a claim", kind=kind, quantity=quantity, where=where or {}, cases=cases, of=of,
                       to=to, **values)
    assert claims.mistake(made_claim) is None
    return made_claim


def number(judged: JudgedClaim) -> ClaimNumber:
    """The only number of a claim."""
    (only,) = judged.numbers
    return only


def judge(asked: Claim, measured: Measurements) -> JudgedClaim:
    """What the summary says of a claim."""
    return judging.judge(asked, measured, doubts.of(measured))


def over(field: str, values: Sequence[Any], **seconds: Sequence[Any]) -> Measurements:
    """Steps of each stack, of so many seconds at each value of a cell's field."""
    return took({made.cell(stack, **{field: value}): found for stack, each in seconds.items()
                 for value, found in zip(values, each, strict=True)})


def took(seconds: Mapping[Cell, float | Sequence[float]], *more: Any, **plan: Any) -> Measurements:
    """Steps of so many seconds: of five runs around a number, or of the runs listed."""
    runs = {cell: found if isinstance(found, Sequence) else [found * each for each in ABOUT_ONE]
            for cell, found in seconds.items()}
    return made.measured(*more, rates={cell: [cell.batch / one for one in each] for cell, each in runs.items()}, **plan)
