"""Stacks of the user's own: an environment or an image that is here already. Unpinned; all that it holds is recorded.

`mine=PATH` is an interpreter or the folder of a virtual environment (conda's too), `mine=image:NAME` an image of the
local engine; `#torch` after either says which framework, where it has several. Nothing is installed into it.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from runner import paths
from runner.errors import InputError
from runner.processes import answer_of, clean_environment, for_workers
from runner.stacks.definition import CAPABILITIES, GpuCode, Stack, workloads_digest
from workloads.spec import frameworks

OLDEST = (3, 6)                      # of the Pythons that run the workloads
PINNED, ENVIRONMENT, IMAGE = "pinned", "environment", "image"      # kinds of stacks: ours, and two of the user's
INVENTORY = "workloads.process.inventory"
DEVICES = "workloads.process.gpu_code"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")
_IMAGE = "image:"
SECONDS = 120                        # a framework's first import from a cold disk takes most of a minute
# since which CUDA the oldest capability is which, and the newest major one: libraries and compilers know no others
_OF_CUDA = (("0.0", ("6.0", 12)), ("8.0", ("6.0", 6)), ("9.0", ("6.0", 7)), ("11.0", ("6.0", 8)), ("11.8", ("6.0", 9)),
            ("12.8", ("6.0", 12)), ("13.0", ("7.5", 12)))
_WHO = "import json, sys; print('\\nevenbench ' + json.dumps([sys.version_info[:2], sys.executable]))"
_NO_PATH = "PYTHONPATH is set here, and no worker gets it: install in the environment what only that names"
_WORDS = 300                         # characters of what a program said that failed
Ask = Callable[[list[str]], str | bytes | None]      # what a program prints in an environment, None where it fails


class Asked(NamedTuple):
    """What `--stack NAME=PATH#FRAMEWORK` asks for."""

    name: str
    path: str                        # of an interpreter or a folder; "" for an image
    image: str = ""                  # its name on the local engine
    package: str = ""                # the framework's; "" where the environment's only one is meant

    def __str__(self) -> str:
        return (f"{self.name}={_IMAGE if self.image else ''}{self.image or self.path}"
                + (f"#{self.package}" if self.package else ""))

    def wrong(self, what: str) -> InputError:
        """The error that says what is wrong with it."""
        return InputError(f"--stack {self}: {what}")


class Inventory(BaseModel):
    """What workloads.process.inventory says of an environment."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    python: str
    build: str
    installed: dict[str, str]        # version and digest by package
    frameworks: dict[str, str]       # version by package
    numpy: bool


class OwnStack(Stack):
    """An environment or an image of the user's."""

    interpreter: str                 # its path, in the image for an image
    repository: Path
    build: str                       # sys.version
    installed: tuple[tuple[str, str], ...]
    asked: Asked
    image: str = ""                  # its id; "" for an environment of this host

    @property
    def root(self) -> Path:
        """The repository whose workloads run in it."""
        return self.repository

    def made_of(self) -> str:
        """Its interpreter, packages and image, and the workloads."""
        return self._digest(workloads_digest(self.repository))

    def holds(self, is_here: bool = True) -> str:
        """The same without the workloads; is_here: with where it is, what compilers' kept work is of."""
        return self._digest(*([self.interpreter] if is_here else []))

    def _digest(self, *more: str) -> str:
        content = [self.framework, self.build, self.installed, self.image, *more]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def record(self) -> dict[str, Any]:
        """What a session's record says of it: what to ask for again, and what it held."""
        return {"asked": str(self.asked), "fingerprint": self.made_of(), "python": self.build, "image": self.image,
                "packages": dict(self.installed)}


def kind(stack: Stack) -> str:
    """Which kind of stack it is, by which launchers say what they take: PINNED, ENVIRONMENT or IMAGE."""
    if not isinstance(stack, OwnStack):
        return PINNED
    return IMAGE if stack.image else ENVIRONMENT


def is_own(word: str) -> bool:
    """Whether a word of --stack is of the form NAME=..., and no pinned stack's name."""
    return "=" in word


def side(name: str, word: str, pinned: Mapping[str, Stack]) -> str:
    """A word of --stack for one side of two: a pinned stack's name, NAME=..., or a PATH or image:NAME to be named."""
    return word if word in pinned or is_own(word) else f"{name}={word}"


