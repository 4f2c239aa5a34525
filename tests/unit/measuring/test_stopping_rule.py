"""When a session of --until looks, goes on and stops."""

import math

import pytest

from runner.analysis.summary import summarise
from runner.errors import InputError
from runner.measuring.stopping_rule import CAP, Outcome, Until, Width, lines, looks, outcome, parse, widths
from tests import made_rows as made

TWO = Until(0.02, 30)
NARROW, WIDE = [Width("tf", "c", 0.01)], [Width("tf", "c", 0.03), Width("mxnet", "c", 0.05)]


@pytest.mark.parametrize(("text", "width"), [
    ("2%", 0.02), ("0.5%", 0.005), (" 10 % ", 0.1), ("100%", 1.0),
    *((text, None) for text in ("2", "0%", "-1%", "101%", "x%", "", "1e9%", "nan%", "2%%"))])
def test_a_share_is_read_or_refused_in_one_line(text: str, width: float | None) -> None:
    if width:
        assert Until(pytest.approx(width), 9) == parse(text, 9)
        return
    with pytest.raises(InputError, match=r"^--until: found .*, expected a share[^\n]*$"):
        parse(text, 9)


def test_a_cap_alone_is_refused_with_what_makes_as_many_rounds() -> None:
    assert parse(None) is None
    assert Until(0.02, CAP) == parse("2%")
    with pytest.raises(InputError, match=r"--cap 7: found no --until, .* `--rounds 7`"):
        parse(None, 7)


def test_looks_grow_by_half_from_the_study_s_rounds_to_the_cap() -> None:
    assert [5, 8, 12, 18, 27, 30] == looks(3, 30)
    assert [10, 15, 20] == looks(10, 20)
    assert [4] == looks(10, 4)


@pytest.mark.parametrize(("rates", "width"), [
    ((100.0, 101.0, 99.0), pytest.approx(0.0, abs=1e-9)), ((100.0, 90.0), math.inf)])     # two rounds: no interval
def test_a_width_is_that_of_the_interval_over_the_ratio(rates: tuple[float, ...], width: float) -> None:
    cells = made.cell("torch"), made.cell("tf")
    records = [record for cell, by in zip(cells, (1.0, 2.0), strict=True)
               for record in made.runs(cell, [by * rate for rate in rates])]
    (found,) = widths(summarise([made.session(), made.plan(*cells), *records]))

    assert ("tf", width) == (found.stack, found.width)


def test_it_stops_after_two_narrow_looks_in_succession_or_at_the_cap_and_names_what_is_too_wide() -> None:
    assert None is outcome([NARROW], 5, TWO) is outcome([NARROW, WIDE, NARROW], 12, TWO)
    assert Outcome(True, 8, ()) == outcome([NARROW, NARROW], 8, TWO)

    capped = outcome([WIDE], 30, TWO)
    assert capped and not capped.is_narrow and ["mxnet", "tf"] == [each.stack for each in capped.wide]
    assert "1 interval is still too wide, the widest tf" in lines(Outcome(False, 30, tuple(WIDE[:1])), TWO)
    assert "--until 2%: the cap of 30 rounds is reached; 2 intervals are still too wide, the widest mxnet" in lines(
        capped, TWO)
