"""Containers of a run: what is left where the engine starts only some, and what is recorded of the engine."""

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from docker.errors import APIError

from runner.errors import EngineUnreachable
from runner.launchers.docker import DockerLauncher
from runner.paths import ROOT
from runner.stacks.definition import read
from runner.stacks.images import Image
from workloads.spec.cell import Cell

STACK = read(ROOT / "docker" / "torch-1.7")
ONE = Cell(STACK.name, "lenet5", "train", cpus=1)


@pytest.fixture
def client() -> Any:
    return MagicMock()


@pytest.fixture
def launcher(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DockerLauncher:
    monkeypatch.setattr("runner.stacks.images.build", lambda client, stack, say: Image("i", "b", True, "f"))
    launcher = DockerLauncher(client, cache=tmp_path)
    launcher.prepare([STACK], lambda line: None)
    return launcher


def test_where_the_second_place_does_not_start_the_first_and_the_network_are_removed(
        launcher: Any, client: Any, tmp_path: Path) -> None:
    client.containers.create.side_effect = [first := MagicMock(), APIError("500", explanation="no room")]
    with pytest.raises(EngineUnreachable, match="the engine did not start a container: no room"):
        launcher.start(ONE._replace(nodes=3, parallel="allreduce"), STACK, tmp_path, "r.0.1")
    first.remove.assert_called_once_with(force=True, v=True)
    client.networks.create.return_value.remove.assert_called_once_with()


def test_an_engine_that_did_not_say_its_version_is_asked_again_and_then_no_more(
        launcher: Any, client: Any, tmp_path: Path) -> None:
    client.version.side_effect = [OSError("timed out"), {"Version": "27.1"}]
    engines = [launcher.start(ONE, STACK, tmp_path, "r.0.1").place["engine"] for _ in range(3)]
    assert ["Docker", "Docker 27.1", "Docker 27.1"] == engines
