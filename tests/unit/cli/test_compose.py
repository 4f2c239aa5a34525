"""From compose.yaml's variables to one command."""

from collections.abc import Iterator
from typing import Any

import pytest

from runner import paths
from runner.cli import compose, options
from runner.errors import InputError
from runner.launchers.inside import InsideLauncher
from runner.launchers.nodes import Nodes
from runner.machine import host
from runner.machine.host import Machine
from runner.stacks import definition
from runner.study import file
from workloads.process import control_groups

DEFAULT = {**dict.fromkeys(["PARALLEL", "TASK", "BATCH", "STEPS", "ROUNDS", "DATA", "DATA_FOLDER"], ""),
           "STACK": "torch-1.7", "NODE_CPU_QUOTA": "400000", "NODE_MEMORY": "16g", "STALL": "50"}
SMALL = Machine("a CPU", 2, 24 * 2**30, "6.1", "Debian", "host")
LARGE = Machine("a CPU", 64, 256 * 2**30, "6.1", "Debian", "host")


def settings(words: list[str]) -> dict[str, str]:
    pairs = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    return dict(pair.split("=", 1) for pair in pairs)


@pytest.mark.parametrize(("machine", "more", "cpus", "memory", "sentences"), [
    (LARGE, {}, "4", 16, []), (LARGE, {"RESULTS": "/home/me/out"}, "4", 16, ["results/ below is /home/me/out"]),
    (SMALL, {}, "1", 6, ["nodes: 4 CPUs and 17.2 GB asked, 0.67 CPUs and 6.4 GB each: "
                         "the machine has 2 CPUs and 25.8 GB for 3 nodes"])])
def test_each_node_gets_what_is_asked_or_what_the_machine_has_and_a_sentence_says_so(
        machine: Machine, more: dict[str, str], cpus: str, memory: int, sentences: list[str]) -> None:
    said: list[str] = []
    words = compose.arguments({**DEFAULT, **more}, machine, said.append)
    assert {"cpus": cpus, "memory_bytes": str(memory * 2**30)} == settings(words) and sentences == said   # no steps
    assert "--yes" in words                          # nobody can be asked, however long it takes


def test_the_machine_of_the_nodes_is_the_whole_one_whatever_limits_the_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """compose.yaml gives the runner 2 GB of its own: the nodes once got a third of these."""
    before = host.whole()
    monkeypatch.setattr(control_groups, "limit_bytes", lambda: 2**31)
    monkeypatch.setattr(control_groups, "cpu_quota", lambda: 0.5)
    nodes = Nodes(("127.0.0.1", 0), b"", "")
    launcher = InsideLauncher(nodes, None, 4)
    try:
        assert before == launcher.machine(host.observe()) == host.whole()
        assert (1, 2**31) == (host.observe().cpus, host.observe().memory_bytes)
    finally:
        nodes.close()


def test_variables_become_settings_that_the_command_understands() -> None:
    words = compose.arguments({**DEFAULT, "STACK": "tf-2.5", "PARALLEL": "ps-async", "TASK": "alexnet", "BATCH": "8",
                               "STEPS": "5", "ROUNDS": "1"}, LARGE, print)
    settings = options.settings([word for i, word in enumerate(words) if words[i - 1] == "--set"])
    assert settings == {"cpus": 4, "memory_bytes": 16 * 2**30, "parallel": "ps-async", "task": "alexnet", "batch": 8,
                        "steps": 5, "seconds": 0.0}
    assert ["--stack", "tf-2.5"] == words[words.index("--stack"):][:2]
    assert ["--rounds", "1"] == words[words.index("--rounds"):][:2]


def test_without_a_stack_the_study_s_own_three_are_compared() -> None:
    words = compose.arguments({**DEFAULT, "STACK": ""}, LARGE, print)
    assert "--stack" not in words and "--rounds" not in words
    study = file.read("cluster", paths.STUDIES)
    assert ("tf-2.5", "torch-1.7", "mxnet-1.7") == study.experiments[0].stacks
    assert 8 == study.rounds and "sync" == study.experiments[0].settings["parallel"]


def test_data_of_the_user_s_own_is_named_with_its_folder() -> None:
    assert "digits32=/data/digits32-10000-drawn" in compose.arguments(DEFAULT, LARGE, print)
    assert "cifar10=/data" in compose.arguments({**DEFAULT, "DATA": "cifar10", "DATA_FOLDER": "/c"}, LARGE, print)
    with pytest.raises(InputError, match="belong together"):
        compose.arguments({**DEFAULT, "DATA_FOLDER": "/c"}, LARGE, print)


@pytest.mark.parametrize(("name", "value"), [("NODE_MEMORY", "much"), ("NODE_MEMORY", "-1g"), ("NODE_CPU_QUOTA", "10"),
                                             ("NODE_CPU_QUOTA", "x00000")])
def test_limits_that_are_none_are_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InputError, match=name):
        compose.arguments({**DEFAULT, name: value}, LARGE, print)


class Owned:
    """A folder or file that belongs to somebody; it holds so many files."""

    def __init__(self, user: int, group: int, files: int = 0) -> None:
        self.st_uid, self.st_gid, self.files = user, group, files

    def stat(self) -> "Owned":
        return self

    def iterdir(self) -> Iterator[str]:
        return iter(["a"] * self.files)


@pytest.mark.parametrize(("folder", "becomes", "is_given"), [
    (Owned(1001, 100), (1001, 100), False),
    (Owned(0, 0), (1000, 99), True),                      # not there before: the engine has made it
    (Owned(0, 0, files=1), (0, 0), False)])
def test_the_runner_becomes_the_owner_of_the_results_or_of_the_file(
        folder: Any, becomes: tuple[int, int], is_given: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    file: Any = Owned(1000, 99)
    for name in ("chown", "setgroups", "setgid", "setuid"):
        monkeypatch.setattr(f"os.{name}", lambda *values, name=name: done.append((name, *values)))
    compose.become_owner(folder, file)
    given: list[object] = [("chown", folder, 1000, 99)] if is_given else []
    assert [*given, ("setgroups", []), ("setgid", becomes[1]), ("setuid", becomes[0])] == done   # in this order alone


def test_the_study_is_of_as_many_nodes_as_compose_has() -> None:
    [experiment] = file.read("cluster", paths.STUDIES).experiments
    assert compose.NODES == experiment.settings["nodes"]
    assert all(f"  node{rank}: " in (paths.ROOT / "compose.yaml").read_text() for rank in range(compose.NODES))


@pytest.mark.parametrize(("name", "told"), [("tf-2.5", "${STACK:-tf-2.5}"), ("torch-1.7", "torch-1.7"),
                                           ("mxnet-1.7", "mxnet-1.7")])
def test_compose_builds_its_stacks_by_what_their_files_say(name: str, told: str) -> None:
    values = {**definition.read(paths.STACKS / name).build_arguments, "STACK": told}
    [built] = [part for part in (paths.ROOT / "compose.yaml").read_text().split("  make-images.")
               if f'STACK: "{told}"' in part]
    assert all(f'        {key}: "{value}"\n' in built for key, value in values.items())
