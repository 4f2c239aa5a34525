"""When a warm-up is over."""
import itertools

import pytest

from workloads.measuring.steadiness import Fixed, Steady, warm_up
from workloads.spec import duration
from workloads.spec.cell import Cell


def cell(**values):
    return Cell(**dict({"stack": "s", "task": "lenet5", "measure": "train"}, **values))


def ended(rule, seconds):
    """(why, after how many steps) a rule ends on these steps; (None, all) where it goes on."""
    for count, one in enumerate(seconds, 1):
        why = rule.over(one)
        if why:
            return why, count
    return None, len(seconds)


def test_a_fixed_warm_up_ends_after_its_steps():
    assert ("fixed", 3) == ended(Fixed(3), [9.0, 1.0, 0.1, 0.1])


def test_even_steps_of_a_quarter_of_a_second_are_steady_after_ten():
    assert ("steady", 10) == ended(Steady(0), [0.25] * 100)


def test_ten_steps_and_half_a_second_must_be_over():
    # the first step is not counted: 0.4 / (1 / 32) = 13 steps after it, and a quarter more
    assert ("steady", 17) == ended(Steady(0), [1 / 32] * 100)


def test_the_first_step_s_seconds_are_not_those_that_are_waited_for():
    assert ("steady", 17) == ended(Steady(0), [30.0] + [1 / 32] * 100)


def test_steps_that_get_faster_at_all_are_waited_for_until_four_fifths_of_a_second():
    falling = [1 / 32 * 0.999 ** count for count in range(100)]        # by less than 1 % a quarter; 0.8 s are 27 steps
    assert ("steady", 33) == ended(Steady(0), falling)


def test_a_warm_up_has_at_least_the_steps_that_the_cell_says():
    assert ("steady", 40) == ended(Steady(40), [0.25] * 100)


def test_steps_that_still_get_shorter_are_not_steady():
    falling = [10.0 * 0.9 ** count for count in range(8)]        # 57 s, of which 47 after the first: over before
    assert ("limit", 4) == ended(Steady(0), falling)
    falling = [0.5 * 0.97 ** count for count in range(40)]
    assert (None, 40) == ended(Steady(0), falling)


def test_two_looks_in_a_row_must_find_that_steps_get_no_faster():
    # looks at 8, 10, 12 and 15 steps; the last quarter of 10 and 12, two and three steps, is faster than that before
    assert ("steady", 18) == ended(Steady(0), [0.5] * 8 + [0.25] * 12)
    # at 8 they are even, so that the one fast quarter at 10 is what asks for two looks more
    assert ("steady", 15) == ended(Steady(0), [0.5] * 8 + [0.25] * 2 + [0.5] * 12)


def test_steps_that_get_slower_are_not_waited_for():
    assert ("steady", 10) == ended(Steady(0), [0.25 * 1.1 ** count for count in range(20)])


def test_a_pass_over_the_data_is_awaited_if_it_takes_less_than_ten_seconds():
    assert ("steady", 41) == ended(Steady(0, pass_steps=40), [0.125] * 100)
    assert ("steady", 10) == ended(Steady(0, pass_steps=400), [0.125] * 100)


def test_after_twenty_seconds_the_limit_ends_it():
    rising = [1.0 * 1.2 ** count for count in range(30)]          # 1.2 + 1.44 + ... is 22.8 after nine steps
    assert ("limit", 10) == ended(Steady(0), rising)


def test_the_limit_waits_for_the_cell_s_own_least_number_of_steps():
    assert ("limit", 6) == ended(Steady(6), [10.0 + count for count in range(10)])


def test_very_many_steps_end_it_too():
    seconds = [1e-5 * (1 + count) for count in range(20000)]
    assert ("limit", 10000) == ended(Steady(0), [each * 1e-3 for each in seconds])


def test_a_cell_without_warm_up_has_none_unless_it_is_to_be_steady():
    assert warm_up(cell(warmup=0)) is None
    assert isinstance(warm_up(cell(warmup=0, warm="steady")), Steady)


def test_steps_are_enough_when_there_are_as_many_and_they_took_as_long():
    own = cell(steps=50, seconds=2.0)
    assert [False, False, True] == [duration.are_enough(own, *taken) for taken in ((49, 9.0), (50, 1.9), (50, 2.0))]


def test_slow_steps_are_enough_after_a_minute_and_twelve_of_them():
    own = cell(steps=50, seconds=2.0)
    assert [False, False, True] == [duration.are_enough(own, *taken) for taken in ((11, 99.0), (12, 59.0), (12, 60.0))]


def test_a_fixed_number_of_steps_has_no_limit_of_time():
    assert not duration.are_enough(cell(steps=50), 49, 1e6)


def test_the_number_of_steps_is_open_only_where_steps_are_measured():
    assert duration.is_open(cell(seconds=1.0)) and duration.is_open(cell(warm="steady", measure="infer"))
    assert not duration.is_open(cell()) and not duration.is_open(cell(warm="steady", measure="operators"))