def parse(word: str, pinned: Mapping[str, Stack]) -> Asked | None:
    """What NAME=PATH, NAME=PATH#FRAMEWORK or NAME=image:NAME asks for; None of a stack's name. Raises InputError."""
    if not is_own(word):
        if word not in pinned and (os.sep in word or word.startswith(_IMAGE)):
            raise InputError(f"--stack {word}: found {'an image' if word.startswith(_IMAGE) else 'a path'} without a "
                             f"name, expected NAME=..., such as mine={word}")
        return None
    name, _, rest = word.partition("=")
    is_whole = "#" not in rest or paths.named(rest).exists()
    where, _, package = (rest, "", "") if is_whole else rest.rpartition("#")
    if not _NAME.fullmatch(name):
        raise InputError(f'--stack {word}: found the name "{name}", expected up to 40 small letters, digits, dots and '
                         "dashes")
    if name in pinned:
        raise InputError(f'--stack {word}: "{name}" is a pinned stack\'s name; choose another, such as my-{name}')
    if (package and package not in {**dict(frameworks.PACKAGES), frameworks.WITHOUT: ""}) or rest.endswith("#"):
        raise InputError(f'--stack {word}: found "#{package}", expected one of '
                         f"{', '.join(f'#{known}' for known, _ in frameworks.PACKAGES)}")
    if where in ("", _IMAGE):
        raise InputError(f"--stack {word}: expected NAME=PATH of a Python or a virtual environment, or NAME=image:NAME")
    if where.startswith(_IMAGE):
        return Asked(name, "", where.removeprefix(_IMAGE), package)
    return Asked(name, where, "", package)


def environment(asked: Asked, root: Path, has_gpus: bool, python: str = "") -> OwnStack:
    """The stack of an environment on this host, asked what it holds. Raises InputError.

    has_gpus: the machine. python: its interpreter, where that is known.
    """
    python = python or executable(asked)
    held = inventory(asked, *_answer([python, "-m", INVENTORY], root, asked))
    return stack(asked, root, held, python, (lambda words: _answer(words, root, asked)[0]) if has_gpus else None)


def executable(asked: Asked) -> str:
    """The interpreter that starts where somebody types the path here: a shim or a wrapper says which one that is.

    Asked once, in this folder and with our variables. The record names it, and it starts workers. Raises InputError.
    """
    python = interpreter(asked)
    ended = _run([python, "-c", _WHO], Path.cwd(), asked, clean_environment())
    try:
        version, told = interpreter_in(ended.stdout)
    except ValueError as error:
        raise asked.wrong(f"{python} is not a Python interpreter: it did not say its version{_words(ended)}") from error
    if version < OLDEST:
        raise asked.wrong(f"found Python {version[0]}.{version[1]}, expected {OLDEST[0]}.{OLDEST[1]} or newer")
    return told or str(python)


def check_unchanged(stack: OwnStack) -> None:
    """Look whether an environment still holds what it did when the session began. Raises InputError."""
    now = environment(stack.asked, stack.repository, False, stack.interpreter)
    if (what := change(stack.record(), now)) or now.framework != stack.framework:
        raise InputError(f"{stack.name} has changed since the session began: {what}; the same command begins a new one")


def interpreter(asked: Asked) -> Path:
    """The interpreter at a path: itself, or a folder's bin/python. Links are kept: they make a virtual environment."""
    path = paths.named(asked.path)
    if os.sep not in asked.path and not path.exists() and (on_path := shutil.which(asked.path)):
        path = Path(on_path)
    path = path.absolute()
    inside = [path / "bin" / name for name in ("python", "python3")] if path.is_dir() else []
    path = next((each for each in inside if each.is_file()), path)
    if gone := next((each for each in inside if path.is_dir() and each.is_symlink()), None):
        raise asked.wrong(f"{gone} leads to {gone.readlink()}, which is not there: make the environment anew")
    if path.is_dir():
        raise asked.wrong(f"{path} is no environment: it has no bin/python")
    if not path.is_file():
        raise asked.wrong(f"there is no {path}; expected a Python or a virtual environment's folder")
    if not os.access(path, os.X_OK):
        raise asked.wrong(f"{path} is not a Python interpreter: it cannot be run")
    return path


def variables(stack: Stack) -> dict[str, str]:
    """What a worker of a stack of the user's is told: its framework, where the user's packages lie, and what the record
    says that it is: a worker that is another one ends as an error. {} for a pinned one.

    A worker's home is a scratch folder, in which `pip install --user` has put nothing.
    """
    if not isinstance(stack, OwnStack):
        return {}
    where = {"EVENBENCH_STACK": stack.name} if stack.image else {"EVENBENCH_EXECUTABLE": stack.interpreter,
                                                                 **_user_packages()}
    packages = hashlib.sha256(json.dumps(stack.installed).encode()).hexdigest()
    return {frameworks.CHOSEN: stack.framework, "EVENBENCH_PACKAGES": packages, **where}


