"""Rows: what is read from a store's records."""

import json
import re
from typing import Any

import pytest

from runner.errors import InputError
from runner.results.contract import NotAnEvent, parsed
from runner.results.rows import Row
from runner.results.runs import Run, rate_per_worker, step_seconds
from tests import made_rows as made

CELL = made.cell()


def only_row(*records: Any) -> Row:
    (row,) = made.measured(CELL, *records).rows
    return row


def of_lines(*lines: made.Record, **values: Any) -> Run:
    """The run of a cell whose worker sent these lines after its warm-up of 1.5 and 0.1 s."""
    return only_row(*made.run(CELL, 0, *lines, **values)).runs[0]


@pytest.mark.parametrize(("lines", "rate"), [
    ([made.steps([0.25, 0.75])], 20.0),                                 # 10 a batch, 2 steps, 1 second
    ([made.steps([0.5]), made.steps([1.5], first=1)], 10.0),            # several blocks are one window
    ([made.steps([4.0], count=8)], 20.0), ([], None),
    ([made.epoch(0, 2.0, 0.25, steps=6), made.epoch(1, 4.0, 0.5, steps=6)], 20.0)])
def test_rate_times_seconds_is_samples(lines: list[made.Record], rate: float | None) -> None:
    row = only_row(*made.run(CELL, 0, *lines))

    assert ({} if rate is None else {0: rate}) == row.rates
    assert row.runs[0].accuracy == (0.5 if len(lines) == 2 and "accuracy" in lines[0] else None)


def test_a_rate_counts_all_batches_that_a_worker_has_at_once() -> None:
    row = only_row(*made.run(CELL, 0, made.steps([0.25, 0.75]), facts={**made.FACTS, "units": [20, "samples"]}))

    assert {0: 40.0} == row.rates


def test_warm_up_is_kept_apart_and_a_loss_that_was_not_finite_left_out() -> None:
    run = of_lines(made.steps([1.0, 1.0], loss=[2.0, None]), ending="not_finite")

    assert ([1.5, 0.1], [1.0, 1.0], [2.0]) == (run.first.warmup_seconds.tolist(), run.first.step_seconds.tolist(),
                                               run.first.losses.tolist())


def test_runs_are_in_the_order_of_their_rounds_and_one_without_an_ending_is_none() -> None:
    row = only_row(*made.runs(CELL, [1.0], first_round=2), *made.runs(CELL, [2.0], first_round=0),
                   *made.run(CELL, 3, made.steps([1.0]), ending=None))

    assert [0, 2] == [run.round for run in row.runs]
    assert {} == only_row(*made.run(CELL, 0, ending="not_started", place=None)).runs[0].place


def test_only_runs_that_ended_ok_have_a_rate() -> None:
    row = only_row(*made.run(CELL, 0, made.steps([1.0]), ending="died"), *made.run(CELL, 1, made.steps([1.0])))

    assert {1: 10.0} == row.rates
    assert ["died", "ok"] == [run.ending for run in row.runs]


@pytest.mark.parametrize(("first", "second", "counts"), [
    ("killed", "ok", "ok"), ("ok", "killed", "ok"), ("not_started", "oom", "oom"), ("killed", "killed", "killed")])
def test_of_several_attempts_the_last_result_counts(first: str, second: str, counts: str) -> None:
    row = only_row(*made.run(CELL, 0, made.steps([1.0]), ending=first),
                   *made.run(CELL, 0, made.steps([1.0]), attempt=2, ending=second))

    assert [counts] == [run.ending for run in row.runs]


def test_the_last_plan_counts() -> None:
    other = made.cell("tf")
    found = made.measured(CELL, *made.runs(CELL, [1.0]), made.session(resumed=True), made.plan(other, rounds=4),
                          rounds=3)

    assert ["tf"] == [row.cell.stack for row in found.rows]
    assert 4 == found.rounds


