from pathlib import Path

import pytest

from runner.errors import BuildFailed
from runner.stacks import engine, images
from runner.stacks.definition import read, read_all
from tests.fakes import quiet
from tests.stack_folder import STACK_TOML, repository
from tools import reproducible

pytestmark = pytest.mark.engine

STACKS = read_all(Path(__file__).parents[2] / "docker")
BASE = STACKS["torch-2.13-cpu"].base.image
MODULES = {"tensorflow": "tensorflow", "pytorch": "torch", "mxnet": "mxnet"}
DOCKERFILE = """ARG BASE
FROM ${BASE}
RUN --mount=type=secret,id=pip grep -q global /run/secrets/pip
RUN --mount=type=bind,source=docker,target=/mnt cat /proc/sys/kernel/random/uuid >/installed
USER 1000
COPY workloads workloads
ENTRYPOINT ["cat", "workloads/__main__.py"]
"""


@pytest.fixture
def stack(tmp_path, client):
    """A stack without wheels, so that its image takes a second."""
    text = STACK_TOML.replace("torch-9", "test-of-images").replace('image = "', f'image = "{BASE}" # ')
    folder = repository(tmp_path, STACK_TOML).rename(tmp_path / "docker/test-of-images")
    (folder / "stack.toml").write_text(text)
    (folder / "Dockerfile").write_text(DOCKERFILE)
    yield read(folder)
    for image in client.images.list(filters={"label": "org.evenbench.stack=test-of-images"}):
        engine.remove_image(client, image.id)


def test_an_unchanged_stack_is_not_built_again_and_its_image_has_no_file_of_the_build_alone(client, stack):
    image = images.build(client, stack, quiet)
    said = []

    assert images.build(client, stack, said.append) == image
    assert said == []
    assert image.base_is_default == (image.base == BASE)
    assert engine.tagged(client, image.base)
    assert client.containers.run(image.id, ["/run", "-type", "f"], entrypoint="find", remove=True) == b""


def test_changed_workloads_are_another_image_which_does_not_install_the_packages_again(client, stack):
    before = images.build(client, stack, quiet)
    (stack.root / "workloads/__main__.py").write_text("print('another worker')\n")
    after = images.build(client, stack, quiet)

    assert before.id != after.id
    assert before.fingerprint != after.fingerprint
    assert client.containers.run(after.id, remove=True) == b"print('another worker')\n"
    first, second = (client.containers.run(image.id, ["/installed"], entrypoint="cat", remove=True)
                     for image in (before, after))
    assert first == second


def test_an_image_that_was_changed_under_its_labels_is_not_current_and_is_built_again(client, stack):
    first = images.build(client, stack, quiet)
    container = client.containers.create(images.tag(stack))
    container.commit("evenbench", "test-of-images")
    container.remove()

    assert not images.is_current(client, stack)
    assert first.fingerprint != images.find(client, stack).fingerprint
    assert first.fingerprint == images.build(client, stack, quiet).fingerprint


def test_a_build_that_fails_says_why_in_one_line_and_leaves_no_image(client, stack):
    (stack.folder / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\nRUN echo 'ERROR: no such wheel'; exit 1\n")

    with pytest.raises(BuildFailed, match=r"^test-of-images: no such wheel \(log: .*/test-of-images\.log\)$"):
        images.build(client, stack, quiet)
    assert images.find(client, stack) is None


def test_an_image_can_be_removed_but_not_below_a_container(client, stack):
    image = images.build(client, stack, quiet)
    container = client.containers.create(image.id)

    assert not engine.remove_image(client, image.id)
    container.remove()
    assert engine.remove_image(client, image.id)
    assert engine.tagged(client, images.tag(stack)) is None


@pytest.mark.parametrize("name", [name for name, each in STACKS.items() if each.framework in MODULES])
def test_an_image_runs_its_framework_as_a_normal_user(client, name):
    image = images.find(client, STACKS[name])
    if image is None:
        pytest.skip(f"{name} is not built here")
    module = MODULES[STACKS[name].framework]
    program = f"import os, {module}; print(os.getuid(), {module}.__version__)"

    said = client.containers.run(image.id, ["-c", program], entrypoint="python", remove=True, read_only=True,
                                 tmpfs={"/tmp": ""}, network_mode="none", cap_drop=["ALL"])

    user, version = said.decode().splitlines()[-1].split()
    assert user == "1000"
    assert version.split("+")[0] == STACKS[name].version.split("+")[0]      # some say their CUDA after it, 2.0.1+cu117


@pytest.mark.parametrize("name", list(STACKS))
def test_a_run_need_not_compile_the_workloads(client, name):
    if not images.is_current(client, STACKS[name]):
        pytest.skip(f"{name} is not built here, or not of the files of now")

    said = client.containers.run(images.tag(STACKS[name]), ["-v", "-c", "import workloads.process.emit"],
                                 entrypoint="python", stderr=True, remove=True, read_only=True,
                                 network_mode="none", cap_drop=["ALL"])

    assert b"code object from '/opt/evenbench/workloads/process/__pycache__/emit." in said


@pytest.mark.slow(2)
def test_a_second_build_gives_the_same_files(client):
    """The smallest stack; docs/faults.md has what all of them showed."""
    paths, differences = reproducible.run(client, STACKS["mxnet-1.7"], quiet)

    assert paths > 10_000
    assert differences == {}
