"""A Summary and its measurements to a Report: what it says, in which order. Pure."""

from collections.abc import Iterator, Sequence

from runner import formatting
from runner.analysis.summary_format import Claim, ClaimNumber, Failure, Skip, Summary
from runner.report import claim_text, environment, published, rates
from runner.report.comparisons import Given, without_empty
from runner.report.deviations import deviations, is_published
from runner.report.document import Group, Report, Section, Table, plain
from runner.report.sections import sections
from runner.results.rows import Measurements
from runner.study import claims

_LONGEST_MESSAGE = 300         # of a failed run; all of it stands in events.jsonl
_OF_A_PAPER = ("What holds here holds on this machine, with these versions and sizes. It is no reproduction on the "
               "study's own hardware, and what does not hold here may hold there.")
_OF_OURS = "Rates, ratios and verdicts are of this machine, with these versions and sizes."


def report(summary: Summary, measured: Measurements) -> Report:
    """All that is to be written."""
    stacks = sorted({*(row.cell.stack for row in measured.rows), *(skip.cell.stack for skip in measured.skipped)})
    given = Given(summary, measured, {note.flag: str(number) for number, note in enumerate(summary.footnotes, 1)},
                  {name: place for place, name in enumerate(_in_order(stacks, summary))})
    return Report(
        name=summary.id, title=f"{summary.study}: {measured.title}" if measured.title else summary.study,
        machine=environment.machine(summary.machine), began=summary.began or "an unknown time",
        command=" ".join(["evenbench", *_arguments(measured)]),
        reading=_OF_A_PAPER if is_published(summary) else _OF_OURS,
        deviations=deviations(summary, measured), in_short=tuple(_in_short(summary)), claims=tuple(_claims(summary)),
        sections=(*sections(given), *_elsewhere(given)), environment=tuple(environment.tables(summary, measured)),
        left_out=(*_failures(summary.failures), *_skipped(summary.skipped)),
        footnotes=tuple((given.marks[note.flag], note.text) for note in summary.footnotes),
        methods=tuple((name.replace("_", " "), str(text)) for name, text in summary.methods),
        made_by=f"evenbench {summary.evenbench}" if summary.evenbench else "evenbench",
    )


def _in_order(stacks: Sequence[str], summary: Summary) -> list[str]:
    """The stacks that were measured, the baseline first, then the others: their signs."""
    return list(dict.fromkeys([*(column.stack for column in summary.columns), *stacks]))


def _arguments(measured: Measurements) -> list[str]:
    found = measured.session.get("argv")
    return [str(word) for word in found] if isinstance(found, list) else []


def _elsewhere(given: Given) -> Iterator[Section]:
    """Published numbers that no experiment of the session is about."""
    numbers = published.by_experiment(given.summary, given.measured)
    known = {one.id for one in given.measured.experiments}
    rest = tuple(number for name, found in numbers.items() if name not in known for number in found)
    if rest:
        yield Section("published", "Published numbers of no experiment here", (), (), (), tuple(published.tables(rest)))


def _in_short(summary: Summary) -> Iterator[str]:
    """Who won how often, and what the claims came to."""
    if summary.paper_claims:
        found = [claim.verdict for claim in summary.paper_claims]
        yield f"{formatting.count(len(found), 'claim')}: " + ", ".join(
            f"{verdict.value} {found.count(verdict)}" for verdict in claims.Verdict if verdict in found) + "."
    for measure in dict.fromkeys(comparison.measure for comparison in summary.comparisons):
        yield from _wins(summary, measure)
    for mean in summary.geometric_means:
        ratios = ", ".join(f"{name} {formatting.ratio(ratio, None)}" for name, ratio in mean.ratios.items())
        yield (f"{mean.measure}: geometric mean over {formatting.count(mean.comparisons, 'comparison')}, "
               f"to {summary.baseline}: {ratios}.")
    yield from (f"{line}." for line in rates.machine_limits(summary))