def test_a_session_is_done_when_it_was_closed_so() -> None:
    assert [True, False] == [made.measured(CELL, {"event": "closed", "reason": reason}).is_done
                             for reason in ("done", "interrupted")]


def test_kinds_of_records_and_lines_that_are_unknown_are_passed_over() -> None:
    row = only_row({"event": "weather"}, *made.run(CELL, 0, made.steps([1.0]), {"event": "harness", "x": 1}))

    assert {0: 10.0} == row.rates


def of_places(name: str, *lines: Any) -> list[Any]:
    return [{**line, "place": name} for line in lines]


def test_a_run_of_many_places_has_a_worker_each_and_their_mean_rate() -> None:
    run = of_lines(*of_places("node1", made.steps([1.0, 1.0])), *of_places("node0", made.steps([0.5, 0.5])), warm=None)
    assert ["node0", "node1"] == [worker.name for worker in run.workers]
    assert (20.0 + 10.0) / 2 == rate_per_worker(10, run)


def test_a_coordinator_s_workers_are_told_apart() -> None:
    lines = of_places("coordinator", made.steps([1.0], worker=1), made.steps([0.5], worker=0))
    run = of_lines(*lines, warm=None)
    assert [("worker 0", [0.5]), ("worker 1", [1.0])] == [(w.name, w.step_seconds.tolist()) for w in run.workers]


def test_phases_are_seconds_a_step_over_the_workers() -> None:
    lines = [*of_places("node0", made.steps([1.0, 1.0], phases={"forward": [0.2, 0.4]})),
             *of_places("node1", made.steps([1.0, 1.0], phases={"forward": [0.5, 0.7]}))]
    run = of_lines(*lines, warm=None)
    assert 0.45 == pytest.approx(run.phase_seconds("forward")) and run.phase_seconds("backward") is None


def test_operators_are_seconds_a_step_of_the_first_that_tells() -> None:
    lines = [{"event": "operators", "steps": 4, "operators": {"conv": [8, 2.0]}, "place": place}
             for place in ("node1", "node0")]
    assert {"conv": 0.5} == of_lines(*lines).operators


def test_digests_and_what_places_used_are_kept_by_place() -> None:
    records = list(made.run(CELL, 0, *of_places("node0", {"event": "weights", "sha256": "a"}),
                            *of_places("node1", {"event": "weights", "sha256": "b"})))
    records[-2]["places"] = {"node0": {"peak_bytes": 5, "group_peak_bytes": 7}}
    run = only_row(*records).runs[0]
    assert {"node0": "a", "node1": "b"} == run.digests and 7 == run.usage["node0"]["group_peak_bytes"]


PARTS = {"counts": [2, 4], "seconds": [2.0, 1.0], "device_seconds": [2.0, 1.0]}


@pytest.mark.parametrize(("lines", "curve", "curve_steps", "samples"), [
    ([made.steps([0.5, 0.25]), made.steps([0.125])], [0.5, 0.25, 0.125], (1, 1, 1), [0.5, 0.25, 0.125]),
    ([made.steps([1.0, 0.5], counts=[4, 1], count=5)], [0.25, 0.5], (4, 1), [1.0, 0.5]),
    # the parts of one sample are its curve, and not its rate
    ([made.steps([3.0], count=6, blocks=PARTS)], [1.0, 0.25], (2, 4), [3.0]),
    ([made.steps([3.0], count=6)], [0.5], (6,), [3.0])])
def test_a_run_s_curve_is_a_point_a_step_a_block_or_a_part(
        lines: list[made.Record], curve: list[float], curve_steps: tuple[int, ...], samples: list[float]) -> None:
    run = of_lines(*lines)
    assert (curve, curve_steps, samples) == (run.first.step_seconds.tolist(), run.first.curve_steps,
                                             run.first.sample_seconds.tolist())
    assert (sum(curve_steps), sum(samples)) == (run.first.steps, run.first.timed_seconds)
    assert pytest.approx(10 * sum(curve_steps) / sum(samples)) == rate_per_worker(10, run)
    assert "blocks" not in lines[0] or [2.0, 1.0] == run.first.device_seconds.tolist()


