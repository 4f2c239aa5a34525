"""Results of strangers: all that is made of a result's folder is made, or refused in one line."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from runner import paths, screen
from runner.analysis import curves, summary
from runner.analysis.between import comparing
from runner.launchers import choose
from runner.measuring import equality, rerun
from runner.planning import coverage, plan_listing
from runner.report import contents
from runner.report.writers import export, latex, markdown, page, spreadsheet
from runner.results import sessions, store
from runner.results.reader import measurements
from runner.results.rows import Measurements
from runner.screen.summary import summary_view
from runner.stacks import definition
from tests import made_rows
from tests.fuzz.mutations import bytes_of, document_of, json_lines, read_or_refused
from tests.made_files import files

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")    # of a session that fails a test
STACKS = definition.read_all(paths.STACKS)


def session() -> list[Any]:
    """A session with every kind of line: steps, epochs, operators, kernels, graphs, many places, claims, numbers."""
    train, other = made_rows.cell("torch-1.7"), made_rows.cell("tf-2.5")
    lines = {
        train: made_rows.steps([0.1, 0.2], loss=[2.0, None], phases={"load": [0.01, 0.01]}, drain_seconds=0.1),
        other: made_rows.steps([0.2, 0.2], loss=[2.0, 1.0], count=2, place="node1"),
        other._replace(measure="phases"): made_rows.steps(
            [0.2, 0.2], phases={"forward": [0.1, 0.1], "communication": [0.1, 0.1]}, worker=1),
        train._replace(measure="epochs"): made_rows.epoch(),
        train._replace(measure="operators"): {
            "event": "operators", "steps": 2, "operators": {"aten::conv2d": [2, 0.1], "aten::relu": [2, 0.01]}},
        train._replace(measure="kernels"): {**made_rows.KERNELS, "launch_seconds": None},
        train._replace(sync="end"): made_rows.steps([0.5], count=3, blocks={"counts": [1, 2], "seconds": [0.2, 0.3]}),
        train._replace(sync="blocks", warm="steady", seconds=1.0): made_rows.steps(
            [0.2, 0.3], count=3, counts=[1, 2], device_seconds=[0.2, 0.3])}
    runs = [record for cell, line in lines.items()
            for record in made_rows.repeated(cell, 3, line, {"event": "weights", "sha256": "0"})]
    subject = {"stack": "tf-2.5", "parallel": "", "settings": {}, "also": []}
    other_one = {**subject, "stack": "torch-1.7"}
    number = {"id": "n", "source": "Table 1", "text": "", "quantity": "step", "of": subject, "to": other_one,
              "where": {"task": ["lenet5"]}, "value": 1.5, "unit": "x", "experiment": ""}
    claim = {"id": "s-c1", "text": "faster", "kind": "faster", "quantity": "step", "where": {}, "cases": [[10]],
             "of": subject, "to": other_one, "over": ["batch"], "experiment": "e"}
    plan = made_rows.plan(*lines, rounds=3, baseline="tf-2.5", skipped={train._replace(task="vgg16"): "large"},
                          claims=[claim])
    plan["experiments"][0].update(title="E", assumed={"batch": "10"}, scaled=["steps 2 for 4"])
    return [made_rows.session(command="c", argv=["run", "quick", "--data", "cifar10=/x"]),
            {**plan, "published": [number], "title": "T", "settings": {"batch": 10}, "stacks": ["tf-2.5"]},
            *runs, made_rows.DONE]


WHOLE = session()


def written(folder: Path, content: bytes) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return files(folder, {store.EVENTS: content})


def use(folder: Path) -> None:
    """Do with a result all that reads one, short of running it again."""
    results = folder.parent
    measured = read_or_refused(lambda: measurements(store.read(folder)))
    if measured is not None:
        _report(measured, folder)
        read_or_refused(lambda: json.dumps(comparing.plain(comparing.compare(measured, measured)), allow_nan=False))
        assert _is_plain(screen.parts_view(comparing.lines(comparing.compare(measured, measured))))
        read_or_refused(lambda: curves.compared(measured))
        read_or_refused(lambda: export.to_csv(measured, folder / "samples.csv"))
    assert _is_plain(screen.parts_view([sessions.listing(results)]))
    read_or_refused(lambda: sessions.unfinished(results, "c"))
    sessions.known_seconds(results)
    coverage.endings(results)
    found = read_or_refused(lambda: rerun.recorded(folder))
    if found is not None:
        read_or_refused(lambda: rerun.chosen(found, "a"))
        read_or_refused(lambda: rerun.data_argument(found, None))
        choose.again(found.first.get("launcher"))
        if plan := read_or_refused(lambda: rerun.plan_again(found, STACKS, None, 1)):
            screen.parts_view(plan_listing.parts(plan, 1.0))


def _report(measured: Measurements, folder: Path) -> None:
    found = read_or_refused(lambda: summary.summary_of(measured))
    if found is None:
        return
    store.write_beside(folder, "summary.json", summary.to_json(found))
    whole = contents.report(found, measured)
    assert _is_plain(summary_view(whole))
    for form in (markdown.markdown, spreadsheet.comma_separated, latex.latex):
        text = form(whole)
        assert text.encode() and all(letter.isprintable() or letter == "\n" for letter in text)


def _is_plain(view: Any) -> bool:
    """Whether a terminal would show the text and obey nothing in it."""
    file = io.StringIO()
    Console(file=file, width=100, markup=False, highlight=False, emoji=False).print(view)
    return all(letter.isprintable() or letter == "\n" for letter in file.getvalue()) and bool(
        file.getvalue().encode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results") / "of-a-stranger"


def test_the_session_that_is_broken_below_is_whole(folder: Path) -> None:
    measured = measurements(store.read(written(folder, json_lines(WHOLE))))
    found = summary.summary_of(measured)
    assert ["n"] == [number.id for number in found.published] and ["s-c1"] == [claim.id for claim in found.claims]
    assert found.operators and len(measured.rows) == 8 and all(len(row.ok_runs) == 3 for row in measured.rows)


@given(records=document_of(WHOLE))
def test_a_result_with_other_values(records: Any, folder: Path) -> None:
    use(written(folder, json_lines(records)))


@given(content=bytes_of(json_lines(WHOLE)))
def test_a_result_with_other_bytes(content: bytes, folder: Path) -> None:
    use(written(folder, content))


@given(records=document_of(WHOLE[:2] + WHOLE[2:20], changes=2))
def test_a_page_with_other_values(records: Any, folder: Path) -> None:
    """Charts take their time: fewer are made than of the other forms."""
    measured = read_or_refused(lambda: measurements(store.read(written(folder, json_lines(records)))))
    found = measured and read_or_refused(lambda: summary.summary_of(measured))
    if found:
        text = page.html(contents.report(found, measured))
        assert 1 == text.count("<script") and text.encode()        # the page's own, which copies commands


VERDICT = {"schema": 1, "when": "", "task": "lenet5", "stack": "a", "reference": "b", "precision": "float64",
           "worst": {"loss": 0.0}, "first": "", "problem": "", "parallel": "", "passed": True, "fingerprint": "f",
           "reference_fingerprint": "g"}


@given(content=st.one_of(bytes_of(json_lines([VERDICT])), document_of([VERDICT]).map(json_lines)))
def test_verdicts_of_checks_that_prove_nothing_are_passed_over(content: bytes, folder: Path) -> None:
    results = files(folder.parent, {equality.VERDICTS: content})
    assert {name for _, name in equality.proved(results, {"a": "f", "b": "g"})} <= {"a", "b"}
