"""Summaries: what is compared with what, what is said of it, and its form as JSON."""

import json
from enum import Enum
from typing import Any, NoReturn

import jsonschema
import pytest

from runner.analysis.summary import to_json
from runner.analysis.summary_format import Comparison, Result, Summary
from runner.errors import InputError
from tests import made_rows as made
from tests.made_report import DONE, FAST, SLOW
from tools.pages.schemas import of_summary
from workloads.spec.cell import Cell

SCHEMA = jsonschema.Draft202012Validator(of_summary())
TORCH, TF, MXNET = (made.cell(name) for name in ("torch", "tf", "mxnet"))
PROVED = dict.fromkeys([("lenet5", "torch"), ("lenet5", "tf"), ("lenet5", "mxnet")], True)


def summary(rates: dict[Cell, list[float]], *more: Any, proved: Any = PROVED, **plan: Any) -> Summary:
    return made.summarised(*more, rates=rates, proved=proved, **plan)


def only(found: Summary) -> Comparison:
    (comparison,) = found.comparisons
    return comparison


def result(found: Summary, stack: str) -> Result:
    return next(each for each in only(found).results if each.stack == stack)


def test_ratios_are_taken_to_the_baseline_which_is_the_first_column() -> None:
    found = summary({TF: FAST, TORCH: SLOW, MXNET: SLOW})
    torch, tf, _ = only(found).results

    assert ["torch", "tf", "mxnet"] == [column.stack for column in found.columns]
    assert ("torch", "baseline", None) == (torch.stack, torch.verdict, torch.ratio)
    assert ("tf", "faster", pytest.approx(1.5, rel=0.005), 5) == (tf.stack, tf.verdict, tf.ratio, tf.pairs)


@pytest.mark.parametrize(("rates", "winner"), [
    ({TORCH: SLOW, TF: FAST, MXNET: SLOW}, "tf"), ({TORCH: FAST, TF: SLOW}, "torch"),
    ({TORCH: SLOW, TF: FAST, MXNET: [151.0, 149.5, 150.0, 149.0, 150.5]}, None),        # two are equally fast
    ({TORCH: SLOW[:2], TF: FAST[:2]}, None), ({TORCH: SLOW}, None), ({TORCH: [], TF: []}, None)])
def test_the_winner_is_faster_than_every_other_stack(rates: dict[Cell, list[float]], winner: str | None) -> None:
    found = only(summary(rates))

    assert winner == found.winner
    for each in found.results[1:]:          # the interval that is shown decides the word
        assert (each.verdict == "faster") is bool(each.ratio_interval and each.ratio_interval.low > 1)


def test_a_stack_that_ran_out_of_memory_has_its_endings_and_no_rate() -> None:
    found = summary({TORCH: SLOW, TF: []}, *made.repeated(TF, 2, ending="oom", message="no memory"))
    tf = result(found, "tf")

    assert ({"oom": 2}, None, "no data") == (tf.endings, tf.rate_per_worker, tf.verdict)
    assert [("tf", 0, "oom", "no memory"), ("tf", 1, "oom", "no memory")] == [
        (failure.stack, failure.round, failure.ending, failure.message) for failure in found.failures]


def test_a_skipped_cell_stands_in_its_comparison_and_with_its_reason() -> None:
    found = summary({TORCH: SLOW}, skipped={TF: "no image"})

    assert {"skipped": 1} == result(found, "tf").endings
    assert [("tf", "no image")] == [(skip.stack, skip.reason) for skip in found.skipped]


@pytest.mark.parametrize(("of_tf", "flag"), [({}, "unproved"), ({("lenet5", "tf"): False}, "check_failed")])
def test_a_comparison_that_was_not_checked_or_failed_says_so(of_tf: dict[tuple[str, str], bool], flag: str) -> None:
    found = summary({TORCH: SLOW, TF: FAST}, proved={("lenet5", "torch"): True, **of_tf})

    assert ("tf",) == only(found).unproved
    assert [flag] == [note.flag for note in found.footnotes]


def test_what_the_runs_observed_stands_beside_the_rate_and_in_the_column() -> None:
    whole = summary({TORCH: SLOW})
    found, (column,) = result(whole, "torch"), whole.columns

    assert (1.5, 2.0, 1.0, 300_000_000, 62006) == (
        found.first_step_seconds, found.loss_first, found.loss_last, found.peak_bytes, found.parameters)
    assert found.load_share == pytest.approx(0.1)
    assert ("2.13.0", "3.11.7", "docker", True, 2, "sha256:" + "1" * 64) == (
        column.version, column.python, column.isolation, column.base_is_default, column.threads, column.image)
    assert result(summary({made.cell(sync="end"): SLOW}), "torch").first_step_seconds is None      # not waited for
    assert () == summary({made.cell(measure="check"): []}).comparisons


def test_compiling_is_the_median_over_runs_and_none_where_a_framework_tells_nothing() -> None:
    lines = [line for round, seconds in enumerate((2.0, 8.0, 3.0)) for line in made.run(
        TORCH, round, made.steps([1.0]), {"event": "compiled", "programs": 3, "seconds": seconds})]
    found, silent = (result(each, "torch") for each in (made.summarised(TORCH, *lines), summary({TORCH: SLOW})))

    assert (3.0, 3) == (found.compile_seconds, found.compiled_programs)
    assert (None, None) == (silent.compile_seconds, silent.compiled_programs)


