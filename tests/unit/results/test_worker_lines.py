"""What workers say: docs/worker.md, the tables behind it, the readers, and the lines that the workloads write."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.results import contract
from runner.results.lines import EVENTS
from tests.clock import FakeClock
from tests.fuzz.test_workers import EVENTS as READ
from tests.strays import strays
from workloads.measuring import epochs, matrix_products, max_batch
from workloads.measuring.watch import Watch, WorkersWatch
from workloads.spec.cell import Cell

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "worker.md").read_text()
CELL = Cell(stack="s", task="lenet5", measure="train", batch=2, warmup=1, steps=2)


class Sent(list[dict[str, Any]]):
    """What was sent."""

    def __call__(self, event: str, **values: Any) -> None:
        self.append({"event": event, **values})


def test_the_page_says_what_each_ending_means_and_who_says_it() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (worker|host) \| (.+) \|$", PAGE, flags=re.MULTILINE)

    assert rows == [(word, "worker" if word in contract.SAID_BY_WORKER else "host", meaning)
                    for word, meaning in contract.ENDINGS.items()]


def sendings() -> Iterator[tuple[str, str, list[str]]]:
    """Each place in workloads/ that sends an event: where, which one, and the keys that stand there."""
    for path in sorted((ROOT / "workloads").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in ("emit", "_emit", "send") and isinstance(node.args[0].value, str):
                    yield (f"{path.relative_to(ROOT)}:{node.lineno}", node.args[0].value,
                           [keyword.arg for keyword in node.keywords if keyword.arg])


def test_the_workloads_send_only_events_and_keys_that_the_contract_has() -> None:
    sent = list(sendings())
    known = {name: set(event.model_fields) for name, event in EVENTS.items()}

    assert {event for _, event, _ in sent} == set(EVENTS)
    assert [] == [(where, event, keys) for where, event, keys in sent if not set(keys) <= known[event]]


@pytest.mark.parametrize("line", READ, ids=lambda line: line["event"])
def test_a_line_that_readers_take_has_no_key_that_the_contract_lacks(line: dict[str, Any]) -> None:
    assert [] == [stray for stray in strays(line) if "missing" not in stray]


@pytest.mark.parametrize(("line", "found"), [
    ({"event": "beat", "place": "node0"}, set()), ({"event": "dance"}, {"event 'dance' is unknown"}),
    ({"event": "weights", "md5": "b"}, {"key md5 is unknown", "key sha256: missing"}),
    ({"event": "start", "facts": {"threads": "two", "colour": 1}},
     {"key colour is unknown", "key threads: int_type", "key python: missing"})])
def test_what_a_line_or_its_facts_have_beyond_the_contract_is_named(line: dict[str, Any], found: set[str]) -> None:
    assert found <= set(strays(line)) and bool(found) == bool(strays(line))


class Device:
    """A device with a clock of its own, as fast as ours."""

    def __init__(self) -> None:
        self.marks = 0

    def mark(self) -> None:
        self.marks += 1

    def seconds(self) -> list[float]:
        marks, self.marks = self.marks, 0
        return [0.25] * (marks - 1)


def watched(**switches: Any) -> list[dict[str, Any]]:
    clock, sent = FakeClock(step=0.25), Sent()
    watch = Watch(CELL._replace(**switches), lambda handle: None, lambda handle: handle, sent, clock, Device())
    for _ in range(3):
        watch.loading()
        watch.loaded()
        watch.stepped(1.5, {"forward": 0.1})
    return sent


def of_a_coordinator() -> list[dict[str, Any]]:
    sent = Sent()
    watch = WorkersWatch(CELL, sent, FakeClock(step=0.25))
    for worker in (0, 1, 0, 1):
        watch.told(worker, 0.5, 1.5, {"forward": 0.1})
    watch.close()
    return sent


class Trained:
    """A workload whose epochs do nothing."""

    def sync(self, handle: Any) -> None:
        pass

    def value(self, handle: float) -> float:
        return handle

    def predict(self, images: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        return np.eye(CELL.classes)[:len(images)]


def of_an_epoch() -> list[dict[str, Any]]:
    from workloads.inputs.images import Images

    sent = Sent()
    held_out = Images(np.zeros((2, 1, 1, 1), np.uint8), np.array([0, 1]), {})
    course = epochs.Course(CELL, Trained(), held_out, 1, sent, FakeClock(step=0.25))
    course.begun()
    course.stepped(2.0)
    course.ended()
    return sent


def of_products() -> list[dict[str, Any]]:
    sent = Sent()
    matrix_products.sizes(CELL, lambda cell, size, numbers: (lambda: None, lambda: None), "float32", sent,
                   FakeClock(step=0.25))
    return sent


def of_a_search() -> list[dict[str, Any]]:
    sent = Sent()
    max_batch.measure(CELL._replace(memory_bytes=1), "", sent, lambda cell, folder, emit, is_first: max_batch.Tried(
        cell.batch, "ok" if cell.batch < 4 else "oom", "", 0.5, None))
    return sent


@pytest.mark.parametrize("lines", [
    watched(), watched(sync="end"), watched(sync="blocks"), of_a_coordinator(), of_an_epoch(), of_products(),
    of_a_search()], ids=["each", "end", "blocks", "coordinator", "epoch", "products", "max_batch"])
def test_lines_as_the_workloads_make_them_are_the_contract_s(lines: list[dict[str, Any]]) -> None:
    assert lines
    assert {} == {line["event"]: strays(line) for line in lines if strays(line)}
