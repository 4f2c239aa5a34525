"""The answer: who is the fastest, by how much, and what it is trusted by; by hand."""

import re
from itertools import chain
from typing import Any

import pytest

from runner.report.columns import word
from runner.report.document import Answer
from runner.results.contract import INTERRUPTED
from tests import made_report
from tests import made_rows as made
from tests.made_report import DONE, FAST, SLOW, TF, TORCH
from workloads.spec.cell import Cell

SAME = [100.0, 99.0, 101.0, 100.2, 99.8]


def answer(*more: Any, **values: Any) -> Answer:
    found = made_report.report_of(*more, **values).answer
    assert found
    return found


def notes_on(word: str, *more: Any, **values: Any) -> list[str]:
    """The answer's notes with that word."""
    return [each for each in answer(*more, **values).notes if word in each]


def test_stacks_stand_by_speed_each_with_its_ratio_its_interval_and_its_word() -> None:
    ((_, lines),) = answer().blocks

    assert [("tf", "1.50", "FASTEST"), ("torch", "1", "")] == [
        (each.stack, each.ratio_texts[0], word(each)) for each in lines]
    ends = lines[0].result.ratio_interval
    assert lines[0].is_fastest and ends and 1 < ends.low < 1.5 < ends.high


@pytest.mark.parametrize(("cells", "headings"), [
    ({TORCH: SLOW, TF: FAST}, ["LeNet-5 (tanh, 62 k parameters), training, batch 10"]),
    ({made.cell(name, task="gpt2", measure="decode", batch=1): SLOW for name in ("torch", "tf")},
     ["GPT-2 (0.5 M parameters, 2 layers), generating 32 tokens after 32, a call a token, batch 1"]),
    ({made.cell(name, task="llama", measure="decode", batch=1, prompt=48): SLOW for name in ("torch", "tf")},
     ["Llama (15.7 M parameters, 6 layers), generating 16 tokens after 48, a call a token, batch 1"]),
    ({made.cell(loop=loop, image=64): SLOW for loop in ("native", "tuned")},
     [f"LeNet-5 (tanh, 0.3 M parameters), training, batch 10, 64 px{loop}" for loop in ("", ", loop tuned")])])
def test_a_heading_says_how_large_the_model_is_and_in_what_comparisons_that_read_alike_differ(
        cells: dict[Cell, list[float]], headings: list[str]) -> None:
    assert headings == [heading for heading, _ in answer(cells=cells).blocks]


def test_a_page_s_command_can_be_pasted() -> None:
    found = made_report.reported(made_report.records(session={"argv": ["run", "my model.py", "--set", "a;b"]}))
    assert "evenbench run 'my model.py' --set 'a;b'" == found.command


@pytest.mark.parametrize(("more", "cells", "words"), [
    ([*made.run(TF, 0, ending="oom")], {TF: [], TORCH: SLOW}, [("torch", ""), ("tf", "oom")]),
    ((), {TF: FAST, TF._replace(stack="mxnet"): SLOW}, [("tf", "FASTEST"), ("mxnet", "no ratio")])])
def test_a_stack_without_an_ok_run_stands_last_and_without_a_baseline_s_there_is_no_ratio(
        more: Any, cells: dict[Cell, list[float]], words: list[tuple[str, str]]) -> None:
    ((_, lines),) = answer(*more, cells=cells).blocks

    assert words == [(each.stack, word(each)) for each in lines]


@pytest.mark.parametrize(("torch", "tf", "closed", "why"), [
    ({"ending": "oom"}, {"ending": "oom"}, "done", "no run ended well"),
    ({}, {"ending": "killed", "message": INTERRUPTED}, "interrupted", "unfinished (0 of 5 rounds could be measured)"),
    ({}, {"ending": "not_started"}, "incomplete", "every round lost a run"),
    ({}, {"after": {**made.AFTER, "foreign_cpu_share": 0.2}}, "incomplete",
     "too busy (0 of 5 rounds could be measured)")])
def test_why_nothing_was_measured_is_said(torch: dict[str, Any], tf: dict[str, Any], closed: str, why: str) -> None:
    runs = [record for cell, how in ((TORCH, torch), (TF, tf))
            for record in made.run(cell, 0, made.steps([1.0]), **how)]
    assert [("Measured", f"nothing, {why}")] == [(name, said) for name, said, *_ in answer(
        *runs, {"event": "closed", "reason": closed}, cells={TORCH: [], TF: []}).trust]