def facts(**told: Any) -> made.Record:
    return {"event": "start", "facts": told}


def operators(told: Any) -> made.Record:
    return {"event": "operators", "steps": 4, "operators": told}


@pytest.mark.parametrize(("line", "message"), [
    ({"event": "warm", "seconds": [1.0], "ended": "soon"}, "found 'soon', expected 'fixed', 'steady' or 'limit'"),
    (made.steps([1.0, 2.0], count=5), "count: found 5, expected 2"),
    (made.steps([1.0, 2.0], counts=[1]), "length of counts: found 1, expected 2"),
    (made.steps([1.0, 2.0], counts=[1, 0], count=1), 'key "counts.1": found 0'),
    (made.steps([1.0, 2.0], counts=[1, 2], count=4), "count: found 4, expected 3"),
    (made.steps([1.0], count=3, blocks={"counts": [1, 1], "seconds": [0.5, 0.5]}), "steps in blocks: found 2, ex"),
    (made.steps([1.0], count=2, blocks={"counts": [1, 1]}), "seconds"),
    *((made.steps([seconds]), "seconds") for seconds in (-1.0, "fast", [1.0])), (made.steps([float("nan")]), "NaN"),
    *((operators(told), "operators") for told in ({"conv": [1]}, {"conv": [1, -1.0]}, {"conv": [1, None]}, [1])),
    *((made.steps([0.1], turn=turn), "turn") for turn in (
        {}, {"seconds": -1.0}, {"seconds": 1.0, "cpus": 1, "own_seconds": "a"})),
    *((facts(data={"pass_tokens": tokens}), "pass_tokens") for tokens in (5, [0], ["many"])),
    *((facts(**told), "expected") for told in ({"threads": -0.5}, {"threads": True}, {"onednn": 1},
                                               {"data": {"images": "many"}})),
    ({"event": "compiled", "programs": -1, "seconds": 1.0}, "programs"),
    ({**made.KERNELS, "steps": 0}, 'key "steps": found 0, expected greater than or equal to 1'),
    ({**made.KERNELS, "kernel_seconds": -1.0}, "kernel_seconds"), ({**made.KERNELS, "top": [["gemm"]]}, "top.0.1"),
    ({**made.GRAPH, "removed": {"cheap": 1, "noop": 1}}, 'removed.expensive" is missing'),
    ({**made.GRAPH, "nodes_before": "many"}, "nodes_before")])
def test_a_line_of_another_shape_or_whose_numbers_do_not_fit_is_a_broken_event(line: made.Record, message: str) -> None:
    with pytest.raises(NotAnEvent, match=re.escape(message)):
        parsed(json.dumps(line).encode())
    assert parsed(json.dumps(facts(threads=2, onednn=False)).encode())


@pytest.mark.parametrize(("tokens", "line", "alike"), [
    # after two steps of warm-up the third batch comes first; a mean batch has 200 tokens, of 1 ms each
    ([100, 200, 300], made.steps([0.3, 0.1, 0.2, 0.33, 0.1]), [0.2, 0.2, 0.2, 0.22, 0.2]),
    # 300; 100 and 200; 300, 100 and 200 tokens: a step of 300, of 150 and of 200, each token 1 ms
    ([100, 200, 300], made.steps([0.3, 0.3, 0.6], counts=[1, 2, 3], count=6), [0.2, 0.2, 0.2]),
    # tokens are not what the time goes into, or batches are alike
    ([100, 200, 300], made.steps([0.2, 0.21, 0.2, 0.21]), [0.2, 0.21, 0.2, 0.21]),
    *((tokens, made.steps([0.3, 0.1]), [0.3, 0.1]) for tokens in ([], [200], [200, 200]))])
