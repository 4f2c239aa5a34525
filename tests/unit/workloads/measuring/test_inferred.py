"""What a check sends of inference: logits with drawn running statistics, after which the weights are as they were."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.sent import Sent
from workloads.frameworks import contract
from workloads.inputs import weights
from workloads.measuring import measures
from workloads.process.errors import NotFinite
from workloads.spec.cell import Cell

ARRAYS = {"0.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "1.mean": np.zeros(2, np.float32),
          "1.variance": np.ones(2, np.float32)}
CELL = Cell("x", "bert", "check")


class Workload:
    """Answers with the statistics that it holds, and nothing else."""

    def __init__(self) -> None:
        self.loaded = ARRAYS

    def load(self, arrays: dict[str, Any]) -> None:
        self.loaded = arrays

    def weights(self) -> dict[str, Any]:
        return dict(self.loaded)

    def synthetic(self, batches: list[Any]) -> Any:
        return iter(batches)

    def infer(self, batches: Any, count: int, watch: Any) -> None:
        for batch in contract.watched(batches, count, watch):
            watch.stepped((batch, self.loaded["1.mean"], self.loaded["1.variance"]))

    def check(self, batch: Any) -> dict[str, Any]:
        return {"activation": {}, "gradient": {}, "weight": {}, "logits": np.zeros(1), "loss": None}

    def sync(self, handle: Any) -> None:
        self.synced = handle

    def value(self, handle: Any) -> Any:
        assert handle is self.synced
        return np.array([handle[0] * np.ones(2), *handle[1:]])


def sent(cell: Cell) -> list[tuple[str, float]]:
    """The names and norms of what is sent as inferred of a batch, the number 7."""
    told, workload = Sent(), Workload()
    measures.sequence_check(cell, None, workload, SimpleNamespace(first=lambda count: [7.0]), "", told)
    assert all(np.array_equal(ARRAYS[name], array) for name, array in workload.loaded.items())
    return [(each["name"], each["norm"]) for each in told if each["kind"] == "inferred"]


def test_the_logits_of_drawn_vectors_are_sent_and_of_workers_nothing() -> None:
    drawn = weights.with_vectors(ARRAYS, CELL.seed)
    expected = np.array([[7.0, 7.0], drawn["1.mean"], drawn["1.variance"]])

    assert [("logits", float(np.linalg.norm(expected)))] == sent(CELL)
    assert [] == sent(CELL._replace(parallel="allreduce"))


def test_constant_arrays_are_drawn_by_name_and_seed_and_weights_stay() -> None:
    drawn, again, other = (weights.with_vectors(ARRAYS, seed) for seed in (1, 1, 2))

    assert drawn["0.weight"] is ARRAYS["0.weight"]
    for name in ("1.mean", "1.variance"):
        assert np.array_equal(drawn[name], again[name]) and not np.array_equal(drawn[name], other[name])
        assert np.float32 == drawn[name].dtype and len(set(drawn[name])) == 2
    assert np.all(np.abs(drawn["1.mean"]) <= 0.1) and np.all(np.abs(drawn["1.variance"] - 1) <= 0.1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_own_model_s_values_that_are_not_finite_are_told_and_not_compared(value: float) -> None:
    events: list[str] = []
    workload = SimpleNamespace(check=lambda: {"inferred": {"output": np.ones(2)}, "loss": {"loss": np.array(value)}})

    with pytest.raises(NotFinite, match=r"^loss has NaN or infinite values$"):
        measures.own_check(CELL, None, workload, None, "", lambda event, **fields: events.append(fields["name"]))
    assert ["output"] == events
