"""A session from its job to its page: proved, begun, interrupted and gone on with."""

import functools
from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner

from runner import paths
from runner.application import measure
from runner.application.read import summarized
from runner.cli import app
from runner.errors import InputError
from runner.launchers import table
from runner.measuring import job as jobs
from runner.measuring import session_record
from runner.measuring.bench import Bench, Going, Request
from runner.report.writers import markdown
from tests import made_rows as made
from tests.clock import FakeClock
from tests.fake_session import events, job_of, rounds
from tests.fakes import READING, FakeLauncher, good_lines, row_of
from tests.made_own import lines
from workloads.spec.cell import Cell


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another session may hold the lock of the usual one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> jobs.Job:
    """A job of two stacks that is measured in no time."""
    monkeypatch.setattr(jobs, "Bench", functools.partial(Bench, clock=FakeClock(0.001), readings=lambda: READING))
    request = Request("s", results=tmp_path / "results", with_products=False)
    return job_of(FakeLauncher(FakeClock(0.001)), request=request)


def test_a_session_that_ended_before_its_plan_was_written_gets_it_and_goes_on(job: jobs.Job) -> None:
    begun = job.request.results / "1-s"
    made.kept(begun, session_record.of(job.hashed(), begun, is_resumed=False))

    assert (begun, 0) == measure.ran(job)
    assert [False, True] == [each["resumed"] for each in events(begun, "session")] and 1 == len(events(begun, "plan"))
    assert 2 == len(rounds(begun)) and all(rounds(begun))


def test_a_user_s_file_of_which_nothing_can_run_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launcher = FakeLauncher(FakeClock(0.001))
    monkeypatch.setattr(launcher, "missing", lambda stack: "no interpreter")
    monkeypatch.setattr(jobs.choose, "for_stacks", lambda *asked: launcher)
    file = str(paths.STUDIES / "models" / "torch.py")
    with pytest.raises(InputError, match=r"nothing can run here: .*no interpreter"):
        measure.ran(measure.named(Request(file, models=(file,), results=tmp_path)))


@pytest.mark.parametrize("is_fresh", [False, True])
def test_an_interrupted_session_says_which_command_goes_on_with_it(
        job: jobs.Job, is_fresh: bool, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(cell: Cell, run: str) -> NoReturn:
        raise KeyboardInterrupt

    going = Going(is_fresh=is_fresh)
    with pytest.raises(measure.Interrupted):
        measure.ran(job._replace(launcher=FakeLauncher(FakeClock(0.001), interrupt),
                                 request=job.request._replace(going=going)))
    assert f"interrupted; the same command{' without --fresh' if is_fresh else ''} goes on" in capsys.readouterr().err
    measure.ran(job)
    assert 1 == len([*job.request.results.glob("*")])


@pytest.mark.parametrize(("width", "most"), [(None, 5), (1e-9, 8)])
def test_a_rerun_adds_rounds_for_the_width_of_its_record_and_its_page_has_the_record_s_experiments(
        monkeypatch: pytest.MonkeyPatch, job: jobs.Job, width: float | None, most: int) -> None:
    def unsteady(cell: Cell, run: str) -> list[bytes]:
        return good_lines(0.5 if cell.stack == "tf-2.21" else 0.2 + 0.001 * int(run.split(".")[1]))

    cells = made.cell("torch-2.13-cpu"), made.cell("tf-2.21")
    until = {"until": width} if width else {}
    monkeypatch.setitem(table.LAUNCHERS, "fake", row_of(FakeLauncher(FakeClock(0.001), unsteady)))
    made.kept(job.request.results / "1-s", made.session(id="1-s", launcher="fake", **until),
              made.plan(*cells, rounds=8, baseline="torch-2.13-cpu"))
    answer = CliRunner().invoke(app, ["rerun", "1-s", "--results", str(job.request.results)])
    folder = max(job.request.results.glob("*-quick-*"))

    assert 0 == answer.exit_code, answer.output
    assert [most] * 2 == [len(of_cell) for of_cell in rounds(folder)]
    assert width == events(folder, "session")[0].get("until")
    text = markdown.markdown(summarized(folder).report)
    assert "## e\n" in text and "torch-2.13-cpu" in text.partition("## e\n")[2]


def proving(folder: Path, *names: str, **weights: float) -> FakeLauncher:
    """Who ran the checks of a training in stacks of these names, whose update ends with these weights, else 1."""
    launcher = FakeLauncher(FakeClock(0.001), lambda cell, run: lines(a=[weights.get(cell.stack, 1.0)]))
    measure.ran(job_of(launcher, names, request=Request("s", results=folder, is_proving=True)), ends=0.0)
    return launcher


def test_a_stack_that_fails_its_check_is_named_with_where_it_differs_first(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        proving(tmp_path / "results", "a", "b", "c", b=1.5)
        said = [line for line in capsys.readouterr().err.splitlines() if "against" in line]
        assert ["check: lenet5 in b against a: DIFFERS first in weight a"] == said


def test_stacks_that_no_check_links_are_checked_though_each_has_passed_one(tmp_path: Path) -> None:
    stacks = ("a", "b"), ("c", "d"), ("a", "b", "c", "d"), ("a", "b", "c", "d")

    assert [2, 2, 4, 0] == [len(proving(tmp_path / "results", *names).started) for names in stacks]
