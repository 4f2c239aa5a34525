"""Sessions of --until: when they look, go on and stop, how many rounds are run, what a reader finds afterwards."""

import math
from pathlib import Path
from typing import Any

import pytest

from runner.analysis.summary import summarise
from runner.errors import InputError, Stopped
from runner.measuring import adaptive, job
from runner.measuring.bench import Bench, Request
from runner.measuring.stopping_rule import CAP, Outcome, Until, Width, lines, looks, outcome, parse, widths
from runner.planning.plan import Wishes
from runner.results import earlier_sessions, manifest, store
from runner.results.earlier_sessions import Kept, Past
from runner.results.rows import measurements
from tests import made_rows as made
from tests.clock import FakeClock
from tests.fake_session import STACKS, job_of, stored
from tests.fakes import READING, FakeLauncher, good_lines


def launcher_of(script: Any, *left: str) -> FakeLauncher:
    """left: the runs that went on without their runner."""
    launcher = FakeLauncher(FakeClock(step=0.001), script)
    launcher.left = {run: good_lines() for run in left}
    return launcher


def asked_for(folder: Path, launcher: FakeLauncher, wished: Until | None = None) -> job.Job:
    return job_of(launcher, wishes=Wishes(rounds=3), request=Request("s", until=wished, results=folder.parent))


def ran(folder: Path, wished: Until | None, script: Any, kept: Kept | None = None,
        launcher: FakeLauncher | None = None) -> tuple[bool, list[str]]:
    """Whether all went well, and what was said."""
    planned = asked_for(folder, launcher or launcher_of(script), wished)
    said: list[str] = []
    with store.Store(folder) as opened:
        bench = Bench(planned.plan, STACKS, planned.launcher, folder, folder, clock=FakeClock(step=0.001),
                      readings=lambda: READING)
        is_ok = stored(adaptive.run(planned, bench, kept), opened, lambda event: said.append(event.get("said", "")))
    return is_ok, [line for line in said if "--until" in line]


def rounds(folder: Path) -> list[int]:
    return sorted({record["round"] for record in store.read(folder) if record["event"] == "begin"})


def noisy(cell: Any, run: str) -> list[bytes]:
    """One stack's rate swings by the round."""
    return good_lines(0.5 + 0.2 * (int(run.split(".")[1]) % 3) * (cell.stack == "a"))


def test_without_a_wish_the_study_s_rounds_are_run_and_with_one_steady_ratios_stop_after_the_second_look(
        tmp_path: Path) -> None:
    assert (True, []) == ran(tmp_path / "r", None, lambda cell, run: good_lines())
    assert [0, 1, 2] == rounds(tmp_path / "r")

    is_ok, said = ran(tmp_path / "s", Until(0.02, 30), lambda cell, run: good_lines())
    assert is_ok and list(range(8)) == rounds(tmp_path / "s")
    assert "every interval is narrower after 8 rounds" in said[0]


def test_noisy_ratios_stop_at_the_cap_and_are_named_and_all_stages_are_one_session(tmp_path: Path) -> None:
    _, said = ran(tmp_path / "r", Until(0.02, 9), noisy)
    measured = measurements(store.read(tmp_path / "r"))

    assert "the cap of 9 rounds is reached; 1 interval is still too wide, the widest b, lenet5 (" in said[0]
    assert [False] == [record["is_narrow"] for record in store.read(tmp_path / "r") if record["event"] == "until"]
    assert (9, True, [9, 9]) == (measured.rounds, measured.is_done, [len(row.runs) for row in measured.rows])


def test_a_run_that_failed_in_one_stage_is_not_tried_again_in_the_next(tmp_path: Path) -> None:
    started = []

    def script(cell: Any, run: str) -> list[bytes]:
        if cell.measure != "product":
            started.append(run)
        return [b"garbage\n"] if cell.stack == "a" and run.split(".")[1] == "0" else good_lines()

    is_ok, _ = ran(tmp_path / "r", Until(0.02, 12), script)

    assert not is_ok and len(started) == len(set(started)) == 2 * 8


def interrupt() -> bytes:
    raise Stopped


def unfinished(folder: Path) -> Kept | None:
    command = next(record["command"] for record in store.read(folder) if record["event"] == "session")
    return earlier_sessions.unfinished(folder.parent, command)


def test_a_session_that_was_killed_in_a_later_stage_goes_on_there(tmp_path: Path) -> None:
    def script(cell: Any, run: str) -> list[Any]:
        return [*good_lines()[:2], interrupt] if run.split(".")[1] == "6" else noisy(cell, run)

    with pytest.raises(Stopped):
        ran(tmp_path / "r", Until(0.02, 9), script)
    kept = unfinished(tmp_path / "r")
    assert kept and 12 == len(kept.finished)
    ran(tmp_path / "r", Until(0.02, 9), noisy, kept)
    measured = measurements(store.read(tmp_path / "r"))

    assert list(range(9)) == rounds(tmp_path / "r") and measured.is_done
    assert unfinished(tmp_path / "r") is None


def killed_in_round(folder: Path, round: int) -> Kept:
    """What a runner left that was killed in a round's first run, before the run's first line."""
    with pytest.raises(Stopped):
        ran(folder, Until(0.02, 9), lambda cell, run: [interrupt] if run.split(".")[1] == str(round)
            else noisy(cell, run))
    events = (folder / store.EVENTS).read_bytes().splitlines(keepends=True)
    last = max(index for index, line in enumerate(events) if b'"event": "begin"' in line)
    (folder / store.EVENTS).write_bytes(b"".join(events[:last + 1]))
    (folder / manifest.NAME).unlink(missing_ok=True)          # a killed runner writes none
    kept = unfinished(folder)
    assert kept
    return kept


