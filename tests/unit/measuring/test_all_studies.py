"""Every study in turn."""

from pathlib import Path

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


def test_every_study_with_the_scale_is_run_and_the_others_are_named(place: Path) -> None:
    runner = Runner()
    endings = runner.run(place)

    assert ["a", "b", "c"] == runner.ran and all(ending.is_ok for ending in endings)
    assert StudyEnding("d", True, 'left out: it has no scale "quick"') == endings[-1]


def test_studies_of_our_own_are_not_among_all(place: Path) -> None:
    (place / "studies" / "b.toml").write_text(OURS.format(id="b", scales='"quick"'))
    runner = Runner()
    runner.run(place)

    assert ["a", "c"] == runner.ran
    assert ["a", "c"] == all_studies.published(place / "studies", "quick")


def test_without_a_scale_all_are_run(place: Path) -> None:
    runner = Runner()
    runner.run(place, scale=None)

    assert ["a", "b", "c", "d"] == runner.ran


def test_a_study_that_fails_does_not_stop_the_next(place: Path) -> None:
    runner = Runner(a=InputError("nothing can run here"), b=False)
    endings = runner.run(place)

    assert [StudyEnding("a", False, "nothing can run here"), StudyEnding("b", False),
            StudyEnding("c", True)] == endings[:3]


def test_a_broken_study_file_does_not_stop_the_next(place: Path) -> None:
    (place / "studies" / "a.toml").write_text("[study")
    runner = Runner()
    endings = runner.run(place)

    assert not endings[0].is_ok and "not TOML" in endings[0].reason and ["b", "c"] == runner.ran


def test_the_same_command_goes_on_after_what_is_done(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Runner(a=False, b=KeyboardInterrupt()).run(place)
    runner = Runner()
    endings = runner.run(place)

    assert ["b", "c"] == runner.ran and [False, True, True] == [ending.is_ok for ending in endings[:3]]


def test_another_command_and_a_fresh_one_begin_anew(place: Path) -> None:
    for again in ({"command": "x"}, {"is_fresh": True}):
        with pytest.raises(KeyboardInterrupt):
            Runner(b=KeyboardInterrupt()).run(place)
        runner = Runner()
        runner.run(place, **again)  # type: ignore[arg-type]
        assert ["a", "b", "c"] == runner.ran


def test_after_its_end_the_same_command_begins_anew(place: Path) -> None:
    Runner().run(place)
    runner = Runner()
    runner.run(place)

    assert ["a", "b", "c"] == runner.ran


def test_a_full_disk_ends_it(place: Path) -> None:
    runner = Runner(a=DiskFull("full"))
    with pytest.raises(DiskFull):
        runner.run(place)
    assert ["a"] == runner.ran
