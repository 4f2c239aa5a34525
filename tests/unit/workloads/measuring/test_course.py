"""Whole epochs: what is timed, what is told."""
import math
from typing import Any

import numpy as np
import pytest

from tests.clock import FakeClock
from tests.sent import Sent
from workloads.frameworks import contract
from workloads.inputs.images import Images
from workloads.measuring import epochs, measures
from workloads.process.errors import NotFinite, Unsupported
from workloads.spec.cell import Cell

CELL = Cell(stack="s", task="lenet5", measure="epochs", batch=2, epochs=2, classes=3)
TRUTH = np.array([0, 1, 2, 2, 1])
HELD_OUT = Images(np.arange(5, dtype=np.uint8).reshape(5, 1, 1, 1), TRUTH, {})


class Workload(contract.Images):
    """Trains a step in 1 s and predicts a batch in 0.25 s; says class 2 of image 1, else the truth."""

    loop = "native"

    def __init__(self, clock: FakeClock, losses: list[float]) -> None:
        self.clock, self.losses, self.asked = clock, iter(losses), []

    def train(self, batches: object, count: int, watch: Any) -> None:
        for _ in range(count):
            watch.loading()
            watch.loaded()
            self.clock.advance(1.0)
            watch.stepped(next(self.losses))

    def sync(self, handle: float) -> None:
        self.clock.advance(0.5)

    def value(self, handle: float) -> float:
        return handle

    def predict(self, images: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        self.clock.advance(0.25)
        self.asked.append(images.ravel().tolist())
        said = np.where(images.ravel() == 1, 2, TRUTH[images.ravel()])
        return np.eye(3)[said]


def followed(losses: list[float]) -> tuple[list[dict[str, Any]], Workload]:
    clock, told = FakeClock(step=0.0), Sent()
    workload = Workload(clock, losses)
    steps = epochs.Course(CELL, workload, HELD_OUT, 3, told, clock)
    epochs.follow(steps, None)
    return told, workload


def test_training_and_validation_are_timed_apart_and_an_epoch_tells_its_mean_loss() -> None:
    told, _ = followed([3.0, 2.0, 1.0, 0.5, 0.25, 0.0])
    assert [3.5, 3.5] == [epoch["train_seconds"] for epoch in told]       # three steps and the wait for the last
    assert [0.75, 0.75] == [epoch["validation_seconds"] for epoch in told]      # three batches of two
    assert [(0, 3, 2.0), (1, 3, 0.25)] == [(epoch["index"], epoch["steps"], epoch["loss"]) for epoch in told]


def test_every_held_out_image_counts_once_and_the_accuracy_is_the_confusion_s_trace() -> None:
    told, workload = followed([1.0] * 6)
    assert [[1, 0, 0], [0, 1, 1], [0, 0, 2]] == told[0]["confusion"]
    assert 0.8 == told[0]["accuracy"]
    assert [[0, 1], [2, 3], [4, 4]] == workload.asked[:3]       # filled up to a whole batch, counted once


def test_a_loss_that_is_no_number_ends_the_course() -> None:
    with pytest.raises(NotFinite, match="the loss became nan in epoch 1"):
        followed([1.0, 1.0, 1.0, 1.0, math.nan, math.nan])


@pytest.mark.parametrize("switch", ["augment", "images"])
@pytest.mark.parametrize("changed", [{"measure": "train"}, {"input": "synthetic"}, {"task": "bert"}])
def test_what_changes_an_epoch_s_images_is_refused_where_none_are_read(switch: str, changed: dict[str, Any]) -> None:
    cell = CELL._replace(**{"augment": {"augment": "crop"}, "images": {"images": 100}}[switch], **changed)

    with pytest.raises(Unsupported, match=f"^{switch} is for the images that measure epochs reads"):
        measures.run(cell, None, "", print)
