"""What of every experiment is done, stale, failed and missing."""

from pathlib import Path

from runner.planning.coverage import Experiment, endings, experiments
from runner.planning.plan import Plan, Wishes, plan
from runner.results import store
from tests import made_rows as made
from tests.fakes import MACHINE, stack, study
from workloads.spec.cell import Cell

NOW = {"a": "now"}


def planned() -> Plan:
    return plan(study("a", grid={"batch": [1, 2, 4, 8]}), {"a": stack("a")}, MACHINE, Wishes(), lambda stack: None)


def kept(folder: Path, *runs: tuple[Cell, str, str]) -> None:
    """A result with runs of (cell, fingerprint, ending)."""
    with store.Store(folder) as opened:
        opened.append(made.session())
        opened.append(made.plan(*(cell for cell, _, _ in runs)))
        for index, (cell, made_of, ending) in enumerate(runs):
            for record in made.run(cell, index, ending=ending, place={**made.PLACE, "fingerprint": made_of}):
                opened.append(record)


def state(results: Path) -> Experiment:
    experiment, = experiments([planned()], endings(results), NOW.__getitem__)
    return experiment


def test_cells_are_done_stale_failed_or_missing(tmp_path: Path) -> None:
    one, two, four, _ = (each.cell for each in planned().cells)
    kept(tmp_path / "r", (one, "now", "ok"), (two, "then", "ok"), (four, "now", "died"))

    assert Experiment("s", "paper", "e", 4, 1, 1, 1, 1, 0) == state(tmp_path)


def test_out_of_memory_is_a_result(tmp_path: Path) -> None:
    kept(tmp_path / "r", (planned().cells[0].cell, "now", "oom"))

    assert 1 == state(tmp_path).done


def test_a_result_of_now_counts_more_than_a_stale_one(tmp_path: Path) -> None:
    one = planned().cells[0].cell
    kept(tmp_path / "r1", (one, "now", "ok"))
    kept(tmp_path / "r2", (one, "then", "ok"))

    assert (1, 0) == (state(tmp_path).done, state(tmp_path).stale)


def test_the_data_that_was_read_does_not_matter(tmp_path: Path) -> None:
    kept(tmp_path / "r", (planned().cells[0].cell._replace(data="cifar10"), "now", "ok"))

    assert 1 == state(tmp_path).done


def test_a_broken_result_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / store.EVENTS).write_text("nothing\n")
    kept(tmp_path / "y", (planned().cells[0].cell, "now", "ok"))

    assert 1 == state(tmp_path).done


def test_without_results_all_is_missing(tmp_path: Path) -> None:
    assert Experiment("s", "paper", "e", 4, 0, 0, 0, 4, 0) == state(tmp_path)
    assert not state(tmp_path).is_touched
