import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from runner import paths
from runner.application import prepare
from runner.doctor import host
from runner.errors import InputError
from runner.stacks import definition, engine, sif
from runner.stacks.definition import read, read_all, read_runner, wheels_fingerprint, workloads_digest
from tests import fakes
from tests.made_files import files, program
from tests.stack_folder import DIGEST, STACK_TOML, repository, small_stack
from workloads.spec import frameworks

DOCKER = Path(__file__).parents[3] / "docker"
PINNED = [*read_all(DOCKER).values(), read_runner(DOCKER)]


@pytest.mark.parametrize(("found", "instead", "message"), [
    ('framework = "pytorch"', 'framework = "caffe"',
     r"found 'caffe', expected .*'tensorflow', 'pytorch', 'mxnet', 'jax', .*'onednn', 'cudnn' or"),
    ('python = "3.11"', 'python = "2.7"', "key .python.: found '2.7'"),
    ('title = "PyTorch 9"', "", 'key "title": missing'),
    ('title = "PyTorch 9"', 'titel = "PyTorch 9"', 'key "titel" is unknown; did you mean "title"'),
    ('title = "PyTorch 9"', 'title = "PyTorch 9"\nsync = "horovod"',
     "sync: pytorch has no parallel horovod: it has allreduce"),
    ("[size]", "[weight]", 'key "weight" is unknown; known: .*, base, size, index'),
    (f"@sha256:{DIGEST}", "", r"\[base\]: key .image.: found 'debian:bookworm-slim', expected NAME:TAG@"),
    ("verified = false", 'verified = "no"', r"\[base\]: key .verified.: found 'no', expected true or false"),
    ("verified = false", 'verified = false\npackages = ["-y"]', r"\[base\]: key .packages.: found '-y'"),
    ('name = "torch-9"', 'name = "torch-8"', 'name "torch-8" is not the folder\'s, "torch-9"'),
    ('name = "torch-9"', "name = torch-9", "not TOML"),
])
def test_what_is_wrong_in_a_stack_is_said_with_file_and_key(tmp_path, found, instead, message):
    folder = repository(tmp_path, STACK_TOML.replace(found, instead))

    with pytest.raises(InputError, match=f"stack.toml: .*{message}" if message != "not TOML" else "not TOML"):
        read(folder)


def test_only_folders_with_a_stack_file_are_stacks_and_a_folder_without_one_is_refused(tmp_path):
    repository(tmp_path)

    assert list(read_all(tmp_path / "docker")) == ["torch-9"]
    with pytest.raises(InputError, match="no stack here"):
        read_all(tmp_path)


def test_a_stack_may_have_another_synchronous_mode_than_its_framework():
    stacks = read_all(DOCKER)

    assert ["allreduce", "horovod"] == [stacks[name].mode("sync") for name in ("tf-1.15", "tf-1.15-horovod")]
    assert ["ps-async", "none"] == [stacks["tf-1.15-horovod"].mode(parallel) for parallel in ("async", "none")]


# of an image, of an environment, of the workloads, of the runner's image
@pytest.mark.parametrize(("name", "changes"), [
    ("docker/Dockerfile", (True, False, False, True)), ("docker/torch-9/requirements.txt", (True, True, False, True)),
    ("docker/pip/3.11.txt", (True, True, False, True)), ("docker/system.sh", (True, False, False, True)),
    ("workloads/spec/cell.py", (True, False, True, True)), ("runner/__main__.py", (False, False, False, True)),
    ("docker/torch-9/source.txt", (True, True, False, True)), ("docker/torch-9/peers.txt", (False, False, False, True)),
    ("docker/torch-9/lstm.cpp", (True, True, False, True)),
    ("runner/launchers/apptainer.py", (False, False, False, True)),
    ("docker/other-1/requirements.txt", (False, False, False, True)),
    ("workloads/spec/__pycache__/cell.cpython-311.pyc", (False, False, False, False))])
def test_a_fingerprint_changes_with_each_of_its_inputs_and_with_nothing_else(tmp_path, name, changes):
    stack = small_stack(tmp_path)
    (stack.folder / "build.sh").touch()                 # it compiles a program of its own
    shutil.copytree(DOCKER / "runner", tmp_path / "docker/runner")

    def seen():
        return (stack.made_of(), wheels_fingerprint(stack), workloads_digest(tmp_path),
                read_runner(tmp_path / "docker").made_of())

    before = seen()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("changed\n")
    assert changes == tuple(one != other for one, other in zip(before, seen(), strict=True))

    stack.lock.unlink()
    with pytest.raises(InputError, match=r"requirements\.txt: No such file"):
        wheels_fingerprint(stack)


@pytest.mark.parametrize("own", [each for each in PINNED if not each.build_arguments], ids=lambda each: each.name)
def test_a_dockerfile_of_its_own_defaults_to_the_base_that_the_stack_file_names(own):
    assert f"ARG BASE={own.base.image}\n" in own.dockerfile.read_text()


def test_a_dockerfile_of_its_own_is_for_what_is_compiled_or_has_its_framework_in_its_base():
    stacks = read_all(DOCKER).values()
    assert ({stack.name for stack in stacks if stack.program or stack.base.has_framework}
            == {stack.name for stack in stacks if not stack.build_arguments})