def test_a_summary_does_not_depend_on_which_stack_was_run_first() -> None:
    slow, fast = list(made.runs(TORCH, SLOW)), list(made.runs(TF, FAST))
    one, other = (made.summarised(TORCH, TF, made.session(seed=11), *runs)
                  for runs in ((*slow, *fast), (*fast, *slow, made.INCOMPLETE)))

    assert one.comparisons == other.comparisons
    assert (True, False, 11) == (one.is_complete, other.is_complete, one.seed)


@pytest.mark.parametrize(("values", "message"), [
    ({"facts": {**made.FACTS, "version": ["2", "13"]}}, r"\"version\": found \['2', '13'\], expected text"),
    ({"place": {**made.PLACE, "image": 5}}, "cannot be summarised: Column image: Input should be a"),
])
def test_facts_of_another_type_are_refused_in_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made.summarised(TORCH, *made.runs(TORCH, [1.0], **values))


def rich_summary() -> Summary:
    killed = made.run(MXNET, 0, ending="killed", message="the session was interrupted", place=None)
    skipped = {made.cell("tf-1"): "no image"}
    return summary({TORCH: SLOW, TF: FAST, MXNET: []}, *killed, DONE, proved={}, skipped=skipped)


def test_a_summary_as_json_is_valid_against_the_published_schema() -> None:
    document = json.loads(to_json(rich_summary()))

    SCHEMA.validate(document)
    assert Summary.model_validate(document) == rich_summary()


@pytest.mark.parametrize("place", [
    (), ("machine",), ("comparisons", 0), ("comparisons", 0, "results", 0), ("columns", 0)])
def test_the_schema_refuses_a_key_that_it_does_not_know(place: tuple[Any, ...]) -> None:
    document = json.loads(to_json(rich_summary()))
    part = document
    for step in place:
        part = part[step]
    part["mean"] = 1.0

    with pytest.raises(jsonschema.ValidationError, match="Additional properties"):
        SCHEMA.validate(document)


class Pressed(Enum):
    """A value at which Ctrl-C is pressed."""

    KEY = 1

    @property
    def value(self) -> NoReturn:
        raise KeyboardInterrupt


def test_an_interrupt_while_the_summary_is_written_out_is_one() -> None:
    with pytest.raises(KeyboardInterrupt):
        to_json(Summary.model_construct(study=Pressed.KEY))


def test_a_stranger_s_text_that_is_no_unicode_is_written_out_all_the_same() -> None:
    found = made.summarised(TORCH, made.session(id="\ud800"), *made.run(TORCH, 0), rounds=1)

    assert "\ud800" == json.loads(to_json(found))["id"]


def test_tokens_have_the_statistic_and_the_brackets_of_rates() -> None:
    cell, data = made.cell(task="gnmt"), {"name": "seeded sequences", "tokens": 150.0, "padded_tokens": 200.0}
    runs = made.runs(cell, [50.0, 100.0, 400.0], facts={**made.FACTS, "data": data})    # 15 and 20 tokens a sample
    found = result(made.summarised(cell, *runs), "torch")

    mean = (50.0 * 100.0 * 400.0) ** (1 / 3)
    assert (pytest.approx(15 * mean), pytest.approx(20 * mean)) == (
        found.tokens_per_second, found.padded_tokens_per_second)
    assert (found.tokens_per_second, found.tokens_interval) == (found.rate_per_worker, found.rate_interval)
    assert found.tokens_interval and found.padded_tokens_interval
    assert found.padded_tokens_interval.low == pytest.approx(found.tokens_interval.low * 20 / 15)


def test_what_stamping_costs_is_of_the_same_means() -> None:
    rates = {TORCH: [100.0, 100.0], made.cell(measure="phases"): [100.0, 25.0]}         # 0.1 s a step; 0.1 and 0.4
    untimed = made.cell(steps=TORCH.steps + 1)                                          # a training that tells nothing
    found = summary({**rates, untimed: []}, *made.repeated(untimed, 2))
    (row,) = [each for each in found.comparisons if each.measure == "phases"]

    assert row.results[0].stamping_cost == pytest.approx(1.0)                           # 0.2 s, not the median of 0.25


def test_percentiles_are_of_all_single_steps_that_count() -> None:
    seconds = [0.001 * each for each in range(1, 102)]             # of 1 to 101 ms a percentile is a whole one
    of, few, blocks = (result(made.summarised(TORCH, *made.run(TORCH, 0, steps)), "torch")
                       for steps in (made.steps(seconds), made.steps(seconds[:19]),
                                     made.steps([0.2, 0.2], counts=[2, 2], count=4)))

    assert pytest.approx((0.051, 0.096, 0.1)) == (of.step_p50, of.step_p95, of.step_p99)
    assert (pytest.approx(0.01), None, None) == (few.step_p50, few.step_p95, few.step_p99)
    assert blocks.step_p50 is None


def test_what_a_framework_left_off_is_noted_once_with_its_switch() -> None:
    off = {**made.FACTS, "left_off": ["oneDNN (TF_ENABLE_ONEDNN_OPTS=1)"]}
    found = summary({TF: []}, *made.repeated(TF, 3, made.steps([1.0, 1.0]), facts=off))

    assert ("left_off",) == result(found, "tf").flags
    assert "Off here by the framework's own default: tf: oneDNN (TF_ENABLE_ONEDNN_OPTS=1)." in found.footnotes[0].text


@pytest.mark.parametrize(("stacks", "words"), [
    (("torch",), 0), (("torch", "tf"), 1), (("torch", "tf", "mxnet"), 3), (("tf", "mxnet"), 1)])
def test_words_are_counted_by_what_the_plan_could_say(stacks: tuple[str, ...], words: int) -> None:
    cells = [made.cell(name, batch=batch) for batch in (1, 2) for name in stacks]

    assert 2 * words == made.summarised(*cells).words
