import hashlib
import os
import stat
from types import SimpleNamespace

import pytest

from runner.stacks import images, package_sources
from runner.stacks.bases import RECIPE, RECIPE_LABEL, Base
from tests.made_files import files
from tests.stack_folder import small_stack


def pin(name: str, content: bytes) -> str:
    return f"{name} \\\n    --hash=sha256:{hashlib.sha256(content).hexdigest()}\n"


def test_only_wheels_that_the_lock_names_by_hash_are_taken_whatever_the_spelling_of_their_names(tmp_path):
    held = {"torch-9.0+cpu-cp311-cp311-linux_x86_64.whl": b"right", "Google_Pasta-0.2.0-py3-none-any.whl": b"wheel",
            "numpy-2.0-cp311-cp311-linux_x86_64.whl": b"not the locked one", "other-1.0-py3-none-any.whl": b"right"}
    for name, content in held.items():
        (tmp_path / name).write_bytes(content)
    lock = (pin("torch==9.0+cpu", b"right") + pin("numpy==2.0", b"the locked one")
            + pin("google-pasta==0.2.0", b"wheel"))

    assert {path.name for path in images.matching_wheels(lock, [tmp_path])} == set(list(held)[:2])


def test_a_build_sees_only_its_own_inputs_which_the_images_user_may_read_also_of_a_private_checkout(tmp_path):
    seen, wheel = tmp_path / "context", tmp_path / "torch-9.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    mask = os.umask(0o077)
    try:
        stack = small_stack(tmp_path / "repository")
        files(tmp_path / "repository/workloads", {"__pycache__/x.pyc": ""})
        images.context(stack, seen, [wheel])
    finally:
        os.umask(mask)

    assert {str(path.relative_to(seen)) for path in seen.rglob("*") if path.is_file()} == {
        "docker/Dockerfile", "docker/torch-9/requirements.txt", "docker/pip/3.11.txt", "docker/system.sh",
        "docker/torch-9/wheels/torch-9.0-py3-none-any.whl", "workloads/__main__.py", "workloads/spec/cell.py"}
    assert stat.S_IMODE((seen / "workloads/spec").stat().st_mode) == 0o755
    assert stat.S_IMODE((seen / "workloads/spec/cell.py").stat().st_mode) == 0o644


def test_labels_say_what_is_inside_and_on_which_base(tmp_path):
    stack = small_stack(tmp_path)
    labels = images.labels(stack, Base("evenbench-base:bookworm", is_default=False))

    assert {"org.opencontainers.image.title": "PyTorch 9", "org.opencontainers.image.version": "9.0",
            "org.opencontainers.image.base.name": "evenbench-base:bookworm",
            "org.opencontainers.image.revision": stack.made_of(), "org.evenbench.stack": "torch-9",
            "org.evenbench.studies": "quick", "org.evenbench.base-is-default": "false"}.items() <= labels.items()


def test_an_image_that_was_changed_under_its_labels_is_not_the_stack_s(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    stack = small_stack(tmp_path / "repository")
    image = SimpleNamespace(id="sha256:b", labels=images.labels(stack, Base("evenbench-base:bookworm", True)))
    client = SimpleNamespace(images=SimpleNamespace(get={"evenbench:torch-9": image}.__getitem__))

    assert images.is_current(client, stack)                           # built elsewhere: labels are all there is
    files(tmp_path / "cache/evenbench/builds", {"torch-9.images": "sha256:a\nsha256:c\n"})
    assert not images.is_current(client, stack)
    assert images.find(client, stack).fingerprint != stack.made_of()
    image.id = "sha256:c"
    assert images.is_current(client, stack)


def test_images_of_other_inputs_or_of_unknown_stacks_or_recipes_are_stale(tmp_path):
    stack = small_stack(tmp_path)
    current = images.labels(stack, Base("evenbench-base:bookworm", is_default=False))
    labels = {"current": {**current, RECIPE_LABEL: "an old base's"},
             "changed": {**current, "org.evenbench.fingerprint": "before"},
             "deleted": {**current, "org.evenbench.stack": "tf-9"},
             "base": {RECIPE_LABEL: RECIPE},
             "old base": {RECIPE_LABEL: "0"}}

    assert images.stale(labels, [stack]) == {"changed": "torch-9", "deleted": "tf-9", "old base": "base"}


@pytest.mark.parametrize(("lines", "expected"), [
    ("#7 [3/5] RUN --mount=type=bind,target=/mnt --mount=type=secret,id=ca     sh /mnt/install.sh torch-9 3.11",
     ["torch-9: step 3/5: sh /mnt/install.sh torch-9 3.11"]),
    ("#9 [stage-0 5/5] COPY workloads workloads", ["torch-9: step 5/5: COPY workloads workloads"]),
    ("#7 12.30   Downloading https://files.example/torch-9.0.whl (776.7 MB)",
     ["torch-9: downloading torch-9.0.whl, 777 MB (777 MB so far)"]),
    ("#7 12.30 Downloading numpy-2.0.whl (12.7 MB)", []),
    ("#7 12.41 Collecting numpy==2.0", []),
    ("#7 DONE 14.2s", []),
    # of an environment, with all that came before
    ("Downloading numpy-2.0.whl (90.0 MB)\n  Downloading torch-9.0.whl (1.2 GB)",
     ["torch-9: downloading numpy-2.0.whl, 90 MB (90 MB so far)",
      "torch-9: downloading torch-9.0.whl, 1.2 GB (1.3 GB so far)"]),
])
def test_only_steps_and_long_downloads_are_told(lines, expected):
    said = []
    heard = package_sources.Progress("torch-9", said.append)
    for line in lines.splitlines():
        heard(line)

    assert said == expected
