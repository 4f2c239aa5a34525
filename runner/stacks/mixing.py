"""Environments mixed of two that are here: each package's files are linked from where it lies, by its RECORD.

No index is asked, and next to no disk used; builds stay what they were. What neither of the two has, such as a release
between their versions, pip brings into a folder of its own.
"""

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from email import message_from_string
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from runner.errors import InputError
from runner.processes import Say, answer_of, clean_environment, fresh_log, run
from runner.stacks import own, package_sources
from runner.stacks.package_sources import normal

_WHERE = ("import json, sys; print('\\n' + json.dumps([sys.version, "
          "[each for each in sys.path if each.endswith(('site-packages', 'dist-packages'))]]))")
_SECONDS = 120


class Package(NamedTuple):
    """A package as it lies in an environment or a folder."""

    name: str
    version: str
    site: Path                   # the folder that its RECORD's paths begin from
    files: tuple[str, ...]
    content: frozenset[str]      # its files with their hashes, without what the installer wrote of itself
    needs: tuple[tuple[str, str], ...]       # (name, specifiers) of what it requires


class Environment(NamedTuple):
    """What an environment holds."""

    python: Path
    version: str                 # sys.version
    packages: Mapping[str, Package]

    def needs(self, name: str) -> tuple[tuple[str, str], ...]:
        """What a package requires, where it is there."""
        return self.packages[name].needs if name in self.packages else ()


def read(python: Path) -> Environment:
    """What an environment holds, by its own Python. Raises InputError."""
    version, sites = _where(python)
    packages = [each for site in sites for each in held(Path(site))]
    return Environment(python, version, {each.name: each for each in reversed(packages)})


def _where(python: Path) -> tuple[str, list[str]]:
    """(the version, the folders of packages) that an environment's Python names. Raises InputError."""
    answer = answer_of([python, "-c", _WHERE], timeout=_SECONDS, env=clean_environment(), stdin=subprocess.DEVNULL)
    try:
        version, sites = own.answer_in(answer.stdout)
    except (ValueError, TypeError) as error:
        raise InputError(f"{python}: it did not say where its packages are: {answer.stderr.strip()[-200:]}") from error
    return version, sites


def held(site: Path) -> Iterable[Package]:
    """The packages of a folder, as pip and uv install them."""
    for folder in sorted(site.glob("*.dist-info")):
        about = message_from_string((folder / "METADATA").read_text(encoding="utf-8", errors="replace"))
        record = folder / "RECORD"
        lines = record.read_text(encoding="utf-8", errors="replace").splitlines() if record.is_file() else []
        rows = [row for row in csv.reader(lines) if row and not Path(row[0]).is_absolute()]
        content = frozenset(",".join(row) for row in rows if not row[0].startswith((f"{folder.name}/", "../"))
                            and "__pycache__" not in row[0])
        yield Package(normal(about["Name"]), about["Version"], site, tuple(row[0] for row in rows), content,
                      tuple(filter(None, map(_need, about.get_all("Requires-Dist", [])))))


def _need(text: str) -> tuple[str, str] | None:
    """(name, specifiers) of a requirement, None of an extra's, or of what is none."""
    with suppress(InvalidRequirement):
        found = Requirement(text)
        return None if "extra" in str(found.marker or "") else (normal(found.name), str(found.specifier))
    return None


def differing(old: Environment, new: Environment) -> list[str]:
    """The names of packages that the two hold in other versions or with other files, or that one alone holds."""
    before, after = ({name: (each.version, each.content) for name, each in of.packages.items()} for of in (old, new))
    return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]


def is_bound(one: str, other: str, old: Environment, new: Environment) -> bool:
    """Whether a package as one of the two environments has it does not go with another as the other one has it."""
    return any(name == other and (other not in there.packages
                                  or not satisfies(there.packages[other].version, specifiers))
               for here, there in ((old, new), (new, old)) for name, specifiers in here.needs(one))


def satisfies(version: str, specifiers: str) -> bool:
    """Whether a version is one of those that specifiers such as ">=2.0,<3" name; unknown ones exclude nothing."""
    with suppress(InvalidSpecifier):
        order = ordered(version)
        return order is None or SpecifierSet(specifiers).contains(order, prereleases=True)
    return True