def test_a_run_of_a_later_stage_that_went_on_without_its_runner_is_taken_over_there(tmp_path: Path) -> None:
    kept = killed_in_round(tmp_path / "r", 5)                 # the first of the second stage
    ((_, left),) = kept.left.items()
    ran(tmp_path / "r", Until(0.02, 9), noisy, kept, launcher_of(noisy, left.run))

    heard = [record for record in store.read(tmp_path / "r") if record.get("run") == left.run]
    assert ["begin", "line", "line", "line", "ending"] == [record["event"] for record in heard]
    assert heard[-1]["rejoined"]
    assert [9, 9] == [len(row.runs) for row in measurements(store.read(tmp_path / "r")).rows]


def test_a_run_of_a_later_stage_that_did_not_go_on_is_another_attempt_there(tmp_path: Path) -> None:
    kept = killed_in_round(tmp_path / "r", 5)
    (of,) = kept.left
    ran(tmp_path / "r", Until(0.02, 9), noisy, kept)

    assert [1, 2] == [record["attempt"] for record in store.read(tmp_path / "r") if record["event"] == "begin"
                      and (record["key"], record["round"]) == of]


def test_what_went_on_of_a_round_that_no_stage_reaches_is_ended(tmp_path: Path) -> None:
    launcher = launcher_of(lambda cell, run: good_lines(), "k.8.1")
    left = Past("k.8.1", "k", 8, 1, {"run": "k.8.1"}, {})
    kept = Kept(tmp_path / "r", frozenset(), {}, left={("k", 8): left})
    ran(tmp_path / "r", Until(0.02, 30), None, kept, launcher)

    assert 7 == max(rounds(tmp_path / "r")) and launcher.running[-1].is_stopped


def test_what_went_on_of_a_session_that_is_begun_anew_is_ended(tmp_path: Path) -> None:
    ((_, left),) = killed_in_round(tmp_path / "r", 5).left.items()
    launcher = launcher_of(noisy, left.run)
    adaptive.begin_anew(asked_for(tmp_path / "r", launcher))

    assert launcher.running[-1].is_stopped


def test_a_wish_without_two_stacks_to_compare_is_refused() -> None:
    alone = job_of(launcher_of(noisy), ["a"]).plan
    with pytest.raises(InputError, match="--until: found no cell that two stacks run") as caught:
        adaptive.check(alone)
    assert "\n" not in str(caught.value)


TWO = Until(0.02, 30)
NARROW, WIDE = [Width("tf", "c", 0.01)], [Width("tf", "c", 0.03), Width("mxnet", "c", 0.05)]


@pytest.mark.parametrize(("text", "width"), [
    ("2%", 0.02), ("0.5%", 0.005), (" 10 % ", 0.1), ("100%", 1.0),
    *((text, None) for text in ("2", "0%", "-1%", "101%", "x%", "", "1e9%", "nan%", "2%%"))])
def test_a_share_is_read_or_refused_in_one_line(text: str, width: float | None) -> None:
    if width:
        assert Until(pytest.approx(width), 9) == parse(text, 9)
        return
    with pytest.raises(InputError, match=r"^--until: found .*, expected a share[^\n]*$"):
        parse(text, 9)


def test_a_cap_alone_is_refused_with_what_makes_as_many_rounds() -> None:
    assert parse(None) is None
    assert Until(0.02, CAP) == parse("2%")
    with pytest.raises(InputError, match=r"--cap 7: found no --until, .* `--rounds 7`"):
        parse(None, 7)


def test_looks_grow_by_half_from_the_study_s_rounds_to_the_cap() -> None:
    assert [5, 8, 12, 18, 27, 30] == looks(3, 30)
    assert [10, 15, 20] == looks(10, 20)
    assert [4] == looks(10, 4)


@pytest.mark.parametrize(("rates", "width"), [
    ((100.0, 101.0, 99.0), pytest.approx(0.0, abs=1e-9)), ((100.0, 90.0), math.inf)])     # two rounds: no interval
def test_a_width_is_that_of_the_interval_over_the_ratio(rates: tuple[float, ...], width: float) -> None:
    cells = made.cell("torch"), made.cell("tf")
    records = [record for cell, by in zip(cells, (1.0, 2.0), strict=True)
               for record in made.runs(cell, [by * rate for rate in rates])]
    (found,) = widths(summarise([made.session(), made.plan(*cells), *records]))

    assert ("tf", width) == (found.stack, found.width)


def test_it_stops_after_two_narrow_looks_in_succession_or_at_the_cap_and_names_what_is_too_wide() -> None:
    assert None is outcome([NARROW], 5, TWO) is outcome([NARROW, WIDE, NARROW], 12, TWO)
    assert Outcome(True, 8, ()) == outcome([NARROW, NARROW], 8, TWO)

    capped = outcome([WIDE], 30, TWO)
    assert capped and not capped.is_narrow and ["mxnet", "tf"] == [each.stack for each in capped.wide]
    assert "1 interval is still too wide, the widest tf" in lines(Outcome(False, 30, tuple(WIDE[:1])), TWO)
    assert "--until 2%: the cap of 30 rounds is reached; 2 intervals are still too wide, the widest mxnet" in lines(
        capped, TWO)
