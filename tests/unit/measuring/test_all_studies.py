"""Every study in turn."""

from pathlib import Path
from typing import Any

import pytest

from runner.errors import DiskFull, InputError
from runner.measuring import all_studies
from runner.measuring.all_studies import StudyEnding
from tests.fakes import quiet

OURS = '[study]\nid = "{id}"\ntitle = "T"\nscales = [{scales}]\n[[experiment]]\nid = "e"\nmeasure = "train"\n' \
       'task = "lenet5"\nstacks = ["a"]\n'
STUDY = OURS + '[[claim]]\n'


def ran(folder: Path, names: list[str] | None = None, command: str = "c", scale: str | None = "quick",
        is_fresh: bool = False, **ways: object) -> list[StudyEnding]:
    """How the studies ended; ways: whether one goes well, or what it raises; names: gets those that ran."""
    def one(name: str) -> bool:
        (names if names is not None else []).append(name)
        way = ways.get(name, True)
        if isinstance(way, BaseException):
            raise way
        return bool(way)

    return all_studies.run(folder / "studies", folder / "results", command, scale, is_fresh, one, quiet)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "studies").mkdir()
    for name, scales in (("a", '"quick"'), ("b", '"paper", "quick"'), ("c", '"quick"'), ("d", '"paper"')):
        (tmp_path / "studies" / f"{name}.toml").write_text(STUDY.format(id=name, scales=scales))
    return tmp_path


def test_every_published_study_with_the_scale_is_run_and_the_others_are_named(place: Path) -> None:
    (place / "studies" / "o.toml").write_text(OURS.format(id="o", scales='"quick"'))       # our own
    endings = ran(place, names := [])

    assert ["a", "b", "c"] == names == all_studies.published(place / "studies", "quick")
    assert all(ending.is_ok for ending in endings)
    assert StudyEnding("d", True, 'left out: it has no scale "quick"') == endings[-1]
    ran(place, of_all_scales := [], scale=None)
    assert ["a", "b", "c", "d"] == of_all_scales


def test_a_study_that_fails_or_cannot_be_read_does_not_stop_the_next(place: Path) -> None:
    endings = ran(place, a=InputError("nothing can run here"), b=False)
    assert [StudyEnding("a", False, "nothing can run here"), StudyEnding("b", False),
            StudyEnding("c", True)] == endings[:3]

    (place / "studies" / "a.toml").write_text("[study")
    endings = ran(place, names := [])
    assert not endings[0].is_ok and "not TOML" in endings[0].reason and ["b", "c"] == names


def test_the_same_command_goes_on_after_what_is_done(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ran(place, a=False, b=KeyboardInterrupt())
    endings = ran(place, names := [])
    ran(place, again := [])                                     # after its end it begins anew

    assert ["b", "c"] == names and [False, True, True] == [ending.is_ok for ending in endings[:3]]
    assert ["a", "b", "c"] == again


@pytest.mark.parametrize("again", [{"command": "x"}, {"is_fresh": True}])
def test_another_command_and_a_fresh_one_begin_anew(place: Path, again: dict[str, Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        ran(place, b=KeyboardInterrupt())
    ran(place, names := [], **again)
    assert ["a", "b", "c"] == names


def test_a_full_disk_ends_it(place: Path) -> None:
    with pytest.raises(DiskFull):
        ran(place, names := [], a=DiskFull("full"))
    assert ["a"] == names
