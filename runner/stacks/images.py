"""Images of stacks and of the runner: built from a folder docker/<name>/, found by labels, removed when out of date."""

import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import leftovers
from runner.errors import BuildFailed, ImageMissing
from runner.paths import cache_folder, digest, writing
from runner.processes import Say, fresh_log
from runner.stacks import bases, environments, package_sources
from runner.stacks.definition import PinnedStack, Runner, build_files, wheels_fingerprint
from runner.stacks.engine import DockerClient, remove_image, tagged
from runner.stacks.locking import project

_LABEL = "org.evenbench."
_BASE_BYTES = 500_000_000           # a base with interpreter and libraries
_DOWNLOAD = ("download", "--require-hashes", "--no-deps", "--no-input", "--progress-bar=off")


@dataclass(frozen=True)
class Image:
    """A stack's image on this engine."""

    id: str
    base: str
    base_is_default: bool
    fingerprint: str


def tag(stack: PinnedStack) -> str:
    """The name of the stack's image."""
    return f"evenbench:{stack.name}"


def find(client: DockerClient, stack: PinnedStack) -> Image | None:
    """The stack's image, current or not; None where there is none.

    Labels outlive a change: an image that is none of those that were built here has another fingerprint than it says.
    """
    image = tagged(client, tag(stack))
    if image is None or _LABEL + "fingerprint" not in image.labels:
        return None
    built = _built(stack).read_text().split() if _built(stack).exists() else [image.id]
    base, is_default, made_of = (image.labels[_LABEL + key] for key in ("base", "base-is-default", "fingerprint"))
    return Image(str(image.id), base, is_default == "true", made_of + ("" if image.id in built else ", changed since"))


def _built(stack: PinnedStack) -> Path:
    """The ids of the images of the stack that were built here, on whatever engine."""
    return cache_folder() / "builds" / f"{stack.name}.images"


def found(client: DockerClient, stack: PinnedStack) -> Image:
    """As find. Raises ImageMissing."""
    image = find(client, stack)
    if image is None:
        raise ImageMissing(f"stack {stack.name} has no image here: run `evenbench images {stack.name}`")
    return image


def is_current(client: DockerClient, stack: PinnedStack) -> bool:
    """Whether the stack has an image that is made of what the stack's folder and the workloads are now."""
    image = find(client, stack)
    return image is not None and image.fingerprint == stack.made_of()


def build(client: DockerClient, stack: PinnedStack, say: Say) -> Image:
    """The stack's image, built if missing or out of date. Raises DiskFull, BuildFailed, InterpreterMissing."""
    image = find(client, stack)
    if image and image.fingerprint == stack.made_of():
        return image
    build_as(client, stack, tag(stack), say)
    made = tagged(client, tag(stack))
    with writing(_built(stack)), _built(stack).open("a") as built:
        built.write(f"{made and made.id}\n")
    image = find(client, stack)
    if image is None:
        raise BuildFailed(f"{stack.name}: built, but not on this engine: look at `docker context show` and DOCKER_HOST")
    return image


def build_as(client: DockerClient, stack: PinnedStack, name: str, say: Say, *options: str) -> None:
    """Build the stack's image under a name; options: of `docker build`. Raises as build does."""
    _check_disk(client, stack)
    base = bases.choose(client, stack, say)
    log = fresh_log(cache_folder() / "builds" / f"{name.partition(':')[2]}.log")
    began = time.monotonic()
    say(f"{stack.name}: building its image on {base.image}, {stack.size.wheels_bytes / 1e9:.1f} GB of packages "
        f"(log: {log})")
    try:
        _run_build(stack, base, log, package_sources.Progress(stack.name, say), "-t", name, *options)
    except BuildFailed as error:
        raise BuildFailed(f"{stack.name}: {error}") from error
    say(f"{stack.name}: image ready after {time.monotonic() - began:.0f} s")


def prune(client: DockerClient, stacks: Iterable[PinnedStack], say: Say) -> None:
    """Remove images of ours that are out of date or of no known stack. Nothing of others is touched."""
    images = {str(image.id): image.labels for label in (bases.RECIPE_LABEL, _LABEL + "fingerprint")
              for image in client.images.list(filters={"label": label})}         # the untagged ones too
    for identity, name in stale(images, stacks).items():
        is_gone = remove_image(client, identity)
        say(f"{name}: {identity[7:19]} {'removed' if is_gone else 'kept, a container uses it'}")


