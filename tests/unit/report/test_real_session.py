"""Each number on a real session's page and terminal, held against the record by arithmetic of this file's own.

The session was measured in containers beside other programs. Its record is stored whole; "torn" is the same up to a
moment within the last round.
"""

import json
import lzma
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from runner.report.document import Dots, Report, Strips
from runner.report.writers import page
from tests import made_report
from tests.printing import on_screen, page_lines

Record = dict[str, Any]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
SCALES = {"ms": 1e3, "s": 1.0, "MB": 1e-6, "GB": 1e-9, "%": 100.0}
HEADINGS = {"lenet5": "LeNet-5 (tanh, 62 k parameters), training, batch 42",
            "gpt2": "GPT-2 (0.5 M parameters, 2 layers), training, batch 4"}
UNITS = {"lenet5": "samples/s", "gpt2": "tokens/s"}
BASELINE, WORDS, SESSIONS = "torch-2.13-cpu", 6, ["whole", "torn"]      # of two comparisons: two stacks, the fastest


@cache
def records(name: str) -> list[Record]:
    text = lzma.decompress((Path(__file__).parent / "real_session.jsonl.xz").read_bytes()).decode()
    whole = [json.loads(line) for line in text.splitlines()]
    if name == "whole":
        return whole
    begun = [index for index, each in enumerate(whole) if each["event"] == "begin"]
    last = next(index for index in range(len(whole) - 1, begun[-1], -1) if whole[index]["event"] == "line")
    kept = whole[:last]
    open_runs = dict.fromkeys(each["run"] for each in kept if each["event"] == "begin")
    for each in kept:
        if each["event"] == "ending":
            open_runs.pop(each["run"])
    assert open_runs
    cut = {"event": "ending", "ending": "killed", "message": "the session was interrupted", "seconds": 1.0, "host": {}}
    return [*kept, *({**cut, "run": run} for run in open_runs), {"event": "closed", "reason": "interrupted"}]


@cache
def report(name: str) -> Report:
    return made_report.reported(records(name))


@cache
def terminal(name: str) -> str:
    return on_screen(report(name), width=110)


@cache
def html(name: str) -> str:
    return page.html(report(name))


def stacks() -> list[str]:
    return list(dict.fromkeys(each["cell"]["stack"] for each in plan()["cells"]))


def plan() -> Record:
    return next(each for each in records("whole") if each["event"] == "plan")


# ---- the record, read and reckoned here

class Run(NamedTuple):
    """What a run's lines say."""

    round: int
    ending: Record
    start: Record
    warm: list[float]
    compiled: float | None
    turns: list[Record]                    # lines of steps

    @property
    def calm(self) -> list[Record]:
        """The turns that count: the least disturbed ones, as many as lost a hundredth of their time together."""
        ordered = sorted(self.turns, key=lambda line: lost(line) / sum(line["seconds"]))
        many = next((count for count in range(1, len(ordered) + 1) if sum(map(lost, ordered[:count])) > 0.01 * sum(
            sum(line["seconds"]) for line in ordered[:count])), len(ordered) + 1)
        return sorted(ordered[:many - 1], key=self.turns.index)

    @property
    def losses(self) -> dict[int, float]:
        return {line["before"] + index: loss for line in self.turns for index, loss in enumerate(line.get("loss", []))}


def lost(line: Record) -> float:
    """The seconds that others, the hypervisor and standing still cost a turn."""
    turn = line["turn"]
    seconds, cpus = turn["seconds"], turn["cpus"]
    others = min(turn["taken_seconds"], turn["waited_seconds"]) / seconds
    still = max(0, 1 - (turn["own_seconds"] + turn["waited_seconds"]) / seconds)
    return float(others + turn["stolen_seconds"] / (seconds * cpus) + still) * sum(line["seconds"])


