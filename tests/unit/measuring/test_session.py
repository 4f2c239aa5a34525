"""Sessions: what is stored, in which order, and what an interrupted one leaves."""

import errno
import io
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from runner.analysis import doubts
from runner.analysis.summary import summary_of
from runner.errors import DiskFull, Stopped
from runner.launchers.protocol import Exit
from runner.machine.host import CpuSeconds
from runner.measuring.bench import Bench
from runner.measuring.session import INCOMPLETE, Memory, exit_code
from runner.planning.plan import Wishes, plan
from runner.results import sessions, store
from runner.results.reader import measurements
from runner.results.sessions import Session, StoredRun
from runner.screen.progress import RunProgress
from tests import made_rows
from tests.clock import FakeClock
from tests.fake_session import STACKS, STUDY, bench, endings, events, rounds, run, sent
from tests.fakes import MACHINE, READING, FakeLauncher, good_lines, no_engine
from tests.studies import parse
from workloads.spec.cell import Cell


def begun(launcher: Any) -> list[tuple[str, str]]:
    return [(cell.stack, run.split(".")[1]) for cell, run in launcher.started]


def test_every_cell_runs_once_a_round_by_one_seed_of_the_round_and_rounds_are_not_mixed(tmp_path: Path) -> None:
    made = bench(tmp_path / "r")
    assert run(made)
    runs = begun(made.launcher)

    assert ["0", "0", "1", "1", "2", "2"] == [index for _, index in runs]
    assert all({"a", "b"} == {name for name, index in runs if index == r} for r in "012")
    assert {(0, 1), (1, 2), (2, 3)} == {(each["round"], each["seed"]) for each in events(tmp_path / "r", "begin")}
    assert ({(run.split(".")[1], cell.seed) for cell, run in made.launcher.started}  # type: ignore[attr-defined]
            == {("0", 1), ("1", 2), ("2", 3)})
    assert [0.5, 0.5] == sent(tmp_path / "r", "steps")[0]["seconds"]             # raw, no mean


def test_the_seed_draws_the_order_of_each_round_and_each_run_an_unused_variable_of_some_length(tmp_path: Path) -> None:
    orders, paddings = [], []
    for number, seed in enumerate((1, 1, 2, 3, 4)):
        made = bench(tmp_path / str(number), seed=seed)
        run(made)
        orders.append(begun(made.launcher))
        paddings.append([order.padding for order in made.launcher.orders])  # type: ignore[attr-defined]
    assert orders[0] == orders[1] and any(order != orders[0] for order in orders[2:])
    assert paddings[0] == [each["padding"] for each in events(tmp_path / "0", "begin")]
    assert 6 == len(set(paddings[0])) and all(0 <= each <= 4096 for each in paddings[0])
    assert paddings[0] != paddings[1]


def test_every_worker_is_stopped_however_it_went(tmp_path: Path) -> None:
    made = bench(tmp_path / "r", lambda cell, run: [None] if cell.stack == "a" else [b"garbage\n"])
    assert not run(made)
    assert {"timeout", "died"} == set(endings(tmp_path / "r"))
    assert all(running.is_stopped for running in made.launcher.running)  # type: ignore[attr-defined]


def test_a_round_that_lost_a_run_is_followed_by_others_at_most_as_many_and_the_same_command_makes_what_is_missing(
        tmp_path: Path) -> None:
    made = bench(tmp_path / "r", lambda cell, run: no_engine() if cell.stack == "a" else good_lines())
    assert not run(made)
    assert 3 <= endings(tmp_path / "r").count("not_started") == endings(tmp_path / "r").count("ok") <= 6
    assert list(store.read(tmp_path / "r"))[-1] == {"event": "closed", "reason": "incomplete"}
    assert sessions.unfinished(tmp_path, "another") is None
    assert sessions.unfinished(tmp_path, "c")
    assert [[], []] == rounds(tmp_path / "r")

    again = bench(tmp_path / "r")
    assert run(again)
    assert 6 == len(again.launcher.started)  # type: ignore[attr-defined]
    assert [3, 3] == list(map(len, rounds(tmp_path / "r")))
    assert sessions.unfinished(tmp_path, "c") is None