def test_the_shared_dockerfile_is_told_what_the_stack_file_says(tmp_path):
    with_packages = STACK_TOML.replace("verified = false", 'verified = false\npackages = ["g++", "libgomp1"]')
    stack = read(repository(tmp_path, with_packages))

    assert stack.dockerfile == tmp_path / "docker/Dockerfile"
    assert stack.build_arguments == {"BASE": f"debian:bookworm-slim@sha256:{DIGEST}", "STACK": "torch-9",
                                     "PYTHON": "3.11", "PACKAGES": "g++ libgomp1"}


def test_another_package_or_base_makes_another_image(tmp_path):
    others = [("verified = false", 'verified = false\npackages = ["g++"]'), ("bookworm", "trixie"), ("", "")]
    made = {read(repository(tmp_path, STACK_TOML.replace(*other))).made_of() for other in others}

    assert len(made) == 3


def test_packages_that_the_dockerfile_does_not_read_are_refused(tmp_path):
    folder = repository(tmp_path, STACK_TOML.replace("verified = false", 'verified = false\npackages = ["g++"]'))
    (folder / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\n")

    with pytest.raises(InputError, match=r"stack.toml: \[base\]: packages: .*torch-9/Dockerfile installs its own"):
        read(folder)


def test_the_line_to_build_by_hand_says_what_the_stack_file_says():
    text = (DOCKER / "Dockerfile").read_text()
    [by_hand] = re.findall(r"docker build (.*?) \.\n", re.sub(r"\\\n# *", "", text), re.DOTALL)
    arguments = dict(word.split("=", 1) for word in shlex.split(by_hand) if re.match("[A-Z]+=", word))
    [base] = re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE)

    assert {"BASE": base, **arguments} == read(DOCKER / arguments["STACK"]).build_arguments
    assert f"-t evenbench:{arguments['STACK']} " in by_hand


@pytest.mark.parametrize("stack", read_all(DOCKER).values(), ids=lambda stack: stack.name)
def test_each_stacks_image_says_in_a_container_what_it_is(stack):
    name = "${STACK}" if stack.build_arguments else stack.name
    said = f"ENV EVENBENCH_STACK={name} EVENBENCH_BASE=${{BASE}} EVENBENCH_FINGERPRINT=${{FINGERPRINT}}"
    assert said in stack.dockerfile.read_text()


def test_the_runners_image_has_what_the_package_needs():
    project = tomllib.loads((DOCKER.parent / "pyproject.toml").read_text())["project"]["dependencies"]
    pins = (DOCKER / "runner/requirements.in").read_text().splitlines()[1:]
    assert [re.split("[=<>]", line)[0] for line in project] == [line.split("==")[0] for line in pins]


def test_a_lock_that_is_no_text_is_told_with_its_line(tmp_path):
    stack = small_stack(tmp_path)
    stack.lock.write_bytes(b"numpy==2.0\ntorch\xff==9\n")
    with pytest.raises(InputError, match=r"requirements\.txt:2: found bytes that are no UTF-8: save it as UTF-8"):
        assert stack.lock_text
    stack.lock.write_text("numpy==2.0", encoding="utf-16")
    with pytest.raises(InputError, match=r"requirements\.txt: found UTF-16, expected UTF-8"):
        assert stack.lock_text


@pytest.mark.parametrize(("version", "is_locked"), [("(3, 11, 4)", True), ("(3, 12, 0)", False)])
def test_where_the_lock_fits_make_installs_by_hash_what_evenbench_needs(tmp_path, version, is_locked):
    python = program(tmp_path / "python", f"exec {sys.executable} -c 'import sys; sys.version_info = {version}; "
                     "exec(sys.argv[1])' \"$2\"")
    recipe = subprocess.run(["make", "-nB", ".venv/done", f"PYTHON={python}"], cwd=DOCKER.parent, check=True,
                            capture_output=True, text=True).stdout

    assert is_locked == ("install -qq --require-hashes -r docker/runner/requirements.txt\n" in recipe)
    assert "install -qq --editable ." in recipe


@pytest.mark.parametrize(("name", "framework"), [(name, stack.framework) for name, stack in read_all(DOCKER).items()
                                                 if frameworks.is_known(stack.framework)])
def test_a_worker_in_a_stack_takes_the_framework_that_it_is_called_after_whatever_came_with_it(name, framework):
    everything = [package for package, _ in frameworks.PACKAGES]
    assert [frameworks.package(framework)] == frameworks.meant(everything, name)


def test_a_stack_is_refused_on_another_kind_of_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stacks = {"torch-2.13-cpu": fakes.stack("torch-2.13-cpu")}
    assert fakes.stack("torch-2.13-cpu").foreign is None and [] == host.foreign(stacks)
    monkeypatch.setattr(definition.platform, "machine", lambda: "aarch64")
    told = fakes.stack("torch-2.13-cpu").foreign or ""
    assert "locked for x86_64" in told and "machine is aarch64" in told and "--stack mine=PATH" in told
    monkeypatch.setattr(sif, "command", lambda: "apptainer")
    files(tmp_path, {str(sif.path(stacks["torch-2.13-cpu"], tmp_path)): "of another machine"})
    assert told == sif.missing(stacks["torch-2.13-cpu"], tmp_path)
    monkeypatch.setattr(engine, "connect", lambda: None)
    with pytest.raises(InputError, match="locked for x86_64"):
        prepare.build(["torch-2.13-cpu"], paths.Places(), is_pruning=False)
    (finding,) = host.foreign(stacks)
    assert "1 of 1 are not for this machine; torch-2.13-cpu is locked" in finding.found and "--stack" in finding.mend