@cache
def runs(name: str) -> dict[tuple[str, str], list[Run]]:
    """The runs by task and stack."""
    found: dict[tuple[str, str], list[Run]] = {}
    cells = {each["key"]: each["cell"] for each in plan()["cells"]}
    begun = {each["run"]: each for each in records(name) if each["event"] == "begin"}
    endings = {each["run"]: each for each in records(name) if each["event"] == "ending"}
    for run, head in begun.items():
        lines = [each["line"] for each in records(name) if each["event"] == "line" and each["run"] == run]
        cell = cells[head["key"]]
        found.setdefault((cell["task"], cell["stack"]), []).append(Run(
            head["round"], endings[run], next(line for line in lines if line["event"] == "start"),
            [second for line in lines if line["event"] == "warm" for second in line["seconds"]],
            next((line["seconds"] for line in lines if line["event"] == "compiled"), None),
            [line for line in lines if line["event"] == "steps"]))
    return found


@cache
def counted(name: str, task: str) -> dict[str, dict[int, Run]]:
    """Of each stack its runs of the rounds in which every stack has three undisturbed turns, by round."""
    of = {stack: {run.round: run for run in runs(name)[task, stack]
                  if run.ending["ending"] == "ok" and len(run.calm) >= 3} for stack in stacks()}
    whole = set.intersection(*(set(each) for each in of.values()))
    return {stack: {index: each[index] for index in sorted(whole)} for stack, each in of.items()}


def rate(run: Run) -> float:
    """The geometric mean over the undisturbed turns, of samples or tokens a second."""
    amount = run.start["facts"]["data"].get("tokens", 42)
    return math.exp(statistics.fmean(math.log(amount * len(line["seconds"]) / sum(line["seconds"]))
                                     for line in run.calm))


@cache
def student(degrees: int, error: float) -> float:
    """The quantile of Student's t that so much lies beyond, on both sides together; by adding up its density."""
    x = np.linspace(0, 400, 4_000_001)
    density = (1 + x**2 / degrees) ** (-(degrees + 1) / 2)
    within = np.cumsum(density)
    # the tail beyond the grid falls with the power of the degrees
    tail = density[-1] * x[-1] / degrees / (x[1] - x[0])
    return float(x[np.searchsorted(within / (within[-1] + tail), 1 - error)])


def mean_and_ends(logs: Sequence[float], error: float = 0.05) -> tuple[float, ...]:
    mean, half = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    half *= student(len(logs) - 1, error)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def rates(name: str, task: str, stack: str) -> tuple[float, ...]:
    return mean_and_ends([math.log(rate(run)) for run in counted(name, task)[stack].values()])


def ratios(name: str, task: str, stack: str, to: str = BASELINE) -> tuple[float, ...]:
    of = counted(name, task)
    return mean_and_ends([math.log(rate(run) / rate(of[to][index])) for index, run in of[stack].items()],
                         0.05 / WORDS)


def verdict(name: str, task: str, stack: str) -> str:
    if name == "torn":
        return "unfinished"
    others = [each for each in stacks() if each != stack]
    if all(ratios(name, task, stack, other)[1] > 1 for other in others):
        return "fastest"
    low, high = ratios(name, task, stack)[1:] if stack != BASELINE else (1.0, 1.0)
    return "slower" if high < 1 else "faster" if low > 1 else "baseline" if stack == BASELINE else "no difference shown"


def disturbed(name: str, of: Sequence[Run]) -> tuple[int, int]:
    turns = sum(len(run.turns) for run in of)
    return turns - sum(len(run.calm) for run in of), turns