@pytest.mark.parametrize(("status", "able", "is_well"), [
    ("unsupported", "b", True), ("oom", "b", True), ("unsupported", "nobody", False), ("error", "b", False)])
def test_what_a_stack_cannot_do_is_a_result_where_another_can(
        tmp_path: Path, status: str, able: str, is_well: bool) -> None:
    end = b'{"event": "end", "status": "%s", "message": "no"}\n' % status.encode()
    made = bench(tmp_path / "r", lambda cell, run: good_lines() if cell.stack == able else [*good_lines()[:1], end])
    assert is_well == run(made)


def stopping(after: int) -> Any:
    """A script whose run number `after` is interrupted between its lines."""
    runs = []

    def interrupt() -> bytes:
        raise Stopped

    def script(cell: Cell, run: str) -> list[Any]:
        runs.append(run)
        return [*good_lines()[:2], interrupt] if len(runs) > after else good_lines()
    return script


def test_an_interrupted_session_says_no_word_and_goes_on_with_whole_rounds(tmp_path: Path) -> None:
    made = bench(tmp_path / "r", stopping(after=3))
    with pytest.raises(Stopped):
        run(made)
    assert ["ok", "ok", "ok", "killed"] == endings(tmp_path / "r")
    assert {"unfinished (1 of 3 rounds could be measured)"} == {
        doubt.text for doubt in doubts.of(measurements(store.read(tmp_path / "r"))).values()}

    again = bench(tmp_path / "r")
    assert run(again)
    assert ["2", "2", "3", "3"] == [index for _, index in begun(again.launcher)]
    assert [[0, 2, 3]] * 2 == rounds(tmp_path / "r")
    assert sessions.unfinished(tmp_path, "c") is None


@pytest.mark.parametrize(("words", "code"), [(["died", "ok"], 1), (["ok", "oom"], 0), (["killed", "ok"], 0)])
def test_a_session_that_goes_on_says_how_all_of_its_runs_ended(words: list[str], code: int) -> None:
    stored = Session(runs=[StoredRun("k", {}, {}, word) for word in words], state="incomplete")
    assert INCOMPLETE == exit_code(stored)
    stored.runs.append(StoredRun("k", {}, {}, "ok"))
    stored.state = "done"
    assert code == exit_code(stored)


def test_runs_of_a_round_that_two_runners_made_are_no_pair(tmp_path: Path) -> None:
    """Equal stacks on a host that is 0.8 times as fast an hour later, as an older version resumed its sessions."""
    cells = made_rows.cell("torch"), made_rows.cell("tf")
    early, late = ([*made_rows.runs(cell, [rate] * 8)] for cell, rate in zip(cells, (100.0, 80.0), strict=True))
    records = [made_rows.session(), made_rows.plan(*cells, rounds=8), *early, made_rows.session(), *late,
               {"event": "closed", "reason": "done"}]
    (comparison,) = summary_of(measurements(records)).comparisons
    assert [None, None] == [each.ratio for each in comparison.results]
    assert summary_of(measurements([*records[:2], *early, *late])).comparisons[0].results[1].ratio == pytest.approx(0.8)


def test_a_session_that_is_asked_to_stop_ends_its_run_as_killed_and_starts_no_other(tmp_path: Path) -> None:
    made = bench(tmp_path / "r")
    asked = iter([False] * 6 + [True] * 9)
    with pytest.raises(Stopped):
        run(made._replace(is_stopping=lambda: next(asked)))
    assert endings(tmp_path / "r") == ["ok", "killed"]
    assert all(running.is_stopped for running in made.launcher.running)  # type: ignore[attr-defined]
    assert list(store.read(tmp_path / "r"))[-1] == {"event": "closed", "reason": "interrupted"}


