"""Many sessions over time: ratios to their own baselines, and what moved; what a blame says that blames nothing."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from runner.analysis.between.history import Course, History, over_time
from runner.analysis.blame import Finding, Measured, search
from runner.cli import app
from runner.errors import InputError
from runner.report import blaming
from runner.results.reader import measurements
from runner.results.rows import Measurements
from tests import made_rows as made

NOISE = (1.0, 1.001, 0.999, 1.002, 0.998)


def records(day: int, ratio: float, drift: float = 1.0, kernel: str = "6.1", noise: float = 1.0, **cell: Any
            ) -> list[Any]:
    """Five rounds in which tf is so many times as fast as torch, on a machine that is so many times as fast."""
    cells, shaken = (made.cell("torch", **cell), made.cell("tf", **cell)), [each**noise for each in NOISE]
    rates = [100 * drift / each for each in shaken], [100 * drift * each * ratio for each in shaken]
    runs = [record for cell, own in zip(cells, rates, strict=True) for record in made.runs(cell, own)]
    head = made.session(id=f"day{day}", began=f"2026-11-{day:02}T00:00:00+00:00",
                        machine={**made.MACHINE, "kernel": kernel})
    return [head, made.plan(*cells), *runs]


def session(*values: Any, **more: Any) -> Measurements:
    return measurements(records(*values, **more))


def only(history: History) -> Course:
    (course,) = history.courses
    return course


def test_a_ratio_that_moves_is_a_step_with_the_kernel_that_changed_and_the_machine_s_drift_is_none() -> None:
    course = only(over_time([session(1, 0.8), session(2, 0.8, drift=0.5), session(3, 0.7, 0.9, "6.9")]))

    assert ("tf", "torch", 3) == (course.stack, course.baseline, len(course.points))
    (step,) = course.steps
    assert ("day2", "day3") == (step.before, step.after)
    assert step.change.value == pytest.approx(0.875)
    assert ("6.1", "6.9") in [(each.a, each.b) for each in step.differences]


def test_the_command_says_so_and_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day, (ratio, kernel) in enumerate(((0.8, "6.1"), (0.8, "6.1"), (0.7, "6.9")), 1):
        made.kept(tmp_path / f"day{day}", *records(day, ratio, kernel=kernel))
    app(["history", str(tmp_path), "--json", "-"], standalone_mode=False)
    (course,) = json.loads(capsys.readouterr().out)["courses"]
    app(["history", str(tmp_path)], standalone_mode=False)

    assert [("day2", "day3")] == [(each["before"], each["after"]) for each in course["steps"]]
    text = (tmp_path / "history.html").read_text()
    assert "6.9" in text and "<svg" in text and "day1" in text and "0.88x" in text


@pytest.mark.parametrize(("ratios", "spread"), [
    ((1.0, 1.05, 1.0, 1.05), math.log(1.05) / math.sqrt(3)), ((1.0, 1.0, 1.0), 0.0)])
def test_the_spread_between_sessions_is_what_was_planted_and_only_steps_are_marked(
        ratios: tuple[float, ...], spread: float) -> None:
    history = over_time([session(day, ratio) for day, ratio in enumerate(ratios, 1)])

    assert history.spread == pytest.approx(spread, rel=0.02, abs=1e-9) and len(ratios) - 1 == history.spread_degrees
    assert (3 if spread else 0) == len(only(history).steps)


def test_sessions_are_put_in_order_of_their_beginning() -> None:
    history = over_time([session(3, 0.7), session(1, 0.8)])

    assert ["day1", "day3"] == [name for name, _ in history.sessions]
    assert ["day1", "day3"] == [point.session for point in only(history).points]


def test_a_session_without_the_cell_is_passed_over() -> None:
    cell = made.cell("torch", batch=99)
    other = made.measured(cell, made.session(id="day2", began="2026-11-02T00:00:00+00:00"),
                          *made.runs(cell, [100.0] * 5))
    course = only(over_time([session(1, 0.8), other, session(3, 0.8)]))

    assert ["day1", "day3"] == [point.session for point in course.points]


@pytest.mark.parametrize("settings", [{"cpus": 4}, {"seconds": 9.0}, {"learning_rate": 0.5}])
def test_cells_of_other_settings_are_courses_of_their_own_with_labels_that_say_so(settings: dict[str, Any]) -> None:
    history = over_time([session(day, 0.8, **(settings if day > 2 else {})) for day in range(1, 5)])

    assert [["day1", "day2"], ["day3", "day4"]] == [
        [point.session for point in each.points] for each in history.courses]
    (name, value), *_ = settings.items()
    assert 2 == len({each.label for each in history.courses}) and f"{name} {value}" in history.courses[1].label


def test_a_hundred_equal_sessions_are_held_to_more_than_two() -> None:
    """A change whose own p value is 0.037 is a step between two sessions and none among many."""
    shaken = [session(1, 0.8, noise=3.0), session(2, 0.812, noise=3.0)]
    alone = len(only(over_time(shaken)).steps)
    many = only(over_time([*shaken, *(session(day, 0.812, noise=3.0) for day in range(3, 29))])).steps

    assert (1, 0) == (alone, len(many))


def test_what_others_may_cost_the_turns_that_count_is_no_step() -> None:
    assert not only(over_time([session(1, 0.8), session(2, 0.807)])).steps


def test_one_session_is_no_history(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found 0 results in .*, expected two or more"):
        app(["history", str(tmp_path)], standalone_mode=False)


@pytest.mark.parametrize(("new", "said"), [
    (Measured(), "Nothing was measured yet."),
    (Measured(1.0, 0.98, 1.02), "No difference is shown: new is 1.00x (0.98–1.02) of old, so no package is blamed."),
    (Measured(doubt="0.70x (0.66–0.74), but new: not steady (12 of 20 runs)"),
     "It cannot be told whether new is slower: 0.70x (0.66–0.74), but new: not steady (12 of 20 runs).")])
def test_what_was_measured_without_a_reason_is_told_apart(new: Measured, said: str) -> None:
    answer = blaming.Answer(new, Finding((), {}, Measured()), {}, {}, (), 9, 0, 230.0, True)

    assert said == blaming.conclusion(answer) and said in blaming.parts(answer)


def test_of_packages_that_all_move_together_the_second_proof_is_no_measurement() -> None:
    slower = Measured(0.23, 0.22, 0.24)
    finding = search(["keras"], [], slower, lambda mix, limit: slower)

    answer = blaming.Answer(slower, finding, {}, {"keras": "keras 2.12 -> 2.13"}, (), 1, 1, 9.0, True)

    (row,) = blaming.rows(answer)
    assert ("old itself", "THE REASON") == (row["out of new"], row[""])
