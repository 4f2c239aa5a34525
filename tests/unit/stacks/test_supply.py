"""What comes from elsewhere is pinned by its content: every package of every lock, every base, every Dockerfile."""

import re
from pathlib import Path

import pytest

from runner.stacks.definition import read_all, read_runner

DOCKER = Path(__file__).parents[3] / "docker"
PINNED = [*read_all(DOCKER).values(), read_runner(DOCKER)]
LOCKS = sorted(DOCKER.glob("*/*.txt"))
DOCKERFILES = [DOCKER / "Dockerfile", *sorted(DOCKER.glob("*/Dockerfile"))]
# whose base's digest nobody has written down yet: no image of it is built
UNKNOWN = {"tf-1.15-nv"}


def unpinned(text: str) -> list[str]:
    """The entries of a lock that are no name==version with a SHA-256."""
    entries = re.split(r"\n(?=\S)", "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip())
    pin = re.compile(r"[A-Za-z0-9_.-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+")
    return [entry for entry in entries if entry and not pin.fullmatch(entry)]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_package_of_every_lock_has_its_version_and_its_hash(lock: Path) -> None:
    assert [] == unpinned(lock.read_text())


def test_every_stack_installs_from_a_lock_that_is_not_empty_unless_its_base_has_all() -> None:
    assert {lock for pinned in PINNED for lock in pinned.locks} <= set(LOCKS)
    assert all("==" in lock.read_text() for pinned in PINNED if not pinned.base.has_framework for lock in pinned.locks)


@pytest.mark.parametrize("line", ["torch", "torch>=1", "torch==1", "torch==1 --hash=md5:0", "-r other.txt",
                                  "torch @ https://example.org/torch.whl", "--index-url https://example.org"])
def test_an_entry_without_a_hash_is_seen(line: str) -> None:
    good = f"numpy==1.0 \\\n    --hash=sha256:{'0' * 64}\n"
    assert [] == unpinned(f"# a lock\n{good}") and [line] == unpinned(f"{good}{line}\n{good}")


@pytest.mark.parametrize("pinned", PINNED, ids=lambda pinned: pinned.name)
def test_every_base_is_pinned_by_its_digest(pinned) -> None:
    assert (pinned.name in UNKNOWN) != bool(re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", pinned.base.image))


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_every_image_is_made_from_its_base_and_the_lock_alone(path: Path) -> None:
    """Debian's packages come from the mirror, whose signatures apt checks."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert ["FROM ${BASE}"] == [line for line in lines if line.startswith("FROM")]
    assert not [line for line in lines if re.search(r"\b(ADD|curl|wget|git clone|pip install|conda|http)\b", line)]
    assert not [line for line in lines if line.startswith("COPY") and not re.fullmatch(r"COPY (\w+) \1", line)]


def test_the_installing_scripts_refuse_what_has_no_hash() -> None:
    brought = [line for path in DOCKER.glob("**/*.sh") for line in path.read_text().splitlines()
               if re.search(r"^[^#]*\bpip\b.* (install|download) ", line) and "--no-index" not in line]
    assert 3 == len(brought) and all("--require-hashes" in line for line in brought)