@pytest.mark.parametrize(("exit", "word"), [(Exit(None, verdict=("killed", "gone")), "killed"), (Exit(None), "died")])
def test_a_run_whose_engine_went_away_and_is_back_takes_its_round_with_it_which_is_made_again(
        tmp_path: Path, exit: Exit, word: str) -> None:
    def script(cell: Cell, run: str) -> Any:
        return ([], exit) if cell.stack == "a" and run.endswith(".1") else good_lines()

    made = bench(tmp_path / "lost", script)
    start = made.launcher.start

    def started(*words: Any, **more: Any) -> Any:
        running: Any = start(*words, **more)
        running.went_away = True
        return running

    made.launcher.start = started                         # type: ignore[method-assign]
    assert run(made)
    assert 7 == endings(tmp_path / "lost").count("ok") and 1 == endings(tmp_path / "lost").count("killed")
    assert [[0, 2, 3]] * 2 == rounds(tmp_path / "lost")
    assert list(store.read(tmp_path / "lost"))[-1] == {"event": "closed", "reason": "done"}

    stays = bench(tmp_path / "stays", script)
    assert (word == "killed") == run(stays)
    assert 1 == endings(tmp_path / "stays").count(word)


class Full:
    """A file on a disk that has so many bytes left."""

    def __init__(self, file: Any, left: int) -> None:
        self._file, self._left = file, left

    def write(self, line: bytes) -> int:
        self._left -= len(line)
        if self._left < 0:
            self._file.write(line[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self._file.write(line))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_full_disk_ends_the_session_and_what_was_written_stays_readable(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda number, *mode, **more: Full(opened(number, *mode, **more), 6000)
                        if mode == ("ab",) else opened(number, *mode, **more))
    made = bench(tmp_path / "r")
    with pytest.raises(DiskFull, match="disk is full"):
        run(made)
    assert all(running.is_stopped for running in made.launcher.running)  # type: ignore[attr-defined]
    assert events(tmp_path / "r", "begin")


def test_what_others_took_is_counted_from_the_worker_s_start_to_its_end(tmp_path: Path) -> None:
    clock = FakeClock(step=0.0)
    busy = iter([0.0, 10.0, 18.0, *[18.0] * 9])

    def lines(cell: Cell, run: str) -> list[Any]:
        def later(line: bytes) -> Any:
            def give() -> bytes:
                clock.advance(4.0)
                return line
            return give
        return [later(b'{"event": "start", "facts": {}, "cpu_seconds": 1.5}\n'),
                later(b'{"event": "end", "status": "ok", "message": "", "cpu_seconds": 6.5}\n')]

    made = bench(tmp_path)
    one = made.plan._replace(rounds=1, cells=made.plan.cells[:1])
    run(made._replace(plan=one, launcher=FakeLauncher(clock, lines), clock=clock,
                      readings=lambda: READING._replace(all_cpus=CpuSeconds(next(busy)))))
    [ending] = events(tmp_path, "ending")
    assert (18.0 - 10.0 - 5.0) / (4.0 * one.cells[0].cell.cpus) == ending["host"]["foreign_cpu_share"]


GRID = STUDY.replace(b"rounds = 3", b"rounds = 2").replace(b'["a", "b"]', b'["a"]\ngrid = { batch = [8, 16, 32] }')


def sizes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench of three batches in this order, of which those above 8 run out of memory."""
    end = b'{"event": "end", "status": "oom", "message": "full"}\n'
    made = bench(folder, lambda cell, run: [*good_lines()[:1], end] if cell.batch > 8 else good_lines())
    planned = plan(parse(GRID), STACKS, MACHINE, Wishes(), lambda stack: None)
    monkeypatch.setattr(type(planned), "order", lambda self, _: sorted(self.cells, key=lambda each: each.cell.batch))
    return made._replace(plan=planned._replace(cells=tuple(planned.order(0))))


def messages(folder: Path) -> list[str]:
    return [record["message"] for record in events(folder, "ending")]


def test_a_larger_batch_than_one_that_ran_out_of_memory_is_inferred_and_not_run(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sizes(tmp_path / "r", monkeypatch)
    assert run(made)
    assert [8, 16, 8, 16] == [cell.batch for cell, _ in made.launcher.started]  # type: ignore[attr-defined]
    assert ["ok", "oom", "oom", "ok", "oom", "oom"] == endings(tmp_path / "r")
    assert 2 == messages(tmp_path / "r").count("inferred, not run: batch 16 was out of memory")


def test_what_a_session_s_store_says_of_memory_holds_after_an_interruption(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sizes(tmp_path / "r", monkeypatch)
    some = made.plan._replace(rounds=1, cells=made.plan.cells[:2])
    run(made._replace(plan=some))
    again = sizes(tmp_path / "r", monkeypatch)
    run(again)
    assert [8, 16] == [cell.batch for cell, _ in again.launcher.started]  # type: ignore[attr-defined]
    assert ["inferred, not run: batch 16 was out of memory"] * 2 == messages(tmp_path / "r")[2::3]


def test_another_stack_or_a_smaller_batch_is_no_reason_to_leave_a_cell_out() -> None:
    cell = Cell(stack="a", task="lenet5", measure="train", batch=32)
    memory = Memory({"32": cell, "8": cell._replace(batch=8)})
    for key, word in (("32", "oom"), ("8", "ok")):
        memory.heard({"event": "ending", "run": f"{key}.0.1", "ending": word})
    assert ("oom", "inferred, not run: batch 32 was out of memory") == memory.known(cell._replace(batch=64))
    assert (None, None, None) == tuple(map(memory.known, (
        cell, cell._replace(stack="b", batch=64), cell._replace(batch=16))))


def test_what_a_stack_cannot_do_is_asked_once_a_session(tmp_path: Path) -> None:
    end = b'{"event": "end", "status": "unsupported", "message": "no such kernel"}\n'
    made = bench(tmp_path / "r", lambda cell, run: [*good_lines()[:1], end] if cell.stack == "a" else good_lines())
    run(made)
    started = [cell.stack for cell, _ in made.launcher.started]  # type: ignore[attr-defined]
    assert 1 == started.count("a") and made.plan.rounds == started.count("b") > 1
    assert [("no such kernel", index > 0) for index in range(made.plan.rounds)] == [
        (each["message"], "inferred" in each) for each in events(tmp_path / "r", "ending")
        if "unsupported" == each["ending"]]


def test_runs_that_differ_by_what_labels_leave_out_are_told_apart(tmp_path: Path) -> None:
    study = parse(STUDY + b"grid = {seed = [1, 2]}\n")
    planned, file = plan(study, STACKS, MACHINE, Wishes(), lambda stack: None), io.StringIO()
    with closing(RunProgress(planned, Console(file=file, width=200), FakeClock(step=0.001), True)) as shown:
        run(bench(tmp_path / "r")._replace(plan=planned), heard=shown.heard)

    lines = [line for line in file.getvalue().splitlines() if "] " in line]
    assert {f"{name}: LeNet-5 (tanh, 62 k parameters), training, batch 42, seed {seed}"
            for name in "ab" for seed in (1, 2)} == {line.split(" ", 2)[2].partition(": ok")[0] for line in lines}


def test_a_worker_begins_with_the_variables_of_its_cell_s_switches(tmp_path: Path) -> None:
    made = bench(tmp_path / "r")
    first, second = made.plan.cells
    switched = first._replace(cell=first.cell._replace(switches="layout=nhwc LD_PRELOAD=libjemalloc.so.2"))
    run(made._replace(plan=made.plan._replace(cells=(switched, second), rounds=1)))

    variables = [dict(order.stack.env) for order in made.launcher.orders]  # type: ignore[attr-defined]
    assert [{}, {"LD_PRELOAD": "libjemalloc.so.2"}] == sorted(variables, key=len)


def test_the_time_that_is_left_counts_what_lies_between_the_runs(tmp_path: Path) -> None:
    """Each worker takes 3 s to start, which no run's own 10 s have."""
    clock, told = FakeClock(step=0.0), list[tuple[float, float]]()

    def script(cell: Cell, run: str) -> list[Any]:
        clock.advance(3.0)
        return [*good_lines()[:3], lambda: clock.advance(10.0) or good_lines()[-1]]  # type: ignore[func-returns-value]

    run(bench(tmp_path / "r")._replace(launcher=FakeLauncher(clock, script), clock=clock),
        heard=lambda event: told.append((clock(), event["left"])) if "left" in event else None)
    began, seconds = told[0]

    assert clock() - began == pytest.approx(seconds, rel=0.05)
