"""One number for one thing: what terminal, page, CSV, LaTeX and summary.json say of unequal runs is the same."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from runner.analysis.summary import to_json
from runner.report.writers import latex, page
from tests import made_everything, made_report, made_rows, printing
from tests.made_everything import STACKS
from tests.printing import on_screen

Numbers = dict[tuple[str, str], set[str]]      # by a comparison's label and the first word of a line
NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?: %|x\b)?")
NO_NUMBERS = re.compile("|".join([       # marks of footnotes, keys in commands, names of stacks
    r"\[[\d,]+\]", r"evenbench rerun \S+ --cell \w+", *map(re.escape, STACKS)]))
TABLES = ("comparisons", "operators", "kernels", "graphs", "largest_batches")


@cache
def contents() -> Any:
    return made_report.contents(made_everything.records())


@cache
def page_lines() -> list[tuple[str, str, list[str]]]:
    return printing.page_lines(page.html(contents()[2]))


def numbers(texts: Any) -> set[str]:
    """Those in the texts, without the footnotes' marks and the names of stacks."""
    return {found for text in texts for found in NUMBER.findall(NO_NUMBERS.sub("", text))}


def on_the_page() -> Numbers:
    found: Numbers = {}
    for caption, label, line in page_lines():
        found.setdefault((label or caption, line[0]), set()).update(numbers(line[1:]))
    return found


def on_the_terminal() -> Numbers:
    """Of lines below a label."""
    found: Numbers = {}
    label = ""
    for line in on_screen(contents()[2], is_detailed=True, width=130).splitlines():
        if line and not line.startswith(" "):
            label = line.removesuffix(":")
        elif re.match(r"  \S", line):
            first, *rest = re.split(r" {2,}", line.strip())
            found.setdefault((label, first), set()).update(numbers(rest))
    return found


def in_json() -> Any:
    return json.loads(to_json(contents()[0]))


def labels() -> set[str]:
    return {each["label"] for name in TABLES for each in in_json()[name]}


def leaves(value: Any) -> Iterator[float]:
    """All numbers in a part of summary.json."""
    if isinstance(value, dict):
        yield from (leaf for each in value.values() for leaf in leaves(each))
    elif isinstance(value, list):
        yield from (leaf for each in value for leaf in leaves(each))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def written(values: list[float]) -> set[str]:
    """The ways in which people may read the numbers: as they are, milli, mega, giga, as shares and as ratios."""
    plain = {f"{value * factor:,.{decimals}f}" for value in values for factor in (1, 1e3, 1e-6, 1e-9)
             for decimals in range(5)}
    shares = {f"{value * 100:{style}} %" for value in values for style in (".0f", ".1f", "+.1f")}
    ratios = {f"{value:.{decimals}f}x" for value in values for decimals in (2, 3, 4)}
    return {*plain, *shares, *ratios, *(f"{value:.3g}" for value in values)}


def of_json(label: str, stack: str) -> list[float]:
    """The numbers that summary.json has of a stack in a comparison."""
    summary = in_json()
    results = [result for each in summary["comparisons"] if each["label"] == label for result in each["results"]
               if result["stack"] == stack]
    tables = [each["stacks"].get(stack) for name in TABLES[1:] for each in summary[name] if each["label"] == label]
    return [*leaves(results), *leaves(tables), summary["rounds"]]


def test_every_kind_of_table_stands_on_the_page_and_the_terminal() -> None:
    terminal, shown = on_the_terminal(), on_the_page()
    stacks = {(label, stack) for label in labels() for stack in STACKS
              if not label.startswith(f"{made_rows.LENET5}, operators")}

    assert 10 == len(labels())
    assert stacks <= terminal.keys() and stacks <= shown.keys()
    assert 2 == sum(label.startswith("Operators") for label, _ in terminal)


def test_every_number_of_a_stack_on_the_terminal_stands_on_the_page() -> None:
    shown = on_the_page()
    missing = {key: found - shown.get(key, set()) for key, found in on_the_terminal().items()
               if key[0] in labels() or key[0].startswith("Operators")}

    assert {} == {key: found for key, found in missing.items() if found}


def test_every_number_of_a_stack_on_the_page_is_one_of_summary_json() -> None:
    told = {key: found for key, found in on_the_page().items() if key[0] in labels() and key[1] in STACKS}
    unknown = {key: found - written(of_json(*key)) - {"1"} for key, found in told.items()}

    assert {} == {key: found for key, found in unknown.items() if found}


def test_operators_on_the_page_are_those_of_summary_json() -> None:
    (table,) = in_json()["operators"]
    for _, label, line in [each for each in page_lines() if each[0] == f"Operators, in milliseconds a step, from "
                           f"profiled runs: {table['label']}" and each[2][0] not in ("operator", "again")]:
        seconds = [table["stacks"][stack]["seconds"][line[0].replace(" ", "_")] for stack in STACKS]
        assert "" == label
        assert [value * 1000 for value in seconds] == pytest.approx([float(text) for text in line[1:]], rel=0.01)


def test_the_csv_s_numbers_are_those_of_summary_json() -> None:
    results = {result["key"]: result for each in in_json()["comparisons"] for result in each["results"]}
    for line in printing.csv_lines(contents()[2]):
        result = results.pop(line["key"])
        same = [name for name in line if name in result and not isinstance(result[name], dict | list | str)]
        assert 20 <= len(same)
        assert {name: "" if result[name] is None else str(result[name]) for name in same} == {
            name: line[name] for name in same}
        for name in ("rate", "ratio"):
            interval = result[f"{name}_interval"] or {"low": "", "high": ""}
            assert (str(interval["low"]), str(interval["high"])) == (line[f"{name}_low"], line[f"{name}_high"])
    assert {} == results


def test_latex_s_numbers_are_those_of_summary_json() -> None:
    summary = contents()[0]
    tables = latex.latex(contents()[2]).split(r"\begin{table}")[1:]
    for text, comparison in zip(tables, summary.comparisons, strict=True):
        for line in text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines():
            name, *rest = line.replace("{-}", "-").split(" & ")
            stack = next(each for each in STACKS if each in name)
            assert numbers(each.replace("--", " ") for each in rest) <= written(of_json(comparison.label, stack))


@pytest.mark.parametrize("beginning", ["Published", "Claims of"])
def test_published_numbers_and_claims_read_the_same_on_the_page_and_the_terminal(beginning: str) -> None:
    terminal = " ".join(on_screen(contents()[2], is_detailed=True, width=300).split())
    lines = [line for caption, _, line in page_lines() if caption.startswith(beginning)][1:]
    shown = [text for line in lines for text in line[3:5] if text]

    assert shown and [text for text in shown if " ".join(text.split()) not in terminal] == []


def test_a_published_number_here_is_that_of_its_table() -> None:
    here = {number["id"]: number["ours"] for number in in_json()["published"]}
    batches, kernels, operators = (next(iter(in_json()[name]))["stacks"][STACKS[0]]
                                   for name in ("largest_batches", "kernels", "operators"))
    results = {each["measure"]: each["results"][0] for each in in_json()["comparisons"]}

    assert here["n3"] == batches["largest"]
    assert here["n4"] == pytest.approx(100 * kernels["kernels"])
    assert here["n5"] == results["epochs"]["epoch_seconds"]
    assert here["n6"] == operators["seconds"]["relu"]
    assert here["n7"] == results["infer"]["gpu_watts"]
    assert here["n8"] == results["train"]["places_peak_bytes"]              # the last of train is the parallel one
    assert here["n9"] == results["phases"]["phases"]["forward"]