def shared_losses(name: str, task: str, stack: str) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Losses at the first and the last step that all stacks share, medians over the rounds in which they do."""
    of = counted(name, task)
    steps, rounds = set[int](), list[int]()
    for index in of[stack]:
        here = set.intersection(*(set(each[index].losses) for each in of.values()))
        if narrowed := here & steps if rounds else here:
            steps, rounds = narrowed, [*rounds, index]
    ends = list(dict.fromkeys((min(steps), max(steps))))
    return tuple(statistics.median(of[stack][index].losses[step] for index in rounds) for step in ends), tuple(
        step + 1 for step in ends)


def calm_steps(run: Run) -> list[float]:
    return [second for line in run.calm for second in line["seconds"]]


def expected(name: str, task: str, stack: str) -> dict[str, tuple[float, ...]]:
    """The numbers of each column of the page's tables."""
    own = counted(name, task)[stack]
    best = max(2 * block["size"]**3 * block["count"] / min(block["seconds"])
               for each in records(name) if each["event"] == "product" for block in each["blocks"])
    value, low, high = rates(name, task, stack)
    start = next(iter(own.values())).start
    amount = start["facts"]["data"].get("tokens", 42)

    def median(of: Any) -> float:
        return statistics.median(map(of, own.values()))

    return {
        "rate": (value, low, high), f"to {BASELINE}": ratios(name, task, stack) if stack != BASELINE else (1.0,),
        "rounds": (len(own), plan()["rounds"]), "turns": disturbed(name, runs(name)[task, stack]),
        "step": (amount / value, amount / high, amount / low),
        **{f"step p{share}": (median(lambda run, share=share: np.percentile(calm_steps(run), share)),)
           for share in (50, 95, 99) if all(len(calm_steps(run)) * (100 - share) >= 100 for run in own.values())},
        "first step": (median(lambda run: run.warm[0]),),
        "compile time": (median(lambda run: run.compiled or math.nan),),
        "input wait": (median(lambda run: sum(second for line in run.calm for second in line["phases"]["load"])
                              / sum(calm_steps(run))),),
        "of machine": (value / amount * start["flops"] / best,),
        "peak memory": (median(lambda run: run.ending["host"]["peak_bytes"]),),
        "loss": shared_losses(name, task, stack)[0], "at steps": shared_losses(name, task, stack)[1]}


# ---- what is printed

def is_shown(text: str, values: Sequence[float]) -> bool:
    """Whether the text's numbers are these, each rounded to its own digits, in the text's unit."""
    shown = NUMBER.findall(text)
    unit = SCALES.get(next(iter(re.findall(r"\d (ms|s|MB|GB|%)", text)), ""), 1.0)
    return len(shown) == len(values) and all(
        abs(float(number.replace(",", "")) - value * unit)
        <= 0.501 * 10.0 ** -len(number.partition(".")[2]) + 2e-6 * value
        for number, value in zip(shown, values, strict=True))


def numbered(name: str) -> Iterator[tuple[str, str, str, str]]:
    """Task, stack, title and text of each cell in the tables of results."""
    titles: list[str] = []
    for _, label, line in page_lines(html(name)):
        task = next((task for task, heading in HEADINGS.items() if label.startswith(heading)), "")
        if line[0] == "stack":
            titles = line
        elif task:
            yield from ((task, line[0], title, text) for title, text in zip(titles[1:], line[1:], strict=True))


@pytest.mark.parametrize("name", SESSIONS)
def test_every_number_of_the_page_s_tables_is_the_record_s(name: str) -> None:
    cells = [each for each in numbered(name) if each[2] not in ("verdict", "notes", "again")]
    wrong = [(*each, own) for each in cells for own in [expected(name, *each[:2]).get(each[2], ())]
             if each[3] and not is_shown(each[3], own)]

    assert [] == wrong
    assert 6 * 14 - 4 <= len(cells)
    assert {verdict(name, task, stack) for task, stack, title, _ in numbered(name) if title == "verdict"} == {
        text.partition(" (")[0] for *_, title, text in numbered(name) if title == "verdict"}


@pytest.mark.parametrize("name", SESSIONS)
def test_every_line_of_the_terminal_s_answer_is_the_record_s(name: str) -> None:
    shown, task, found = terminal(name).splitlines(), "", set()
    for line in shown:
        task = next((task for task, heading in HEADINGS.items() if line == f"{heading}: {UNITS[task]}"), task)
        if (stack := line.split()[0] if line.startswith("  ") else "") in stacks():
            way = {"torch-2.13-cpu": "2.13.0 eager", "jax-0.10-cpu": "0.10.2 jit", "tf-2.21": "2.21.0 tf.function"}
            told, word = re.split(r" {2,}(?=[A-Za-z]+ ?[a-z ]*$)", line.strip()) if re.search("[a-zA-Z]$", line) else (
                line.strip(), "")
            numbers = told.removeprefix(stack).strip().removeprefix(way[stack])
            own = expected(name, task, stack)
            assert is_shown(numbers, (own["rate"][0], *own[f"to {BASELINE}"])), line
            said = verdict(name, task, stack)
            assert {"fastest": "FASTEST", "baseline": ""}.get(said, said) == word
            found.add((task, stack))
    assert 6 == len(found)


