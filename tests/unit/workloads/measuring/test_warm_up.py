"""When a warm-up is over."""
import itertools

import pytest

from workloads.measuring.steadiness import Fixed, Steady, warm_up
from workloads.spec import duration
from workloads.spec.cell import Cell

cell = Cell(stack="s", task="lenet5", measure="train")._replace


def ended(rule, seconds):
    """(why, after how many steps) a rule ends on these steps; (None, all) where it goes on."""
    for count, one in enumerate(seconds, 1):
        why = rule.over(one)
        if why:
            return why, count
    return None, len(seconds)


@pytest.mark.parametrize(("rule", "seconds", "expected"), [
    (Fixed(3), [9.0, 1.0, 0.1, 0.1], ("fixed", 3)),
    (Steady(0), [0.25] * 100, ("steady", 10)),                           # even ones
    # half a second is over, the first step not counted: 0.4 / (1 / 32) = 13 steps after it, and a quarter more
    (Steady(0), [1 / 32] * 100, ("steady", 17)), (Steady(0), [30.0] + [1 / 32] * 100, ("steady", 17)),
    # faster by less than 1 % a quarter: four fifths of a second are 27 steps
    (Steady(0), [1 / 32 * 0.999 ** count for count in range(100)], ("steady", 33)),
    (Steady(40), [0.25] * 100, ("steady", 40)),                          # as many as the cell says
    (Steady(0), [10.0 * 0.9 ** count for count in range(8)], ("limit", 4)),     # 57 s, of which 47 after the first
    (Steady(0), [0.5 * 0.97 ** count for count in range(40)], (None, 40)),
    # looks at 8, 10, 12 and 15 steps; the last quarter of 10 and 12, two and three steps, is faster than that before
    (Steady(0), [0.5] * 8 + [0.25] * 12, ("steady", 18)),
    # at 8 they are even, so that the one fast quarter at 10 is what asks for two looks more
    (Steady(0), [0.5] * 8 + [0.25] * 2 + [0.5] * 12, ("steady", 15)),
    (Steady(0), [0.25 * 1.1 ** count for count in range(20)], ("steady", 10)),          # slower ones
    # a pass is awaited if it takes less than ten seconds
    (Steady(0, pass_steps=40), [0.125] * 100, ("steady", 41)),
    (Steady(0, pass_steps=400), [0.125] * 100, ("steady", 10)),
    (Steady(0), [1.2 ** count for count in range(30)], ("limit", 10)),      # 1.2 + 1.44 + ... is 22.8 after nine steps
    (Steady(6), [10.0 + count for count in range(10)], ("limit", 6)),
    (Steady(0), [1e-8 * (1 + count) for count in range(20000)], ("limit", 10000))])
def test_a_warm_up_is_over_when_steps_get_no_faster_or_at_its_limit(rule, seconds, expected):
    assert expected == ended(rule, seconds)


def test_a_cell_without_warm_up_has_none_unless_it_is_to_be_steady():
    assert warm_up(cell(warmup=0)) is None
    assert isinstance(warm_up(cell(warmup=0, warm="steady")), Steady)


@pytest.mark.parametrize(("values", "pass_steps", "enough", "too_few"), [
    ({"steps": 50, "seconds": 2.0}, 0, [(50, 2.0)], [(49, 9.0), (50, 1.9)]),
    ({"steps": 50, "seconds": 2.0}, 0, [(12, 60.0)], [(11, 99.0), (12, 59.0)]),     # slow ones: a minute and twelve
    ({"steps": 50}, 0, [(50, 0.1)], [(49, 1e6)]),                                   # a fixed number: no limit
    # eight steps of 0.25 s are two seconds, but ten are a pass
    ({"steps": 5, "seconds": 2.0}, 10, [(10, 2.5), (20, 2.0)], [(8, 2.0), (10, 1.0), (15, 2.0)]),
    ({"steps": 5, "warm": "steady"}, 10, [(10, 2.0)], [(5, 1.0)]),
    ({"steps": 100, "seconds": 2.0}, 10, [(10, 30.5)], [(10, 30.0)]),               # no pass that would end too late
    ({"steps": 100, "seconds": 2.0}, 20, [(12, 60.0)], [(11, 99.0), (12, 59.0)]),   # one that takes more is cut
    ({"steps": 5, "warm": "steady"}, 100, [(5, 60.0)], [(5, 59.0)]),
    ({"steps": 5}, 10, [(5, 0.1)], [])])
def test_steps_are_enough_by_number_seconds_and_whole_passes(values, pass_steps, enough, too_few):
    assert all(duration.are_enough(cell(**values), *taken, pass_steps) for taken in enough)
    assert not any(duration.are_enough(cell(**values), *taken, pass_steps) for taken in too_few)


def test_a_pass_that_was_cut_is_known():
    assert [True, False] == [duration.is_part_of_pass(cell(seconds=2.0), steps, 20) for steps in (12, 40)]
    assert not duration.is_part_of_pass(cell(steps=5), 5, 10)


def test_the_number_of_steps_is_open_only_where_steps_are_measured():
    assert duration.is_open(cell(seconds=1.0)) and duration.is_open(cell(warm="steady", measure="infer"))
    assert not duration.is_open(cell()) and not duration.is_open(cell(warm="steady", measure="operators"))


def test_workers_that_train_together_agree_on_the_least_number_of_steps_that_are_enough():
    assert 128 == duration.agreed(cell(steps=50, seconds=2.0), 1 / 64, 0)
    assert 8 == duration.agreed(cell(steps=5, seconds=2.0), 0.0, 4)                    # of no time: two passes
    for own in (cell(steps=30, seconds=2.0), cell(steps=5, seconds=90.0), cell(steps=100, warm="steady")):
        for step, pass_steps in itertools.product((1 / 64, 0.25, 2.0, 8.0), (0, 10, 64)):
            least = next(count for count in itertools.count(1)
                         if duration.are_enough(own, count, count * step, pass_steps))
            assert least == duration.agreed(own, step, pass_steps), (own, step, pass_steps)


@pytest.mark.parametrize(("rule", "taken", "left"), [
    (Steady(0), [], 10), (Steady(0), [0.25], 9),          # more than the two of half a second
    (Steady(0), [1.0, 1 / 32], 15),                       # 0.5 * 32 without the first, one of which is over
    (Steady(0), [8.0, 8.0], 2), (Steady(0, pass_steps=40), [0.125], 40), (Fixed(3), [1.0], 2)])   # 20 - 8 = 12 s
def test_a_warm_up_says_after_how_many_steps_it_may_be_over(rule, taken, left):
    for seconds in taken:
        rule.over(seconds)
    assert left == rule.left()


@pytest.mark.parametrize(("values", "step", "expected"), [
    ({"warm": "steady", "steps": 50, "seconds": 2.0, "warmup": 10}, 0.01, 0.5 + 2.0),
    ({"warm": "fixed", "steps": 50, "seconds": 2.0, "warmup": 100}, 0.01, 1.0 + 2.0),
    ({"warm": "steady", "steps": 500, "warmup": 10}, 0.01, 0.5 + 5.0),
    # 10 of 3 s, but at most 20 s of warm-up; 50 of 3 s, but at most a minute
    ({"warm": "steady", "steps": 50, "seconds": 2.0, "warmup": 1}, 3.0, 20.0 + 60.0)])
def test_how_long_an_open_cell_takes_is_guessed(values, step, expected):
    assert pytest.approx(expected) == duration.guess(cell(**values), step)