def of_batches(*rates: dict[str, list[float]]) -> dict[Cell, list[float]]:
    """A comparison for each of these."""
    return {made.cell(stack, batch=batch): own for batch, each in enumerate(rates, 1) for stack, own in each.items()}


ONE_WINS = {"torch": SLOW, "tf": FAST}


@pytest.mark.parametrize(("cells", "said"), [
    (of_batches(ONE_WINS), r"tf is the fastest: 1.50 times as fast as torch \(1.*"),
    (of_batches({"torch": FAST, "tf": SLOW}), r"torch is the fastest: tf is 0.67 times .*"),
    (of_batches({"torch": SLOW, "tf": SAME}), "No stack is shown to be the fastest"),
    (of_batches(*[{"torch": SLOW, "tf": SLOW}] * 2), "No stack is shown to be the fastest in any of 2 comparisons"),
    (of_batches(ONE_WINS, ONE_WINS, {"torch": SLOW, "tf": SAME}),
     "tf is the fastest in 2 of 3 comparisons, no stack is shown to be in the other"),
    (of_batches(ONE_WINS, {"torch": FAST, "tf": SLOW}), "tf is the fastest in 1 of 2 comparisons, torch in 1"),
    (of_batches(ONE_WINS, {"torch": SLOW, "tf": [], "mxnet": FAST}),
     "tf is the fastest in 1 of 2 comparisons, mxnet of those that ran in 1")])
def test_the_verdict_says_by_how_much_or_counts_the_comparisons(cells: dict[Cell, list[float]], said: str) -> None:
    failed = [made.repeated(cell, 5, ending="oom") for cell, rates in cells.items() if not rates]
    found = made_report.report_of(*chain(*failed), cells=cells)

    assert found.answer and re.fullmatch(said, found.answer.verdict)
    assert found.in_short == (f"{found.answer.verdict}.",)


@pytest.mark.parametrize(("percent", "said"), [
    ([9.0, 10.0, 11.0, 10.5, 9.5], "10 % faster (9–11)"), ([0.5, 1.9, 0.6, 1.8, 1.2], "1.2 % faster (0.4–2.0)"),
    ([0.18, 2.22, 0.34, 2.06, 1.2], "1.20 % faster (0.03–2.37)"),
    ([-0.5, -1.9, -0.6, -1.8, -1.2], "1.2 % slower (0.4–2.0)")])
def test_between_two_versions_no_end_of_a_change_reads_as_none(percent: list[float], said: str) -> None:
    new, facts = TORCH._replace(stack="new"), {**made.FACTS, "version": "2.14.0"}
    runs = made.runs(new, [100.0 + each for each in percent], facts=facts)

    assert f"PyTorch 2.13.0 → 2.14.0: {said}" == answer(*runs, cells={TORCH: [100.0] * 5, new: []}).verdict


@pytest.mark.parametrize(("lone", "said"), [
    (None, r"PyTorch 2\.12\.0 → 2\.13\.0: 50 % faster \(.*\)"),
    ("torch", r"PyTorch 2\.12\.0 → 2\.13\.0: LeNet-5 [^:]*batch 10: 50 % faster \([^;]*\)"),
    ("tf", r"PyTorch 2\.12\.0 → 2\.13\.0: .* 50 % faster \(.*\); LeNet-5 .*batch 20: no ratio")])
def test_of_two_versions_of_a_framework_it_says_how_each_comparison_that_has_the_newer_moved(
        lone: str | None, said: str) -> None:
    old = made.runs(TORCH, SLOW, facts={**made.FACTS, "version": "2.12.0"})
    more = {made.cell(lone, steps=20, batch=20): SLOW} if lone else {}

    assert re.fullmatch(said, answer(*old, cells={TORCH: [], TF: FAST, **more}).verdict)


