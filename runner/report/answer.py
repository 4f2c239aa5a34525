"""The answer of a session: which stack is the fastest in each comparison, by how much, and why to trust it. Pure."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from runner import formatting
from runner.analysis.flags import Flag
from runner.analysis.stats import Verdict
from runner.analysis.summary_format import Column, Comparison, Lanes, Result, Summary
from runner.report.columns import fastest_first, rounds, word
from runner.report.document import Answer, Standing, Trust
from runner.report.tables import Groups
from workloads.spec import frameworks, measures
from workloads.spec.cell import DEFAULTS

_HINTS = {"quick": ("evenbench run today (ResNet-50, GPT-2)",)}       # by study
EQUAL = "Equal models"         # whether they were proved so
_MOST_NAMED = 3                # stacks that a note names
_OTHER_MEMORY = 1.1            # times as much, of which people are told
_OF_PROOFS = ("device", "precision", "loop", "lstm", "attention")      # a proof is of their defaults, or of loop tuned
_MUCH = 1.25                   # times as fast, by which settings move a stack, of which people are told
_UNPROVED = {Flag.CHECK_FAILED: "a check failed{}, --prove says where",            # of which stacks
             Flag.UNPROVED: "not checked here{}, --prove does"}
_TOLD = (*_UNPROVED, Flag.TURNS_REPEATED)              # in words of their own
_NAMES = {                     # of flags whose own words do not say enough
    Flag.VENV: "virtual environments", Flag.STAND_IN_DATA: "stand-in data", Flag.OTHER_BASE: "another base image",
    Flag.APART: "runs one after the other", Flag.BUSY: "the machine was busy", Flag.COMPILED: "compiled while timed",
    Flag.LEFT_OFF: "a fast path is off",
    Flag.PART_OF_PASS: "a part of a pass was timed", Flag.CONVERTED: "bfloat16 without the CPU's instructions"}


def answer(summary: Summary) -> Answer:
    """The answer."""
    timed = [each for each in summary.comparisons if each.measure != "phases"
             and any(result.rate_per_worker is not None or result.withheld for result in each.results)]
    blocks = tuple((each.label, fastest_first(summary, each)) for each in timed)
    said = _between_versions(blocks, summary.columns) or _verdict(blocks, summary.baseline)
    return Answer(said, tuple(_facts(summary)), summary.baseline, blocks,
                  tuple(_trust(summary)), tuple(_notes(summary)), _missing(summary), len(summary.failures),
                  len(summary.skipped), _HINTS.get(summary.study, ()))


# ---- comparisons

def _between_versions(blocks: Groups[Standing], columns: Sequence[Column]) -> str:
    """"JAX 0.8.0 → 0.10.2: 9 % slower (5–13)" of a session of one framework's two versions, else ""."""
    if len(columns) != 2 or len({column.framework for column in columns}) > 1 or not blocks:
        return ""
    (old, new), framework = columns, columns[0].framework
    if not (framework and old.version and new.version) or old.version == new.version:
        return ""
    title = frameworks.title(framework) if frameworks.is_known(framework) else framework
    told = [_change(standing) if len(blocks) == 1 else f"{heading}: {_change(standing)}"
            for heading, standings in blocks for standing in standings if standing.stack == new.stack]
    return f"{title} {old.version} → {new.version}: {'; '.join(told)}" if told else ""


def _change(standing: Standing) -> str:
    """By how many per cent a stack is faster or slower than the baseline, with the interval; else its word."""
    is_told = standing.is_fastest or word(standing) in (Verdict.FASTER, Verdict.SLOWER)
    interval = standing.result.ratio_interval
    if standing.ratio is None or interval is None or not is_told:
        return word(standing) or "no data"
    way = 1 if standing.ratio > 1 else -1
    shares = [100 * way * (value - 1) for value in (standing.ratio, *interval)]
    decimals = next((each for each in (0, 1) if all(round(share, each) for share in shares)), 2)    # no end reads as 0
    by, *ends = (f"{share:.{decimals}f}" for share in shares)
    return f"{by} % {'faster' if way > 0 else 'slower'} ({formatting.DASH.join(ends[::way])})"