def stale(images: Mapping[str, Mapping[str, str]], stacks: Iterable[PinnedStack]) -> dict[str, str]:
    """What each image is of ("tf-2.5", "base") that is out of date or of no known stack, by id, from labels by id."""
    current = {stack.name: stack.made_of() for stack in stacks}
    old = {}
    for identity, labels in images.items():
        name = labels.get(_LABEL + "stack")           # an image has its base's labels too
        if name is not None and current.get(name) != labels.get(_LABEL + "fingerprint"):
            old[identity] = name
        elif name is None and labels.get(bases.RECIPE_LABEL) != bases.RECIPE:
            old[identity] = "base"
    return old


def labels(stack: PinnedStack, base: bases.Base) -> dict[str, str]:
    """What the image says about itself; image.* is the vocabulary of the Open Container Initiative."""
    standard = {"title": stack.title, "version": stack.version, "revision": stack.made_of(),
                "licenses": "Apache-2.0", "base.name": base.image}
    framework = {} if isinstance(stack, Runner) else {
        "framework": stack.framework, "studies": ",".join(stack.studies)}
    own = {"stack": stack.name, **framework, "version": stack.version, "base": base.image,
           "base-is-default": "true" if base.is_default else "false",
           "fingerprint": stack.made_of(), "wheels": wheels_fingerprint(stack)}
    return {**{f"org.opencontainers.image.{key}": value for key, value in standard.items()},
            **{_LABEL + key: value for key, value in own.items()}}


def matching_wheels(lock: str, folders: Sequence[Path]) -> list[Path]:
    """The wheels in folders that a lock's hashes name."""
    pins = package_sources.pins(lock)           # a folder may hold gigabytes: only what may be it is read
    return [path for folder in folders for path in sorted(folder.glob("*.whl"))
            if (hashes := pins.get(project(path.name))) and digest(path) in hashes]


def context(stack: PinnedStack, folder: Path, wheels: Iterable[Path]) -> None:
    """Lay out what a build may see: the repository's shape, but only this stack's inputs and the wheels for it."""
    copies = {path: folder / stack.inside(path) for path in build_files(stack)}
    copies |= {path: folder / "docker" / stack.name / "wheels" / path.name for path in wheels}
    for path, copy in copies.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    # not the checkout's modes, not the umask's: the image's user is not the owner, and modes count for a layer's cache
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _run_build(stack: PinnedStack, base: bases.Base, log: Path, heard: Say, *options: str) -> None:
    settings = package_sources.pip_settings()
    lock = stack.lock_text
    wheels = matching_wheels(lock, package_sources.wheel_folders(settings))
    with leftovers.temporary_folder() as name:
        seen, pip, brought = (Path(name) / part for part in ("context", "pip.conf", "wheels"))
        download = [*package_sources.pip(), *_DOWNLOAD, *package_sources.of_python(stack.python), f"--dest={brought}"]
        package_sources.bring_own(stack, download, lock, log, {project(path.name)[0] for path in wheels}, heard)
        context(stack, seen, [*wheels, *brought.glob("*.whl")])
        pip.write_text(package_sources.pip_configuration(settings), encoding="utf-8")
        arguments = {**stack.build_arguments, "BASE": base.image, "FINGERPRINT": stack.made_of()}
        secrets = {"pip": pip, "ca": package_sources.certificates()}        # which do not stay in the image
        bases.docker_build(
            [*(f"--build-arg={key}={value}" for key, value in arguments.items()),
             *(f"--secret=id={name},src={path}" for name, path in secrets.items() if path),
             *(f"--label={key}={value}" for key, value in labels(stack, base).items()),
             *options, "-f", str(seen / stack.inside(stack.dockerfile)), str(seen)], log, heard)


def _check_disk(client: DockerClient, stack: PinnedStack) -> None:
    """Raise DiskFull where the wheels would not fit. An engine on another machine has a disk that is not seen here."""
    built, root = tagged(client, tag(stack)), Path(client.info()["DockerRootDir"])
    if root.exists() and (built is None or built.labels.get(_LABEL + "wheels") != wheels_fingerprint(stack)):
        need = stack.size.wheels_bytes * environments.UNPACKED_AND_DOWNLOADED + _BASE_BYTES
        environments.check_room(f"{stack.name}: its image", need, root,
                                "run `evenbench images --prune` or look with `docker system df`")

