"""`evenbench why` from end to end: two sessions and their checks, interrupted and gone on with, and what they leave."""

import functools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner.cells import key
from runner.cli import app
from runner.launchers import table
from runner.measuring import job
from runner.measuring.bench import Bench
from tests import made_rows as made
from tests.clock import FakeClock
from tests.fakes import READING, FakeLauncher, row_of
from workloads.spec.cell import Cell

TORCH, TF = made.cell("torch-2.13-cpu", steps=50), made.cell("tf-2.21", steps=50)
FACTS = {"torch-2.13-cpu": made.FACTS, "tf-2.21": {**made.FACTS, "framework": "tensorflow", "version": "2.21.0",
                                                  "onednn": False}}


def lines(cell: Cell) -> list[dict[str, Any]]:
    """What a worker sends: TensorFlow's steps take four times as long, and oneDNN would make them as fast."""
    slow = 1.0 if cell.stack == TORCH.stack or "TF_ENABLE_ONEDNN_OPTS=1" in cell.switches else 4.0
    stack = cell.stack.partition("+")[0]
    told: list[dict[str, Any]] = []
    if cell.measure == "parts":
        told = [{"event": "parts", "steps": 10, "seconds": slow, "input_seconds": 0.0, "names": ["conv"],
                 "spans": [[0, 0, 0, 1000]], "operators": {"aten::conv2d" if stack == TORCH.stack else "Conv2D": slow}}]
    elif cell.measure == "train":
        told = [{"event": "warm", "seconds": [slow]}, {"event": "steps", "first": 0, "seconds": [0.1 * slow] * 50,
                                                       "loss": [1.0] * 50}]
    return [{"event": "start", "facts": FACTS[stack], "parameters": 1, "flops": 1}, *told,
            {"event": "end", "status": "ok", "message": "", "peak_bytes": 1}]


class Interrupted(FakeLauncher):
    """Runs all but one, at which Ctrl-C comes."""

    def __init__(self, at: int) -> None:
        super().__init__(FakeClock(0.001), self.script)
        self.at = at

    def script(self, cell: Cell, run: str) -> Any:
        if len(self.started) == self.at:
            raise KeyboardInterrupt
        return [json.dumps(line).encode() + b"\n" for line in lines(cell)]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Asks why of a result in which TensorFlow is behind, by the launcher."""
    folder = tmp_path / "asked"
    records = [each for cell, rate in ((TORCH, 100.0), (TF, 25.0)) for each in made.runs(
        cell, [rate, rate * 1.01, rate * 0.99, rate, rate], facts=FACTS[cell.stack])]
    made.kept(folder, made.session(id="asked", launcher="fake"), made.plan(TORCH, TF, baseline=TORCH.stack), *records)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))         # whose lock another session may hold
    monkeypatch.setattr(job, "Bench", functools.partial(Bench, clock=FakeClock(0.001), readings=lambda: READING))

    def asked(launcher: FakeLauncher, budget: str = "5h") -> Any:
        monkeypatch.setitem(table.LAUNCHERS, "fake", row_of(launcher))
        return CliRunner().invoke(app, ["why", str(folder), "--results", str(tmp_path), "--budget", budget, "--trace",
                                        str(tmp_path / "trace.json"), "--json", str(tmp_path / "why.json")])

    return asked


def ran(launcher: FakeLauncher) -> Counter[tuple[str, str]]:
    return Counter((cell.measure, key(cell)) for cell, _ in launcher.started)


def test_what_was_interrupted_anywhere_goes_on_and_no_whole_round_is_repeated(
        tmp_path: Path, ask: Callable[..., Any]) -> None:
    pieces, last = [Interrupted(at) for at in (2, 4, 9)], Interrupted(at=-1)       # in parts, checks and turns
    cut_off_answers = [ask(launcher) for launcher in pieces]
    assert 0 not in [answer.exit_code for answer in cut_off_answers]
    assert all("tf-2.21 is 0.250x" in answer.output for answer in cut_off_answers)         # what is known is told
    assert all("convolutions" in answer.output for answer in cut_off_answers[1:])
    answer = ask(last)
    counts = sum((ran(each) for each in (*pieces, last)), Counter())
    for cut_off in (launcher.started[-1][0] for launcher in pieces):
        counts[cut_off.measure, key(cut_off)] -= 1

    assert 0 == answer.exit_code, answer.output
    assert {"parts": 2, "check": 4} == {name: number for name, number in Counter(each for each, _ in counts).items()
                                        if name != "train"}
    assert {1, 2} == {count for (measure, _), count in counts.items() if measure == "parts"}       # a round is whole
    assert 5 == sum(count for (measure, _), count in counts.items() if measure == "check")     # the plain one again


def test_the_session_of_switches_goes_on_with_more_time_than_it_began_with(
        tmp_path: Path, ask: Callable[..., Any]) -> None:
    cut_off, last = Interrupted(at=10), Interrupted(at=-1)      # in the second round of two rows and two switches
    assert 0 != ask(cut_off, budget="2m").exit_code
    assert 0 == ask(last).exit_code
    assert {"train": 4 * 4} == dict(Counter(cell.measure for cell, _ in last.started))
    assert 1 == len([*tmp_path.glob("*-why-[0-9a-f]*")])


def test_the_answer_is_kept_beside_both_records_and_asking_again_runs_nothing(
        tmp_path: Path, ask: Callable[..., Any]) -> None:
    first, again = Interrupted(at=-1), Interrupted(at=-1)
    answers = [ask(first), ask(again)]
    kept = [json.loads(path.read_text()) for path in (
        tmp_path / "why.json", tmp_path / "asked/why.json", *tmp_path.glob("*-why-[0-9a-f]*/why.json"))]

    assert [0, 0] == [each.exit_code for each in answers] and first.started and not again.started
    assert kept[0]["reasons"][0]["sentence"].startswith(
        "tf-2.21 is 0.250x (0.250–0.250) of torch-2.13-cpu by its convolutions (100 % of the gap): with oneDNN")
    assert 3 == len(kept) and kept[0] == kept[1] == kept[2]
    assert "Why rows are behind" in (tmp_path / "asked/report.html").read_text()
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert 2 == [each["name"] for each in trace["traceEvents"]].count("conv")
    shown = [line.split() for line in answers[0].output.splitlines()]
    assert ["convolutions", "400", "100", "100", "%"] in shown and "torch-2.13-cpu." == shown[-1][-1]


def test_a_budget_that_is_none_is_refused_before_anything_runs(ask: Callable[..., Any]) -> None:
    launcher = Interrupted(at=-1)
    assert 'found "5"' in str(ask(launcher, budget="5").exception) and not launcher.started


def test_the_record_says_so_where_no_row_is_behind(tmp_path: Path) -> None:
    folder = made.kept(tmp_path / "even", made.session(id="even"), made.plan(TORCH, TF, baseline=TORCH.stack),
                       *made.rated({TORCH: [100.0] * 5, TF: [100.0] * 5}))
    answer = CliRunner().invoke(app, ["why", str(folder), "--results", str(tmp_path), "--json", "-"])

    assert (0, "even", []) == (answer.exit_code, *map(json.loads(answer.stdout).get, ("result", "reasons")))
