"""How reports are written: escaped whatever a file holds, the same for the same values, nothing from outside."""

import base64
import hashlib
import math
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from runner.analysis import stats
from runner.analysis.summary import to_json
from runner.cli import app
from runner.paths import STUDIES
from runner.report.claims import wording
from runner.report.document import Curve, Curves, Dots, Mark
from runner.report.tables import plain
from runner.report.writers import charts, latex, markdown, page
from runner.results import store
from runner.study import file
from runner.study.claims import Verdict
from tests import made_everything, made_report
from tests import made_rows as made
from tests.printing import csv_lines, lines, on_screen


class Read(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_a_page_obeys_nothing_that_stands_in_a_file() -> None:
    text = page.html(made_report.reported(made_report.evil()))
    read = Read(text)

    assert 1 == read.tags.count("script") and "&lt;script&gt;alert(1)" in text
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert not set("\x1b\x07\u202e") & set(text)
    assert "(javascript:b) {{ 7*7 }}" in text and "(javascript:b) 49" not in text


def test_a_page_begins_with_verdict_ratios_badges_and_command_and_folds_all_tables_but_claims_and_failures() -> None:
    oom = made.run(made_report.TF, 9, ending="oom")
    text = page.html(made_report.report_of(*oom, session={"argv": ["run", "quick"]}))
    first = text.split("<h2")[0]
    open_ones = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)

    assert re.search(r"<h1>tf is the fastest: 1.50 times as fast as torch \(1.\d+–1.\d+\).</h1>", first)
    assert 1 == first.count("<svg") and "times torch, on a logarithmic scale" in first
    badges = re.findall(r'<li class="\w+"><span>(.*?)</span>', first)
    assert ["Equal models", "Disturbed", "Isolation", "Data"] == badges
    assert "<code>evenbench run quick</code>" in first and "<table>" not in first
    assert ["Runs that did not end ok"] == re.findall(r"<caption>(.*?)</caption>", open_ones)
    assert "Rates of one worker" in text


def test_an_experiment_without_a_result_has_no_section_of_its_own() -> None:
    records = made_report.records()
    records[1]["experiments"].append({"id": "f", "title": "Figure 2", "assumed": {}, "scaled": [], "cells": []})
    text = page.html(made_report.contents(records)[2])

    assert 'id="part-e"><h2' not in text and '<h2 id="part-e">' in text
    assert '<h2 id="part-f">' not in text and '<div id="part-f"><dt>f</dt><dd>Figure 2</dd>' in text


def test_a_page_asks_for_nothing_from_outside_and_lets_its_own_script_run_and_no_other() -> None:
    text = page.html(made_report.report_of())
    read = Read(text)
    outward = [value for name, value in read.attributes if name in ("src", "href", "action", "data", "poster")
               and value and not value.startswith(("#", "data:"))]
    (policy,) = (value or "" for name, value in read.attributes if name == "content" and "default-src" in (value or ""))
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)

    assert [] == outward and "default-src 'none'" in policy
    assert f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    assert {"img", "iframe", "object", "embed", "audio", "video", "form", "base"}.isdisjoint(read.tags)


def test_the_command_that_measures_a_row_again_stands_in_every_form() -> None:
    summary, _, report = made_report.contents(made_everything.records())
    planned = next(record for record in made_everything.records() if record["event"] == "plan")["cells"]
    commands = {f"evenbench rerun made --cell {item['key']}" for item in planned}
    timed = {result.rerun for each in summary.comparisons for result in each.results}

    assert commands == set(re.findall(
        r'<details class="again"><summary>command</summary><code>(.*?)</code> '
        r'<button type="button" hidden>copy</button></details>', page.html(report)))
    assert all(markdown.escaped(command) in markdown.markdown(report) for command in commands)
    assert timed == {line["rerun"] for line in csv_lines(report)} and timed < commands
    assert all(f"% {command}\n" in latex.latex(report) for command in timed)
    assert all(command in to_json(summary) for command in commands)
    assert commands == set(re.findall(r"evenbench rerun \S+ --cell \w+",
                                      on_screen(report, is_detailed=True, width=300)))


def test_a_stranger_s_id_does_nothing_in_a_shell() -> None:
    summary = made_report.contents(made_report.records(session={"id": "a; rm -rf ~"}))[0]

    assert all(result.rerun.startswith("evenbench rerun 'a; rm -rf ~' --cell ")
               for each in summary.comparisons for result in each.results)


