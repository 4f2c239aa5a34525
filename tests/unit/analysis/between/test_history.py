"""The history of sessions that the real code made: launched, heard, stored, read again. The worker and its clock are
made; one step is planted, between two kernels."""

import json
import math
from pathlib import Path

import pytest

from runner.analysis.between.history import over_time
from runner.cli import app
from runner.datasets.choice import Data
from runner.measuring import job, session, session_record
from runner.measuring.bench import Request
from runner.results import manifest, store
from runner.results.reader import measurements
from tests.fake_session import STACKS, bench, close_stores, stored
from tests.fakes import MACHINE
from workloads.spec.cell import Cell

NOISE = (1.0, 1.002, 0.998, 1.003, 0.997)
SESSIONS = (("day1", "6.1", 1.0), ("day2", "6.1", 1.0), ("day3", "6.9", 1.05), ("day4", "6.9", 1.05))


def lines(seconds: float) -> list[bytes]:
    steps = {"event": "steps", "first": 0, "seconds": [seconds] * 12, "loss": [2.0, 1.0]}
    return [b'{"event": "start", "facts": {"framework": "1", "version": "1"}, "parameters": 1, "flops": 1}\n',
            b'{"event": "warm", "seconds": [0.75]}\n', json.dumps(steps).encode() + b"\n",
            b'{"event": "end", "status": "ok", "message": "", "peak_bytes": 1}\n']


def measured(folder: Path, kernel: str, slower: float) -> None:
    """A session of five rounds in which stack b takes so many times as long as a."""
    def script(cell: Cell, run: str) -> list[bytes]:
        noise = NOISE[int(run.split(".")[1])]
        return lines(0.1 * (slower * noise if cell.stack == "b" else 1 / noise))

    made = bench(folder, script)
    close_stores()
    for name in (store.EVENTS, manifest.NAME):
        (folder / name).unlink(missing_ok=True)
    made = made._replace(plan=made.plan._replace(rounds=len(NOISE)))
    head = job.Job(Request("s"), made.plan, STACKS, made.launcher, MACHINE._replace(kernel=kernel),
                   Data("digits32", folder))
    with store.Store(folder) as opened:
        opened.append(session_record.of(head, folder, is_resumed=False))
        opened.append(made.plan.record())
        assert stored(session.run(made), opened)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name, kernel, slower in SESSIONS:
        measured(tmp_path / name, kernel, slower)
    return tmp_path


def test_a_planted_step_is_found_where_it_was_planted_with_the_kernel_that_changed(results: Path) -> None:
    (course,) = over_time([measurements(store.read(results / name)) for name, _, _ in SESSIONS]).courses
    (step,) = course.steps

    assert ("b", "a", 4) == (course.stack, course.baseline, len(course.points))
    assert ("day2", "day3") == (step.before, step.after)
    assert step.change.value == pytest.approx(1 / 1.05)
    assert ("6.1", "6.9") in [(each.a, each.b) for each in step.differences]


def test_the_command_says_so_and_writes_the_page(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app(["history", str(results), "--json", "-"], standalone_mode=False)
    (course,) = json.loads(capsys.readouterr().out)["courses"]
    app(["history", str(results)], standalone_mode=False)

    assert [("day2", "day3")] == [(each["before"], each["after"]) for each in course["steps"]]
    text = (results / "history.html").read_text()
    assert "6.9" in text and "day3" in text


@pytest.mark.parametrize(("factors", "spread"), [
    ((1.0, 1.05, 1.0, 1.05), math.log(1.05) / math.sqrt(3)), ((1.0, 1.0, 1.0), 0.0)])
def test_the_spread_between_sessions_is_what_was_planted_and_only_steps_are_marked(
        tmp_path: Path, factors: tuple[float, ...], spread: float) -> None:
    for index, slower in enumerate(factors):
        measured(tmp_path / str(index), "6.1", slower)
    history = over_time([measurements(store.read(tmp_path / str(index))) for index in range(len(factors))])

    assert history.spread == pytest.approx(spread, rel=0.02, abs=1e-9) and len(factors) - 1 == history.spread_degrees
    assert [3 if spread else 0] == [len(course.steps) for course in history.courses]