def _verdict(blocks: Groups[Standing], baseline: str) -> str:
    """Who is the fastest, in a sentence."""
    compared = [standings for _, standings in blocks if sum(each.rate is not None for each in standings) > 1]
    if not compared:
        return "Nothing was compared"
    first = [next((each for each in standings if each.is_fastest), None) for standings in compared]
    winners = [(each.stack, _among(each)) for each in first if each]
    if len(compared) == 1:
        return _of_one(first[0], compared[0], baseline)
    if not winners:
        return f"No stack is shown to be the fastest in any of {len(compared)} comparisons"
    ((best, among), most), *others = Counter(winners).most_common()
    if most == len(compared):
        return f"{best} is the fastest{among} in {'both' if most == 2 else f'all {most}'} comparisons"
    said = [f"{best} is the fastest{among} in {most} of {len(compared)} comparisons",
            *(f"{name}{among} in {count}" for (name, among), count in others)]
    if none := len(compared) - len(winners):
        said.append(f"no stack is shown to be in the other{'s' if none > 1 else ''}")
    return ", ".join(said)


def _among(fastest: Standing) -> str:
    """Of whom a stack is the fastest, where not all ran."""
    return " of those that ran" if "of those" in word(fastest) else ""


def _of_one(first: Standing | None, standings: Sequence[Standing], baseline: str) -> str:
    if first is None:
        return "No stack is shown to be the fastest"
    other = first if first.stack != baseline else next(
        each for each in standings if each.rate is not None and each is not first)
    said = f"{first.stack} is the fastest{_among(first)}"
    ratio, ends = other.ratio_texts
    if not ends:
        return said
    whose, than = ("", f" as {baseline}") if other is first else (f"{other.stack} is ", "")
    return f"{said}: {whose}{ratio} times as fast{than} ({ends})"


# ---- what to trust it by

def _others(summary: Summary) -> dict[str, None]:
    """The settings that change what is computed, and in which no proof was made: "precision=amp"."""
    return dict.fromkeys(
        f"{name}={each.settings[name]}" for each in summary.comparisons if "source" not in each.settings
        for name in _OF_PROOFS if each.settings[name] not in (DEFAULTS[name], "float64", "tuned"))


def _missing(summary: Summary) -> str:
    if summary.is_complete:
        return ""
    busy = dict.fromkeys(result.withheld for each in summary.comparisons for result in each.results
                         if result.withheld.startswith(Verdict.TOO_BUSY.value + " ("))
    return f"{'; '.join(busy) or 'the session has not run to its end'}. The same command goes on"


def _facts(summary: Summary) -> Iterator[str]:
    machine = summary.machine
    gpus = dict.fromkeys(limit.device_name for limit in summary.limits if limit.device != "cpu")
    cpus = [formatting.count(machine.cpus, "CPU")] if machine.cpus else []
    yield ", ".join(filter(None, [machine.cpu, *cpus, *gpus])) or "an unknown machine"
    try:
        moment = datetime.fromisoformat(summary.began or "")
        yield f"{moment.day} {moment:%b %Y}"
    except ValueError:
        yield summary.began or "an unknown time"
    yield f"{summary.study}, {rounds(summary, summary.comparisons)}"


