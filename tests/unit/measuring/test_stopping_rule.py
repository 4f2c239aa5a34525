"""When comparisons stop: at the looks of the plan, where their words are said, or their intervals narrow."""

from pathlib import Path
from typing import Any

import pytest

from runner.analysis.between import regression
from runner.errors import InputError
from runner.measuring.bench import Enough
from runner.measuring.stopping_rule import check, decided, narrow
from runner.results import store
from runner.results.reader import measurements
from tests.clock import FakeClock
from tests.fake_session import bench, job_of, run
from tests.fakes import FakeLauncher, good_lines


def noisy(cell: Any, run: str) -> list[bytes]:
    """The second stack is as fast, and swings by the round."""
    return good_lines(0.5 + 0.2 * (int(run.split(".")[1]) % 3) * (cell.stack == "b"))


def rounds(folder: Path, enough: Enough, most: int, script: Any) -> list[int]:
    made = bench(folder, script)
    assert run(made._replace(plan=made.plan._replace(rounds=most), enough=enough))
    found = measurements(store.read(folder))
    assert found.is_done
    return [row.counted_rounds for row in found.rows]


def failing(cell: Any, run: str) -> list[bytes]:
    """The baseline, stack a, cannot do it."""
    ending = b'{"event": "end", "status": "unsupported", "message": "m"}\n'
    return good_lines() if cell.stack == "b" else [good_lines()[0], ending]


def by_stack(seconds: float) -> Any:
    return lambda cell, run: good_lines(0.5 if cell.stack == "a" else seconds)


@pytest.mark.parametrize(("script", "expected"), [
    (by_stack(1.0), 5), (by_stack(0.501), 8), (noisy, 8)])     # said; as fast, and no winner; nothing shown
def test_rounds_stop_at_the_first_look_where_all_words_are_said(tmp_path: Path, script: Any, expected: int) -> None:
    assert [expected] * 2 == rounds(tmp_path / "r", decided, 8, script)


@pytest.mark.parametrize(("script", "width", "expected"), [
    (noisy, 0.02, 9), (noisy, 1.0, 5), (by_stack(0.6), 0.02, 5),        # the last is narrow before the first look
    (failing, 0.02, 3)])           # no ratio can become narrow: the study's three rounds
def test_rounds_are_added_until_intervals_are_narrow_or_there_are_as_many_as_may_be(
        tmp_path: Path, script: Any, width: float, expected: int) -> None:
    assert [expected] * 2 == rounds(tmp_path / "r", narrow(width, 3), 9, script)


@pytest.mark.parametrize(("script", "expected"), [(by_stack(0.5), 5), (by_stack(1.0), 5), (noisy, 10)])
def test_a_gate_stops_where_it_is_decided(tmp_path: Path, script: Any, expected: int) -> None:
    def enough(measured: Any) -> Any:
        return regression.judge(measured, "a", "b", 0.03).decided

    assert [expected] * 2 == rounds(tmp_path / "r", enough, 10, script)


def test_a_wish_without_two_stacks_to_compare_is_refused() -> None:
    with pytest.raises(InputError, match="--until: found no cell that two stacks run"):
        check(job_of(FakeLauncher(FakeClock()), ["a"]).plan)
