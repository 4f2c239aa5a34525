"""A pinned stack with more packages: a stack of its own content, locked once, its index where one is needed."""

from pathlib import Path

import pytest

from runner import paths
from runner.errors import InputError
from runner.stacks import definition, extended, locking


@pytest.fixture
def torch() -> definition.PinnedStack:
    return definition.read(paths.STACKS / "torch-2.13-cpu")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked to be locked; pip itself, which downloads, is no part of a unit test."""
    wanted: list[str] = []

    def relock(stack: definition.PinnedStack) -> str:
        wanted.append((stack.folder / "requirements.in").read_text())
        return "einops==0.8.1 \\\n    --hash=sha256:" + "0" * 64 + "\n"

    monkeypatch.setattr(locking, "relock", relock)
    return wanted


def test_it_is_locked_once_and_again_for_other_packages_and_is_the_stack_itself_without_any(
        torch: definition.PinnedStack, asked: list[str], tmp_path: Path) -> None:
    assert torch is extended.made(torch, [], tmp_path, lambda line: None) and [] == asked
    one, again = (extended.made(torch, ["einops==0.8.1"], tmp_path, lambda line: None) for _ in range(2))
    other = extended.made(torch, ["einops==0.8.0"], tmp_path, lambda line: None)

    assert one == again and one.name != other.name
    assert 2 == len(asked) and "torch==2.13.0+cpu" in asked[0] and asked[0].endswith("\neinops==0.8.1\n")
    assert one.made_of() not in (torch.made_of(), other.made_of())
    assert one.dockerfile == torch.dockerfile and one.root == torch.root
    other_base = torch.base.model_copy(update={"image": "debian:other"})     # as a newer evenbench's: the same packages
    rebased = torch.model_copy(update={"base": other_base})
    assert rebased.made_of() != torch.made_of()
    assert one.name == extended.made(rebased, ["einops==0.8.1"], tmp_path, lambda line: None).name and 2 == len(asked)


def test_a_lock_that_a_full_disk_cuts_short_is_named_and_made_anew(
        torch: definition.PinnedStack, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        small_files: None) -> None:
    with monkeypatch.context() as once, pytest.raises(OSError, match=r"requirements\.txt"):
        once.setattr(locking, "relock", lambda stack: "einops==0.8.1 \\\n" * 10_000)
        extended.made(torch, ["einops==0.8.1"], tmp_path, lambda line: None)

    assert extended.made(torch, ["einops==0.8.1"], tmp_path, lambda line: None).lock_text.endswith("0\n") and asked


def test_torchvision_comes_from_the_index_that_torch_comes_from(torch: definition.PinnedStack, asked: list[str],
                                                                tmp_path: Path) -> None:
    said: list[str] = []
    made = extended.made(torch, ["torchvision==0.28.0+cpu", "einops==0.8.1"], tmp_path, said.append)
    extended.made(torch, ["torchvision==0.28.0"], tmp_path, said.append)

    assert {"torch", "torchvision"} == set(dict(made.index))
    assert 1 == len(set(dict(made.index).values()))
    (warned,) = [line for line in said if "locking" not in line]
    assert warned.endswith("torchvision==0.28.0+cpu is for this torch")


@pytest.mark.parametrize("package", ["einops", "einops>=1", "--index-url=x==1", "../x==1", ""])
def test_a_package_without_its_version_is_refused(package: str) -> None:
    with pytest.raises(InputError, match="expected NAME==VERSION"):
        extended.check([package])
