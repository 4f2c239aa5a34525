"""The last lines of a report on a terminal: at 160, 80 and 40 columns, in colour and in a pipe."""

import re
from pathlib import Path

import pytest

from runner.report.document import Report
from tests import made_report
from tests import made_rows as made
from tests.made_claims import claim
from tests.made_report import DONE
from tests.printing import on_screen

SPEEDS = {"torch-2.13-cpu": 100.0, "tf-2.21": 80.0, "jax-0.10-cpu": 150.0, "mxnet-1.9": 20.0}
TASKS = (("lenet5", "train"), ("gpt2", "train"), ("gpt2", "decode"))


def session(tasks: tuple[tuple[str, str], ...] = TASKS, **values: object) -> Report:
    """A session like that of study quick: four stacks in three comparisons, eight rounds."""
    cells = {made.cell(name, task=task, measure=measure, steps=20): [speed * (1 + wave / 100) for wave in range(8)]
             for task, measure in tasks for name, speed in SPEEDS.items()}
    return made_report.report_of(DONE, cells=cells, plan={"rounds": 8, "baseline": "torch-2.13-cpu"}, **values)


@pytest.mark.parametrize("written", [None, Path("results/20261127-130940-quick-d1c8/report.html")])
def test_the_answer_of_quick_and_a_prompt_fit_24_lines_of_80_columns(written: Path | None) -> None:
    lines = on_screen(session(place={**made.PLACE, "isolation": "venv"}), written=written).splitlines()

    assert 23 >= len(lines) and 80 >= max(map(len, lines))
    assert lines[0].startswith("Which is faster here?   a CPU, 2 CPUs   21 Nov 2026   quick, 8 rounds")
    assert 3 == sum(line.endswith("FASTEST") for line in lines)


@pytest.mark.parametrize("width", [40, 80, 160])
def test_every_stack_has_a_whole_line_with_ratio_interval_and_word(width: int) -> None:
    lines = on_screen(session(), width=width).splitlines()
    of_jax = [line.split() for line in lines if line.split()[:1] == ["jax-0.10-cpu"]]

    assert width >= max(map(len, lines))
    assert 3 == len(of_jax) and {("1.50", "1.50–1.50", "FASTEST")} == {tuple(words[-3:]) for words in of_jax}
    assert 40 < width or all(3 + 1 == len(words) for words in of_jax)          # no rate and no bar


def test_a_bar_is_as_long_as_its_share_of_the_fastest_rate() -> None:
    lines = on_screen(session(TASKS[:1])).splitlines()
    bars = {line.split()[0]: line.count("━") for line in lines if "━" in line}

    assert bars["jax-0.10-cpu"] == max(bars.values()) >= 19
    assert round(bars["jax-0.10-cpu"] * 100 / 150) == bars["torch-2.13-cpu"]


def test_models_turns_and_notes_stand_below_and_at_most_three_notes() -> None:
    many = {**made.FACTS, "threads": 7, "onednn": False, "data": {**made.FACTS["data"], "stand_in": True}}
    place = {**made.PLACE, "isolation": "venv", "pinned": False}
    text = on_screen(session(facts=many, place=place))

    assert "Equal models: not checked here" in text and "Disturbed: unknown" in text
    assert "Notes: virtual environments; not pinned; stand-in data; 1 more." in " ".join(text.split())


def test_what_is_said_of_trust_is_broken_between_its_parts() -> None:
    lines = on_screen(session(place={**made.PLACE, "isolation": "venv"}), width=90).splitlines()

    assert "Notes: virtual environments." in lines
    assert any(re.fullmatch(r"Equal models: .*   Disturbed: .*", line) for line in lines)


def test_commands_name_a_result_that_is_not_the_newest() -> None:
    assert "Charts: evenbench report   All tables: evenbench report --details" in on_screen(session())
    assert "Charts: evenbench report made " in on_screen(session(), named="made")
    assert "Charts: made/report.html " in on_screen(session(), written=Path("made/report.html"))


def test_all_tables_stand_before_the_answer_where_asked_and_none_elsewhere() -> None:
    short, long = (on_screen(session(), is_detailed=asked, width=120) for asked in (False, True))

    assert long.endswith(short.replace("   All tables: evenbench report --details", ""))
    assert "peak memory" not in " ".join(short.split()) and "Measured again by:" in long


def test_a_paper_s_claims_are_counted() -> None:
    found = made_report.report_of(DONE, plan={"claims": [claim("faster").record()]})

    assert "1 claim: holds 1." in on_screen(found)
