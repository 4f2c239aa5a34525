"""Every study in turn."""

from pathlib import Path
from typing import Any

import pytest

from runner.errors import DiskFull, InputError
from runner.measuring import all_studies
from runner.measuring.all_studies import StudyEnding

OURS = '[study]\nid = "{id}"\ntitle = "T"\nscales = [{scales}]\n[[experiment]]\nid = "e"\nmeasure = "train"\n' \
       'task = "lenet5"\nstacks = ["a"]\n'
STUDY = OURS + '[[claim]]\n'


class Runner:
    """Runs what it is told to; remembers the names."""

    def __init__(self, **ways: object) -> None:
        self.ways, self.ran, self.said = ways, [], []  # type: ignore[var-annotated]

    def one(self, name: str) -> bool:
        self.ran.append(name)
        way = self.ways.get(name, True)
        if isinstance(way, BaseException):
            raise way
        return bool(way)

    def run(self, folder: Path, command: str = "c", scale: str | None = "quick",
            is_fresh: bool = False) -> list[StudyEnding]:
        return all_studies.run(folder / "studies", folder / "results", command, scale, is_fresh, self.one,
                               self.said.append)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "studies").mkdir()
    for name, scales in (("a", '"quick"'), ("b", '"paper", "quick"'), ("c", '"quick"'), ("d", '"paper"')):
        (tmp_path / "studies" / f"{name}.toml").write_text(STUDY.format(id=name, scales=scales))
    return tmp_path


def test_every_published_study_with_the_scale_is_run_and_the_others_are_named(place: Path) -> None:
    runner, of_all_scales = Runner(), Runner()
    (place / "studies" / "o.toml").write_text(OURS.format(id="o", scales='"quick"'))       # our own
    endings = runner.run(place)

    assert ["a", "b", "c"] == runner.ran == all_studies.published(place / "studies", "quick")
    assert all(ending.is_ok for ending in endings)
    assert StudyEnding("d", True, 'left out: it has no scale "quick"') == endings[-1]
    of_all_scales.run(place, scale=None)
    assert ["a", "b", "c", "d"] == of_all_scales.ran


def test_a_study_that_fails_or_cannot_be_read_does_not_stop_the_next(place: Path) -> None:
    runner = Runner(a=InputError("nothing can run here"), b=False)
    endings = runner.run(place)
    assert [StudyEnding("a", False, "nothing can run here"), StudyEnding("b", False),
            StudyEnding("c", True)] == endings[:3]

    (place / "studies" / "a.toml").write_text("[study")
    runner = Runner()
    endings = runner.run(place)
    assert not endings[0].is_ok and "not TOML" in endings[0].reason and ["b", "c"] == runner.ran


def test_the_same_command_goes_on_after_what_is_done(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Runner(a=False, b=KeyboardInterrupt()).run(place)
    runner, again = Runner(), Runner()
    endings = runner.run(place)
    again.run(place)                                            # after its end it begins anew

    assert ["b", "c"] == runner.ran and [False, True, True] == [ending.is_ok for ending in endings[:3]]
    assert ["a", "b", "c"] == again.ran


@pytest.mark.parametrize("again", [{"command": "x"}, {"is_fresh": True}])
def test_another_command_and_a_fresh_one_begin_anew(place: Path, again: dict[str, Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        Runner(b=KeyboardInterrupt()).run(place)
    runner = Runner()
    runner.run(place, **again)
    assert ["a", "b", "c"] == runner.ran


def test_a_full_disk_ends_it(place: Path) -> None:
    runner = Runner(a=DiskFull("full"))
    with pytest.raises(DiskFull):
        runner.run(place)
    assert ["a"] == runner.ran
