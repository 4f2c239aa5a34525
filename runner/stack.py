"""Stacks: what the folders docker/<stack>/ say, and fingerprints that change when what a stack is made of changes."""

import hashlib
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runner.errors import InputError

# stack.toml's tables and the field that each of their keys becomes
_FIELDS = {
    "stack": {key: key for key in ("name", "framework", "version", "python", "studies", "devices", "title")},
    "base": {"image": "base_image", "verified": "base_verified"},
    "size": {"wheels_bytes": "wheels_bytes"},
}


class Stack(BaseModel):
    """One pinned software stack: the folder docker/<name>/."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")         # also an image's name and a folder's
    framework: Literal["tensorflow", "pytorch", "mxnet"]
    version: str = Field(min_length=1)
    python: str = Field(pattern=r"^3\.\d+$")
    studies: tuple[str, ...]
    devices: tuple[Literal["cpu", "gpu"], ...] = Field(min_length=1)
    title: str = Field(min_length=1)
    base_image: str = Field(pattern=r"^\S+@sha256:[0-9a-f]{64}$")
    base_verified: bool
    wheels_bytes: int = Field(gt=0)
    folder: Path

    @property
    def root(self) -> Path:
        """The repository: what an image's build sees."""
        return self.folder.parent.parent

    @property
    def lock(self) -> Path:
        """Every package of the stack with version and hashes."""
        return self.folder / "requirements.txt"

    @property
    def pip_lock(self) -> Path:
        """What installs the lock: pip itself, for all stacks of one Python."""
        return self.folder.parent / "pip" / f"{self.python}.txt"


def read(folder: Path) -> Stack:
    """The Stack of a folder. Raises InputError with file, key, found and expected."""
    path = folder / "stack.toml"
    try:
        values = _flat(path, tomllib.loads(path.read_text(encoding="utf-8")))
        stack = Stack(**values, folder=folder.absolute())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        found = f" (found {first['input']!r})" if first["type"] != "missing" else ""
        raise InputError(f"{path}: {key}: {first['msg']}{found}") from error
    if stack.name != folder.name:
        raise InputError(f'{path}: name "{stack.name}" is not the folder\'s, "{folder.name}"')
    return stack


def read_all(docker_folder: Path) -> dict[str, Stack]:
    """All stacks by name: the folders that hold a stack.toml."""
    folders = sorted(path.parent for path in docker_folder.glob("*/stack.toml"))
    if not folders:
        raise InputError(f"{docker_folder}: no stack here; expected folders that hold a stack.toml")
    return {folder.name: read(folder) for folder in folders}


def fingerprint(stack: Stack) -> str:
    """What an image is made of, as a SHA-256: Dockerfile, scripts of the build, locks and the workloads."""
    workloads = (path for path in stack.root.joinpath("workloads").rglob("*") if is_source(path))
    return _digest(stack.root, [*build_files(stack), *workloads])


def wheels_fingerprint(stack: Stack) -> str:
    """What a virtual environment is made of, as a SHA-256: the two locks."""
    return _digest(stack.root, [stack.lock, stack.pip_lock])


def build_files(stack: Stack) -> list[Path]:
    """What an image's build reads besides the workloads."""
    scripts = sorted(stack.folder.parent.glob("*.sh"))
    return [stack.folder / "Dockerfile", stack.lock, stack.pip_lock, *scripts]


def is_source(path: Path) -> bool:
    """False for folders and for what an interpreter left behind."""
    return path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"


def _digest(root: Path, paths: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for path in sorted(paths):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        total.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def _flat(path: Path, tables: dict[str, Any]) -> dict[str, Any]:
    """The fields of Stack from stack.toml's tables; a missing key is left to the model to miss."""
    values = {}
    for table, content in tables.items():
        if table not in _FIELDS or not isinstance(content, dict):
            raise InputError(f'{path}: "{table}" is unknown; known tables: {", ".join(_FIELDS)}')
        for key, value in content.items():
            if key not in _FIELDS[table]:
                raise InputError(f'{path}: {table}.{key} is unknown; known: {", ".join(_FIELDS[table])}')
            values[_FIELDS[table][key]] = tuple(value) if isinstance(value, list) else value
    return values
