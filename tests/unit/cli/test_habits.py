"""Habits of command lines, and commands that read results: each with its line and exit code."""

import csv
import importlib.util
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import evenbench
from runner import __version__, cli
from runner.application import measure, read
from runner.cli import app
from runner.errors import BuildFailed, InputError
from runner.launchers import choose
from runner.measuring import session_record
from runner.measuring.bench import Going, Request
from runner.planning.plan import Wishes
from runner.results import store
from runner.stacks import environments
from runner.stacks.definition import Stack
from tests import made_report, made_rows, own_environment
from tests.clock import FakeClock
from tests.fake_session import job_of
from tests.fakes import FakeLauncher

pytestmark = pytest.mark.usefixtures("known_interpreters")


def answered(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The result "a" of two stacks."""
    return made_report.stored(tmp_path / "a", "a")


@pytest.fixture
def two(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results "a" and "b" in this directory."""
    made_report.stored(tmp_path / "b", "b")
    monkeypatch.chdir(tmp_path)


def test_the_version_is_one_line() -> None:
    answer = answered("--version")
    assert (0, f"evenbench {__version__}\n") == (answer.exit_code, answer.stdout)


@pytest.mark.parametrize("words", ["-h", "run -h", "data get -h"])
def test_h_is_help(words: str) -> None:
    answer = answered(*words.split())
    assert 0 == answer.exit_code and "Usage: " in answer.stdout


def test_help_is_in_groups() -> None:
    shown = answered("--help").stdout
    places = [shown.index(f" {group} ") for group in ("Measure", "Look", "Prove", "Prepare", "Maintain")]
    assert sorted(places) == places


def test_q_says_nothing_but_what_is_wrong(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    quiet, loud = answered("report", folder, "-q"), answered("report", folder)
    assert (0, "") == (quiet.exit_code, quiet.stderr) and quiet.stdout == loud.stdout and loud.stderr
    monkeypatch.setattr(sys, "argv", ["evenbench", "report", "-q", "nobody", "--results", str(tmp_path)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert 2 == left.value.code and capsys.readouterr().err.startswith('evenbench: no result "nobody" in ')


def test_v_is_details(folder: Path) -> None:
    detailed = answered("report", folder, "-v").stdout
    assert detailed == answered("report", folder, "--details").stdout
    assert len(detailed) > len(answered("report", folder).stdout)


def test_a_short_name_is_todays_stack() -> None:
    short, full = (answered("plan", "quick", "--launcher", "venv", "--stack", stacks, "--json", "-").stdout
                   for stacks in ("torch,tf,jax,mxnet", "torch-2.13-cpu,tf-2.21,jax-0.10-cpu,mxnet-1.9"))
    assert short == full and "mxnet-1.9" in full


def test_a_result_is_named_by_latest_or_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    one, two = made_report.stored(tmp_path / "20260101-a"), made_report.stored(tmp_path / "20260202-b")
    assert (two, one) == (store.located("latest", tmp_path), store.located("202601", tmp_path))
    with pytest.raises(InputError, match='found ""'):
        store.located("", tmp_path)
    with pytest.raises(InputError, match=r'"2026": found 2 .*, expected one: 20260101-a, 20260202-b'):
        store.located("2026", tmp_path)


@pytest.mark.parametrize(("words", "message"), [
    ("plan quick --device cpu --set device=gpu", "found --device cpu and --set device=, expected one"),
    ("plan quick --tuned --set loop=xla", "found --tuned and --set loop=, expected one"),
    ("run net.py --tuned", "--tuned: found it with net.py, expected a study"),
    ("run quick --stack ,", '--stack: found "", expected a stack'),
    ("run quick --until 0%", '--until: found "0%", expected a share above 0 % and below 100 %'),
    ("run quick --sweep foo=1..4", '--sweep: key "foo" is unknown'),
    ("run quick --sweep batch=1..4 --set batch=8", "--sweep batch=1: found batch twice"),
    ("run quick --sweep batch=1..4 --set bach=8", '--set: key "bach" is unknown'),
    ("report x --csv - --json -", "found --csv - and --json -, expected one of them on standard output"),
    ("report x --run all --latex -", "found --run and --latex, expected one"),
    ("report x --study quick", "found --study and RESULT, expected one"),
    ("images --prune torch-1.7", "images: found --prune and torch-1.7, expected one"),
    *[(f"run net.py {option} ''", f'{option}: found "", expected a value, or no {option}') for option in (
        "--lane", "--with", "--data", "--scale", "--device", "--studies", "--results", "--csv", "--stack")],
    ("run net.py --lane=", '--lane: found "", expected a'), ("run net.py --lane ,", '--lane: found ",", expected a'),
    ("run net.py --scale long", "--scale long: found it with a model of your own"),
    ("init torch x.txt", "init: found x.txt, expected a name that ends with .py"),
    ("report ''", 'report: found "", expected a value'),
    ("check lenet5 --all", "check: found --all and lenet5, expected one"),
    ("check lenet5 --set batch=8", "check: found --set, which is of models of your own"),
    ("check lenet5 --stack torch,torch-2.13-cpu --launcher venv", "check: found torch-2.13-cpu alone"),
    ("check net.py --precision float32", "check: found --precision, which is of tasks"),
    ("check --precision 'rounded float64'", '--precision: found "rounded float64", expected float64'),
    ("list stacks --scale quick", "list stacks: found --scale, which only studies")])
def test_options_that_contradict_each_other_are_refused(words: str, message: str) -> None:
    assert message in str(answered(*shlex.split(words)).exception)


def test_what_a_gate_cannot_compare_is_said_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(own_environment.made(tmp_path / "env", torch="2.13.0", numpy="2.4.6"))
    assert 0 == answered("init", "torch", tmp_path / "m.py").exit_code
    for words, message in (
            (("--base", tmp_path / "env", "--head", tmp_path / "link"), "base and head hold the same packages"),
            ((tmp_path / "m.py", "--base", "pytorch", "--head", "onnxruntime", "--set", "measure=train"),
             "nothing is common to pytorch and onnxruntime"),
            (("krisilias/kri-f5", "--base", "torch-1.7", "--head", "tf-2.5"),
             "nothing is common to torch-1.7 and tf-2.5: no timed comparison has both"),
            ((tmp_path / "m.py", "--base", tmp_path / "env", "--head", "tf", "--lane", "pytorch,onnxruntime"),
             "--lane pytorch,onnxruntime: found several, expected one"),
            ((tmp_path / "m.py", "--base", "pytorch", "--head", "onnxruntime", "--lane", "openvino"),
             "--lane openvino: found columns on both sides, expected no --lane"),
            (("--base", "torch", "--head", "torch-2.13-cpu"), 'found "torch" on both sides, expected two stacks'),
            ((tmp_path / "m.py", "--base", "pytorch", "--head", "onnx"), 'column "onnx" is unknown; known: pytorch')):
        assert message in str(answered("gate", *words, "--launcher", "venv", "--results", tmp_path).exception)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stacks whose environments are asked for; none is built."""
    names: list[str] = []

    def ready(stack: Stack, *others: object) -> None:
        names.append(stack.name)
        raise BuildFailed("nothing is built in this test")

    monkeypatch.setattr(environments, "ready", ready)
    return names


def test_a_check_without_stacks_builds_today_s_four_alone(tmp_path: Path, asked: list[str]) -> None:
    nothing = answered("check", "lenet5", "--launcher", "venv", "--results", tmp_path)
    assert (1, ["jax-0.10-cpu", "mxnet-1.9", "tf-2.21", "torch-2.13-cpu"]) == (nothing.exit_code, sorted(asked))


@pytest.mark.parametrize(("words", "why"), [
    ("--stack torch,jax", "nothing is built"), ("--stack torch --loop tuned", "nothing is built"),
    ("--stack openvino-2026.4-cpu --parallel", "openvino has no parallel sync")])
def test_a_stack_that_is_named_and_cannot_be_checked_fails_the_check_with_the_reason(
        words: str, why: str, tmp_path: Path, asked: list[str]) -> None:
    told = answered("check", "lenet5", *words.split(), "--launcher", "venv", "--results", tmp_path, "--json", "-")
    rows = json.loads(told.stdout)["rows"]
    assert (1, len(words.split()[1].split(","))) == (told.exit_code, len(rows))
    assert all(why in each["problem"] and not each["passed"] for each in rows)


SCALES = """
[study]
id = "mine"
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
    (tmp_path / "mine.toml").write_text(SCALES)
    for name in ("mine", tmp_path / "mine.toml"):
        answer = answered("plan", name, "--studies", tmp_path, "--launcher", "venv")
        assert re.search(r"^scale quick: paper takes about [\d,]+ days here; --scale paper chooses it$", answer.stderr,
                         re.MULTILINE)
    assert ["venv"] * 2 == made                # one launcher for all scales that are tried: that of a cluster listens
    answer = answered("plan", "mine", "--studies", tmp_path, "--launcher", "venv", "--scale", "paper")
    assert 0 == answer.exit_code and "scale quick" not in answer.stderr
    assert "scale" not in answered("plan", "quick", "--launcher", "venv").stderr        # the default stays as it is


@pytest.mark.parametrize(("line", "offered"), [
    ("run krisi", {"krisilias"}), ("run quick --stack torch-2.13-c", {"torch-2.13-cpu"}),
    ("run quick --stack jax-0.10-cpu,mxnet-1.9", {"jax-0.10-cpu,mxnet-1.9"}), ("plan quick --set ba", {"batch="}),
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
    with pytest.raises(InputError, match=r"^long takes about 2\.0 h: --yes"):
        measure.agree(request, 7200.0)
    measure.agree(request, 3600.0)
    measure.agree(request._replace(going=Going(is_agreed=True)), 7200.0)


@pytest.mark.parametrize(("asked", "most"), [(None, 50), (9, 9)])
def test_a_width_is_part_of_the_command_and_adds_rounds_up_to_those_that_are_asked_for(
        asked: int | None, most: int) -> None:
    job = measure.named(Request("quick", launcher="venv", until=0.02, wishes=Wishes(rounds=asked)))
    assert (most, 0.02) == (job.plan.rounds, job.facts["until"])


def test_a_fresh_session_asks_though_one_of_the_same_command_is_unfinished(tmp_path: Path) -> None:
    request = Request("s", results=tmp_path, going=Going(is_fresh=True))
    long = job_of(FakeLauncher(FakeClock()), wishes=Wishes(settings={"steps": 10**9}), request=request)
    with store.Store(tmp_path / "1-s") as opened:
        opened.append(session_record.of(long, opened.folder, is_resumed=False))
    with pytest.raises(InputError, match="--yes measures it"):
        measure.ran(long)


def test_compare_says_the_ratios_first_and_what_differed_with_details(two: None) -> None:
    short, long = (answered("compare", "./a", "./b", *more).stdout for more in ((), ("--details",)))
    assert short.startswith("Times as fast as torch in each session:") and "Rates of" not in short
    assert long.startswith(short[:short.rindex("\n\n")]) and "Rates of one worker (runs):" in long


@pytest.mark.parametrize(("results", "name"), [
    ("results", "1-quick-a"), ("elsewhere", "elsewhere/1-quick-a")])
def test_commands_of_a_report_name_a_result_as_they_find_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: str, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    made_report.stored(tmp_path / results / "1-quick-a")
    for words in (("1-quick-a",), ("--study", "quick")):
        told = answered("report", *words, "--results", results, "--json", "-").stdout
        assert {name} == set(re.findall(r"evenbench rerun (\S+) --cell", told))


def test_a_report_from_a_folder_that_cannot_be_written_is_printed_all_the_same(folder: Path) -> None:
    for name in (".summary.json", ".report.html"):       # where root may write everything: no file can take their place
        (folder / name).mkdir()
    answer = answered("report", folder)
    assert 0 == answer.exit_code and "no page: " in answer.stderr and "Which is faster here?" in answer.stdout
    assert not (folder / "report.html").exists() and not (folder / "summary.json").exists()


def test_a_report_says_which_files_changed_since_the_session(folder: Path) -> None:
    assert "not as the session left them" not in answered("report", folder).stdout
    events = folder / "events.jsonl"
    events.write_text(events.read_text().rstrip("\n") + " \n")
    assert "not as the session left them: events.jsonl" in " ".join(answered("report", folder).stdout.split())


HERE = "DataFrame" if importlib.util.find_spec("pandas") else "list"


@pytest.mark.parametrize(("absent", "kind"), [((), HERE), (("pandas",), "list")])
def test_a_notebook_reads_ratios_and_samples_by_the_library_that_it_has(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: tuple[str, ...], kind: str) -> None:
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    records = made_report.records(made_report.DONE, plan={"rounds": 20})
    result = evenbench.load("latest", made_rows.kept(tmp_path / "a", *records).parent)
    ratios = result.ratios()
    assert {"comparison", "task", "measure", "batch", "stack", "rate", "unit", "ratio", "low", "high",
            "verdict"} == set(ratios[0])
    assert "1 comparison, 5 of 20 rounds" in repr(result) and len(repr(result)) < 100
    other = next(row for row in ratios if row["ratio"] is not None)
    assert other["low"] < other["ratio"] < other["high"]
    samples = result.frame()
    assert kind == type(samples).__name__
    assert len(samples) == len(list(read.export.rows(read.measured_in(result.folder))))


@pytest.mark.parametrize(("schema", "refusal"), [
    (store.SCHEMA, "/events.jsonl: there is no plan, so nothing was measured"),
    (store.SCHEMA - 1, "/events.jsonl:1: schema 2 is from before turns"),
    (store.SCHEMA + 1, "/events.jsonl:1: schema 4 is newer")])
def test_a_session_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path, schema: int, refusal: str) -> None:
    (tmp_path / "events.jsonl").write_text(f'{{"event": "session", "schema": {schema}, "id": "a"}}\n')
    assert refusal in str(answered("report", tmp_path).exception)


@pytest.mark.parametrize(("words", "refusal"), [
    ("report a --run nobody", "--run all` lists them"),
    ("report a --html gone/page.html", "--html gone/page.html: there is no folder gone"),
    ("report a --csv .", ".: found a folder, expected the name of a file"),
    ("history . --html a", "a: found a folder, expected the name of a file"),
    ("report a --csv /proc/page.csv", "/proc/page.csv: No such file or directory; name another file")])
def test_a_run_or_a_file_that_cannot_be_is_refused(words: str, refusal: str, two: None) -> None:
    assert refusal in str(answered(*words.split()).exception)


def test_history_tells_of_a_result_that_cannot_be_read_and_shows_the_others(two: None, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c/events.jsonl").write_text("{\n")
    answer = answered("history", tmp_path)
    assert 0 == answer.exit_code
    assert "left out: " in answer.output and "c/events.jsonl:1: not JSON" in answer.output.replace("\n", "")
    assert "History of 2 sessions" in answer.output
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    assert "copy is a copy of" in answered("history", tmp_path).output.replace("\n", "")


def test_a_link_and_a_device_are_written_to_and_not_taken_away(folder: Path, tmp_path: Path) -> None:
    """As /dev/stdout and /dev/null are, where root may replace them."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "out").open("wb") as out:
        reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=out)
    for name in ("link", "pipe"):
        assert 0 == answered("report", folder, "--json", tmp_path / name).exit_code
    assert 0 == reader.wait(60)

    assert (tmp_path / "link").is_symlink() and (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "file").read_text() == (tmp_path / "out").read_text() != ""


@pytest.mark.parametrize(("words", "title"), [
    ("list results --results .", "result"), ("list", "stack"), ("report a", "stack"), ("report a --run all", "run"),
    ("compare a b", "stack"), ("history .", "stack"), ("paper tian", "figure"),
    ("plan quick --launcher venv", "stack"), ("data", "data")])
def test_every_command_with_a_table_gives_it_in_three_forms(words: str, title: str, two: None) -> None:
    made = answered(*words.split(), "--csv", "x.csv", "--markdown", "x.md", "--json", "-")
    assert isinstance(json.loads(made.stdout)["schema"], int)
    assert title in next(csv.reader(io.StringIO(Path("x.csv").read_text())))
    assert "\n| --- |" in Path("x.md").read_text()
    assert not Path("a/report.html").exists()            # standard output is all that was asked for


def test_a_form_in_a_file_leaves_the_table_on_the_terminal(two: None) -> None:
    shown = answered("list", "results", "--results", ".", "--csv", "x.csv")
    assert "result" in shown.stdout and "written: x.csv" in shown.stderr
    assert Path("x.csv").read_text().startswith("result,study,launcher,runs,ok,state\na,")
