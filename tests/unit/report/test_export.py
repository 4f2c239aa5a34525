"""Raw samples as a flat table."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from runner.analysis.summary import summary_of
from runner.errors import InputError
from runner.report.writers.export import COLUMNS, rows, to_csv
from runner.results.reader import measurements
from runner.results.rows import Measurements
from tests import made_rows as made

DOCUMENT = Path(__file__).parents[3] / "docs" / "export.md"


def measured(**values: Any) -> Measurements:
    cell = made.cell(**values)
    lines = made.steps([0.5, 0.25], phases={"load": [0.1, 0.05]})
    return made.measured(cell, *made.run(cell, 0, lines), *made.run(cell, 1, ending="oom"))


def test_warm_up_and_timed_samples_are_rows_in_order() -> None:
    found = [row for row in rows(measured()) if row["round"] == 0]

    assert [(True, 0, 1.5), (True, 1, 0.1), (False, 0, 0.5), (False, 1, 0.25)] == [
        (row["is_warmup"], row["index"], row["seconds"]) for row in found]
    assert [None, None, 0.1, 0.05] == [row["load_seconds"] for row in found]
    assert ("made", "torch", 10, "ok") == tuple(found[0][name] for name in ("result", "stack", "batch", "ending"))
    assert all(list(row) == list(COLUMNS) for row in found)


def test_one_sample_for_all_steps_says_how_many_it_covers_and_a_run_without_any_keeps_a_row_with_its_ending() -> None:
    cell = made.cell(sync="end")
    begin, *_, end, _ = made.run(cell, 1, ending="oom")
    *_, timed, failed = rows(made.measured(cell, *made.run(cell, 0, made.steps([4.0], count=100)), begin, end))

    assert (100, 4.0, False) == (timed["steps"], timed["seconds"], timed["is_warmup"])
    assert ("oom", None, None) == (failed["ending"], failed["seconds"], failed["is_warmup"])


def test_a_row_has_the_cell_s_precision_and_the_one_that_its_run_had() -> None:
    cell = made.cell(loop="tuned")
    run = made.run(cell, 0, made.steps([0.5]), facts={**made.FACTS, "precision": "amp"})
    found = list(rows(made.measured(cell, *run)))

    assert {("float32", "amp")} == {(row["precision"], row["ran_precision"]) for row in found}


def test_a_csv_file_has_a_line_a_sample(tmp_path: Path) -> None:
    count = to_csv(measured(), tmp_path / "x.csv")
    with (tmp_path / "x.csv").open() as file:
        read = list(csv.DictReader(file))

    assert count == len(read) == 6
    assert ["1.5", "0.1", "0.5", "0.25", "1.5", "0.1"] == [row["seconds"] for row in read]
    assert "" == read[0]["load_seconds"]


def test_a_file_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose another file"):
        to_csv(measured(), tmp_path / "no" / "x")


def test_the_documented_recipe_gives_the_report_s_rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    cells = made.cell("torch"), made.cell("tf", task="gpt2", batch=4)
    facts = {**made.FACTS, "data": {"name": "seeded sequences", "tokens": 100.0}}
    session = [made.session(), made.plan(*cells, rounds=2)]
    for cell in cells:
        for index, pace in enumerate((0.01, 0.02)):
            turns = [made.turn([pace * each] * 3, foreign=0.5 if each > 4 else 0.0) for each in (1, 2, 3, 5)]
            session += made.run(cell, index, *turns, facts=facts)
    (code,) = re.findall(r"```python\n(import csv.*?)```", DOCUMENT.read_text(), re.DOTALL)
    to_csv(measurements(session), tmp_path / "samples.csv")
    monkeypatch.chdir(tmp_path)
    exec(code, {})

    told = {line.split()[1]: line.split()[2:] for line in capsys.readouterr().out.splitlines()}
    rates = {each.results[0].stack: [f"{each.results[0].rate_per_worker:,.1f}", each.unit]
             for each in summary_of(measurements(session)).comparisons}
    assert told == rates and "tokens/s" == told["tf"][1]


def test_every_column_is_documented() -> None:
    text = DOCUMENT.read_text()

    assert [] == [name for name in COLUMNS if f"`{name}`" not in text]
