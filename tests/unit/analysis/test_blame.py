"""The search for the package that made something slower, on planted reasons: no clock, exact or noisy ratios."""

import math
import random
from collections.abc import Callable, Mapping

import pytest

from runner.analysis.blame import Likeness, Measured, Mix, first_release, grouped, search

NAMES = [f"p{index}" for index in range(41)]
LOADED, OTHERS = NAMES[:9], NAMES[9:]
Speed = Callable[[Mix], float]


def exact(ratio: float, within: float = 0.02) -> Measured:
    return Measured(ratio, ratio * (1 - within), ratio * (1 + within))


class Bench:
    """Measures mixes of a planted speed and counts them."""

    def __init__(self, speed: Speed, broken: Callable[[Mix], str] = lambda mix: "", within: float = 0.02) -> None:
        self.speed, self.broken, self.within, self.mixes = speed, broken, within, list[Mix]()

    def __call__(self, mix: Mix, limit: float) -> Measured:
        self.mixes.append(mix)
        if reason := self.broken(mix):
            return Measured(reason=reason)
        return exact(self.speed(mix), self.within)


def of(factors: Mapping[str, float]) -> Speed:
    """Each package multiplies the speed."""
    return lambda mix: math.prod([factors[name] for name in mix if name in factors])


def found(bench: Bench) -> tuple[list[set[str]], bool]:
    new = exact(bench.speed(frozenset(NAMES)), bench.within)
    finding = search(LOADED, OTHERS, new, bench)
    return [{*each.groups} for each in finding.reasons], finding.is_whole


@pytest.mark.parametrize(("name", "factor"), [
    (name, factor) for name in ("p0", "p4", "p8", "p9", "p23", "p40") for factor in (0.7, 0.9, 1.5)])
def test_a_planted_package_is_found_among_41_by_few_mixes(name: str, factor: float) -> None:
    bench = Bench(of({name: factor}))

    assert ([{name}], True) == found(bench)
    assert len(bench.mixes) <= 9 and {frozenset([name]), frozenset(NAMES) - {name}} <= {*bench.mixes}


@pytest.mark.parametrize("second", [1.0, 0.986])
def test_what_is_left_counts_where_it_shows_twice(second: float) -> None:
    """The first measurement without the reason misses; the second is right, or as uncertain as a noisy machine's."""
    without, asked = frozenset(NAMES) - {"p4"}, list[float]()

    def measure(mix: Mix, limit: float) -> Measured:
        if mix == without:
            asked.append(limit)
            return exact(0.97 if len(asked) == 1 else second, 0.01)
        return exact(0.5 if "p4" in mix else 1.0, 0.01)

    finding = search(LOADED, OTHERS, exact(0.5), measure)

    assert ([{"p4"}], 2) == ([{*each.groups} for each in finding.reasons], len(asked))
    assert (second == 1.0, second) == (finding.is_whole, finding.rest.ratio)


@pytest.mark.parametrize(("bench", "reasons"), [
    # what others may cost the turns that count is nothing left
    (Bench(of({"p4": 0.5, "p23": 0.996}), within=0.001), [{"p4"}]),
    # slow only together
    *((Bench(lambda mix, pair=pair: 0.7 if mix >= pair else 1.0), [pair])
      for pair in ({"p3", "p31"}, {"p0", "p1"}, {"p20", "p40"})),
    # the greater first; one that makes faster what another slows hides nothing
    (Bench(of({"p2": 0.6, "p30": 0.8})), [{"p2"}, {"p30"}]), (Bench(of({"p2": 0.8, "p5": 0.7})), [{"p5"}, {"p2"}]),
    (Bench(of({"p2": 0.5, "p30": 1.3})), [{"p2"}, {"p30"}]),
    # mixes that cannot run are gone around
    (Bench(of({"p6": 0.7}), lambda mix: "p6 needs p7" if "p6" in mix and "p7" not in mix else ""), [{"p6", "p7"}])
], ids=["little left", "together", "both loaded", "both others", "two", "two loaded", "one faster", "needs another"])
def test_reasons_are_named_each_with_what_it_needs(bench: Bench, reasons: list[set[str]]) -> None:
    assert (reasons, True) == found(bench)


def test_a_reason_that_no_environment_can_have_alone_is_not_said_to_be_proved() -> None:
    bench = Bench(of({"p6": 0.7}), lambda mix: "no module" if 0 < len(mix) < len(NAMES) else "")
    finding = search(LOADED, OTHERS, exact(0.7), bench)

    assert not finding.is_whole and not finding.reasons[0].is_least
    assert all(each.likeness(0.8) is Likeness.BROKEN for mix, each in finding.measured.items() if len(mix) < len(NAMES))


def test_without_a_difference_nothing_is_looked_for() -> None:
    bench = Bench(of({}))

    assert ([], False) == found(bench) and [] == bench.mixes


@pytest.mark.parametrize("factor", [0.97, 0.9, 0.7])
def test_of_noisy_mixes_at_most_one_in_twenty_blames_is_wrong(factor: float) -> None:
    """Each interval misses with 5 %, and some cannot tell on which side of half the way they lie."""
    drawn, wrong, told = random.Random(7), 0, 0
    for index in range(100):
        name = NAMES[index * 7 % len(NAMES)]
        limit = math.sqrt(factor)

        def measure(mix: Mix, half: float, name: str = name, limit: float = limit) -> Measured:
            true = factor if name in mix else 1.0
            error = 0.3 * abs(math.log(half))                   # of a mean, so that an interval mostly excludes half
            seen = true * math.exp(drawn.gauss(0.0, error))
            return Measured(seen, seen * math.exp(-1.96 * error), seen * math.exp(1.96 * error))

        finding = search(LOADED, OTHERS, exact(factor, 0.002), measure)
        proved = [each for each in finding.reasons if each.is_proved and each.is_least]
        told += bool(proved)
        wrong += any({*each.groups} != {name} for each in proved)

    assert wrong <= 5 and told > 70


def test_the_first_slow_release_is_found_by_halving_and_goes_around_what_cannot_run() -> None:
    between = [f"1.{index}" for index in range(30)]
    asked: list[str] = []

    def measure(version: str, limit: float) -> Measured:
        asked.append(version)
        if version == "1.14":
            return Measured(reason="no wheel")
        return exact(0.7 if int(version[2:]) >= 17 else 1.0)

    found = first_release(between, "2.0", 0.84, measure)

    assert ("1.16", "1.17", ()) == (found.last_like_old, found.first_like_new, found.unclear) and len(asked) <= 6
    assert ("", "2.0") == first_release([], "2.0", 0.84, measure)[:2]
    assert ("1.29", "2.0") == first_release(between, "2.0", 0.84, lambda version, limit: exact(1.0))[:2]
    untold = first_release(between[:3], "2.0", 0.84, lambda version, limit: Measured(reason="no wheel"))
    assert ("", "2.0", ("1.0", "1.1", "1.2")) == (untold.last_like_old, untold.first_like_new, untold.unclear)


def test_what_is_bound_moves_together() -> None:
    bound = {("jax", "jaxlib"), ("plugin", "jax")}

    assert [("numpy",), ("jax", "jaxlib", "plugin")] == grouped(
        ["jax", "numpy", "jaxlib", "plugin"], lambda one, other: (one, other) in bound)