def ordered(version: str) -> Version | None:
    """What a version is sorted by; None of one that is not as PEP 440 writes them."""
    with suppress(InvalidVersion):
        return Version(version)
    return None


def made(folder: Path, python: Path, packages: Iterable[Package]) -> Path:
    """The interpreter of a new environment of that Python with these packages. Raises InputError, BuildFailed."""
    shutil.rmtree(folder, ignore_errors=True)
    log = fresh_log(folder.with_name(f"{folder.name}.log"))
    run([str(python), "-m", "venv", "--without-pip", str(folder)], log)
    mine = folder / "bin" / "python"
    site = Path(_where(mine)[1][0])
    for package in packages:
        if not package.files:
            raise InputError(f"{package.name} in {package.site} has no RECORD of its files, expected a package that "
                             "pip or uv installed")
        for name in package.files:
            _link(package.site / name, Path(os.path.normpath(site / name)), folder)
    log.unlink(missing_ok=True)
    return mine


def _link(source: Path, target: Path, folder: Path) -> None:
    """A file of a package where it belongs in an environment; what leads out of it, or is gone, is passed over."""
    if not target.is_relative_to(folder) or target.exists() or not source.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:                                      # on another disk, or another user's
        shutil.copy2(source, target)


def top_level(package: Package) -> set[str]:
    """The names under which a package is imported."""
    return {top.partition(".")[0] for name in package.files
            for top in [name.partition("/")[0]] if top not in ("..", "__pycache__") and not top.endswith(".dist-info")}


def installed(word: Path, folder: Path, python: str, say: Say) -> Path:
    """The folder of an environment made of requirements.txt, pylock.toml or uv.lock. Raises InputError, BuildFailed."""
    uv, log = shutil.which("uv"), fresh_log(folder.with_name(f"{folder.name}.log"))
    if (folder / "complete").exists():
        return folder
    if word.suffix != ".txt" and not uv:
        raise InputError(f"{word}: found no uv, which reads it: `pip install uv`, or give a requirements.txt")
    shutil.rmtree(folder, ignore_errors=True)
    say(f"installing {word} into {folder}")
    if uv:
        wanted = word
        run([uv, "venv", "--quiet", "--python", python, str(folder)], log)
        if word.name == "uv.lock":
            wanted = folder / "requirements.txt"
            run([uv, "export", "--quiet", "--frozen", "--no-emit-project", "--project", str(word.parent),
                 "--output-file", str(wanted)], log)
        run([uv, "pip", "install", "--quiet", "--python", str(folder / "bin/python"), "-r", str(wanted)], log)
    else:
        run([python, "-m", "venv", "--without-pip", str(folder)], log)
        package_sources.install(["-r", str(word)], log, folder)
    (folder / "complete").touch()
    return folder


def releases(name: str, old: str, new: str, python: str) -> list[str]:
    """The releases that pip's index has between two versions, the old one's side first. Raises InputError."""
    found, complaint = package_sources.releases(normal(name), *_for(python))
    if not found:
        raise InputError(f"{name}: pip's index names no releases: {' '.join(complaint.split())[-200:]}")
    first, last = (ordered(version.partition("+")[0]) for version in (old, new))
    if first is None or last is None:
        raise InputError(f"{name}: found {old} and {new}, expected versions in the order of PEP 440")
    by_order = {order: each for each in found if (order := ordered(each))}
    low, high = sorted([first, last])
    return [by_order[order] for order in sorted(by_order, reverse=first > last) if low < order < high]


def brought(name: str, version: str, beside: Iterable[str], folder: Path, python: str) -> list[Package]:
    """A release, and the packages beside it that are bound to it, in a folder of their own. Raises BuildFailed."""
    others, log = [*beside], fresh_log(folder.with_name(f"{folder.name}.log"))
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        package_sources.install(["--quiet", *([] if others else ["--no-deps"]), *_for(python), f"--target={folder}",
                                 f"{name}=={version}", *others], log)
        (folder / "complete").touch()
    return [each for each in held(folder) if each.name in {name, *others}]


def _for(python: str) -> list[str]:
    """pip's options for another Python than its own."""
    own = "{}.{}".format(*sys.version_info[:2])
    return [] if python == own else package_sources.of_python(python)
