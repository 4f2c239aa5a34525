"""Stacks: what the folders docker/<stack>/ say, and fingerprints that change when what a stack is made of changes."""

import hashlib
import platform
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, model_validator

from runner import __version__, paths, strict_toml
from runner.errors import InputError, unknown
from runner.strict_toml import Keys, Text, mistake
from workloads.spec import cluster

_LOCKED_FOR = "x86_64"      # what every lock has wheels of
RUNNER = "runner"           # the folder, and the name, of our own image
# of GPUs, from Pascal to Blackwell: what every [gpu] table tells of
CAPABILITIES = ("6.0", "6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
Framework = Literal["tensorflow", "pytorch", "mxnet", "jax", "onnxruntime", "openvino", "onednn", "cudnn",
                    "python"]
_Version = Annotated[str, Field(pattern=r"^\d+(\.\d+)+$")]
_Python = Annotated[str, Field(pattern=r"^3\.\d+$")]


class GpuCode(Keys, frozen=True):
    """What a stack brings for GPUs, and which compute capabilities it has code for."""

    cuda: _Version
    cudnn: _Version | None = None
    nccl: _Version | None = None
    driver: _Version                    # the oldest that runs it, on Linux
    jit_driver: _Version | None = None  # the oldest that compiles its code: that of its own CUDA, not of the series
    native: tuple[str, ...]             # compiled for
    jit: tuple[str, ...]                # compiled at the first start, which takes minutes
    unsupported: tuple[str, ...]
    why: str = ""                       # they are unsupported
    verified: bool                      # on a GPU, by us

    @model_validator(mode="after")
    def _each_capability_once(self) -> Self:
        if sorted(self.native + self.jit + self.unsupported) != sorted(CAPABILITIES):
            raise mistake(f"native, jit and unsupported must hold each of {', '.join(CAPABILITIES)} once")
        if self.unsupported and not self.why:
            raise mistake('key "why": missing: the reason of what is unsupported')
        return self


class BaseImage(Keys, frozen=True):
    """The image that a stack's image begins with."""

    image: Text
    verified: bool
    digest_unknown: bool = False    # it has no image until somebody has written it down
    has_cuda: bool = False          # and no base of our own could stand in for it
    has_framework: bool = False     # so nothing is installed, and there is no virtual environment of it
    packages: tuple[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]*$")], ...] = ()     # that it lacks

    @model_validator(mode="after")
    def _is_pinned(self) -> Self:
        if self.digest_unknown == bool(re.match(r"^\S+@sha256:[0-9a-f]{64}$", self.image)):
            raise mistake(f'key "image": found {self.image!r}, expected NAME:TAG@sha256:..., or "digest_unknown"')
        return self


class Size(Keys, frozen=True):
    """What a stack takes."""

    wheels_bytes: int = Field(gt=0)     # of all packages as they are installed


class Stack(Keys, frozen=True):
    """A software stack, ours or the user's: what its cells need to know of it."""

    name: str
    framework: Framework
    version: Text
    python: _Python
    title: Text
    devices: tuple[Literal["cpu", "gpu"], ...] = Field(min_length=1)
    gpu: GpuCode | None = None
    env: tuple[tuple[str, str], ...] = ()      # variables of the user's that its workers get, by --env
    sync: str = ""                      # the mode that parallel = sync is here, where it is not the framework's usual

    @model_validator(mode="after")
    def _knows_its_mode_and_gpus(self) -> Self:
        if self.sync and (self.framework, self.sync) not in cluster.MODES:
            raise mistake(f"sync: {cluster.impossible(self.framework, self.sync, 2)}")
        if ("gpu" in self.devices) != (self.gpu is not None):
            raise mistake("devices has gpu where there is a table gpu, and only there")
        return self

    @property
    @abstractmethod
    def root(self) -> Path:
        """The repository whose workloads run in it."""

    @property
    def unbuildable(self) -> str | None:
        """Why nobody can build its image, with the way out; None where that can be tried, or there is none to build."""
        return None

    @property
    def foreign(self) -> str | None:
        """Why its packages do not run on this machine, with the way out; None where they do."""
        return None

    @abstractmethod
    def made_of(self) -> str:
        """What it and the workloads are made of, as a SHA-256: another one is another stack."""

    def mode(self, parallel: str) -> str:
        """The mode that "sync" or "async" becomes; another name as it is. Raises KeyError."""
        own: str = cluster.own_mode(self.framework, parallel)
        return self.sync or own if parallel == "sync" else own


class PinnedStack(Stack):
    """A stack of ours, every part of it pinned: the folder docker/<name>/."""

    carries: ClassVar[tuple[str, ...]] = ("workloads",)     # the repository's folders that the image has a copy of
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")         # also an image's name and a folder's
    base: BaseImage
    size: Size
    index: Mapping[str, Annotated[str, Field(pattern=r"^(https?|file)://\S+$")]] = {}  # by package, where it is had
    folder: Path
    beside: Path                        # docker/, which holds what stacks share: a Dockerfile, scripts, and pip's locks
    studies: tuple[str, ...]

    @model_validator(mode="after")
    def _installs_its_packages(self) -> Self:
        if self.base.packages and not self.build_arguments:
            raise mistake(f"[base]: packages: {self.dockerfile} installs its own, and does not read them")
        return self

    @property
    def unbuildable(self) -> str | None:
        """Why nobody can build its image, with the way out; None where that can be tried."""
        if not self.base.digest_unknown:
            return None
        return (f"{self.name}: the digest of its base is on no record: run `docker buildx imagetools inspect "
                f"{self.base.image}` where a registry answers, and write it into its stack.toml")

    @property
    def foreign(self) -> str | None:
        """Why its packages do not run on this machine, with the way out; None where they do."""
        if (kind := platform.machine()) == _LOCKED_FOR:
            return None
        return (f"{self.name} is locked for {_LOCKED_FOR}, and this machine is {kind}: measure an environment of your "
                "own, --stack mine=PATH")

    @property
    def root(self) -> Path:
        """The repository: what an image's build sees."""
        return self.beside.parent

    def inside(self, path: Path) -> Path:
        """A file's name in the repository, as a build sees it: a stack of the user's lies there like one of ours."""
        if path.is_relative_to(self.folder):
            return Path("docker", self.name, path.relative_to(self.folder))
        return path.relative_to(self.root)

    def made_of(self) -> str:
        """What an image is made of, as a SHA-256: Dockerfile with its arguments, scripts, locks and what it carries."""
        return _digest(self.inside, {*build_files(self)}, self.build_arguments)

    @property
    def dockerfile(self) -> Path:
        """Its own, where it compiles something or its base has the framework; else the one that stacks share."""
        own = self.folder / "Dockerfile"
        return own if own.is_file() else self.beside / "Dockerfile"

    @property
    def build_arguments(self) -> dict[str, str]:
        """Arguments of the shared Dockerfile; {} for a Dockerfile of its own."""
        if self.dockerfile.parent == self.folder:
            return {}
        return {"BASE": self.base.image, "STACK": self.name, "PYTHON": self.python,
                "PACKAGES": " ".join(self.base.packages)}

    @property
    def lock(self) -> Path:
        """Every package of the stack with version and hashes."""
        return self.folder / "requirements.txt"

    @property
    def lock_text(self) -> str:
        """What the lock says. Raises InputError where that is no text."""
        return paths.text_of(self.lock.read_bytes(), self.lock)

    @property
    def locks(self) -> tuple[Path, ...]:
        """What is installed: nothing where the base has all."""
        source = self.folder / "source.txt"      # what build.sh builds
        installer = () if self.base.has_framework else (self.pip_lock,)
        return (self.lock, *installer, *([source] if source.is_file() else ()))

    @property
    def program(self) -> tuple[Path, ...]:
        """What is compiled into its environment, build.sh first; empty for most."""
        script = self.folder / "build.sh"
        sources = (path for path in self.folder.iterdir() if path.suffix in (".cpp", ".cu", ".h"))
        return (script, *sorted(sources)) if script.is_file() else ()

    @property
    def pip_lock(self) -> Path:
        """What installs the lock: pip itself, for all stacks of one Python."""
        return self.beside / "pip" / f"{self.python}.txt"


def pinned(stack: Stack) -> PinnedStack:
    """The stack, known to be one of ours. Raises InputError for the user's own."""
    if not isinstance(stack, PinnedStack):
        raise InputError(f"--stack {stack.name}=...: found a stack of your own, expected a pinned one")
    return stack


class Runner(PinnedStack):
    """The runner's own image, for compose: it knows of each stack what its image is made of. No cell runs in it."""

    # all that the command needs, and what makes a stack's fingerprint
    carries: ClassVar[tuple[str, ...]] = ("data", "docker", "runner", "studies", "workloads")


_Kind = TypeVar("_Kind", bound=PinnedStack)


def read(folder: Path, beside: Path | None = None) -> PinnedStack:
    """The PinnedStack of a folder; beside: where it does not lie in docker/. Raises InputError."""
    return _read(folder / "stack.toml", "stack", PinnedStack, beside)


def read_runner(docker_folder: Path) -> Runner:
    """The Runner among the folders of the stacks. Raises InputError."""
    return _read(docker_folder / RUNNER / "image.toml", "image", Runner, version=__version__, framework="python",
                 devices=("cpu",), studies=())


def _read(path: Path, head: str, kind: type[_Kind], beside: Path | None = None, **values: Any) -> _Kind:
    """What a file says: the keys of the table `head` beside its other tables, and these values."""
    position = strict_toml.Position(str(path))
    try:
        tables = strict_toml.document(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    own = tables.pop(head, None)
    if not isinstance(own, dict):
        raise position.wrong(f"table [{head}]: missing")
    said = {**own, **tables}
    folder = path.parent.absolute()
    values |= {"folder": folder, "beside": beside or folder.parent}
    known = [name for name in kind.model_fields if name not in (*values, "env")]
    strict_toml.refuse_unknown(said, known, position)
    stack = strict_toml.validated(kind, {**strict_toml.frozen(said), **values}, position)
    if stack.name != path.parent.name:
        raise position.wrong(f'name "{stack.name}" is not the folder\'s, "{path.parent.name}"')
    return stack


def read_all(folders: paths.Shelf) -> dict[str, PinnedStack]:
    """All stacks by name: what holds a stack.toml in docker/, and in the folders after it, which are the user's."""
    stacks: dict[str, PinnedStack] = {}
    beside = None                       # ours lie in it
    for shelf in paths.several(folders):
        found = sorted(path.parent for path in shelf.glob("*/stack.toml") if path.is_file())
        if not found:
            raise InputError(f"{shelf}: no stack here; expected folders that hold a stack.toml")
        for folder in found:
            if folder.name in stacks:
                raise InputError(f"{folder}: there is a stack {folder.name} already, in {stacks[folder.name].folder}: "
                                 "give yours another name, in its stack.toml too")
            stacks[folder.name] = read(folder, beside)
        beside = beside or shelf.absolute()
    return stacks


def all_images(folders: paths.Shelf) -> dict[str, PinnedStack]:
    """All that has an image, by name: the stacks and the runner."""
    return {**read_all(folders), RUNNER: read_runner(paths.several(folders)[0])}


def chosen_names(names: Sequence[str] | None, known: Mapping[str, Stack]) -> Sequence[str]:
    """The names, each once, or without any those of all stacks for CPUs. Raises InputError for an unknown name."""
    for name in names or []:
        if name not in known:
            raise unknown("stack", name, known)
    return [*dict.fromkeys(names or [])] or [
        name for name, each in known.items() if isinstance(each, PinnedStack) and "cpu" in each.devices]


def workloads_digest(root: Path) -> str:
    """The workloads alone, as a SHA-256: the same that workloads.places.agent says of its own."""
    return _digest(lambda path: path.relative_to(root), sources(root / "workloads"), {})


def wheels_fingerprint(stack: PinnedStack) -> str:
    """What a virtual environment is made of, as a SHA-256: the two locks, and a program that is compiled into it."""
    return _digest(stack.inside, (*stack.locks, *stack.program), {})


def build_files(stack: PinnedStack) -> list[Path]:
    """What an image's build reads, and what the image carries."""
    carried = [path for name in stack.carries for path in sources(stack.root / name)]
    return [stack.dockerfile, *stack.locks, *sorted(stack.beside.glob("*.sh")), *stack.program, *carried]


def sources(folder: Path) -> list[Path]:
    """The files below a folder, but what an interpreter left behind."""
    return [path for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"]


def _digest(named: Callable[[Path], Path], files: Iterable[Path], arguments: Mapping[str, str]) -> str:
    total = hashlib.sha256("".join(f"{key}={value}\0" for key, value in arguments.items()).encode())
    for path in sorted(files, key=named):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        total.update(f"{named(path)}\0{len(content)}\0".encode() + content)
    return total.hexdigest()