def of_passes(own, pass_steps, *seen):
    """Whether each of (steps, seconds) is enough."""
    return [duration.are_enough(own, steps, seconds, pass_steps) for steps, seconds in seen]


def test_open_ended_steps_over_unequal_batches_are_whole_passes():
    # eight steps of 0.25 s are two seconds, but ten are a pass
    assert [False, True] == of_passes(cell(steps=5, seconds=2.0), 10, (8, 2.0), (10, 2.5))
    assert [False, False, True] == of_passes(cell(steps=5, seconds=2.0), 10, (10, 1.0), (15, 2.0), (20, 2.0))
    assert [False, True] == of_passes(cell(steps=5, warm="steady"), 10, (5, 1.0), (10, 2.0))


def test_no_pass_is_begun_that_would_end_after_a_minute():
    assert [False, True] == of_passes(cell(steps=100, seconds=2.0), 10, (10, 30.0), (10, 30.5))


def test_a_pass_of_more_than_a_minute_is_cut_as_steps_without_passes_are_and_that_is_known():
    assert [False, False, True] == of_passes(cell(steps=100, seconds=2.0), 20, (11, 99.0), (12, 59.0), (12, 60.0))
    assert [False, True] == of_passes(cell(steps=5, warm="steady"), 100, (5, 59.0), (5, 60.0))
    assert [True, False] == [duration.is_part_of_pass(cell(seconds=2.0), steps, 20) for steps in (12, 40)]


def test_a_fixed_number_of_steps_needs_no_whole_pass():
    assert [True] == of_passes(cell(steps=5), 10, (5, 0.1))
    assert not duration.is_part_of_pass(cell(steps=5), 5, 10)


@pytest.mark.parametrize(("values", "step", "pass_steps", "expected"), [
    ({"steps": 50, "seconds": 2.0}, 1 / 64, 0, 128), ({"steps": 50, "seconds": 2.0}, 3.0, 0, 20),
    ({"steps": 50, "warm": "steady"}, 3.0, 0, 50), ({"steps": 50, "seconds": 2.0}, 1 / 64, 50, 150),
    ({"steps": 50, "seconds": 2.0}, 2.0, 20, 20), ({"steps": 50, "seconds": 2.0}, 2.0, 40, 30),
    ({"steps": 50, "warm": "steady"}, 1 / 64, 40, 80), ({"steps": 5, "seconds": 2.0}, 0.0, 4, 8)])
def test_workers_that_train_together_agree_on_what_would_be_enough(values, step, pass_steps, expected):
    assert expected == duration.agreed(cell(**values), step, pass_steps)


def test_what_is_agreed_on_is_the_least_number_of_steps_that_are_enough():
    for own in (cell(steps=30, seconds=2.0), cell(steps=5, seconds=90.0), cell(steps=100, warm="steady")):
        for step, pass_steps in itertools.product((1 / 64, 0.25, 2.0, 8.0), (0, 10, 64)):
            least = next(count for count in itertools.count(1)
                         if duration.are_enough(own, count, count * step, pass_steps))
            assert least == duration.agreed(own, step, pass_steps), (own, step, pass_steps)


def test_a_warm_up_says_after_how_many_steps_it_may_be_over():
    rule = Steady(0)
    assert 10 == rule.left()
    rule.over(0.25)
    assert 9 == rule.left()                                        # more than the two of half a second
    rule = Steady(0)
    rule.over(1.0)
    rule.over(1 / 32)
    assert 15 == rule.left()                                       # 0.5 * 32 without the first, one of which is over


def test_it_says_so_of_slow_steps_and_of_a_pass_too():
    slow, passing, fixed = Steady(0), Steady(0, pass_steps=40), Fixed(3)
    for _ in range(2):
        slow.over(8.0)
    passing.over(0.125)
    fixed.over(1.0)
    assert [2, 40, 2] == [slow.left(), passing.left(), fixed.left()]        # 20 - 8 = 12 s; 41 - 1; 3 - 1


@pytest.mark.parametrize(("values", "expected"), [
    ({"warm": "steady", "steps": 50, "seconds": 2.0, "warmup": 10}, 0.5 + 2.0),
    ({"warm": "fixed", "steps": 50, "seconds": 2.0, "warmup": 100}, 1.0 + 2.0),
    ({"warm": "steady", "steps": 500, "warmup": 10}, 0.5 + 5.0),
])
def test_how_long_an_open_cell_takes_is_guessed(values, expected):
    assert pytest.approx(expected) == duration.guess(cell(**values), 0.01)


def test_slow_steps_are_guessed_with_their_limits():
    # 10 of 3 s, but at most 20 s of warm-up; 50 of 3 s, but at most a minute
    assert pytest.approx(20.0 + 60.0) == duration.guess(cell(warm="steady", steps=50, seconds=2.0, warmup=1), 3.0)
