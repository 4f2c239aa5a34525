"""Words, published numbers and claims as people read them, from a Summary. Pure."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from runner import formatting
from runner.analysis import doubts, stats
from runner.analysis.claims.measured_here import ON_A_CPU
from runner.analysis.stats import Interval
from runner.analysis.summary_format import (
    ClaimNumber,
    Comparison,
    JudgedClaim,
    PaperClaim,
    PublishedNumber,
    Result,
    Summary,
)
from runner.report.tables import Word
from runner.study import quantities
from runner.study.claims import KINDS, Claim, Verdict
from runner.study.published import Published, parted
from runner.study.subjects import Subject
from workloads.spec.cell import Cell

HOW_CLAIMS_ARE_JUDGED = (
    "Here: the number that decides, and how many of the claim's cases say the same. A claim holds where all their "
    "intervals, which allow for the number of cases, lie on its side, and does not where one lies on the other. "
    "Inconclusive without another reason: the interval lies on both, and --rounds narrows it. Each claim is at 5 %: of "
    "twenty claims on things that are alike, one may be wrong.")


WINNER = "FASTEST"            # the fastest, as the terminal says it: where there is no colour, letters stand out


_MOODS = {Verdict.HOLDS: "good", stats.Verdict.FASTER: "good", Verdict.DOES_NOT_HOLD: "bad",
          stats.Verdict.SLOWER: "bad", stats.Verdict.NO_DATA: "none", stats.Verdict.BASELINE: "none"}


def said(verdict: stats.Verdict | Verdict, details: str = "") -> Word:
    """The verdict, details after it, as a page colours it."""
    return Word(verdict.value + details, _MOODS.get(verdict, "open"))


def word(comparison: Comparison, result: Result, winner: str = "fastest") -> str:
    """The verdict on a stack: `winner`, its verdict, or why there is neither; "" for an ordinary baseline."""
    if result.stack == comparison.winner:
        return Word(f"{winner} of those that ran" if comparison.left_out else winner, "good")
    if result.withheld:
        return Word(result.withheld, "open")
    if result.verdict is stats.Verdict.NO_DATA and result.rate_per_worker is not None:
        return Word("no ratio", "none")                        # the baseline did not run
    return "" if result.verdict is stats.Verdict.BASELINE else said(result.verdict)


def reading(summary: Summary) -> list[str]:
    """Sentences on how to read rates, ratios and verdicts, and on why verdicts are withheld in this session."""
    said = [f"1.32x (1.28{formatting.DASH}1.37) is 1.32 times as fast as {summary.baseline} in the same rounds; the "
            "brackets hold what noise leaves open.",
            f"A row has a verdict ({WINNER}: against every other stack) where they exclude 1; in nineteen of twenty "
            "sessions all verdicts are true."]
    shown = {result.verdict: each.settings.get("warm") for each in summary.comparisons for result in each.results}
    warmer = {stats.Verdict.NOT_STEADY: "" if shown.get(stats.Verdict.NOT_STEADY) == "steady"
              else "--set warm=steady, or "}
    return said + [f"{verdict.value.capitalize()}: {warmer.get(verdict, '')}{remedy}."
                   for verdict, remedy in doubts.REMEDIES.items() if verdict in shown]


def verdict(claim: JudgedClaim | PaperClaim, parts: Sequence[JudgedClaim]) -> str:
    """The verdict on a claim of those parts, and that it is of a CPU where the paper's sentence is of a GPU."""
    is_told = claim.verdict is not Verdict.NO_DATA and any(map(is_on_a_cpu, parts))
    return said(claim.verdict, f" {ON_A_CPU}" if is_told else "")


def is_on_a_cpu(claim: JudgedClaim) -> bool:
    """Whether it says something here, of a CPU, where the paper speaks of a GPU."""
    return ON_A_CPU in claim.differs and claim.verdict is not Verdict.NO_DATA


def differs(number: PublishedNumber | JudgedClaim) -> str:
    """What is here another thing than in the paper: what ran in place of a stack, cells, sizes, the device."""
    return "; ".join((*(f"{ran} for {stack}" for stack, ran in number.stand_ins.items()), *number.differs))


