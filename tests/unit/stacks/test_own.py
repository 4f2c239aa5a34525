"""Stacks of the user's own: what is asked for, what they are found to hold, and what is said of a wrong one."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from runner.cli import options
from runner.datasets import choice
from runner.errors import EngineUnreachable, InputError
from runner.launchers import choose, docker, kernel_cache, table
from runner.launchers.docker import DockerLauncher
from runner.launchers.inside import InsideLauncher
from runner.launchers.nodes import Nodes
from runner.launchers.protocol import Launcher, Order
from runner.launchers.venv import VenvLauncher
from runner.machine import gpus, nvml
from runner.machine.cpu_sets import shared
from runner.machine.gpus import Gpu, Gpus
from runner.measuring import job, own_stacks, session_record
from runner.measuring.bench import Request
from runner.planning.plan import Wishes, plan
from runner.processes import answer_of
from runner.results import sessions, store
from runner.stacks import own
from runner.stacks.containers import own_stack
from runner.stacks.definition import CAPABILITIES, Stack
from runner.stacks.engine import DockerException, ImageNotFound
from runner.stacks.own import Asked, OwnStack
from tests import own_environment
from tests.fake_nvml import H100, FakeNvml
from tests.fakes import MACHINE, FakeLauncher, row_of, stack, study
from tests.made_files import files, program
from tests.stack_folder import repository
from workloads.frameworks import surroundings
from workloads.process import environment, inventory
from workloads.spec import turns
from workloads.spec.cell import Cell

ROOT = Path(__file__).parents[3]
PINNED = {"torch-x": stack("torch-x")}
HELD = {"python": "3.12.1", "build": "3.12.1 (main)", "installed": {"torch": "2.11.0 sha256:aa", "numpy": "2.4.6"},
        "frameworks": {"torch": "2.11.0"}, "numpy": True}


def own_of(ask: own.Ask | None = None, image: str = "", **values: Any) -> OwnStack:
    asked = Asked("mine", "" if image else "/envs/mine", "user/torch:1" if image else "")
    held = own.Inventory(**{**HELD, **values})
    return own.stack(asked, ROOT, held, "python" if image else "/envs/mine/bin/python", ask, image)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """An environment with torch and numpy."""
    return own_environment.made(tmp_path / "mine", torch="2.13.0", numpy="2.4.6")


def asked_of(path: Path | str, package: str = "") -> Asked:
    return Asked("mine", str(path), "", package)


def read(path: Path, package: str = "") -> OwnStack:
    """The stack called mine of an environment on a machine without GPUs."""
    return own.environment(asked_of(path, package), ROOT, has_gpus=False)


def test_environments_that_are_called_alike_keep_their_kernels_apart(tmp_path: Path) -> None:
    stacks = [own_of(), own_of().model_copy(update={"interpreter": "/envs/other/bin/python"}),
              own_of(installed={"torch": "2.12.0", "numpy": "2.4.6"}),
              *(own_of(image=f"sha256:{digit}") for digit in "12")]
    folders = [kernel_cache.folder(each, tmp_path) for each in stacks]

    assert len(stacks) == len(set(folders))
    assert 0o700 == stat.S_IMODE(folders[0].parent.stat().st_mode)        # below which any container may write
    assert all(folder.name.startswith("mine-") for folder in folders)
    assert folders[0] == kernel_cache.folder(own_of(), tmp_path)


@pytest.mark.parametrize(("word", "expected"), [
    ("mine=/envs/a", Asked("mine", "/envs/a")), ("my-2.0=env#jax", Asked("my-2.0", "env", "", "jax")),
    ("a=image:user/torch:1", Asked("a", "", "user/torch:1")),
    ("a=image:host:5000/x@sha256:00#tensorflow", Asked("a", "", "host:5000/x@sha256:00", "tensorflow")),
    ("=/envs/a", 'found the name "", expected up to 40 small letters'), ("My Env=/envs/a", 'found the name "My Env"'),
    ("torch-x=/envs/a", '"torch-x" is a pinned stack\'s name; choose another, such as my-torch-x'),
    ("mine=", "expected NAME=PATH of a Python or a virtual environment, or NAME=image:NAME"),
    ("mine=image:", "expected NAME=PATH"), ("mine=/envs/a#caffe", 'found "#caffe", expected one of #torch, #t'),
    ("mine=/envs/a#", 'found "#", expected one of'), ("torch-x", None), ("torch-y", None),
    ("/opt/env", "--stack /opt/env: found a path without a name, expected NAME=..., such as mine=/opt/env"),
    ("./env", "found a path without a name"), ("image:mine", "found an image without a name")])
def test_a_word_asks_for_an_environment_or_an_image_or_is_refused(word: str, expected: Asked | str | None) -> None:
    if isinstance(expected, str):
        with pytest.raises(InputError, match=re.escape(expected)):
            own.parse(word, PINNED)
    else:
        assert (expected, word) == (own.parse(word, PINNED), str(expected or word))


def test_an_environment_is_asked_what_it_holds_and_is_one_stack_by_its_interpreter_its_folder_and_its_equal_elsewhere(
        tmp_path: Path, mine: Path) -> None:
    twin = own_environment.made(tmp_path / "twin", torch="2.13.0", numpy="2.4.6")
    found, *others = (read(path) for path in (mine, mine / "bin/python", twin))

    assert ("mine", "pytorch", "2.13.0", ("cpu",)) == (found.name, found.framework, found.version, found.devices)
    assert str(mine / "bin/python") == found.interpreter
    versions = {name: entry.split()[0] for name, entry in found.installed}
    assert {"torch": "2.13.0", "numpy": "2.4.6"} == versions
    assert [found.made_of()] * 2 == [each.made_of() for each in others]


def test_of_several_frameworks_the_word_chooses(mine: Path) -> None:
    own_environment.install(mine, "jax", "0.11.0")

    with pytest.raises(InputError, match=r"found torch and jax in it; choose by mine=\S+#torch or mine=\S+#jax$"):
        read(mine)
    both = [read(mine, package) for package in ("torch", "jax")]
    assert [("pytorch", "2.13.0"), ("jax", "0.11.0")] == [(each.framework, each.version) for each in both]
    assert both[0].made_of() != both[1].made_of()


def test_a_runtime_beside_a_framework_that_trains_is_meant_only_by_its_own_word(mine: Path) -> None:
    own_environment.install(mine, "onnxruntime", "1.32.0")
    (site,) = mine.glob("lib/python3*/site-packages")
    (site / "jax").mkdir()                        # what an uninstalled framework left behind is none

    assert ["pytorch", "onnxruntime"] == [read(mine, package).framework for package in ("", "onnxruntime")]


def test_what_is_no_python_or_too_old_or_gone_or_lacks_what_workers_need_is_said(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    no_format = program(tmp_path / "noise", "")
    no_format.write_bytes(b"\x00\x01")
    (tmp_path / "moved" / "bin").mkdir(parents=True)
    (tmp_path / "moved" / "bin" / "python").symlink_to("/no/python3.9")
    for path, message in (
            (tmp_path / "moved", "python leads to /no/python3.9, which is not there: make the environment anew"),
            (program(tmp_path / "old", "echo 'evenbench [[2, 7], null]'; echo bye"),
             "found Python 2.7, expected 3.6 or newer"),
            (program(tmp_path / "other", "echo '[[3, 9], 0]'"), "other is not a Python interpreter: it did not say"),
            (program(tmp_path / "long", "for i in $(seq 400); do echo line; done >&2; echo because >&2; exit 1"),
             "line line ... because"),
            (program(tmp_path / "fails", "exit 1"), "fails is not a Python interpreter"),
            (program(tmp_path / "mute", 'test "$1" = -c && echo "evenbench [[3, 9], 0]" && echo bye'),
             "it did not tell what it holds: run"),
            (program(tmp_path / "shim", "echo 'pyenv: python3.12: command not found' >&2; exit 127"),
             "did not say its version: pyenv: python3.12: command not found"),
            (no_format, "noise is not a Python interpreter: Exec format error"),
            (tmp_path / "text", "text is not a Python interpreter: it cannot be run"),
            (tmp_path / "gone", "gone; expected a Python or a virtual environment's folder"),
            (tmp_path, "is no environment: it has no bin/python"),
            (own_environment.made(tmp_path / "a", numpy="2.0"), "no framework in it, expected one of torch, tensor"),
            (own_environment.made(tmp_path / "b", torch="2.0"), "no numpy in it")):
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            read(path)
        assert str(caught.value).startswith("--stack mine=")


def test_a_changed_package_makes_another_stack_and_is_named(mine: Path) -> None:
    before = read(mine)
    own_environment.install(mine, "torch", "2.14.0")
    own_environment.install(mine, "extra", "1.0")
    now = read(mine)

    assert before.made_of() != now.made_of()
    assert "extra absent then, 1.0 now, torch 2.13.0 then, 2.14.0 now" == own.change(before.record(), now)
    with pytest.raises(InputError, match="mine has changed since the session began: extra absent then"):
        own.check_unchanged(before)


def test_the_workloads_and_the_image_are_part_of_what_a_stack_is_made_of(tmp_path: Path) -> None:
    root = repository(tmp_path / "repository").parents[1]
    mine = own_of().model_copy(update={"repository": root})
    before = mine.made_of()
    (root / "workloads/__main__.py").write_text("print('another')\n")

    assert before != mine.made_of()
    assert own_of(image="sha256:1").made_of() != own_of(image="sha256:2").made_of()


@pytest.mark.parametrize(("record", "expected"), [
    ({"python": "3.11.0 (x)"}, "Python 3.11.0 then, 3.12.1 now"),
    ({"image": "sha256:1"}, "another image"),
    ({"packages": {}}, "numpy absent then, 2.4.6 now, torch absent then, 2.11.0 now"),
    ({"packages": {**HELD["installed"], **{f"p{number}": "1" for number in range(6)}}},
     "p0 1 then, absent now, p1 1 then, absent now, p2 1 then, absent now, p3 1 then, absent now and 2 more"),
])
def test_what_differs_from_a_record_is_named(record: dict[str, Any], expected: str) -> None:
    assert expected == own.change({**own_of().record(), **record}, own_of())


def test_an_archives_hash_counts_before_the_list_of_files(mine: Path) -> None:
    (site,) = mine.glob("lib/python3*/site-packages")
    (site / "torch-2.13.0.dist-info/direct_url.json").write_text(
        json.dumps({"url": "file:///x.whl", "archive_info": {"hash": "sha256=abc"}}))
    packages = inventory.installed([str(site)])

    assert "2.13.0 sha256:abc" == packages["torch"]
    assert re.fullmatch("2.4.6 record-sha256:[0-9a-f]{64}", packages["numpy"])


def test_a_wrapper_is_asked_once_and_what_it_starts_is_the_stack(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in (("a", "2.13.0"), ("b", "2.0.0")):
        own_environment.made(tmp_path / name, torch=version, numpy="2.4.6")
    # the one that WHICH_ENV names, else the one beside it called b
    starts = program(tmp_path / "python3", f'exec "${{WHICH_ENV:-{tmp_path}/b}}/bin/python" "$@"')
    monkeypatch.setenv("WHICH_ENV", str(tmp_path / "a"))

    found = read(starts)
    monkeypatch.delenv("WHICH_ENV")

    assert (str(tmp_path / "a/bin/python"), "2.13.0") == (found.interpreter, found.version)
    own.check_unchanged(found)                  # of what the wrapper started then


def test_a_shim_is_asked_in_the_users_folder(tmp_path: Path, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = program(tmp_path / "python", 'exec "$(cat .python-version)/bin/python" "$@"')
    monkeypatch.chdir(files(tmp_path / "here", {".python-version": str(mine)}))

    assert str(mine / "bin/python") == read(shim).interpreter


def test_text_that_an_environment_prints_at_its_start_hides_no_answer(mine: Path) -> None:
    (site,) = mine.glob("lib/python3*/site-packages")
    (site / "sitecustomize.py").write_text("print('site: welcome', end='')\n")
    found = read(mine)

    assert ("pytorch", str(mine / "bin/python")) == (found.framework, found.interpreter)


@pytest.mark.parametrize("name", ["a,b", "a#b", "o'brien", os.fsdecode(b"caf\xe9")])
def test_a_path_may_have_commas_hashes_and_bytes_that_are_no_text(tmp_path: Path, name: str) -> None:
    home = own_environment.made(tmp_path / "plain", torch="2.13.0", numpy="2.4.6").rename(tmp_path / name)

    for word in (f"mine={home}", f"mine={home}#torch"):
        assert ("torch-x", word, "b=/none") == options.split_stacks([f"torch-x,{word},b=/none"])
        found = own.environment(own.parse(word, PINNED), ROOT, has_gpus=False)
        assert str(home / "bin/python") == found.interpreter
    assert json.dumps(found.record())


def test_a_worker_that_is_not_what_the_record_says_ends_as_an_error(
        mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(mine)
    told = own.variables(found)

    def entered(**variables: str) -> str:
        program = ("from workloads.process import environment as e\nfrom workloads.spec.cell import Cell\n"
                   "e.enter(Cell(stack='mine', task='lenet5', measure='train', cpus=1))\n")
        return answer_of([found.interpreter, "-c", program], cwd=ROOT, env={**told, **variables}).stderr

    assert "" == entered()
    assert f"CellError: the worker is {found.interpreter}, and the record's is /a/python" in entered(
        EVENBENCH_EXECUTABLE="/a/python")
    own_environment.install(mine, "torch", "2.14.0")
    assert "CellError: the worker's packages are not those of the record" in entered()


def asking(stack: OwnStack, results: Path) -> job.Job:
    """The job of a study in that stack alone."""
    stacks: dict[str, Stack] = {"mine": stack}
    made = plan(study("torch-x"), stacks, MACHINE, Wishes(stacks=("mine",)), lambda each: None)
    data = choice.Data("digits32", Path())
    return job.Job(Request("s", results=results), made, stacks, VenvLauncher(Path("cache")), MACHINE, data)


def test_a_changed_environment_is_said_instead_of_resuming_its_session(tmp_path: Path, mine: Path) -> None:
    before = asking(read(mine), tmp_path / "results")
    said: list[str] = []
    assert None is session_record.resumable(before, said.append) and not said
    with store.Store(tmp_path / "results/1-s") as kept:
        kept.append(session_record.of(before, tmp_path / "results/1-s", is_resumed=False))
    own_environment.install(mine, "torch", "2.14.0")
    now = asking(read(mine), tmp_path / "results")

    assert sessions.unfinished(tmp_path / "results", before.command()) is not None
    assert sessions.unfinished(tmp_path / "results", now.command()) is None
    assert None is session_record.resumable(now, said.append)
    assert ["mine has changed: torch 2.13.0 then, 2.14.0 now; so 1-s is not resumed and a new session begins"] == said


def test_the_worker_takes_the_framework_that_it_is_told_and_guesses_none(mine: Path) -> None:
    own_environment.install(mine, "jax", "0.11.0")
    command = [str(mine / "bin/python"), "-c", "from workloads.__main__ import find_adapter; print(find_adapter())"]

    def said(**variables: str) -> subprocess.CompletedProcess[str]:
        return answer_of(command, cwd=ROOT, env={**os.environ, **variables})

    assert "jax\n" == said(EVENBENCH_FRAMEWORK="jax").stdout
    assert "this interpreter has pytorch and jax: say which one with EVENBENCH_FRAMEWORK" in said().stderr
    assert "this interpreter has no mxnet" in said(EVENBENCH_FRAMEWORK="mxnet").stderr


def test_a_worker_of_a_users_stack_alone_tells_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "packages" not in environment.facts()
    monkeypatch.setenv("EVENBENCH_FRAMEWORK", "pytorch")

    assert re.match(r"\d+\.\d+\S* record-sha256:[0-9a-f]{64}$", environment.facts()["packages"]["numpy"])


def test_several_stacks_stand_beside_pinned_ones_in_the_order_of_the_words(tmp_path: Path, mine: Path) -> None:
    other = own_environment.made(tmp_path / "other", tensorflow="2.21.0", numpy="2.4.6")
    chosen = own_stacks.chosen(["tf=" + str(other), "torch-x", f"mine={mine}"], PINNED, ROOT, gpus.NONE)

    assert ("tf", "torch-x", "mine") == chosen.names
    assert ["tensorflow", "pytorch", "pytorch"] == [chosen.stacks[name].framework for name in chosen.names]
    assert ["environment", "pinned", "environment"] == [own.kind(each) for each in chosen.named]
    with pytest.raises(InputError, match='the name "mine" is given twice'):
        own_stacks.chosen([f"mine={mine}", f"mine={mine}"], PINNED, ROOT, gpus.NONE)
    with pytest.raises(InputError, match="found a path without a name"):
        own_stacks.chosen(["torch-x", str(mine)], PINNED, ROOT, gpus.NONE)


def test_a_rerun_starts_what_is_named_now_and_tells_what_a_record_names(mine: Path) -> None:
    then = read(mine)
    session = {"own": {"mine": then.record(), "theirs": {"asked": "theirs=/a b;c"}, "torn": 1}}
    own_environment.install(mine, "numpy", "2.5.0")
    said: list[str] = []
    chosen = own_stacks.again([f"mine={mine}"], session, [{"stack": "mine"}, {"stack": "theirs"}], PINNED, ROOT,
                             gpus.NONE, said.append)

    assert {"torch-x", "mine"} == set(chosen.stacks) and ("mine",) == tuple(each.name for each in chosen.named)
    assert ["theirs was a stack of its user's own: `--stack 'theirs=/a b;c'` repeats its cells"] == said
    assert ["mine has changed: numpy 2.4.6 then, 2.5.0 now"] == own_stacks.changes(session, chosen.stacks)


def test_a_record_that_names_no_stack_of_the_users_adds_none_and_a_pinned_one_is_refused() -> None:
    for session in ({}, {"own": 1}, {"own": {"mine": {"asked": 2}}}):
        assert dict(PINNED) == own_stacks.again([], session, [{"stack": "torch-x"}], PINNED, ROOT, gpus.NONE,
                                                print).stacks
    with pytest.raises(InputError, match="--stack torch-x: found a name, expected NAME=PATH"):
        own_stacks.again(["torch-x"], {}, [], PINNED, ROOT, gpus.NONE, print)


@pytest.mark.parametrize(("cuda", "architectures", "native", "jit"), [
    # of PyTorch 2.7 and of TensorFlow 2.21
    ("12.8", "sm_50 sm_80 sm_86 sm_90a", "8.0 8.6 8.9 9.0", ""), ("12.8", "sm_120 compute_120", "12.0", ""),
    ("12.8", "sm_60 sm_70 sm_80 sm_89 compute_90", "6.0 6.1 7.0 7.5 8.0 8.6 8.9", "9.0 10.0 12.0"),
    # by NVIDIA's table of architectures and toolkits; MXNet does not tell its CUDA
    ("10.2", "", "6.0 6.1 7.0 7.5", ""), ("11.0", "", "6.0 6.1 7.0 7.5 8.0 8.6 8.9", ""),
    ("11.8", "", "6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0", ""), ("12.8", "", " ".join(CAPABILITIES), ""),
    ("13.2", "", "7.5 8.0 8.6 8.9 9.0 10.0 12.0", ""), ("0.0", "", " ".join(CAPABILITIES), "")])
def test_a_framework_runs_on_what_it_has_code_for_or_where_it_names_none_where_its_cuda_does(
        cuda: str, architectures: str, native: str, jit: str) -> None:
    code = own.gpu_code(asked_of("x"), json.dumps({"cuda": cuda, "architectures": architectures.split()}))
    assert code is not None and (native.split(), jit.split()) == ([*code.native], [*code.jit])
    assert {*CAPABILITIES} == {*code.native, *code.jit, *code.unsupported}


def test_jax_with_a_plugin_that_finds_no_gpu_says_why_and_without_one_is_of_cpus(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "")          # which is set before JAX looks
    jax = MagicMock()
    jax.devices.side_effect = RuntimeError("Unable to initialize backend 'cuda'")
    files(tmp_path, {"jax_plugins/xla_other/__init__.py": ""})
    assert ("", []) == surroundings.of("jax").gpu_code(jax)

    files(tmp_path, {"jax_plugins/xla_cuda13/__init__.py": ""})
    with pytest.raises(RuntimeError, match="Unable to initialize"):
        surroundings.of("jax").gpu_code(jax)


def test_a_framework_that_is_older_than_its_adapter_is_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match=r"--stack mine=/envs/mine: found torch 1.3.1, expected 1.4 or newer"):
        own_of(frameworks={"torch": "1.3.1"})
    assert "1.4.0" == own_of(frameworks={"torch": "1.4.0"}).version
    assert "unknown" == own_of(frameworks={"torch": ""}).version


def test_a_framework_without_cuda_has_no_code_for_gpus() -> None:
    assert own.gpu_code(asked_of("x"), '{"cuda": "", "architectures": []}') is None
    with pytest.raises(InputError, match="did not say whether it has code for GPUs"):
        own.gpu_code(asked_of("x"), None)


def test_an_environment_with_cuda_runs_cells_of_a_gpu_without_a_table() -> None:
    here = Gpus((Gpu("GPU-1", "H100", "9.0", 2**36, "GPU-1"),), "580.1", "")
    with_cuda = own_of(lambda words: '{"cuda": "13.0", "architectures": ["sm_80", "sm_90"]}')
    stacks = {"mine": with_cuda, "cpu": own_of().model_copy(update={"name": "cpu"})}
    made = plan(study("torch-x", device="gpu", input="synthetic"), {**PINNED, **stacks}, MACHINE,
                Wishes(stacks=("mine", "cpu")), lambda each: None, here)

    assert ["mine"] == [planned.cell.stack for planned in made.cells]
    assert ["cpu has no code for GPUs: mine has"] == [skip.reason for skip in made.skipped]
    assert "mine" == made.baseline


def test_without_a_gpu_nothing_is_said_of_the_code_that_an_environment_was_not_asked_for() -> None:
    made = plan(study("torch-x", device="gpu", input="synthetic"), {**PINNED, "mine": own_of()}, MACHINE,
                Wishes(stacks=("mine",)), lambda each: None, gpus.NONE)

    assert ["needs an NVIDIA GPU: no NVIDIA driver answers"] == [skip.reason for skip in made.skipped]


def test_a_framework_is_asked_for_its_code_for_gpus_where_a_cell_is_of_one(mine: Path, monkeypatch: pytest.MonkeyPatch
                                                                           ) -> None:
    here = nvml.observe(FakeNvml(H100))
    monkeypatch.setattr(job.nvml, "observe", lambda: here)
    (site,) = mine.glob("lib/python3*/site-packages")
    (site / "torch/__init__.py").write_text(
        "class version: cuda = '13.0'\nclass cuda: get_arch_list = staticmethod(lambda: ['sm_90'])\n")
    asked = Request("s", launcher="venv", wishes=Wishes(stacks=(f"mine={mine}",), settings={"device": "gpu"}))

    made = job.planned_study(study("torch-x", input="synthetic"), asked, print)
    assert ["mine"] == [planned.cell.stack for planned in made.plan.cells]
    on_cpu = asked._replace(wishes=asked.wishes._replace(settings={}))
    assert job.planned_study(study("torch-x", input="synthetic"), on_cpu, print).own()["mine"].gpu is None


def container(printed: bytes | None) -> MagicMock:
    """One that prints that and ends; None: it never does."""
    made = MagicMock(attrs={"State": {"Running": printed is None, "ExitCode": 0}})
    made.wait.side_effect = ConnectionError("read timed out") if printed is None else None
    made.logs.return_value = printed
    return made


def engine_with(image: str, **answers: bytes | None) -> Any:
    """An engine with one image of that id, "" for none, that answers for the interpreters that it has."""
    def create(image: str, entrypoint: list[str], **settings: Any) -> MagicMock:
        if entrypoint[2] == own.INVENTORY and entrypoint[0] in answers:
            client.made.append(container(answers[entrypoint[0]]))
            return client.made[-1]
        raise DockerException("exec: not found")

    client = MagicMock(made=[])
    client.containers.create.side_effect = create
    client.images.get.return_value = SimpleNamespace(id=image)
    client.images.get.side_effect = None if image else ImageNotFound("user/torch:1")
    return client


def test_an_image_is_asked_in_a_container_without_a_network_that_may_only_read() -> None:
    client = engine_with("sha256:1", python3=json.dumps(HELD).encode())
    held = own_stack(client, Asked("mine", "", "user/torch:1"), ROOT, ())

    assert ("pytorch", "2.11.0", "sha256:1", "python3") == (held.framework, held.version, held.image,
                                                          held.interpreter)
    started = client.containers.create.call_args.kwargs
    assert ("none", True) == tuple(started[key] for key in ("network_mode", "read_only"))
    assert [{"bind": "/opt/evenbench/workloads", "mode": "ro"}] == list(started["volumes"].values())


@pytest.mark.parametrize(("client", "message"), [
    (engine_with(""), 'this engine has no image "user/torch:1": `docker images` shows'),
    (engine_with("sha256:1"), "found no Python 3.6 or newer in the image"),
    (engine_with("sha256:1", python=b"hello"), "it did not tell what it holds"),
    (engine_with("sha256:1", python=None), "--stack mine=image:user/torch:1: python in it did not answer within 120 s"),
])
def test_an_image_that_cannot_be_a_stack_is_refused_and_leaves_no_container(client: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        own_stack(client, Asked("mine", "", "user/torch:1"), ROOT, ())
    assert all(each.remove.called for each in client.made)


def test_the_workloads_are_put_into_an_image_of_the_users_alone() -> None:
    cell, image = Cell("torch-x", "lenet5", "train"), own_of(image="sha256:1")
    usual, users = (docker.settings(Order(cell, each, Path("/d"), "r.0.1"), 0, shared(cell, {0}))
                    for each in (PINNED["torch-x"], image.model_copy(update={"interpreter": "python3"})))

    assert (["/d"], "python", False) == ([*usual["volumes"]], usual["entrypoint"][0], "working_dir" in usual)
    assert {"/d", str(ROOT / "workloads")} == set(users["volumes"])
    assert ("python3", "/tmp") == (users["entrypoint"][0], users["working_dir"])
    assert {turns.ENDS: "1", "EVENBENCH_FRAMEWORK": "pytorch", "PYTHONPATH": "/opt/evenbench"}.items() <= (
        users["environment"].items())


def launched(asked: str, *stacks: Stack) -> Launcher:
    return choose.for_stacks(asked, print, gpus.NONE, stacks)


def test_each_stack_goes_to_the_launcher_that_can_start_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, host = DockerLauncher(engine_with("sha256:1")), VenvLauncher(tmp_path)
    for each in (engine, host):
        monkeypatch.setitem(table.LAUNCHERS, each.name, row_of(each))
    here, boxed, pinned = own_of(), own_of(image="sha256:1"), PINNED["torch-x"]

    assert [engine, host] == [launched("docker", pinned), launched("venv", here, pinned)]
    assert [engine, host] == [launched("auto"), launched("auto", here)]
    beside_images, on_host = launched("docker", here, pinned), launched("venv", boxed, pinned)
    assert [host, engine] == [beside_images.of(each) for each in (here, pinned)]
    assert [engine, host] == [on_host.of(each) for each in (boxed, pinned)]
    assert [engine, host] == [beside_images, on_host]            # by which the session is recorded and checked


@pytest.mark.parametrize("asked", ["docker", "venv"])
def test_a_session_of_several_launchers_is_planned_for_what_the_engine_has(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    client = engine_with("sha256:1")
    for each in (DockerLauncher(client), VenvLauncher(tmp_path)):
        monkeypatch.setitem(table.LAUNCHERS, each.name, row_of(each))
    both = launched(asked, own_of(), own_of(image="sha256:1"))

    client.info.return_value = {"NCPU": 1, "MemTotal": 2**30, "KernelVersion": "another"}
    assert MACHINE._replace(cpus=1, memory_bytes=2**30) == both.machine(MACHINE)
    client.info.return_value = {"NCPU": 2**12, "MemTotal": 2**50, "KernelVersion": "another"}
    with pytest.raises(EngineUnreachable, match="is another machine's"):
        both.machine(MACHINE)


@pytest.mark.parametrize(("local", "stack"), [("docker", {}), ("venv", {"image": "sha256:1"})])
def test_on_a_cluster_no_stack_is_started_beside_its_nodes(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: str, stack: dict[str, str]) -> None:
    each = DockerLauncher(engine_with("sha256:1")) if local == "docker" else VenvLauncher(tmp_path)
    nodes = Nodes(("127.0.0.1", 0), b"a secret", "")
    nodes.close()
    monkeypatch.setitem(table.LAUNCHERS, "inside", row_of(InsideLauncher(nodes, each, 3)))
    with pytest.raises(InputError, match=r"mine=\S+: found --launcher inside, whose nodes do not start it; expected "
                                         "environments with --launcher inside:venv, or images with inside:docker"):
        launched("inside", own_of(**stack), PINNED["torch-x"])


def test_a_launcher_of_pinned_stacks_alone_starts_no_stack_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.LAUNCHERS, "fake", row_of(FakeLauncher(None)))
    with pytest.raises(InputError, match=r"mine=/envs/mine: found --launcher fake, .* expected --launcher docker or v"):
        launched("fake", own_of())


def test_a_worker_starts_in_the_users_environment_told_of_its_framework(tmp_path: Path, mine: Path) -> None:
    root = repository(tmp_path / "repository").parents[1]
    files(root, {name: (ROOT / name).read_text()
                 for name in ("workloads/process/inventory.py", "workloads/spec/frameworks.py")})
    files(root, {"workloads/__main__.py": "import os, sys\nprint(os.environ['EVENBENCH_FRAMEWORK'], sys.prefix)\n"})
    mine_stack: Stack = own.environment(asked_of(mine), root, has_gpus=False)
    launcher = VenvLauncher(tmp_path)
    launcher.prepare([mine_stack], print)
    assert list((root / "workloads/__pycache__").glob("__main__.*.pyc"))        # compiled once, not in each run
    running = launcher.start(Cell(stack="mine", task="lenet5", measure="train", cpus=1), mine_stack, tmp_path, "run")
    try:
        line, end = running.next_line(60), running.next_line(60)
    finally:
        running.stop()

    assert (line, end) == (("node0", f"pytorch {mine}\n".encode()), ("node0", b""))
    assert (False, None) == (running.place["pinned"], running.place["base_is_default"])
    assert f"not pinned: host, {mine}/bin/python" == running.place["base"]


def test_the_user_s_own_packages_are_seen_as_in_the_user_s_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONNOUSERSITE", raising=False)
    assert "PYTHONNOUSERSITE" not in own.variables(own_of())
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    assert "1" == own.variables(own_of())["PYTHONNOUSERSITE"]


def test_packages_that_pythonpath_alone_names_are_said_to_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert "" == own.warning([own_of()])
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert "PYTHONPATH" in own.warning([own_of()]) and "" == own.warning([own_of(image="x")])
    with pytest.raises(InputError, match=r"found no framework in it, .*; PYTHONPATH is set"):
        own_of(frameworks={})


def test_two_environments_that_hold_the_same_are_known_wherever_they_lie() -> None:
    other = own_of().model_copy(update={"interpreter": "/envs/other/bin/python"})

    assert own_of().holds(is_here=False) == other.holds(is_here=False) and own_of().holds() != other.holds()
