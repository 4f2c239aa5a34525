"""Locks: what requirements.in of a stack becomes with its own interpreter, every package with version and hash."""

import re
import tempfile
from pathlib import Path

from runner import leftovers
from runner.errors import InputError
from runner.paths import digest
from runner.processes import fresh_log, run
from runner.stacks import package_sources
from runner.stacks.definition import PinnedStack, sources
from runner.stacks.environments import create

_HEADER = "# Made by `evenbench lock {name}` from requirements.in: the files for Python {python} on x86_64 Linux.\n"


def relock(stack: PinnedStack) -> str:
    """The stack's requirements.txt made anew; nothing is written.

    pip's own download is the resolver, because it is the only one that all of these interpreters have, and what it
    brings is what will be installed. Raises InterpreterMissing, BuildFailed.
    """
    with leftovers.temporary_folder() as name:
        folder = Path(name)
        log = fresh_log(Path(tempfile.gettempdir()) / f"evenbench-lock-{stack.name}.log")
        python = create(stack, folder / "venv", log)
        wanted, files = stack.folder / "requirements.in", folder / "files"
        download = [str(python), "-m", "pip", "download", "--no-build-isolation", "--progress-bar=off", "--no-input",
                    f"--dest={files}", f"--find-links={files}"]
        package_sources.bring_own(stack, [*download, "--no-deps"], wanted.read_text(encoding="utf-8"), log)
        run([*download, "-r", str(wanted)], log)
        return lock_text(stack, sources(files))


def lock_text(stack: PinnedStack, files: list[Path]) -> str:
    """The text of a lock that admits exactly these wheels and source archives."""
    pins = sorted(f"{name}=={version} \\\n    --hash=sha256:{digest(path)}\n"
                  for path in files for name, version in [project(path.name)])
    return _HEADER.format(name=stack.name, python=stack.python) + "".join(pins)


def project(file_name: str) -> tuple[str, str]:
    """("google-pasta", "0.2.0") of google_pasta-0.2.0-py3-none-any.whl or google-pasta-0.2.0.tar.gz."""
    found = (re.fullmatch(r"([^-]+)-([^-]+)-.+\.whl", file_name)
             or re.fullmatch(r"(.+)-([^-]+)\.(?:tar\.gz|tar\.bz2|tgz|zip)", file_name))
    if not found:
        raise InputError(f"{file_name}: neither a wheel nor a source archive")
    return package_sources.normal(found[1]), found[2]
