"""When a warm-up is over."""
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


def test_ten_steps_and_a_second_must_be_over():
    # the first step is not counted: 1 / 0.0625 = 16 steps after it, and the looks are at 10, and there too early
    assert ("steady", 17) == ended(Steady(0), [0.0625] * 100)


def test_the_first_step_s_seconds_are_not_the_second_that_is_waited_for():
    assert ("steady", 17) == ended(Steady(0), [30.0] + [0.0625] * 100)


def test_a_warm_up_has_at_least_the_steps_that_the_cell_says():
    assert ("steady", 40) == ended(Steady(40), [0.25] * 100)


def test_steps_that_still_get_shorter_are_not_steady():
    falling = [10.0 * 0.9 ** count for count in range(8)]        # 57 s, of which 47 after the first: over before
    assert ("limit", 4) == ended(Steady(0), falling)
    falling = [0.5 * 0.97 ** count for count in range(40)]
    assert (None, 40) == ended(Steady(0), falling)


def test_it_is_looked_at_again_a_quarter_of_the_steps_later():
    # at 10 the quarters have medians of 0.5 and 0.375; looks follow at 13, and at 17, where the last eight are even
    assert ("steady", 17) == ended(Steady(0), [0.5] * 9 + [0.25] * 8)


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
    assert [False, False, True] == [duration.are_enough(own, *found) for found in ((49, 9.0), (50, 1.9), (50, 2.0))]


def test_slow_steps_are_enough_after_a_minute_and_twelve_of_them():
    own = cell(steps=50, seconds=2.0)
    assert [False, False, True] == [duration.are_enough(own, *found) for found in ((11, 99.0), (12, 59.0), (12, 60.0))]


def test_a_fixed_number_of_steps_has_no_limit_of_time():
    assert not duration.are_enough(cell(steps=50), 49, 1e6)


def test_the_number_of_steps_is_open_only_where_steps_are_measured():
    assert duration.is_open(cell(seconds=1.0)) and duration.is_open(cell(warm="steady", measure="infer"))
    assert not duration.is_open(cell()) and not duration.is_open(cell(warm="steady", measure="operators"))


def test_workers_that_train_together_take_a_fixed_number_of_steps():
    assert "warm=fixed" in duration.problem(cell(warm="steady", nodes=3, parallel="sync"))
    assert duration.problem(cell(nodes=3, parallel="sync")) is None
    assert duration.problem(cell(warm="steady")) is None


@pytest.mark.parametrize(("values", "expected"), [
    ({"warm": "steady", "steps": 50, "seconds": 2.0, "warmup": 10}, 1.0 + 2.0),
    ({"warm": "fixed", "steps": 50, "seconds": 2.0, "warmup": 100}, 1.0 + 2.0),
    ({"warm": "steady", "steps": 500, "warmup": 10}, 1.0 + 5.0),
])
def test_how_long_an_open_cell_takes_is_guessed(values, expected):
    assert pytest.approx(expected) == duration.guess(cell(**values), 0.01)


def test_slow_steps_are_guessed_with_their_limits():
    # 10 of 3 s, but at most 20 s of warm-up; 50 of 3 s, but at most a minute
    assert pytest.approx(20.0 + 60.0) == duration.guess(cell(warm="steady", steps=50, seconds=2.0, warmup=1), 3.0)
