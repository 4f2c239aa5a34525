"""Workers that are started ahead of their turn: what waits for what, and what is left of those that had no turn."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.errors import Stopped
from runner.launchers.process_groups import Limits, ProcessGroup, ProcessRunning
from runner.measuring import products, session
from runner.measuring.bench import Bench
from runner.paths import ROOT
from runner.results import history, store
from tests.fake_session import bench, close_stores
from tests.fakes import FakeLauncher, good_lines, no_engine, quiet
from workloads.spec import cluster, early, frameworks
from workloads.spec.cell import Cell

AFTER_THE_GATE = "import os; from workloads.process import gate; gate.wait(); print(repr(os.read(0, 1)), " \
                 "os.environ.get('EVENBENCH_EARLY'))"


@pytest.fixture(autouse=True)
def closed_stores() -> Iterator[None]:
    yield
    close_stores()


def started(code: str, is_early: bool) -> ProcessRunning:
    return ProcessRunning.of(cluster.places("pytorch", "none", 1), {}, lambda rank, address: ProcessGroup(
        lambda scratch: [sys.executable, "-c", code], Limits(sorted(os.sched_getaffinity(0))), ROOT, {}, is_early))


def early_bench(folder: Path, script: Any = lambda cell, run: good_lines()) -> tuple[Bench, FakeLauncher]:
    made = bench(folder, script)
    assert isinstance(made.launcher, FakeLauncher)
    made.launcher.starts_early = True
    return made, made.launcher


def test_a_process_waits_behind_its_imports_for_its_turn_and_then_reads_nothing() -> None:
    running = started(AFTER_THE_GATE, is_early=True)
    try:
        assert running.has_imported(20)
        assert running.next_line(0.2) is None
        running.go_on()
        assert running.next_line(20) == ("node0", b"b'' None\n")
    finally:
        running.stop()


def test_a_process_that_is_started_in_its_turn_does_not_wait() -> None:
    running = started(AFTER_THE_GATE, is_early=False)
    try:
        assert running.has_imported(0)
        assert running.next_line(20) == ("node0", b"b'' None\n")
    finally:
        running.stop()


def test_a_process_that_ends_while_it_imports_is_waited_for_no_longer() -> None:
    running = started("raise SystemExit(3)", is_early=True)
    try:
        assert running.has_imported(20)
        running.go_on()
        assert running.next_line(20) == ("node0", b"")
        assert running.exit("node0", 20).code == 3
    finally:
        running.stop()


def test_a_process_still_imports_until_it_says_otherwise() -> None:
    running = started("import time; time.sleep(60)", is_early=True)
    try:
        assert not running.has_imported(0.1)
    finally:
        running.stop()


def test_all_import_before_the_first_has_its_turn_and_one_at_a_time_has_it(tmp_path: Path) -> None:
    seen: list[tuple[str, list[str]]] = []

    def script(cell: Cell, run: str) -> Any:
        def first_line() -> bytes:
            going = [str(each.place["run"]) for each in launcher.running if each.has_turn and not each.is_stopped]
            waiting = [str(each.place["run"]) for each in launcher.running if not each.has_turn]
            seen.append((run, sorted(going)))
            assert {each.split(".")[1] for each in waiting} <= {run.split(".")[1]}       # of the same round
            return good_lines()[0]
        return [first_line, *good_lines()[1:]]

    made, launcher = early_bench(tmp_path / "r", script)
    assert session.run(made)
    assert len(seen) == 6
    assert all(going == [run] for run, going in seen)
    assert all(each.is_stopped for each in launcher.running)


def test_the_record_says_what_the_import_took_and_estimates_count_it(tmp_path: Path) -> None:
    made, _ = early_bench(tmp_path / "r")
    session.run(made)
    begun = [each for each in store.read(tmp_path / "r") if each["event"] == "begin"]
    ended = {each["run"]: each["seconds"] for each in store.read(tmp_path / "r") if each["event"] == "ending"}
    assert all(each["early_seconds"] > 0 for each in begun)
    last = {each["key"]: each for each in begun}
    assert history.known_seconds(tmp_path) == pytest.approx({
        key: ended[each["run"]] + each["early_seconds"] for key, each in last.items()})


def test_what_does_not_import_in_time_is_started_again_in_its_turn(tmp_path: Path) -> None:
    made, launcher = early_bench(tmp_path / "r")
    start = launcher.start_early

    def stuck(*arguments: Any, **named: Any) -> Any:
        running = start(*arguments, **named)
        assert running
        running.imports = running.place["run"] != launcher.started[0][1]
        return running

    launcher.start_early = stuck  # type: ignore[method-assign]
    assert session.run(made)
    assert [run for _, run in launcher.started].count(launcher.started[0][1]) == 2
    assert launcher.running[0].is_stopped
    assert not launcher.running[0].has_turn


def test_what_cannot_be_started_says_so_in_its_turn_and_the_others_have_theirs(tmp_path: Path) -> None:
    made, _ = early_bench(tmp_path / "r", lambda cell, run: no_engine() if cell.stack == "a" else good_lines())
    session.run(made)
    endings = [each["ending"] for each in store.read(tmp_path / "r") if each["event"] == "ending"]
    assert sorted(endings) == ["not_started"] * 3 + ["ok"] * 3


def test_who_stops_while_workers_wait_leaves_none(tmp_path: Path) -> None:
    made, launcher = early_bench(tmp_path / "r")
    with pytest.raises(Stopped):
        session.run(made._replace(is_stopping=lambda: len(launcher.running) == 2))
    assert [each.is_stopped for each in launcher.running] == [True, True]
    assert not any(each["event"] == "begin" for each in store.read(tmp_path / "r"))


def test_products_import_early_as_well(tmp_path: Path) -> None:
    made, launcher = early_bench(tmp_path / "r", lambda cell, run: [good_lines()[0], good_lines()[-1]])
    products.measure(made, quiet)
    assert len(launcher.running) == 2
    assert all(each.has_turn and each.is_stopped for each in launcher.running)


@pytest.mark.parametrize(("fields", "may_be"), [
    ({}, True), ({"device": "gpu"}, False), ({"nodes": 3, "parallel": "sync"}, False),
    ({"measure": "max_batch"}, False)])
def test_only_a_worker_that_is_alone_on_cpus_waits(fields: dict[str, Any], may_be: bool) -> None:
    cell = Cell(stack="a", task="lenet5", measure="train")._replace(**fields)
    assert early.may_be(cell) is may_be


@pytest.mark.parametrize(("name", "has_optimizer", "later"), [
    ("pytorch", True, ("torch._dynamo",)), ("pytorch", False, ()), ("jax", True, ())])
def test_what_an_optimizer_imports_is_imported_with_the_framework(name: str, has_optimizer: bool,
                                                                  later: tuple[str, ...]) -> None:
    assert frameworks.later(name, has_optimizer) == later