def _trust(summary: Summary) -> Iterator[Trust]:
    """Equal models, undisturbed turns, isolation, data."""
    results, stacks_of = _measured(summary), flagged(summary)
    every = [result for each in summary.comparisons for result in each.results]       # those without a rate, too
    if not results:
        why = next((result.withheld for result in every if result.withheld), "") or (
            "every round lost a run" if any(result.endings.get("ok") for result in every) else "no run ended well")
        yield Trust("Measured", f"nothing, {why}", False)
        return
    of = len({result.stack for result in results})
    unproved = [said.format("" if len(stacks_of[flag]) == of else f" of {', '.join(stacks_of[flag])}")
                for flag, said in _UNPROVED.items() if flag in stacks_of]
    if all(each.measure == "step" for each in summary.comparisons):
        yield Trust(EQUAL, "your step, not proved equal", False)
    else:
        others = _others(summary)
        proved = f"proved, not with {', '.join(others)}" if others else "proved"
        yield Trust(EQUAL, proved if not unproved else "one column, nothing to compare" if of == 1
                    else "; ".join(unproved), not (unproved or others))
    turns, disturbed = (sum(getattr(result, name) for result in every) for name in ("turns", "disturbed_turns"))
    is_busy = any(Flag.BUSY in result.flags for result in every)
    if turns:
        yield Trust("Disturbed", f"{disturbed:,} of {formatting.count(turns, 'turn')}" + (
            "" if not disturbed else ", with rounds that do not count" if is_busy else ", repeated"),
            not is_busy)
    else:
        yield Trust("Disturbed", "unknown, no turns were taken", False)
    isolations = dict.fromkeys(column.isolation for column in summary.columns if column.isolation)
    words = {"venv": "virtual environments", "docker": "containers"}
    yield Trust("Isolation", ", ".join(words.get(name, name) for name in isolations) or "unknown",
                "venv" not in isolations)
    data = dict.fromkeys(each.name + (" (stand-in)" if each.is_stand_in else "") for each in summary.data)
    yield Trust("Data", ", ".join(data) or "none", not any(each.is_stand_in for each in summary.data))


def flagged(summary: Summary) -> dict[Flag, list[str]]:
    """The measured stacks that each flag holds for, the flags in their order."""
    stacks = {flag: [result.stack for result in _measured(summary) if flag in result.flags] for flag in Flag}
    return {flag: list(dict.fromkeys(named)) for flag, named in stacks.items() if named}


def _measured(summary: Summary) -> list[Result]:
    return [result for each in summary.comparisons for result in each.results if result.rate_per_worker is not None]


def _notes(summary: Summary) -> Iterator[str]:
    """What settings move, when compiling pays, two columns' memory, and the flags with some stacks' names."""
    for lanes in summary.lanes:
        yield from _tuned(lanes)
    for each in summary.comparisons:
        yield from _paying(each)
    peaks: dict[str, float] = {}
    for result in _measured(summary):
        peaks[result.stack] = max(result.peak_bytes or 0.0, peaks.get(result.stack, 0.0))
    if len(peaks) == 2 and max(peaks.values()) > _OTHER_MEMORY * min(peaks.values()) > 0:
        yield "peak memory: " + ", ".join(f"{name} {formatting.size(size)}" for name, size in peaks.items())
    for flag, stacks in flagged(summary).items():
        if flag not in _TOLD:
            whose = f" ({', '.join(stacks)})" if len(stacks) < min(len(peaks), _MOST_NAMED) else ""
            yield _NAMES.get(flag, flag.value.replace("_", " ")) + whose


def _tuned(lanes: Lanes) -> Iterator[str]:
    """The stacks of which the tuned lane is much faster or slower than the common one, beside which it took turns."""
    for each in lanes.results:
        is_shown = each.verdict in (Verdict.FASTER, Verdict.SLOWER)
        if is_shown and each.ratio is not None and not 1 / _MUCH <= each.ratio <= _MUCH:
            ratio, ends = formatting.ratio_and_ends(each.ratio, each.ratio_interval)
            way = ", ".join(value for value in each.switches.values() if value not in ("native", "plain"))
            yield f"{each.stack} tuned ({way}) is {ratio} ({ends}) times as fast as it stands: {lanes.label}"


def _paying(comparison: Comparison) -> Iterator[str]:
    """After how many steps a compiled lane that is faster than the eager baseline has saved its longer first call."""
    base = next((each for each in comparison.results if each.verdict is Verdict.BASELINE), None)
    for each in comparison.results:
        if base and each.verdict is Verdict.FASTER and each.stack.startswith(f"{base.stack}-compile"):
            saved = (base.step_seconds or 0.0) - (each.step_seconds or 0.0)
            spent = (each.first_step_seconds or 0.0) - (base.first_step_seconds or 0.0)
            if saved > 0 and spent > 0:
                what = measures.TITLES[comparison.measure]
                yield f"{each.stack} pays after {math.ceil(spent / saved):,} steps of {what}"
