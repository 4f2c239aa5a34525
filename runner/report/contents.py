"""A Summary and its measurements to a Report: what it says, in which order. Pure."""

from collections.abc import Iterator, Sequence

from runner import formatting
from runner.analysis.summary_format import Claim, ClaimNumber, Failure, Skip, Summary
from runner.report import claim_text, environment, published, rates
from runner.report.columns import Form, table
from runner.report.comparisons import Context
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
    context = Context(summary, measured, {note.flag: str(number) for number, note in enumerate(summary.footnotes, 1)},
                  {name: number for number, name in enumerate(_in_order(stacks, summary))})
    return Report(
        name=summary.id, title=f"{summary.study}: {measured.title}" if measured.title else summary.study,
        machine=environment.machine(summary.machine), began=summary.began or "an unknown time",
        command=" ".join(["evenbench", *_arguments(measured)]),
        reading=_OF_A_PAPER if is_published(summary) else _OF_OURS,
        deviations=deviations(summary, measured), in_short=tuple(_in_short(summary)), claims=tuple(_claims(summary)),
        sections=(*sections(context), *_elsewhere(context)), environment=tuple(environment.tables(summary, measured)),
        left_out=(*_failures(summary), *_skipped(summary.skipped)),
        footnotes=tuple((context.marks[note.flag], note.text) for note in summary.footnotes),
        methods=tuple((name.replace("_", " "), str(text)) for name, text in summary.methods),
        made_by=f"evenbench {summary.evenbench}" if summary.evenbench else "evenbench",
    )


def _in_order(stacks: Sequence[str], summary: Summary) -> list[str]:
    """The stacks that were measured, the baseline first, then the others: their signs."""
    return list(dict.fromkeys([*(column.stack for column in summary.columns), *stacks]))


def _arguments(measured: Measurements) -> list[str]:
    argv = measured.session.get("argv")
    return [str(word) for word in argv] if isinstance(argv, list) else []


def _elsewhere(context: Context) -> Iterator[Section]:
    """Published numbers that no experiment of the session is about."""
    numbers = published.by_experiment(context.summary, context.measured)
    known = {one.id for one in context.measured.experiments}
    rest = tuple(number for name, of_experiment in numbers.items() if name not in known for number in of_experiment)
    if rest:
        yield Section("published", "Published numbers of no experiment here", (), (), (), tuple(published.tables(rest)))


def _in_short(summary: Summary) -> Iterator[str]:
    """Who won how often, and what the claims came to."""
    if summary.paper_claims:
        verdicts = [claim.verdict for claim in summary.paper_claims]
        yield f"{formatting.count(len(verdicts), 'claim')}: " + ", ".join(
            f"{verdict.value} {verdicts.count(verdict)}" for verdict in claims.Verdict if verdict in verdicts) + "."
    for measure in dict.fromkeys(comparison.measure for comparison in summary.comparisons):
        yield from _wins(summary, measure)
    for mean in summary.geometric_means:
        ratios = ", ".join(f"{name} {formatting.ratio(ratio, None)}" for name, ratio in mean.ratios.items())
        yield (f"{mean.measure}: geometric mean over {formatting.count(mean.comparisons, 'comparison')}, "
               f"to {summary.baseline}: {ratios}.")
    yield from (f"{line}." for line in rates.machine_limits(summary))


def _wins(summary: Summary, measure: str) -> Iterator[str]:
    compared = [comparison for comparison in summary.comparisons if comparison.measure == measure
                and sum(result.rate_per_worker is not None for result in comparison.results) > 1]
    if not compared:
        return
    winners = [comparison.winner for comparison in compared]
    if len(compared) == 1:
        among = " of those that ran" if winners[0] and compared[0].left_out else ""
        yield f"{measure}: {winners[0] or 'no stack'} is {'' if winners[0] else 'shown to be '}the fastest{among}."
        return
    said = [f"{name} is the fastest in {winners.count(name)}" for name in dict.fromkeys(winners) if name]
    undecided = winners.count(None)
    if undecided:
        said.append(f"no stack is shown to be the fastest in {undecided}")
    yield f"{measure}: of {formatting.count(len(compared), 'comparison')}, {', '.join(said)}."


# ---- claims

def _claims(summary: Summary) -> Iterator[Table]:
    if not summary.claims:
        return
    yield from table(f"Claims of {summary.study}, on this machine", published.CLAIMS, {"": summary.claims},
                     Form.PAGE, claim_text.HOW_CLAIMS_ARE_JUDGED)
    if len(summary.paper_claims) < len(summary.claims):
        yield plain("The paper's own claims, of which those above are parts", ("claim", "verdict", "parts"), tuple(
            (claim.id, claim.verdict.value, ", ".join(claim.parts)) for claim in summary.paper_claims))
    yield from _numbers(summary.claims)


def _numbers(claims: Sequence[Claim]) -> Iterator[Table]:
    """The numbers of all claims, and the cells that they miss."""
    groups = tuple(Group(f"{claim.id}: {claim.text}", tuple(_number(claim, number) for number in claim.numbers))
                   for claim in claims if claim.numbers)
    if groups:
        yield Table("The claims' numbers", ("of", "case", "here", "rounds", "allowed", "verdict"), groups,
                    is_extra=True)
    missing = tuple((claim.id, why) for claim in claims for why in claim.missing)
    if missing:
        yield plain("What claims miss", ("claim", "cell and reason"), missing, is_extra=True)


def _number(claim: Claim, number: ClaimNumber) -> tuple[str, ...]:
    case = ", ".join(f"{name} {value}" for name, value in number.case.items())
    ends = [f"{name} {end:.3g}" for name, end in (("from", number.low), ("to", number.high)) if end is not None]
    allowed = ("not " if number.is_turned else "") + " ".join(ends)
    return (number.what, case, claim_text.amount(claim, number.value, number.interval), str(number.rounds), allowed,
            number.verdict.value + (f": {number.reason}" if number.reason else ""))


# ---- what is not there

def _failures(summary: Summary) -> Iterator[Table]:
    """Failed runs; runs that failed alike are one line, with the command that shows what the first of them wrote."""
    alike: dict[tuple[str, ...], list[Failure]] = {}
    for failure in summary.failures:
        message = failure.message
        short = message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + "…"
        alike.setdefault((failure.stack, failure.label, failure.ending, short), []).append(failure)
    if alike:
        yield plain("Runs that did not end ok", ("stack", "what", "ended", "rounds", "message", "what it wrote"), tuple(
            (stack, what, ending, ", ".join(str(each.round) for each in failures), message,
             formatting.show(summary.id, failures[0].run))
            for (stack, what, ending, message), failures in alike.items()))


def _skipped(skips: Sequence[Skip]) -> Iterator[Table]:
    """Skipped cells; cells of one stack, experiment and reason are one line."""
    labels: dict[tuple[str, str, str], list[str]] = {}
    for skip in skips:
        labels.setdefault((skip.experiment, skip.stack, skip.reason), []).append(skip.label)
    if labels:
        yield plain("Skipped", ("experiment", "stack", "cells", "reason"), tuple(
            (experiment, stack, names[0] if len(names) == 1 else formatting.count(len(names), "cell"), reason)
            for (experiment, stack, reason), names in labels.items()))
