"""Running other programs: their output kept in a log, one line of it as the reason when they fail, one at a time."""

import fcntl
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from runner import paths
from runner.errors import BuildFailed, InputError

Say = Callable[[str], None]

# how pip, apt and debootstrap say it, after what BuildKit puts before each line ("#7 12.34 ")
_ERROR = re.compile(r"^(?:#\d+ (?:[\d.]+ )?)?\s*(?:ERROR|error|E): (.+)$")
_MOVES_RESULTS = re.compile(
    "LD_PRELOAD|GLIBC_TUNABLES|PYTHONMALLOC|ATEN_CPU_CAPABILITY|NVIDIA_TF32_OVERRIDE|"
    "(?:MALLOC|MIMALLOC|TCMALLOC|DNNL|ONEDNN|OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|TBB|XLA|JAX|TORCH|PYTORCH|MXNET|ORT|CUBLAS)_.+|"
    "(?:CUDA|CUDNN|NCCL)_(?!HOME|PATH|VERSION|VISIBLE).+|"       # but where they lie, and what images say of themselves
    "TF_(?!CLI_|VAR_).+")                                        # but Terraform's
# what is before an @ behind a slash, or behind a name and a colon; a digest's is none
_PASSWORD = re.compile(r"(/+)[^\s'\"]*@(?!sha256:)(?=[\w\[])|[^\s'\"/=]*:[^\s'\"/]*@(?!sha256:)(?=[\w\[])")
ELSEWHERE = ("target", "prefix", "user", "root", "dry-run", "python")       # settings by which pip installs elsewhere
_ABSENT = "No matching distribution found"
TO_SET = ": set PIP_FIND_LINKS to a folder that has it, or PIP_EXTRA_INDEX_URL to an index"
_MISMATCH = re.compile(r"^(?:#\d+ [\d.]+ )?\s+(\S+==\S+ from .+?)(?: \(from .*)?:\n.*Expected sha256 (\w+)\n"
                       r".*Got +(\w+)$", re.MULTILINE)
_BROKEN = re.compile("Name or service not known|Temporary failure in name resolution|Connection refused|"
                     "Network is unreachable|No route to host|timed out|certificate verify failed|"
                     "Connection reset by peer|Remote end closed connection|Cannot connect to proxy")


def run(command: list[str], log: Path, heard: Say = lambda line: None, environment: Mapping[str, str] | None = None
        ) -> None:
    """Run a command, its output appended to the log and told line by line. Raises BuildFailed: its reason and log."""
    lines: list[str] = []
    variables = clean_environment() if environment is None else environment
    with paths.writing(log), log.open("a", encoding="utf-8", errors="replace") as kept:
        kept.write(without_passwords(f"$ {' '.join(command)}\n"))
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       errors="replace", env=variables)
        except OSError as error:
            raise BuildFailed(f"{command[0]} did not start: {error.strerror}") from error
        with process:
            for line in map(without_passwords, process.stdout or ()):
                kept.write(line)
                lines.append(line.rstrip())
                heard(lines[-1])
    if process.returncode:
        raise BuildFailed(f"{reason(lines, process.returncode)} (log: {log})")


def answer_of(command: Sequence[str | Path], **how: Any) -> "subprocess.CompletedProcess[str]":
    """A program that has ended, and what it printed. Raises OSError, TimeoutExpired."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **{"errors": "replace", **how})


def reason(lines: list[str], status: int) -> str:
    """Why a command failed: the line that says so. A full disk comes before its consequences.

    pip's first error may be a remark on other versions, and its hashes stand below the line that tells of them.
    """
    if any("no space left on device" in line.lower() for line in lines):
        return "the disk is full"
    if found := _MISMATCH.search("\n".join(lines)):
        return "{} is not the locked file: found sha256 {}, expected {}".format(*found.group(1, 3, 2))
    errors = [match[1].strip() for match in map(_ERROR.match, lines) if match]
    if absent := [error for error in errors if error.startswith(_ABSENT)]:
        broken = next((no_answer(line) for line in lines if "connection broken by" in line
                       or "Could not fetch URL" in line), "")
        return absent[0] + (f" ({broken})" if broken else "") + TO_SET
    said = errors or [line.strip() for line in reversed(lines) if line.strip()]
    return said[0] if said else f"exit status {status}"


def no_answer(words: str) -> str:
    """Why a server did not answer, from the many words of a client: "no answer: Connection refused"."""
    known = _BROKEN.search(words)
    return f"no answer: {known[0] if known else without_passwords(words)}"


def fresh_log(path: Path) -> Path:
    """The path, its folder made and what lay there gone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


def for_workers() -> dict[str, str]:
    """The variables of ours that a worker gets. By an allow-list: what a shell exports cannot change a measurement."""
    return {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}


def passed_on(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(name, value) of our variables that the user passes on to workers. Raises InputError for one that is not set."""
    chosen = sorted(set(names))
    for name in chosen:
        if name not in os.environ:
            raise InputError(f"--env {name}: found no such variable, expected one that is set: export "
                             f"{name.partition('=')[0]}=..., then --env {name.partition('=')[0]}")
        if name.startswith("EVENBENCH_") or name in ("PATH", "HOME", "PYTHONPATH", "PYTHONHOME"):
            raise InputError(f"--env {name}: found a variable that evenbench sets itself, expected another one")
    return tuple((name, os.environ[name]) for name in chosen)


def left_behind(passed: Iterable[str], is_rerun: bool = False) -> str:
    """A line on variables that are set here, move results and are not passed on; "" where there are none.

    is_rerun: which has the variables of its record alone.
    """
    names = sorted(name for name in os.environ if _MOVES_RESULTS.fullmatch(name) and name not in set(passed))
    hint = "its record has none of them" if is_rerun else "--env NAME passes one on"
    return f"set here and not passed on to workers: {', '.join(names)}; {hint}" if names else ""


def pip_variable(setting: str) -> str:
    """The variable by which pip is told a setting."""
    return f"PIP_{setting.upper().replace('-', '_')}"


def clean_environment() -> dict[str, str]:
    """Our environment without what leads an interpreter to another one's packages, or pip to install elsewhere.

    Other PIP_* settings stay. Pip does not start without a home: where there is none, the cache's folder is it.
    """
    homeless = {} if paths.home() else {"HOME": str(paths.cache_folder())}
    return {**{key: value for key, value in os.environ.items()
               if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", *map(pip_variable, ELSEWHERE))}, **homeless}


def without_passwords(text: str) -> str:
    """A text whose addresses say nothing before an @, however they were mistyped."""
    return _PASSWORD.sub(r"\1", text)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, where its file system has locks; the kernel lets go of it when its holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