def run_record(stack: Stack) -> dict[str, Any]:
    """What a run's record says of a stack that is not pinned, and so has no base of its own; {} for a pinned one."""
    if not isinstance(stack, OwnStack):
        return {}
    where = f"image {stack.asked.image}" if stack.image else f"host, {stack.interpreter}"
    return {"pinned": False, "base": f"not pinned: {where}", "base_is_default": None}


def _user_packages() -> dict[str, str]:
    base = os.environ.get("PYTHONUSERBASE") or ((own := paths.home()) and str(own / ".local"))
    without = {"PYTHONNOUSERSITE": words} if (words := os.environ.get("PYTHONNOUSERSITE")) else {}
    return {**({"PYTHONUSERBASE": base} if base else {}), **without}


def warning(stacks: Iterable[OwnStack]) -> str:
    """A line on packages that the user's shell has and an environment's workers have not; "" where there are none."""
    return _NO_PATH if "PYTHONPATH" in os.environ and any(not each.image for each in stacks) else ""


def _answer(command: Sequence[str | Path], root: Path, asked: Asked) -> tuple[str | None, str]:
    """(what a program prints when it starts as workers do, None where it fails; its last words). Raises InputError."""
    variables = {**for_workers(), **_user_packages(), "PYTHONDONTWRITEBYTECODE": "1", "HOME": tempfile.gettempdir()}
    ended = _run(command, root, asked, variables)
    return (None, _words(ended)) if ended.returncode else (ended.stdout, "")


def _words(ended: "subprocess.CompletedProcess[str]") -> str:
    """What a program that failed said, on one line: its beginning, and whole its last line, which says why."""
    lines = [" ".join(line.split()) for line in (ended.stderr.strip() or ended.stdout.strip()).splitlines()]
    said = " ".join(filter(None, lines))
    return f": {said if len(said) <= _WORDS else f'{said[:_WORDS].rstrip()} ... {lines[-1]}'}" if said else ""


