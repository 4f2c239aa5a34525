"""Environments of revisions of the current directory, `git:REV`: installed once by pip, and kept by revision."""

import sys
from pathlib import Path

from runner import paths
from runner.errors import InputError
from runner.processes import Say, answer_of, fresh_log, locked, run
from runner.stacks import package_sources


def installed(word: str, cache: Path, say: Say) -> str:
    """The environment of git:REV of the current directory, made once and kept by revision; another word as it is.

    It holds the revision's package, what that requires, and numpy. Raises InputError, BuildFailed.
    """
    if not word.startswith("git:"):
        return word
    top = _git(word, "rev-parse", "--show-toplevel")
    commit = _git(word, "rev-parse", "--verify", "--quiet", "--end-of-options",
                  f"{word.removeprefix('git:')}^{{commit}}")
    if not any((Path(top) / name).is_file() for name in ("pyproject.toml", "setup.py")):
        raise InputError(f"{word}: found neither pyproject.toml nor setup.py in {top}, expected a package that pip "
                         "installs")
    folder = paths.usable(cache).absolute() / "git" / f"{commit[:16]}-{sys.version_info[0]}.{sys.version_info[1]}"
    with locked(folder.with_name(f"{folder.name}.lock")):
        if not (folder / "complete").is_file():
            log, source = fresh_log(folder.with_name(f"{folder.name}.log")), folder / "source"
            say(f"{word}: installing {commit[:12]} into {folder}")
            run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)], log)
            run(["git", "clone", "--quiet", "--shared", "--no-checkout", top, str(source)], log)
            run(["git", "-C", str(source), "checkout", "--quiet", "--detach", commit], log)
            package_sources.install([str(source), "numpy"], log, folder)
            (folder / "complete").touch()
    return str(folder)


def _git(word: str, *words: str) -> str:
    try:
        ended = answer_of(["git", *words])
    except OSError as error:
        raise InputError(f"{word}: git did not start: {error.strerror}") from error
    if ended.returncode:
        raise InputError(f"{word}: found no such revision in {Path.cwd()}, expected one that `git log` shows: "
                         f"{ended.stderr.strip() or 'git fetch may bring it'}")
    return ended.stdout.strip()
