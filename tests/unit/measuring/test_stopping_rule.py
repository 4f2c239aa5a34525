"""When a session of --until looks, goes on and stops."""

import math

import pytest

from runner.analysis.summary import summarise
from runner.errors import InputError
from runner.measuring.stopping_rule import CAP, Outcome, Until, Width, lines, looks, outcome, parse, widths
from tests import made_rows as made

TWO = Until(0.02, 30)
NARROW, WIDE = [Width("tf", "c", 0.01)], [Width("tf", "c", 0.03), Width("mxnet", "c", 0.05)]


@pytest.mark.parametrize(("text", "width"), [("2%", 0.02), ("0.5%", 0.005), (" 10 % ", 0.1), ("100%", 1.0)])
def test_a_share_is_read(text: str, width: float) -> None:
    assert Until(pytest.approx(width), 9) == parse(text, 9)


@pytest.mark.parametrize("text", ["2", "0%", "-1%", "101%", "x%", "", "1e9%", "nan%", "2%%"])
def test_what_is_no_share_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"--until: found .*, expected a share") as caught:
        parse(text, 9)
    assert "\n" not in str(caught.value)


def test_a_cap_alone_is_refused_with_what_makes_as_many_rounds() -> None:
    assert parse(None) is None
    assert Until(0.02, CAP) == parse("2%")
    with pytest.raises(InputError, match=r"--cap 7: found no --until, .* `--rounds 7`"):
        parse(None, 7)


def test_looks_grow_by_half_from_the_study_s_rounds_to_the_cap() -> None:
    assert [5, 8, 12, 18, 27, 30] == looks(3, 30)
    assert [10, 15, 20] == looks(10, 20)
    assert [4] == looks(10, 4)


def test_a_width_is_that_of_the_interval_over_the_ratio() -> None:
    cells = made.cell("torch"), made.cell("tf")
    records = [record for cell, by in zip(cells, (1.0, 2.0), strict=True)
               for record in made.runs(cell, [by * rate for rate in (100.0, 101.0, 99.0)])]
    (width,) = widths(summarise([made.session(), made.plan(*cells), *records]))

    assert ("tf", pytest.approx(0.0, abs=1e-9)) == (width.stack, width.width)


def test_a_ratio_without_an_interval_is_endlessly_wide() -> None:
    cells = made.cell("torch"), made.cell("tf")
    records = [record for cell in cells for record in made.runs(cell, [100.0, 90.0])]

    assert [math.inf] == [each.width for each in widths(summarise([made.session(), made.plan(*cells), *records]))]


def test_it_stops_after_two_narrow_looks_in_succession() -> None:
    assert outcome([NARROW], 5, TWO) is None
    assert outcome([NARROW, WIDE, NARROW], 12, TWO) is None
    assert Outcome(True, 8, ()) == outcome([NARROW, NARROW], 8, TWO)


def test_it_stops_at_the_cap_and_names_what_is_too_wide() -> None:
    capped = outcome([WIDE], 30, TWO)

    assert capped and not capped.is_narrow and ["mxnet", "tf"] == [each.stack for each in capped.wide]
    assert "1 interval is still too wide, the widest tf" in lines(Outcome(False, 30, tuple(WIDE[:1])), TWO)
    assert "--until 2%: the cap of 30 rounds is reached; 2 intervals are still too wide, the widest mxnet" in lines(
        capped, TWO)
