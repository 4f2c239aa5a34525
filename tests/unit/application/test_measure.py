"""`run --prove`: what is checked before anything is measured, and what is said of it."""

from pathlib import Path

import pytest

from runner.application import measure
from runner.measuring.bench import Request
from tests.clock import FakeClock
from tests.fake_session import job_of
from tests.fakes import FakeLauncher
from tests.made_own import lines


def proving(folder: Path, *names: str, **weights: float) -> FakeLauncher:
    """Who ran the checks of a training in stacks of these names, whose update ends with these weights, else 1."""
    launcher = FakeLauncher(FakeClock(0.001), lambda cell, run: lines(a=[weights.get(cell.stack, 1.0)]))
    measure.ran(job_of(launcher, names, request=Request("s", results=folder, is_proving=True)), ends=0.0)
    return launcher


def test_a_stack_that_fails_its_check_is_named_with_where_it_differs_first(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))         # whose lock another session may hold

    for _ in range(2):
        proving(tmp_path / "results", "a", "b", "c", b=1.5)
        said = [line for line in capsys.readouterr().err.splitlines() if "against" in line]
        assert ["check: lenet5 in b against a: DIFFERS first in weight a"] == said


def test_stacks_that_no_check_links_are_checked_though_each_has_passed_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    stacks = ("a", "b"), ("c", "d"), ("a", "b", "c", "d"), ("a", "b", "c", "d")

    assert [2, 2, 4, 0] == [len(proving(tmp_path / "results", *names).started) for names in stacks]