@pytest.mark.parametrize(("name", "rounds"), [("whole", "5 rounds"), ("torn", "4–5 of 5 rounds")])
def test_what_is_said_of_turns_and_rounds_is_the_record_s(name: str, rounds: str) -> None:
    every = [run for each in runs(name).values() for run in each]
    bad, of = disturbed(name, every)

    assert f"28 Nov 2026   quick, {rounds}" in terminal(name).splitlines()[0]
    assert f"Disturbed: {bad} of {of} turns" in terminal(name)
    assert f"{bad} of {of} turns were disturbed" in html(name)
    assert "runs are of rounds that do not count" not in html(name)          # what was interrupted was not disturbed
    assert "did not end ok" not in html(name) and "Failed" not in terminal(name)


@pytest.mark.parametrize("name", SESSIONS)
def test_every_chart_s_number_is_the_record_s(name: str) -> None:
    drawn = [chart for section in report(name).sections for chart in section.charts]
    for task, heading in HEADINGS.items():
        bars, strips = (next(chart for chart in drawn if isinstance(chart, kind) and chart.caption.startswith(heading))
                        for kind in (Dots, Strips))
        assert isinstance(bars, Dots) and isinstance(strips, Strips)
        for mark in bars.groups[0][1]:
            own = rates(name, task, mark.name)
            assert is_shown(mark.text.removesuffix("/s"), own[:1]) and mark.ends is not None
            assert (mark.value, mark.ends.low, mark.ends.high) == pytest.approx(own, rel=1e-4)
        for strip in strips.strips:
            own = expected(name, task, strip.name)["step"]
            assert is_shown(strip.text, own[:1])
            assert not strip.first or is_shown(strip.first, expected(name, task, strip.name)["first step"])
        (chart,) = report(name).ratios
        assert isinstance(chart, Dots)
        for mark in next(marks for label, marks in chart.groups if label == heading):
            own = ratios(name, task, mark.name) if mark.name != BASELINE else (1.0,)
            assert is_shown(mark.text, own)
            of = counted(name, task)
            assert mark.dots == pytest.approx([] if mark.name == BASELINE else [
                rate(run) / rate(of[BASELINE][index]) for index, run in of[mark.name].items()])


def test_facts_of_machine_stacks_and_data_are_the_record_s() -> None:
    lines = page_lines(html("whole"))
    session = records("whole")[0]
    started = {stack: runs("whole")["lenet5", stack][0].start["facts"] for stack in stacks()}
    for caption, _, (name, *texts) in lines:
        if stack := next((each for each in stacks() if each in caption), ""):
            value = started[stack].get(name.replace(" ", "_"))
            shown = value if isinstance(value, str) else json.dumps(value)
            assert name == "fact" or value is None or shown == texts[0]
        elif caption == "Stacks" and name in started:
            own = started[name]
            assert [own["framework"], own["version"], own["python"], str(own["threads"])] == texts[:4]
        elif caption == "The machine and evenbench" and name.replace(" ", "_") in session["hardware"]:
            assert str(session["hardware"][name.replace(" ", "_")]).lower() == texts[0]
    assert {f"{len(stacks())}"} == {str(sum(caption == "Stacks" for caption, *_ in lines) - 1)}
    assert all(each in html("whole") for each in ("AMD EPYC, 2 CPUs, 25.3 GB", session["began"]))


def test_no_table_has_numbers_that_nobody_holds_against_the_record() -> None:
    captions = {re.sub("|".join(stacks()), "a stack", caption) for caption, *_ in page_lines(html("torn"))}

    assert {"Rates of one worker and the time of a step (geometric means), with 95 % intervals over runs",
            "Measured beside the rates", "Stacks", "The machine and evenbench", "Data",
            "Facts of a stack"} == captions
