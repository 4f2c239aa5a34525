"""The command line: what it imports, what it answers to a command that it has not, how options are read."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner import paths
from runner.cli import COMMANDS, app, commands_of, preparing, summaries
from runner.cli.options import Commands, duration, share, span
from runner.cli.request import Form, Settled
from runner.errors import InputError, unknown
from runner.findings import Finding
from runner.measuring.bench import Going, Request
from runner.planning.plan import Wishes
from tests.stack_folder import study_toml


@pytest.mark.parametrize("module", sorted({module for module, _ in COMMANDS.values()}))
def test_the_table_of_commands_names_all_that_a_module_has_and_their_list_says_what_their_own_help_says(
        module: str) -> None:
    own = {name: (command.help or "").split("\n\n")[0].replace("\n", " ") for name, command in
           commands_of(module).items()}
    assert {name for name, (where, _) in COMMANDS.items() if where == module} == set(own)
    assert own == dict(summaries(module))


@pytest.mark.parametrize(("does", "says", "not_imported"), [
    ("from runner import cli; cli.commands_of('results')", "",
     {"docker", "requests", "jinja2", "runner.cli.measuring"}),
    ("from runner import cli; cli.app(['list'], standalone_mode=False)", "torch-2.13-cpu", {"docker", "requests"}),
    ("from runner import cli; cli.app(['--help'], standalone_mode=False)", "Usage:",
     {"numpy", "pydantic", "runner.planning.plan", *(f"runner.cli.{module}" for module, _ in COMMANDS.values())}),
    ("path = list(sys.path); import evenbench; assert path == sys.path; from runner.application import read", "",
     {"typer", "runner.cli"})], ids=["reading", "listing", "help", "a notebook, which finds its path as it was"])
def test_what_is_not_needed_is_not_imported(does: str, says: str, not_imported: set[str]) -> None:
    program = f"import sys; {does}; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert says in answer.stdout and not not_imported & set(answer.stdout.split())


def test_a_command_that_nobody_knows_is_answered_with_the_one_that_may_be_meant() -> None:
    shown = CliRunner().invoke(app, ["reprot"])
    assert 2 == shown.exit_code and "No such command 'reprot'. Did you mean 'report'" in shown.output


def test_help_prints_what_agents_need_and_a_command_s_own_help() -> None:
    agents, plan, unknown = (CliRunner().invoke(app, ["help", topic]) for topic in ("agents", "plan", "plam"))
    assert (paths.ROOT / "AGENTS.md").read_text() == agents.output
    assert "evenbench plan" in plan.output or "plan [OPTIONS]" in plan.output
    assert isinstance(unknown.exception, InputError)


@pytest.mark.parametrize(("name", "hint"), [("torch-2.13", 'did you mean "torch-2.13-cpu" or "torch-2.13-gpu"?'),
                                            ("tf-2.22", 'did you mean "tf-2.21"?'),
                                            ("caffe", "known: .*torch-2.13-gpu$")])
def test_an_unknown_stack_is_told_with_those_that_may_be_meant(name: str, hint: str) -> None:
    known = ["tf-2.21", "torch-1.4", "torch-2.0", "torch-2.13-cpu", "torch-2.13-gpu"]
    assert re.search(hint.replace("?", r"\?"), str(unknown("stack", name, known)))


def test_the_doctor_s_commands_stand_on_lines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Finding("swap", "good", "none"),
             Finding("engine", "note", "no answer", "start it: `sudo systemctl start docker`")]
    monkeypatch.setattr(preparing.host, "examine", lambda stacks, cache: found)
    shown = CliRunner().invoke(app, ["doctor"]).output

    assert "engine: start it: `sudo systemctl start docker`\n" in shown and "swap:" not in shown and "mend" not in shown


@pytest.mark.parametrize(("read", "text", "value"), [
    (share, "3%", 0.03), (share, "0%", 0.0), (share, "2.5 %", 0.025),
    (duration, "90m", 5400), (duration, "12h", 43200), (duration, "1.5 h", 5400), (duration, "2d", 172800),
    *((share, text, "a share below 100 %") for text in ("3", "-1%", "100%", "", "three%", "1e9%", "nan%", "2%%")),
    *((duration, text, "minutes, hours or days, such as 90m")
      for text in ("12", "0h", "-1h", "", "12 hours", "30s"))])
def test_a_share_or_a_duration_is_read_or_refused_in_one_line(read: Callable[[str, str], float], text: str,
                                                               value: float | str) -> None:
    if isinstance(value, str):
        with pytest.raises(InputError, match=f"--option: found .*, expected {value}"):
            read("--option", text)
    else:
        assert value == pytest.approx(read("--option", text))


def test_a_span_is_two_whole_numbers_the_lower_one_first() -> None:
    assert ("batch", 1, 256) == span("--sweep", "batch=1..256")
    for text in ("batch", "batch=1", "batch=5..5", "batch=9..3", "batch=-1..3", "batch=1.5..3", "=1..2", "a=1..2,4"):
        with pytest.raises(InputError, match=r"--sweep: found .*, expected KEY=LOW\.\.HIGH"):
            span("--sweep", text)


@pytest.mark.usefixtures("known_interpreters")
@pytest.mark.parametrize("is_named", [True, False], ids=["option", "variable"])
def test_a_study_of_a_folder_is_planned_by_its_name(tmp_path: Path, is_named: bool) -> None:
    (tmp_path / "mine.toml").write_text(study_toml("torch-2.13-cpu"))
    option, variable = (["--studies", str(tmp_path)], {}) if is_named else ([], {paths.OWN_STUDIES: str(tmp_path)})
    answer = CliRunner().invoke(app, ["plan", "mine", *option, "--launcher", "venv", "--json", "-"], env=variable)

    assert 0 == answer.exit_code, answer.output
    assert '"lenet5"' in answer.output and paths.OWN_STUDIES not in os.environ


@pytest.mark.parametrize("command", ["run", "plan", "rerun", "gate", "list", "check", "images", "lock"])
def test_commands_of_studies_and_stacks_have_all_three_options(command: str) -> None:
    assert {"--studies", "--stacks"} <= {name for parameter in commands_of(COMMANDS[command][0])[command].params
                                         for name in parameter.opts}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_two_options_of_a_command_write_to_one_name(command: str) -> None:
    """Else `--stack NAME` would name a folder."""
    names = [parameter.name for parameter in commands_of(COMMANDS[command][0])[command].params]

    assert len(set(names)) == len(names)


def made(*words: str) -> list[Request]:
    """The request of a command with all options, as these words ask."""
    commands, seen = Commands(), []

    @commands.command()
    def command(name: str, form: Form, settled: Settled, going: Going) -> None:
        seen.append(form.request(name, settled)._replace(going=going))

    assert 0 == CliRunner().invoke(commands, list(words), catch_exceptions=False).exit_code
    return seen


def test_every_option_is_handed_down_in_one_request_and_without_any_the_study_is_asked_for_as_it_is() -> None:
    wishes = Wishes(("torch-1.7", "tf-2.5"), 3, 7, "tf-2.5", {"batch": 8, "device": "gpu"})
    assert [Request("s", "paper", "inside:venv", "cifar10=d", wishes, results=Path("r"),
                    going=Going(is_fresh=True, stall=9.0))] == made(
        "s", "--scale", "paper", "--launcher", "inside:venv", "--data", "cifar10=d", "--stack", "torch-1.7,tf-2.5",
        "--rounds", "3", "--seed", "7", "--baseline", "tf-2.5", "--set", "batch=8", "--device", "gpu",
        "--results", "r", "--fresh", "--stall", "9")
    assert [Request("quick")] == made("quick")