def whose(number: PublishedNumber) -> str:
    """The subjects of a published number, and in brackets what the paper says that it is about."""
    about = fields(number.where)
    return " / ".join(str(one) for one in (number.of, number.to) if one) + (f" ({about})" if about else "")


def fields(where: Mapping[str, Sequence[object]]) -> str:
    """The values of cell fields that something is about."""
    return ", ".join("/".join(map(str, values)) for values in where.values())


def definitions(of: Iterable[Published | Claim]) -> dict[str, str]:
    """The papers' sentences of the quantities, and units of two subjects, that these are of."""
    found = {called(one.quantity): quantities.QUANTITIES[one.quantity].definition for one in of}
    found |= {one.unit: quantities.UNIT_DEFINITIONS.get(one.unit, "") for one in of
              if isinstance(one, Published) and one.to}
    return {name: text for name, text in found.items() if text}


def is_of(number: PublishedNumber, subject: Subject, cell: Cell) -> bool:
    """Whether a cell is one that a number is about, and that subject's of its two."""
    return subject.owns(cell) and number.selection()(cell)


def quantity(number: Published) -> str:
    """The quantity, the number of steps if not one, and the statistic over several cells if not the mean."""
    steps = f" of {number.steps:,} steps" if number.steps > 1 else ""
    return called(number.quantity) + steps + (f", {number.statistic}" if number.statistic != "mean" else "")


def called(name: str) -> str:
    """A quantity's name; krisilias' communication is not the phase of the exchange, which stands beside it."""
    return "exchange phase" if name == "communication" else name.replace("_", " ")


def printed(number: PublishedNumber) -> str:
    """What the study printed, as it printed it."""
    return number.printed or IN_UNIT[number.unit](number.value)


def measured(number: PublishedNumber) -> str:
    """The same quantity here, as the study would have printed it."""
    if number.ours is None:
        return "no data"
    beside = f" (exchange phase {like(number, number.beside)})" if number.beside is not None else ""
    return like(number, number.ours) + beside


def like(number: PublishedNumber, value: float) -> str:
    """A value in the unit and form of a printed number, with as many digits after the point, of all three or four."""
    if (parts := parted(number.printed)) is None:
        return IN_UNIT[number.unit](value)
    scaled = value / parts.scale
    before_point = math.floor(math.log10(abs(scaled))) if scaled else 0
    decimals = min(max(len(parts.digits.partition(".")[2]), 2 - before_point), 3 - before_point)
    return f"{scaled:.{max(0, decimals)}f}{parts.after}"


_NEAR_ONE = 0.1                # a ratio so near to 1 that two digits do not tell 0.6 % from 1 %
IN_UNIT: dict[str, Callable[[float], str]] = {
    "% more": "{:.3g} %".format,
    "x": lambda value: f"{value:.3f}x" if abs(value - 1) < _NEAR_ONE else formatting.ratio(value, None),
    # as the tables of steps and epochs write them
    "s": lambda value: formatting.milliseconds(value) if value < 1 else formatting.seconds(value),
    "bytes": formatting.size, "share": formatting.share,
    "%": "{:.3g} %".format, "mpe": "{:.3f}".format, "W": "{:.0f} W".format,
    "count": lambda value: f"{value:,.0f}" if value == round(value) else formatting.number(value),
    "samples/s": lambda value: f"{formatting.number(value)}/s",
    **{unit: lambda value, unit=unit: f"{formatting.number(value)} {unit}"                       # type: ignore[misc]
       for unit in ("steps/s", "tokens/s")}}