def _run(command: Sequence[str | Path], folder: Path, asked: Asked, variables: Mapping[str, str],
         ) -> "subprocess.CompletedProcess[str]":
    """A program that has ended. Raises InputError."""
    try:
        return answer_of(command, cwd=folder, timeout=SECONDS, env=variables, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise asked.wrong(f"{command[0]} is not a Python interpreter: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise asked.wrong(f"{command[0]} did not answer within {SECONDS} s") from error


def answer_in(output: str | bytes | None) -> Any:
    """The last line of a program's output, from JSON: an environment may print more before. Raises ValueError."""
    lines = (output or "").strip().splitlines()
    return json.loads(lines[-1]) if lines else {}


def interpreter_in(output: str) -> tuple[tuple[int, ...], str]:
    """(version, path) that an interpreter says of itself on a line of "evenbench [version, path]", as JSON.

    It may print text of its own when it starts and when it ends. Raises ValueError.
    """
    said = re.search(r"^evenbench (\[\[\d+, \d+.+\])$", output, re.MULTILINE)
    if said is None:
        raise ValueError("no line of an interpreter's")
    version, path = json.loads(said[1])
    return tuple(version), path


def inventory(asked: Asked, output: str | bytes | None, words: str = "") -> Inventory:
    """The Inventory in what workloads.process.inventory printed; words: of a failure. Raises InputError."""
    try:
        return Inventory.model_validate(answer_in(output))
    except (ValueError, RecursionError) as error:
        raise asked.wrong(f"it did not tell what it holds{words}: run `python -m {INVENTORY}` in it to see "
                          "why") from error


def framework_package(asked: Asked, held: Inventory) -> str:
    """The framework's package: the one that was asked for, else the only one. Raises InputError."""
    has = [*held.frameworks]
    meant = [asked.package] if asked.package else frameworks.meant(has)
    if not has and asked.package != frameworks.WITHOUT:
        known = ", ".join(package for package, _ in frameworks.PACKAGES)
        raise asked.wrong(f"found no framework in it, expected one of {known}"
                          + (f"; {_NO_PATH}" if "PYTHONPATH" in os.environ and not asked.image else ""))
    if asked.package and asked.package not in (*has, frameworks.WITHOUT):
        raise asked.wrong(f"found no {asked.package} in it; it has {', '.join(has)}")
    if len(meant) > 1:
        choices = " or ".join(str(asked._replace(package=package)) for package in meant)
        raise asked.wrong(f"found {' and '.join(meant)} in it; choose by {choices}")
    if not held.numpy:
        raise asked.wrong("found no numpy in it, which the workloads need: install it there")
    return meant[0]


def stack(asked: Asked, root: Path, held: Inventory, python: str, ask: Ask | None, image: str = "") -> OwnStack:
    """The OwnStack of what an environment or image holds; ask: where the machine has GPUs. Raises InputError."""
    package = framework_package(asked, held)
    framework: Any = package
    version, title = held.python, f"Python {held.python}"
    code: GpuCode | None = None
    if package != frameworks.WITHOUT:
        framework, version = frameworks.adapter(package), held.frameworks[package] or "unknown"
        if _release(version) and _release(version) < _release(oldest := frameworks.oldest(framework)):
            raise asked.wrong(f"found {package} {version}, expected {oldest} or newer")
        title = f"{frameworks.title(framework)} {version}"
        code = gpu_code(asked, ask([python, "-m", DEVICES, package])) if ask else None
    return OwnStack(name=asked.name, framework=framework, version=version, python=".".join(held.python.split(".")[:2]),
                    title=f"{title} (own {'image' if image else 'environment'})",
                    devices=("cpu", "gpu") if code else ("cpu",), gpu=code, interpreter=python, repository=root,
                    build=held.build, installed=tuple(sorted(held.installed.items())), asked=asked, image=image)


def gpu_code(asked: Asked, answer: str | bytes | None) -> GpuCode | None:
    """What the framework brings for GPUs, as workloads.process.gpu_code says; None for nothing. Raises InputError."""
    try:
        code: dict[str, Any] = answer_in(answer)
        if not code["cuda"]:
            return None
        architectures = [str(each) for each in code["architectures"]]
        native, jit = code_for(architectures) if architectures else (of_cuda(code["cuda"]), ())
        left = tuple(each for each in CAPABILITIES if each not in (*native, *jit))
        why = "it was not compiled for it" if architectures else f"CUDA {code['cuda']} knows no such GPU"
        return GpuCode(cuda=code["cuda"], driver="0.0", native=native, jit=jit, unsupported=left, why=why,
                       verified=False)
    except (ValueError, KeyError, TypeError) as error:
        raise asked.wrong("its framework did not say whether it has code for GPUs: run "
                          f"`python -m {DEVICES} PACKAGE` in it to see why") from error


def code_for(architectures: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(capabilities with ready code, capabilities that compile first) of sm_80, compute_90, ...

    Code for 8.0 runs on 8.6, not on 9.0; what is for one model alone (sm_90a) runs nowhere else.
    """
    named = [match for each in architectures if (match := re.match(r"(sm|compute)_(\d+)(\d)", each))]
    ready, texts = ([(int(each[2]), int(each[3])) for each in named if each[1] == kind] for kind in ("sm", "compute"))
    native, jit = [], []
    for capability in CAPABILITIES:
        major, minor = _release(capability)
        if any(each[0] == major and each[1] <= minor for each in ready):
            native.append(capability)
        elif any(each <= (major, minor) for each in texts):
            jit.append(capability)
    return tuple(native), tuple(jit)


def of_cuda(version: str) -> tuple[str, ...]:
    """The capabilities that a release of CUDA has code for, where a framework says no more; of "0.0" all."""
    least, major = [known for since, known in _OF_CUDA if _release(version) >= _release(since)][-1]
    return tuple(each for each in CAPABILITIES if _release(each) >= _release(least) and _release(each)[0] <= major)


def _release(version: str) -> tuple[int, ...]:
    """(2, 13) of 2.13.0+cpu; () of what has no number."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def change(before: Mapping[str, Any], now: OwnStack) -> str:
    """What differs between an earlier record of a stack and the stack now, in words; "" for nothing that is known."""
    then, has = dict(before.get("packages") or {}), dict(now.installed)
    parts = ["another image"] if before.get("image") != now.image else []
    if before.get("python") != now.build:
        parts.append(f"Python {_first(before.get('python'))} then, {_first(now.build)} now")
    parts += [f"{name} {_first(then.get(name, 'absent'))} then, {_first(has.get(name, 'absent'))} now"
              for name in sorted({*then, *has}) if then.get(name) != has.get(name)]
    return ", ".join(parts[:4]) + (f" and {len(parts) - 4} more" if len(parts) > 4 else "")


def _first(text: Any) -> str:
    return str(text).partition(" ")[0]
