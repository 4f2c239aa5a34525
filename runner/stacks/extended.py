"""A pinned stack with a few packages more, for models that need them: locked here with hashes, kept by content.

Its folder lies in the cache, with a stack.toml and a lock of its own, so that every launcher takes it as any other.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from runner import paths
from runner.errors import InputError
from runner.processes import Say, locked
from runner.stacks import definition, locking
from runner.stacks.definition import PinnedStack, Stack
from runner.stacks.own import OwnStack
from runner.stacks.package_sources import normal, pins

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.+!-]+")
# what some packages are called that are imported by another name
_DISTRIBUTIONS = {"PIL": "pillow", "cv2": "opencv-python-headless", "sklearn": "scikit-learn", "yaml": "pyyaml",
                  "skimage": "scikit-image", "google": "protobuf"}
_OF_PYTORCH = ("torchvision", "torchaudio")        # built for one build of torch, whose index has them


def check(packages: Sequence[str]) -> None:
    """Raise InputError for what is no NAME==VERSION."""
    for each in packages:
        if not _PACKAGE.fullmatch(each):
            raise InputError(f'--with: found "{each}", expected NAME==VERSION, such as einops==0.8.1')


def distribution(package: str) -> str:
    """What an imported package is called where it is installed."""
    return _DISTRIBUTIONS.get(package, package)


def lacking(stack: Stack, packages: Sequence[str]) -> list[str]:
    """Those of imported packages, such as numpy or keras>=3, that no lock and no environment has; builds are alike."""
    from runner.stacks import mixing  # here: packaging takes 40 ms, which other commands do without

    found = (pins(stack.lock_text) if isinstance(stack, PinnedStack)
             else stack.installed if isinstance(stack, OwnStack) else ())
    held = {re.sub("-(cpu|intel|gpu|openvino)$", "", normal(name)): version.partition(" ")[0]
            for name, version in found}

    def has(package: str) -> bool:
        name, _, least = package.partition(">=")
        version = held.get(normal(distribution(name)))
        return version is not None and mixing.satisfies(version, f">={least}" if least else "")

    return [each for each in packages if not has(each)]


def made(stack: Stack, packages: Sequence[str], cache: Path, say: Say) -> Stack:
    """The stack with the packages, locked first where it is not there yet. Raises InputError, BuildFailed."""
    if not packages:
        return stack
    if not isinstance(stack, PinnedStack):
        raise InputError(f"--with {packages[0]}: found a stack of your own, {stack.name}: install it there")
    named = stack.folder / "requirements.in"
    wanted = "\n".join([paths.text_of(named.read_bytes(), named).rstrip(), *sorted(packages), ""])
    digest = hashlib.sha256((wanted + definition.wheels_fingerprint(stack)).encode()).hexdigest()[:12]
    of_torch = [each for each in packages if "torch" in stack.index and each.partition("==")[0] in _OF_PYTORCH]
    folder = cache.absolute() / "with" / f"{stack.name}-with-{digest}"
    with locked(folder.with_name(folder.name + ".lock")):
        folder.mkdir(parents=True, exist_ok=True)
        paths.write_whole(folder / "requirements.in", wanted)
        paths.write_whole(folder / "stack.toml", _described(stack, folder.name, of_torch))
        extended = definition.read(folder, stack.beside)
        if not extended.lock.exists():
            say(f"{stack.name}: locking it with {', '.join(packages)}")
            for each in of_torch:
                if "+" not in each:
                    say(f"{each} is built for CUDA, and its operators are missing here: {each}+cpu is for this torch")
            paths.write_whole(extended.lock, locking.relock(extended))
    return extended


def _described(stack: PinnedStack, name: str, of_torch: Sequence[str]) -> str:
    """Its stack.toml: the stack's under another name, with PyTorch's index for the packages that are built for it."""
    text = (stack.folder / "stack.toml").read_text(encoding="utf-8")
    text = text.replace(f'name = "{stack.name}"', f'name = "{name}"', 1)
    index = "".join(f'\n{each.partition("==")[0]} = "{stack.index["torch"]}"' for each in of_torch)
    return f"{text.rstrip()}{index}\n"