def test_the_command_prints_the_summary_and_writes_the_page_that_the_form_has(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    folder = made_report.stored(Path("results/made"))

    app(["report", "made"], standalone_mode=False)
    assert "1.50  1.50–1.50  FASTEST" in capsys.readouterr().out
    app(["report", "made", "--html", str(tmp_path / "other.html")], standalone_mode=False)
    assert "1.50  1.50–1.50  FASTEST" in capsys.readouterr().out
    app(["report", "made", "--html", "-"], standalone_mode=False)
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")

    written = page.html(made_report.reported(list(store.read(folder))))
    assert (folder / "report.html").read_text() == (tmp_path / "other.html").read_text() == written


@pytest.mark.parametrize(("word", "expected"), [
    (wording.said(stats.Verdict.FASTER), "good"), (wording.said(Verdict.DOES_NOT_HOLD), "bad"),
    (wording.said(stats.Verdict.NO_DIFFERENCE), "open"), (wording.said(Verdict.INCONCLUSIVE, ": few"), "open"),
    (wording.said(Verdict.NO_DATA, ": oom"), "none"), ("faster on all models", ""), ("holds", "")])
def test_words_of_a_verdict_are_coloured_and_no_other_text(word: str, expected: str) -> None:
    (table,) = plain("", ("verdict",), [(word,)])
    (line,) = lines(table)

    assert (str(word), expected) == (*line, page.mood(line[0]))


def test_two_charts_of_a_page_share_no_id() -> None:
    bar = Mark("torch", 0, 3.0, "3", parts=(("load", 1.0), ("forward", 2.0)))
    chart = Dots("c", "x", (("g", (bar,)),), is_bars=True)
    one, other = (set(re.findall(r' id="([^"]+)"', charts.svg(chart, salt))) for salt in ("a", "b"))

    assert one and other and not one & other
    assert set(re.findall(r"url\(#([^)]+)\)", charts.svg(chart, "a"))) == one


def test_a_chart_keeps_its_text_as_text_and_reads_no_mathematics_in_it() -> None:
    drawn = charts.svg(Dots("c", "x", (("$a_1$ <b>", (Mark("torch", 0, 2.0, "2.00"),)),)), "s")

    assert "$a_1$ &lt;b&gt;" in drawn and ">torch</text>" in drawn
    assert "var(--c0)" in drawn and "#c0ffe" not in drawn


def test_curves_differ_by_sign_and_line_and_not_by_colour_alone() -> None:
    curves = tuple(Curve(name, place, (1.0, 2.0, 4.0), (1.0, 2.0, 3.0)) for place, name in enumerate("abc"))
    drawn = charts.svg(Curves("c", "x", "y", curves), "s")

    assert len(set(re.findall(r'stroke-dasharray="([\d ]+)"', drawn))) >= 2
    assert {">a</text>", ">b</text>", ">c</text>"} <= set(re.findall(r">[abc]</text>", drawn))


@pytest.mark.parametrize("values", [(0.0, 0.0), (5e-324, 1e308), (-1e308, 1e308), (3.0, 3.0)])
@pytest.mark.parametrize("is_logarithmic", [False, True])
def test_curves_of_any_numbers_are_drawn_within_the_chart(values: tuple[float, float], is_logarithmic: bool) -> None:
    x = tuple(abs(value) + index for index, value in enumerate(values))
    drawn = charts.svg(Curves("c", "x", "y", (Curve("a", 0, x, values, values, values),), False, is_logarithmic), "s")

    points = re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", " ".join(re.findall(r'd="(M[^"]+)" fill="none"', drawn)))
    assert "nan" not in drawn and "inf" not in drawn
    assert points and all(0 <= float(x) <= 480 and 0 <= float(y) <= 300 for x, y in points)


def test_a_value_that_no_logarithm_has_and_one_that_was_not_measured_break_a_curve() -> None:
    curve = Curve("a", 0, (1.0, 2.0, 3.0, 4.0, 5.0), (1.0, 10.0, 0.0, 100.0, 1000.0))
    broken = charts.svg(Curves("c", "x", "y", (curve,), is_logarithmic=True), "s")
    lacking = charts.svg(Curves("c", "x", "y", (curve._replace(y=(1.0, 2.0, float("nan"), 2.0, 1.0)),)), "s")

    assert all(re.search(r'd="M[\d. ]+L[\d. ]+M[\d. ]+L[\d. ]+" fill="none"', drawn) for drawn in (broken, lacking))


def test_an_axis_of_doublings_has_their_numbers_at_equal_distances() -> None:
    drawn = charts.svg(Curves("c", "batch", "y", (Curve("a", 0, (1.0, 2.0, 4.0, 8.0), (1.0, 2.0, 3.0, 4.0)),)), "s")

    places = [float(x) for x in re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">[1248]</text>', drawn)]
    steps = [second - first for first, second in pairwise(places)]
    assert 4 == len(places) and steps == pytest.approx([steps[0]] * 3, abs=0.2)


def test_markdown_shows_what_stands_in_a_file_and_does_not_obey_it() -> None:
    text = markdown.markdown(made_report.reported(made_report.evil()))

    assert "<script" not in text and "\x1b" not in text and "](javascript" not in text
    assert r"\[a\]\(javascript:b\)" in text
    blocks = "\n".join(line if line.startswith("|") else "" for line in text.splitlines()).split("\n\n")
    for block in filter(None, (block.strip() for block in blocks)):          # as many cells in every line
        assert 1 == len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}), block


@pytest.mark.parametrize(("text", "expected"), [
    ("a_b & 5 %", r"a\_b \& 5 \%"), ("\\input{x}", r"\textbackslash{}input\{x\}"), ("$x^2$ #1 ~", (
        r"\$x\textasciicircum{}2\$ \#1 \textasciitilde{}")), ("1–2", "1--2"), ("a\x1bb", r"a\textbackslash{}x1bb")])
def test_latex_prints_every_letter(text: str, expected: str) -> None:
    assert expected == latex.escaped(text)


def test_latex_has_a_booktabs_table_a_comparison() -> None:
    text = latex.latex(made_report.report_of())

    assert 1 == text.count(r"\toprule") == text.count(r"\bottomrule") == text.count(r"\caption")
    assert r"\textbf{tf} & 150 & " in text and r" & fastest \\" in text
    assert r" & 95 \% & Ratio & Interval & " in text
    assert "the geometric mean over 5 rounds with" in text
    assert "mean over 5 of 20 rounds with" in latex.latex(made_report.report_of(plan={"rounds": 20}))
    assert "\\input" not in latex.latex(made_report.reported(made_report.evil()))


def test_the_csv_has_the_paper_s_numbers_beside_ours() -> None:
    number = {"id": "n", "source": "Table 1", "text": "", "quantity": "step", "of": {"stack": "torch"}, "to": None,
              "where": {}, "value": 216.14, "unit": "samples/s", "paper": {"batch": [64]}, "paper_cells": 1}
    by_stack = {line["stack"]: line for line in csv_lines(made_report.report_of(plan={"published": [number]}))}

    assert ("n", "216.14", "samples/s") == tuple(by_stack["torch"][name] for name in (
        "published_id", "published", "published_unit"))
    assert "batch" in by_stack["torch"]["published_differs"] and "" == by_stack["tf"]["published"]


def test_another_precision_than_the_cell_s_stands_in_csv_and_latex() -> None:
    """Of a session whose tuned runs computed in bfloat16."""
    cells, facts = {made.cell(loop="tuned"): [100.0] * 5}, {**made.FACTS, "precision": "amp"}
    found = made_report.report_of(cells=cells, facts=facts)
    (line,) = csv_lines(found)

    assert "Computed in another precision than the cell says: torch in amp." in latex.latex(found)
    assert ("float32", "amp") == (line["precision"], line["ran_precision"])
    assert "other_precision" in line["flags"].split()


def test_csv_has_a_line_a_result_under_documented_columns() -> None:
    rows = csv_lines(made_report.report_of())
    documented = (Path(__file__).parents[3] / "docs" / "report.md").read_text()

    assert ["tf", "torch"] == [row["stack"] for row in rows]
    assert float(rows[1]["rate_per_worker"]) == pytest.approx(math.prod(made_report.SLOW) ** 0.2)
    assert ("1", "ok:5") == (rows[0]["is_winner"], rows[1]["endings"])
    assert [name for name in rows[0] if f"`{name}`" not in documented] == []


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=1", " =1"])
def test_no_spreadsheet_computes_a_text(name: str) -> None:
    (row,) = csv_lines(made_report.report_of(cells={made.cell(name, steps=20): made_report.SLOW}))

    assert not row["stack"].startswith(("=", "+", "-", "@", "\t"))


def test_a_negative_number_stays_a_number() -> None:
    run = made.run(made_report.TORCH, 0, made.steps([0.1, 0.1], loss=[-2.0, -3.0]))
    (row,) = csv_lines(made_report.report_of(*run, cells={made_report.TORCH: []}))

    assert "-3.0" == row["loss_last"]


@pytest.mark.parametrize("name", file.available(STUDIES))
def test_every_study_s_report_names_all_its_experiments_before_anything_ran(name: str) -> None:
    planned = made_report.planned(name)
    found = made_report.reported([made.session(study=name), planned.record()])
    text = page.html(found)

    assert {one.id for one in planned.study.experiments} <= {section.id for section in found.sections}
    assert all(page.anchor(one.id) in text for one in planned.study.experiments)
    assert all(claim.id in text for claim in planned.study.claims)