def _wins(summary: Summary, measure: str) -> Iterator[str]:
    found = [comparison for comparison in summary.comparisons if comparison.measure == measure
             and sum(result.rate_per_worker is not None for result in comparison.results) > 1]
    if not found:
        return
    winners = [comparison.winner for comparison in found]
    if len(found) == 1:
        among = " of those that ran" if winners[0] and found[0].left_out else ""
        yield f"{measure}: {winners[0] or 'no stack'} is {'' if winners[0] else 'shown to be '}the fastest{among}."
        return
    said = [f"{name} is the fastest in {winners.count(name)}" for name in dict.fromkeys(winners) if name]
    undecided = winners.count(None)
    if undecided:
        said.append(f"no stack is shown to be the fastest in {undecided}")
    yield f"{measure}: of {formatting.count(len(found), 'comparison')}, {', '.join(said)}."


# ---- claims

def _claims(summary: Summary) -> Iterator[Table]:
    if not summary.claims:
        return
    lines = tuple((claim.id, claim.verdict.value, claim.text, claim_text.here(claim), claim_text.theirs(claim),
                   _remark(claim)) for claim in summary.claims)
    yield without_empty(plain(
        f"Claims of {summary.study}, on this machine", ("claim", "verdict", "what the study says", "here", "theirs",
                                                        "remark"), lines,
        "Here: the number that decides, and how many of the claim's cases say the same. A claim holds where all "
        "their 95 % intervals lie wholly on its side, and does not where one, widened for the number of cases, lies "
        "wholly on the other."))
    if len(summary.paper_claims) < len(summary.claims):
        yield plain("The paper's own claims, of which those above are parts", ("claim", "verdict", "parts"), tuple(
            (claim.id, claim.verdict.value, ", ".join(claim.parts)) for claim in summary.paper_claims))
    yield from _numbers(summary.claims)


def _remark(claim: Claim) -> str:
    """What the study leaves open of it, and where its own numbers contradict it."""
    said = (("assumed", claim.assumed), ("the paper's own contradiction", claim.contradiction))
    return "; ".join(f"{what}: {text}" for what, text in said if text)


def _numbers(found: Sequence[Claim]) -> Iterator[Table]:
    """The numbers of all claims, and the cells that they miss."""
    groups = tuple(Group(f"{claim.id}: {claim.text}", tuple(_number(claim, number) for number in claim.numbers))
                   for claim in found if claim.numbers)
    if groups:
        yield Table("The claims' numbers", ("of", "case", "here", "rounds", "allowed", "verdict"), groups,
                    is_extra=True)
    missing = tuple((claim.id, why) for claim in found for why in claim.missing)
    if missing:
        yield plain("What claims miss", ("claim", "cell and reason"), missing, is_extra=True)


def _number(claim: Claim, number: ClaimNumber) -> tuple[str, ...]:
    case = ", ".join(f"{name} {value}" for name, value in number.case.items())
    ends = [f"{name} {end:.3g}" for name, end in (("from", number.low), ("to", number.high)) if end is not None]
    allowed = ("not " if number.is_turned else "") + " ".join(ends)
    return (number.what, case, claim_text.amount(claim, number.value, number.interval), str(number.rounds), allowed,
            number.verdict.value + (f": {number.reason}" if number.reason else ""))


# ---- what is not there

def _failures(found: Sequence[Failure]) -> Iterator[Table]:
    """Those that read alike together."""
    rounds: dict[tuple[str, ...], list[str]] = {}
    for failure in found:
        message = failure.message
        short = message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + "…"
        rounds.setdefault((failure.stack, failure.label, failure.ending, short), []).append(str(failure.round))
    if rounds:
        yield plain("Runs that did not end ok", ("stack", "what", "ended", "rounds", "message"), tuple(
            (stack, what, ending, ", ".join(numbers), message)
            for (stack, what, ending, message), numbers in rounds.items()))


def _skipped(found: Sequence[Skip]) -> Iterator[Table]:
    """Those of one stack, experiment and reason together."""
    labels: dict[tuple[str, str, str], list[str]] = {}
    for skip in found:
        labels.setdefault((skip.experiment, skip.stack, skip.reason), []).append(skip.label)
    if labels:
        yield plain("Skipped", ("experiment", "stack", "cells", "reason"), tuple(
            (experiment, stack, names[0] if len(names) == 1 else formatting.count(len(names), "cell"), reason)
            for (experiment, stack, reason), names in labels.items()))
