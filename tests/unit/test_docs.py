"""The documents name what is there: files, commands with their options, studies, stacks, make's targets."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from runner import schemas
from runner.cli import app
from runner.paths import STACKS, STUDIES
from runner.study import file
from runner.study.claims import KINDS, paper_claim
from tests.studies import read
from tools import pages

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = dict(re.findall(r"^([a-z][\w-]*):.*?## (.+)", MAKEFILE, flags=re.MULTILINE))
COMMANDS = typer.main.get_command(app)
MADE = {f"docs/{name}" for name in pages.PAGES}        # by `python -m tools pages`
OF_THIS_REPOSITORY = r"`((?:docs|runner|workloads|tests|studies|docker|data)/[a-z0-9_./-]+)`"  # capitals: any


def test_the_page_of_commands_says_the_number_of_each_json() -> None:
    text = " ".join((ROOT / "docs/commands.md").read_text().split())
    assert (f"{schemas.SUMMARY} of `report` and `summary.json`, {schemas.COMPARISON} of `compare`, `history`, `gate` "
            f"and `why`, {schemas.ROWS} of `plan`, `blame`, `run --sweep` and all others") in text
    assert {schemas.GATE, schemas.REASONS} == {schemas.COMPARISON} and (
        {schemas.PLAN, schemas.BLAME, schemas.CROSSING} == {schemas.ROWS})


def code_lines(text: str) -> Iterator[str]:
    """What stands in fences or between backticks, a line each, without comments."""
    fences = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", prose)]
    for line in [*(line for fence in fences for line in fence.splitlines()), *spans]:
        yield line.split("  #")[0].split(" # ")[0]


def named(text: str, program: str) -> list[str]:
    """The lines that begin with the program, without it."""
    return [line.partition(program)[2] for line in code_lines(text) if line.split()[:1] == [program]]


def unknown(line: str) -> list[str]:
    """What a line names that the command line has not."""
    line = line.partition(" -- ")[0]                      # what follows is for another command
    group, words = COMMANDS, line.split()
    while hasattr(group, "commands"):
        word = words.pop(0) if words else ""
        if word.startswith("--"):
            return [] if word in {name for parameter in group.params for name in parameter.opts} else [word]
        if word.isupper() or not word:
            return []
        several = [group.commands.get(name) for name in word.split("|")]
        if None in several:
            return [word]
        group = several[0]
    options = {name for parameter in group.params for name in parameter.opts} | {"--help"}
    return sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", line)) - options)


def studies_named(line: str) -> list[str]:
    """The studies that a line runs or plans; a name in capitals stands for any."""
    return re.findall(r"^\s*(?:run|plan)\s+([a-z][^\s/]*)", line)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_command_option_study_and_target_that_is_named_is_there(path: Path) -> None:
    text = path.read_text()
    links = [link for link in re.findall(r"\]\(([^)\s#]+)", text) if "://" not in link]
    assert [] == [link for link in links if not (path.parent / link).exists()]
    assert [] == [name for name in set(re.findall(OF_THIS_REPOSITORY, text)) - MADE if not (ROOT / name).exists()]
    lines = named(text, "evenbench")
    assert {} == {line: unknown(line) for line in lines if unknown(line)}
    run = {study for line in lines for study in studies_named(line) if not study.endswith((".py", ".onnx"))}
    assert set() == run - {"all"} - set(file.available(STUDIES))
    targets = {word for line in named(text, "make") for word in line.split() if re.fullmatch("[a-z-]+", word)}
    assert set() == targets - set(TARGETS)


def test_a_wrong_command_option_and_study_are_seen() -> None:
    text = "`evenbench rum quick`, `evenbench fetch x`\n```\nevenbench plan quack --jason  # --no\n```\n"
    lines = named(text, "evenbench")

    assert [unknown(line) for line in lines] == [["--jason"], ["rum"], ["fetch"]]
    assert [studies_named(line) for line in lines] == [["quack"], [], []]


def test_pages_have_every_command_every_stack_and_every_kind_of_claim() -> None:
    lines = named((ROOT / "docs/commands.md").read_text(), "evenbench")
    assert set() == set(COMMANDS.commands) - {line.split()[0] for line in lines}

    table = re.search(r"^\| stack \|.*?\n\n", (ROOT / "docs/stacks.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    names = [name for row in table.group().strip().splitlines()[2:] for name in row.split("|")[1].strip().split(", ")]
    assert sorted(names) == sorted(path.parent.name for path in STACKS.glob("*/stack.toml"))

    text = (ROOT / "docs/study-format.md").read_text().split("| kind | has | holds where |")[1].split("\n\n")[0]
    kinds = [kind for line in text.splitlines() if line for kind in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert sorted(KINDS) == sorted(kinds)


def test_the_studies_of_the_readme_have_as_many_experiments_and_claims() -> None:
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| (\w+) \|.*\| (\d+) \| (\d+) \|$", readme, flags=re.MULTILINE)
    studies = {name: read(name) for name, _, _ in rows}

    assert len(rows) == 5
    assert {name: (int(experiments), int(claims)) for name, experiments, claims in rows} == {
        name: (len(study.experiments), len({paper_claim(claim.id) for claim in study.claims}))
        for name, study in studies.items()}


@pytest.mark.parametrize(("name", "most"), [("README.md", 130), ("CONTRIBUTING.md", 150)])
def test_pages_that_everybody_reads_are_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_text().splitlines()) <= most


def test_the_changelog_has_each_version_and_each_topic_in_it_once() -> None:
    sections = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]
    versions = [tuple(map(int, section.split()[0].split("."))) for section in sections if section[0].isdigit()]
    topics = [re.findall(r"^\*\*.+", section, flags=re.MULTILINE) for section in sections]

    assert versions == sorted(set(versions), reverse=True)
    assert [sorted(set(names)) for names in topics] == [sorted(names) for names in topics]


def test_make_has_at_most_twelve_targets_each_with_its_help() -> None:
    phony = re.search(r"^\.PHONY: (.+)", MAKEFILE, flags=re.MULTILINE)

    assert set(phony.group(1).split()) == set(TARGETS)
    assert len(TARGETS) <= 12
