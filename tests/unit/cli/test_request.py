"""One request, made of the options of commands that measure."""

from pathlib import Path

from typer.testing import CliRunner

from runner.cli.options import Commands
from runner.cli.request import Form, Settled
from runner.measuring.bench import Going
from runner.measuring.request import Request
from runner.planning.plan import Wishes


def made(*words: str) -> list[Request]:
    """The request of a command with all options, as these words ask."""
    app, seen = Commands(), []

    @app.command()
    def command(name: str, form: Form, settled: Settled, going: Going) -> None:
        seen.append(form.request(name, settled)._replace(going=going))

    assert 0 == CliRunner().invoke(app, list(words), catch_exceptions=False).exit_code
    return seen


def test_without_options_the_study_is_asked_for_as_it_is() -> None:
    assert [Request("quick")] == made("quick")


def test_every_option_is_handed_down_in_one_request() -> None:
    wishes = Wishes(("torch-1.7", "tf-2.5"), 3, 7, "tf-2.5", {"batch": 8, "device": "gpu"}, budget_seconds=43200.0)
    assert [Request("s", "paper", "swarm:encrypted", "cifar10=d", wishes, results=Path("r"),
                    going=Going(is_fresh=True, stall=9.0))] == made(
        "s", "--scale", "paper", "--launcher", "swarm:encrypted", "--data", "cifar10=d", "--stack", "torch-1.7,tf-2.5",
        "--rounds", "3", "--seed", "7", "--baseline", "tf-2.5", "--set", "batch=8", "--device", "gpu", "--budget",
        "12h", "--results", "r", "--fresh", "--stall", "9")