def test_it_is_trusted_by_models_turns_isolation_and_data() -> None:
    turns = [made.turn([0.1] * 4, foreign=0.5 if index == 0 else 0.0, before=index * 4) for index in range(10)]
    found = answer(*made.repeated(TORCH, 5, *turns), *made.repeated(TF, 5, *turns), DONE, cells={TORCH: [], TF: []})

    assert [("Equal models", "proved", True), ("Disturbed", "10 of 100 turns, repeated", True),
            ("Isolation", "containers", True), ("Data", "digits32", True)] == list(found.trust)


def test_a_proof_in_float64_is_none_of_a_row_in_bfloat16_or_of_another_program() -> None:
    cells = [each._replace(precision="amp", loop=loop) for each in (TORCH, TF) for loop in ("native", "xla")]

    assert ("proved, not with precision=amp, loop=xla", False) == answer(cells=dict.fromkeys(cells, SLOW)).trust[0][1:]


@pytest.mark.parametrize(("stacks", "known", "said"), [
    ([TORCH, TF], {}, "not checked here, --prove does"), ([TORCH], {}, "one column, nothing to compare"),
    ([TORCH, TF], {"tf": False, "torch": False}, "a check failed, --prove says where"),
    ([TORCH, TF], {"tf": False},
     "a check failed of tf, --prove says where; not checked here of torch, --prove does")])
def test_what_was_not_checked_is_said_with_the_option_that_does(
        stacks: list[Cell], known: dict[str, bool], said: str) -> None:
    records = made_report.records(cells=dict.fromkeys(stacks, SLOW))
    found = made_report.reported(records, {("lenet5", name): each for name, each in known.items()}).answer

    assert found and ("Equal models", said, False) == found.trust[0]


def test_notes_are_few_words_and_name_the_stacks_where_it_is_not_all() -> None:
    venv = {**made.PLACE, "isolation": "venv"}
    some = made.runs(TF, FAST, place=venv)

    assert ("virtual environments",) == answer(place=venv).notes
    assert ("virtual environments (tf)",) == answer(*some, cells={TORCH: SLOW, TF: []}).notes


@pytest.mark.parametrize(("tuned", "ratio"), [(FAST, "1.50"), ([70.0, 69.5, 70.5, 70.2, 69.8], "0.70"), (SAME, "")])
def test_what_the_settings_of_experts_move_by_over_a_quarter_is_a_note(tuned: list[float], ratio: str) -> None:
    notes = notes_on("tuned", cells={TORCH: SLOW, TORCH._replace(loop="tuned"): tuned},
                     facts={**made.FACTS, "loop": "compile", "attention": "plain"})

    assert bool(ratio) == len(notes)
    assert all(re.fullmatch(rf"torch tuned \(compile\) is {ratio} \(.*\) times as fast as it stands: .*",
                            each) for each in notes)


def test_facts_are_the_machine_the_day_and_the_rounds() -> None:
    assert ["5 Nov 2026", "long ago", "an unknown time"] == [
        answer(session={"began": began}).facts[1] for began in ("2026-11-05T10:00:00+00:00", "long ago", None)]


def test_a_compiled_lane_that_is_faster_pays_after_as_many_steps_as_its_first_call_took_longer() -> None:
    eager, compiled = made.cell("pytorch", steps=20), made.cell("pytorch-compile", steps=20)

    def notes(first_step: float) -> list[str]:
        return notes_on("pays", *made.runs(compiled, FAST, warm=(first_step, 0.1)), cells={eager: SLOW, compiled: []},
                        plan=made.plan(eager, compiled, baseline="pytorch"))

    # 30 s more, and steps of 0.0667 s in place of 0.1: 30 / 0.0333 is 900
    (note,) = notes(31.5)
    assert note.startswith("pytorch-compile pays after ") and note.endswith(" steps of training")
    assert 898 <= int(note.split()[3]) <= 902
    assert not notes(1.5)


@pytest.mark.parametrize(("peak", "said"), [
    (4 * 10**8, ["peak memory: torch 300 MB, tf 400 MB"]), (32 * 10**7, [])])
def test_the_peak_memory_of_two_columns_is_said_where_one_has_over_a_tenth_more(peak: int, said: list[str]) -> None:
    runs = [*made.runs(TORCH, SLOW), *made.runs(TF, FAST, after={**made.AFTER, "peak_bytes": peak})]

    assert said == notes_on("memory", *runs, cells={TORCH: [], TF: []})
