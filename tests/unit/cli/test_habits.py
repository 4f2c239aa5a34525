"""Habits of command lines: each with its line and exit code."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import evenbench
from runner import __version__, cli, paths
from runner.cli import app, measuring, notebook
from runner.errors import InputError
from runner.launchers import choose
from runner.measuring import job
from runner.measuring.bench import Going, Request
from runner.planning.plan import Wishes
from runner.results import store
from tests import made_report
from tests.clock import FakeClock
from tests.fake_session import job_of
from tests.fakes import FakeLauncher

pytestmark = pytest.mark.usefixtures("known_interpreters")


def answered(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_version_is_one_line() -> None:
    answer = answered("--version")
    assert (0, f"evenbench {__version__}\n") == (answer.exit_code, answer.stdout)


@pytest.mark.parametrize("words", [("-h",), ("run", "-h"), ("data", "get", "-h")])
def test_h_is_help(words: tuple[str, ...]) -> None:
    answer = answered(*words)
    assert 0 == answer.exit_code and "Usage: " in answer.stdout


def test_help_is_in_groups() -> None:
    shown = answered("--help").stdout
    places = [shown.index(f" {group} ") for group in ("Measure", "Look", "Prove", "Prepare", "Maintain")]
    assert sorted(places) == places


def test_q_says_nothing_but_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made_report.stored(tmp_path / "a")
    quiet, loud = answered("report", folder, "-q"), answered("report", folder)
    assert (0, "") == (quiet.exit_code, quiet.stderr) and quiet.stdout == loud.stdout and loud.stderr
    monkeypatch.setattr(sys, "argv", ["evenbench", "report", "-q", "nobody", "--results", str(tmp_path)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert 2 == left.value.code and capsys.readouterr().err.startswith('evenbench: no result "nobody" in ')


def test_v_is_details(tmp_path: Path) -> None:
    folder = made_report.stored(tmp_path / "a")
    assert answered("report", folder, "-v").stdout == answered("report", folder, "--details").stdout
    assert len(answered("report", folder, "-v").stdout) > len(answered("report", folder).stdout)


def test_a_short_name_is_todays_stack() -> None:
    short, full = (answered("plan", "quick", "--launcher", "venv", "--stack", stacks, "--json", "-").stdout
                   for stacks in ("torch,tf,jax,mxnet", "torch-2.13-cpu,tf-2.21,jax-cpu,mxnet-1.9"))
    assert short == full and "mxnet-1.9" in full


def test_a_result_is_named_by_latest_or_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    one, two = made_report.stored(tmp_path / "20260101-a"), made_report.stored(tmp_path / "20260202-b")
    assert (two, two, one) == (store.located("latest", tmp_path), store.located("", tmp_path),
                               store.located("202601", tmp_path))
    with pytest.raises(InputError) as refused:
        store.located("2026", tmp_path)
    assert 'result "2026": found 2 that begin so, expected one: 20260101-a, 20260202-b' == str(refused.value)


@pytest.mark.parametrize(("words", "message"), [
    (("plan", "quick", "--device", "cpu", "--set", "device=gpu"),
     "found --device cpu and --set device=, expected one of them"),
    (("report", "x", "--csv", "-", "--json", "-"),
     "found --csv - and --json -, expected one of them on standard output"),
    (("report", "x", "--run", "all", "--latex", "-"), "found --run and --latex, expected one of them"),
    (("report", "x", "--study", "quick"), "found --study and RESULT, expected one of them"),
    (("images", "--prune", "torch-1.7"),
     "images: found --prune and torch-1.7, expected one of them; it removes all that are out of date"),
    (("check", "lenet5", "--all"), "check: found --all and lenet5, expected one of them"),
    (("check", "lenet5", "--set", "batch=8"), "check: found --set, which is of models of your own, MODEL.py"),
    (("check", "net.py", "--precision", "float32"), "check: found --precision, which is of tasks"),
    (("check", "--precision", "rounded float64"),
     '--precision: found "rounded float64", expected float64 or float32'),
    (("list", "stacks", "--scale", "quick"), "list stacks: found --scale, which only studies have"),
    (("sbom", "torch", "--csv", "-"), "sbom: found a file without --licences, whose table it is; --out FOLDER keeps "
                                      "CycloneDX")])
def test_options_that_contradict_each_other_are_refused(words: tuple[str, ...], message: str) -> None:
    assert message == str(answered(*words).exception)


SCALES = """
[study]
id = "sized"
title = "T"
scales = ["paper", "small", "quick"]
[[experiment]]
id = "e"
measure = "train"
task = "lenet5"
stacks = ["torch-2.13-cpu"]
steps = 1000000000
scale.small = { steps = 5 }
scale.quick = { steps = 10 }
"""


def test_a_study_without_a_scale_is_planned_at_the_largest_that_takes_no_hour_here(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    for_stacks = choose.for_stacks
    monkeypatch.setattr(choose, "for_stacks", lambda name, *rest: (made.append(name), for_stacks(name, *rest))[1])
    monkeypatch.setenv(paths.OWN_STUDIES, "")
    (tmp_path / "sized.toml").write_text(SCALES)
    for name in ("sized", tmp_path / "sized.toml"):
        answer = answered("plan", name, "--studies", tmp_path, "--launcher", "venv")
        assert re.search(r"^scale quick: paper takes about [\d,]+ days here; --scale paper chooses it$", answer.stderr,
                         re.MULTILINE)
    assert ["venv"] * 2 == made                # one launcher for all scales that are tried: compose's listens on a port
    for words in (("--scale", "paper"), ("--budget", "90m")):
        answer = answered("plan", "sized", "--studies", tmp_path, "--launcher", "venv", *words)
        assert 0 == answer.exit_code and "scale quick" not in answer.stderr
    assert "scale" not in answered("plan", "quick", "--launcher", "venv").stderr        # the default stays as it is


@pytest.mark.parametrize(("line", "offered"), [
    ("run krisi", {"krisilias"}), ("run quick --stack torch-2.13-c", {"torch-2.13-cpu"}),
    ("run quick --stack jax-cpu,mxnet-1.9", {"jax-cpu,mxnet-1.9"}), ("plan quick --set ba", {"batch="}),
    ("plan quick --set device=", {"device=cpu", "device=gpu"}), ("report 2026", {"20260202-b", "20260101-a"}),
    ("compare late", {"latest"}), ("list stu", {"studies"}), ("check lenet", {"lenet5"})])
def test_the_shell_offers_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, offered: set[str]) -> None:
    for name in ("20260101-a", "20260202-b"):
        made_report.stored(tmp_path / "results" / name)
    monkeypatch.chdir(tmp_path)
    words = {"_EVENBENCH_COMPLETE": "complete_bash", "COMP_WORDS": f"evenbench {line}",
             "COMP_CWORD": str(len(line.split()))}
    answer = CliRunner().invoke(app, [], env=words, prog_name="evenbench")
    assert offered == set(answer.stdout.split())


def test_more_than_an_hour_wants_a_yes() -> None:
    request = Request("long")
    with pytest.raises(InputError) as refused:
        measuring._agree(request, 7200.0)
    assert "long takes about 2.0 h: --yes measures it, --budget 1h fewer steps of it" == str(refused.value)
    measuring._agree(request, 3600.0)
    measuring._agree(request._replace(going=Going(is_agreed=True)), 7200.0)
    measuring._agree(request._replace(wishes=Wishes(budget_seconds=9e3)), 7200.0)


def test_a_fresh_session_asks_though_one_of_the_same_command_is_unfinished(tmp_path: Path) -> None:
    request = Request("s", results=tmp_path, going=Going(is_fresh=True))
    long = job_of(FakeLauncher(FakeClock()), wishes=Wishes(settings={"steps": 10**9}), request=request)
    with store.Store(tmp_path / "1-s") as opened:
        opened.append(job.session_record(long, opened.folder, is_resumed=False))
    with pytest.raises(InputError, match="--yes measures it"):
        measuring._ran(long)


def test_compare_says_the_ratios_first_and_what_differed_with_details(tmp_path: Path) -> None:
    one, two = made_report.stored(tmp_path / "a"), made_report.stored(tmp_path / "b")
    short, long = answered("compare", one, two).stdout, answered("compare", one, two, "--details").stdout
    assert short.startswith("Times as fast as torch in each session:") and "Samples a second" not in short
    assert long.startswith(short[:short.rindex("\n\n")]) and "Samples a second of one worker (runs):" in long


def test_a_report_from_a_folder_that_cannot_be_written_is_printed_all_the_same(tmp_path: Path) -> None:
    folder = made_report.stored(tmp_path / "a")
    for name in (".summary.json", ".report.html"):       # where root may write everything: no file can take their place
        (folder / name).mkdir()
    answer = answered("report", folder)
    assert 0 == answer.exit_code and "no page: " in answer.stderr and "Which is faster here?" in answer.stdout
    assert not (folder / "report.html").exists() and not (folder / "summary.json").exists()


def test_a_report_says_which_files_changed_since_the_session(tmp_path: Path) -> None:
    folder = made_report.stored(tmp_path / "a")
    assert "not as the session left them" not in answered("report", folder).stdout
    events = folder / "events.jsonl"
    events.write_text(events.read_text().rstrip("\n") + " \n")
    assert "not as the session left them: events.jsonl" in " ".join(answered("report", folder).stdout.split())


HERE = "DataFrame" if importlib.util.find_spec("pandas") else "Table"


@pytest.mark.parametrize(("absent", "kind"), [((), HERE), (("pandas", "pyarrow"), "list")])
def test_a_notebook_reads_ratios_and_samples_by_the_library_that_it_has(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: tuple[str, ...], kind: str) -> None:
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    result = evenbench.load("latest", made_report.stored(tmp_path / "a").parent)
    ratios = result.ratios()
    assert {"comparison", "stack", "rate", "ratio", "low", "high", "word"} == set(ratios[0])
    other = next(row for row in ratios if row["ratio"] is not None)
    assert other["low"] < other["ratio"] < other["high"]
    samples = result.frame()
    assert kind == type(samples).__name__
    assert len(samples) == len(list(notebook.export.rows(notebook.measured_in(result.folder))))