def test_steps_of_unequal_batches_are_told_as_if_their_batches_were_alike(
        tokens: list[int], line: made.Record, alike: list[float]) -> None:
    run = of_lines(line, facts={**made.FACTS, "data": {**made.FACTS["data"], "pass_tokens": tokens}})
    assert pytest.approx(alike) == run.first.alike_seconds.tolist()
    assert "counts" in line or line["seconds"] == run.first.step_seconds.tolist()


def test_losses_and_phases_that_were_sent_ahead_are_those_of_the_steps() -> None:
    run = of_lines({"event": "values", "loss": [3.0, None], "phases": {"load": [0.25, 0.5]}},
                   {"event": "values", "loss": [1.0], "phases": {"load": [0.25]}}, made.steps([3.0], count=3))
    assert ([3.0, 1.0], 3, 1 / 3) == (run.first.losses.tolist(), run.first.steps, run.phase_seconds("load"))


def test_a_run_says_whether_it_timed_only_a_part_of_a_pass() -> None:
    part = of_lines(made.steps([1.0]), made.steps([1.0], is_part_of_pass=True))
    assert part.first.is_part_of_pass and not of_lines(made.steps([1.0])).first.is_part_of_pass


def test_a_run_s_rate_is_the_geometric_mean_of_its_undisturbed_turns() -> None:
    # 2 / 0.25 = 8, 1 / 0.5 = 2 and 4 / 1.0 = 4 steps a second: 4 on geometric average; the slow turn was disturbed
    turns = [made.turn(seconds, foreign) for seconds, foreign in (
        ([0.125, 0.125], 0.0), ([9.0], 0.3), ([0.5], 0.04), ([0.25] * 4, 0.0))]
    row = only_row(*made.run(CELL, 0, *turns))
    run, worker = row.runs[0], row.runs[0].first

    assert {0: pytest.approx(40.0)} == row.rates and pytest.approx(0.25) == step_seconds(run)
    assert [True, True, False, True, True, True, True, True] == worker.counts.tolist()
    assert (8, [0.0, 0.3, 0.04, 0.0]) == (len(worker.sample_seconds), pytest.approx(
        [turn.foreign_share for turn in run.turns]))


@pytest.mark.parametrize(("calm", "rounds"), [(2, [1]), (3, [0, 1])])
def test_a_round_counts_where_each_stack_has_three_undisturbed_turns(calm: int, rounds: list[int]) -> None:
    torch, tf = made.cell("torch"), made.cell("tf")
    turns = [made.turn([0.25]) for _ in range(3)]
    records = [*made.run(tf, 0, *turns[:calm], made.turn([9.0], 0.3)),
               *(each for cell, index in ((torch, 0), (torch, 1), (tf, 1)) for each in made.run(cell, index, *turns))]
    rows = made.measured(torch, tf, *records).rows

    assert [rounds, rounds] == [[*row.rates] for row in rows]


def test_phases_are_of_the_turns_that_count() -> None:
    for seconds, counts in (([0.5, 0.5], {}), ([1.0], {"count": 2, "counts": [2]})):         # steps, or blocks of them
        turns = [made.turn(seconds, foreign, phases={"forward": [each, each]}, **counts)
                 for foreign, each in ((0.0, 0.1), (0.3, 0.4), (0.0, 0.2), (0.0, 0.3))]
        assert pytest.approx(0.2) == of_lines(*turns).phase_seconds("forward")


def test_losses_know_at_which_step_of_the_run_they_were() -> None:
    run = of_lines(made.turn([0.1, 0.1, 0.1], before=7, loss=[3.0, None, 2.0]),
                   {"event": "values", "loss": [1.0]}, made.turn([0.1], before=15))
    plain = of_lines(made.steps([0.1], loss=[2.0]), made.steps([0.1], loss=[1.0]))

    assert (7, 9, 15) == run.first.loss_steps
    assert (2, 3) == plain.first.loss_steps                  # after a warm-up of two


def test_steps_in_turns_and_others_do_not_go_together() -> None:
    with pytest.raises(InputError, match="found steps in turns and others without"):
        of_lines(made.turn([0.1]), made.steps([0.1]))