def here(claim: JudgedClaim) -> str:
    """The number that decides a claim and how many cases agree, or what is missing."""
    if claim.verdict is Verdict.NO_DATA or not claim.numbers:
        more = f", and {len(claim.missing) - 1} more" if len(claim.missing) > 1 else ""
        return (claim.missing[0] if claim.missing else "") + more
    alike = sorted((number for number in claim.numbers if number.verdict is claim.verdict),
                   key=lambda number: _certainty(claim, number))
    number = alike[-1 if claim.verdict is Verdict.DOES_NOT_HOLD else 0]
    count = f", {len(alike)} of {len(claim.numbers)} cases" if len(claim.numbers) > 1 else ""
    reason = next((each.reason for each in alike if each.reason), "")
    beside = next((f" (exchange phase {amount(claim, each.value, each.interval)})" for each in claim.beside
                   if (each.what, each.case) == (number.what, number.case)), "")
    return amount(claim, number.value, number.interval) + beside + count + (f": {reason}" if reason else "")


def _certainty(claim: JudgedClaim, number: ClaimNumber) -> float:
    """How far a number is from the nearest end of what the claim allows, as a factor."""
    def size(value: float) -> float:
        value = 1 - value if claim.kind == "mpe" else value
        return math.log(value) if value > 0 else -math.inf             # a share may be nothing, or less

    ends = [end for end in (number.low, number.high) if end is not None]
    return min(abs(size(number.value) - size(end)) for end in ends)


def theirs(claim: JudgedClaim) -> str:
    """What the study claims, in a few words."""
    def threshold(value: float) -> str:
        return formatting.share(value) if claim.kind == "share" else f"{value:g}{'' if claim.kind == 'mpe' else 'x'}"

    near = claim.within is not None and claim.about is not None
    ends = (("", claim.about),) if near else (("from", claim.at_least), ("to", claim.at_most))
    limits = " ".join(f"{name} {threshold(end)}".strip() for name, end in ends if end is not None)
    within = f" within {formatting.share(claim.within)}" if claim.within is not None else ""
    return KINDS[claim.kind].theirs.format(at=_at(claim), direction=claim.direction, within=within,
                                           limits=limits + (within if near else ""))


def condition(claim: Claim) -> str:
    """Where a claim holds, as a comparison of its subjects."""
    of, to = (str(one) if one else "" for one in (claim.of, claim.to))
    ratio = f"{of} / {to}" if to else of
    if claim.than and not claim.at:
        ratio = f"({ratio}) / ({' / '.join(map(str, claim.than))})"
    limits = f"about {claim.about:g}, within {claim.within:g}" if claim.about is not None else " and ".join(
        f"{word} {value:g}" for word, value in (("at least", claim.at_least), ("at most", claim.at_most))
        if value is not None)
    said = KINDS[claim.kind].condition.format(
        of=of, to=to, ratio=ratio, limits=limits, direction=claim.direction, along=claim.along, at=_at(claim),
        order=" < ".join(map(str, claim.order)), within=f", within {claim.within:g}" if claim.within else "")
    return said + _in_cases(claim)


def _at(claim: Claim | JudgedClaim) -> str:
    return ", ".join(map(str, claim.at.values()))


def _in_cases(claim: Claim) -> str:
    """Of which of its cases that is said, where it has several; and where the opposite is."""
    several = {"each": "in each of {} cases", "mean": "in the geometric mean of {} cases",
               "total": "in the sum of {} cases", "greatest": "in the greatest of {} cases"}[claim.holds_for]
    count = len(claim.averages.cases) if not claim.at else 0
    said = "; " + several.format(count) if count > 1 and claim.kind != "mpe" else ""
    said += f"; averages over {', '.join(claim.averaged)}" if claim.averaged else ""
    turned = ", ".join(str(value) for case in claim.turned_for for value in case.values())
    return said + (f"; the other way for {turned}" if turned else "")


def allowed(number: ClaimNumber) -> str:
    """The values that a claim allows its number."""
    return " ".join(f"{name} {end:.3g}" for name, end in (("from", number.low), ("to", number.high)) if end is not None)


def amount(claim: JudgedClaim, value: float, interval: Interval | None) -> str:
    """A number of a claim with its interval."""
    if claim.kind not in ("share", "mpe"):
        return formatting.ratio(value, interval)
    shown: Callable[[float], str] = formatting.share if claim.kind == "share" else "{:.2f}".format
    return formatting.with_ends(shown(value), interval, shown)
