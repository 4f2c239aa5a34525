"""A blame: two environments, their mixes and releases measured by turns, until a package is shown to be the reason.

What was measured stands in a journal, so that the same command goes on, also with other --minutes.
"""

import functools
import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from runner import formatting, paths, schemas, screen
from runner.analysis import blame
from runner.analysis.between import regression
from runner.analysis.blame import Finding, Likeness, Measured, Mix, Reason
from runner.application.measure import ran
from runner.application.read import measured_in
from runner.cells import comparison_key
from runner.errors import BenchError, Busy, DiskFull, InputError
from runner.measuring import building, equality, own_models
from runner.measuring import job as jobs
from runner.measuring.bench import Going, Request
from runner.measuring.session import INCOMPLETE
from runner.report.blaming import Answer, differing, record
from runner.results import store
from runner.stacks import mixing, own, revisions
from runner.stacks.mixing import Environment, Package

UNCLEAR = regression.EXIT_CODES[regression.Answer.UNCLEAR]
_SECONDS = 60                # that a measurement takes, where nothing is known
_HIGHEST = 1e300             # end of an interval, for infinity, which JSON has not
_OLD, _NEW = "old", "new"    # the columns


class TimeOver(Exception):
    """The time that was given is over; the journal has what was measured."""


def blamed(request: Request, sides: tuple[str, str], python: str, is_kept: bool) -> tuple[Answer, int]:
    """What makes the request's file slower in the second of the sides, and the exit code. Raises BenchError.

    sides: an environment's path, a lock file, which python is for, or git:REV. is_kept: the environments are left.
    """
    going, file = request.going, own_models.read(request.study)
    asked = request._replace(going=Going(), results=Path(), wishes=request.wishes._replace(rounds=None))
    digest = _digest([file.text, sorted(file.beside.items()), asked, python, *map(_content, sides)])
    results, work = request.results / f"blame-{digest}", paths.cache_folder() / "blame" / digest
    store.check_usable(request.results)
    paths.usable(results)
    paths.usable(work)
    ends = time.monotonic() + 60 * (going.minutes or math.inf)
    request = request._replace(results=results, going=going._replace(minutes=None, is_agreed=True))
    try:
        old, new = (_environment(word, work / name, python) for name, word in zip((_OLD, _NEW), sides, strict=True))
        held = _digest([sorted((each.name, each.version, sorted(each.content)) for each in side.packages.values())
                        for side in (old, new)])
        journal = Journal(results / "blame.json", held, ends, going.is_fresh, request.wishes.rounds or 0)
        return _Search(request, old, new, work, journal, is_kept).answer()
    finally:
        if is_kept:
            screen.say(f"environments: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)


def _digest(content: Any) -> str:
    return hashlib.sha256(repr(content).encode(errors="surrogatepass")).hexdigest()[:12]


def _is_lock(path: Path) -> bool:
    return path.suffix in (".txt", ".toml", ".lock") and path.is_file()


def _content(word: str) -> str:
    path = paths.named(word)
    return path.read_text(encoding="utf-8", errors="replace") if _is_lock(path) else str(path.absolute())


def _environment(word: str, folder: Path, python: str) -> Environment:
    """The environment at a path, or made of a file. Raises InputError, BuildFailed."""
    path = paths.named(word)
    if word.startswith("image:"):
        raise InputError(f"blame {word}: found an image, expected an environment or a lock file: packages of images "
                         "cannot be mixed")
    if _is_lock(path):
        return mixing.read(mixing.installed(path.absolute(), folder, python, screen.say) / "bin" / "python")
    word = revisions.installed(word, paths.cache_folder(), screen.say)
    try:
        return mixing.read(Path(own.executable(own.Asked("blame", word))))
    except InputError as error:
        raise InputError(str(error).replace("--stack blame=", "blame ", 1)) from error


class Journal:
    """What was measured of two environments, kept in a file, so that the same command goes on."""

    def __init__(self, path: Path, of: str, ends: float, is_fresh: bool, rounds: int) -> None:
        """of: the environments; what was measured of others is not theirs. ends: of the time, by time.monotonic().

        rounds: of a measurement at most. What was not told in fewer is measured again.
        """
        self._path, self._of, self.ends, self._rounds, self._known = path, of, ends, rounds, dict[str, list[Any]]()
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if (kept["schema"], kept["of"]) == (schemas.JOURNAL, of) and not is_fresh:
                self._known = dict(kept["measured"])
        except (OSError, ValueError, TypeError, KeyError):
            pass

    def once(self, name: str, found: Callable[[], Sequence[Any]]) -> list[Any]:
        """What is known under that name, or found now and kept. Raises TimeOver."""
        if name not in self._known:
            if time.monotonic() > self.ends:
                raise TimeOver
            self._known[name] = [*found()]
            self.write()
        return self._known[name]

    def measured(self, title: str, limit: float, measure: Callable[[], Measured]) -> Measured:
        """Of what has that title against the old environment, told on which side of the limit. Raises TimeOver."""
        def found() -> list[Any]:
            now = measure()
            return [*now._replace(high=min(now.high, _HIGHEST)), self._rounds]

        name = f"{title} {limit:.4f}"
        *kept, rounds = self._known.get(name, [self._rounds])
        if rounds < self._rounds and Measured(*kept).likeness(limit) is Likeness.UNCLEAR:
            del self._known[name]
        *told, _ = self.once(name, found)
        return Measured(*told)

    def write(self, **more: Any) -> None:
        """All of it, and what else there is to say."""
        store.write_beside(self._path.parent, self._path.name, json.dumps(
            {"schema": schemas.JOURNAL, "of": self._of, "measured": self._known, **more}, indent=2))


class _Search:
    """The search, with the world it needs."""

    def __init__(self, request: Request, old: Environment, new: Environment, work: Path, journal: Journal,
                 is_kept: bool) -> None:
        self._request, self._old, self._new, self._work, self._journal, self._is_kept = (
            request, old, new, work, journal, is_kept)
        self._say = functools.cache(screen.say)          # what is told of each session's plan is told once
        self._began, self._made, self._minor = time.monotonic(), 0, ".".join(old.version.split(".")[:2])
        if self._minor != ".".join(new.version.split(".")[:2]):
            raise InputError(f"blame: found Python {old.version.split()[0]} and {new.version.split()[0]}, expected one "
                             "Python: its packages are built for it; `evenbench gate` compares the two as they are")
        if old.version != new.version:
            screen.say("Python itself differs, too: mixes run on old's, and what new's brings is not told")
        self._names = mixing.differing(old, new)
        if not self._names:
            raise InputError("blame: found the same packages in OLD and NEW, expected two environments that differ")
        groups = blame.grouped(self._names, lambda one, other: mixing.is_bound(one, other, old, new))
        self._groups = {" + ".join(group): group for group in groups}
        if len(request.lanes) > 1:
            raise InputError(f"--lane {','.join(request.lanes)}: found several, expected one")
        if not request.lanes:
            self._request = request._replace(lanes=tuple(own_models.columns([request.study])[:1]))

    def answer(self) -> tuple[Answer, int]:
        """What was found, which the journal keeps, too, and the exit code."""
        screen.say(f"{differing(len(self._names))}; environments are linked, in {self._work}; about "
                   f"{formatting.seconds((4 + 2 * math.ceil(math.log2(1 + len(self._groups)))) * _SECONDS)}")
        loaded: list[str] = []
        new, finding, code = Measured(), Finding((), {}, Measured()), 0
        releases: dict[str, blame.Releases] = {}
        try:
            new = self._journal.measured(_NEW, 1.0, lambda: self._of_session(self._new.python, 1.0))
            if new.reason:
                raise BenchError(f"nothing is blamed: {new.reason}")
            code = UNCLEAR if new.doubt else 0
            if new.differs:
                loaded = self._journal.once("loaded", self._loaded)
                others = [each for each in self._groups if each not in loaded]
                finding = blame.search(loaded, others, new, self._measure)
                code = 0 if finding.proved else UNCLEAR
                for reason in finding.reasons:
                    if reason.is_proved and len(reason.groups) == 1:
                        (group,) = reason.groups
                        if found := self._release(group, reason):
                            releases[group] = found
        except TimeOver:
            screen.say(f"the time is over; {self._request.going.goes_on} from here")
            code = INCOMPLETE
        answer = Answer(new, finding, releases, {group: self._versions(group) for group in self._groups},
                        tuple(loaded), len(self._names), self._made, time.monotonic() - self._began,
                        code != INCOMPLETE)
        self._journal.write(answer=record(answer))
        return answer, code

    def _versions(self, group: str) -> str:
        """"jax 0.8.1 -> 0.10.2 + jaxlib 0.8.1 -> 0.10.2"."""
        old, new = self._old.packages, self._new.packages
        return " + ".join(f"{name} {old[name].version if name in old else 'absent'} -> "
                          f"{new[name].version if name in new else 'absent'}" for name in self._groups[group])

    def _loaded(self) -> list[str]:
        """The groups of which a process of the file imports something, on either side."""
        found = set()
        for side, of in ((_OLD, self._old), (_NEW, self._new)):
            job = building.prepared(self._job({side: of.python}), screen.say)
            check = equality.Check.by(job.launcher, job.data.folder, screen.say)
            cell = job.plan.cells[0].cell._replace(measure="check", warmup=0, warm="fixed", seconds=0.0)
            modules = check.loaded(cell, job.stacks[cell.stack])
            found |= {group for group, names in self._groups.items() for name in names
                      if name in of.packages and mixing.top_level(of.packages[name]) & modules}
        return [group for group in self._groups if group in found]

    def _job(self, sides: dict[str, Path]) -> jobs.Job:
        wishes = self._request.wishes._replace(stacks=tuple(f"{name}={path}" for name, path in sides.items()),
                                               baseline=next(iter(sides)))
        return jobs.planned(self._request._replace(wishes=wishes), self._say)

    def _measure(self, mix: Mix, limit: float) -> Measured:
        """The old environment with these groups as the new one has them, against the old one."""
        names = {name for group in mix for name in self._groups[group]}
        return self._mixed(" ".join(sorted(names)), names, lambda: [
            self._new.packages[name] for name in names if name in self._new.packages], limit)

    def _mixed(self, title: str, names: Iterable[str], brought: Callable[[], Iterable[Package]], limit: float
               ) -> Measured:
        """The old environment with others in place of the packages of these names, against the old one."""
        def measure() -> Measured:
            folder = self._work / _digest(title)
            try:
                python = mixing.made(folder, self._old.python, [
                    *(each for name, each in self._old.packages.items() if name not in names), *brought()])
                self._made += 1
                screen.say(f"old with {title if len(title) < 80 else f'{title[:77]}...'}")
                return self._of_session(python, limit)
            finally:
                if not self._is_kept:
                    shutil.rmtree(folder, ignore_errors=True)

        try:
            return self._journal.measured(_digest(title), limit, measure)
        except (Busy, DiskFull):
            raise
        except BenchError as error:      # a mix or a release that is not to be had now; it is tried again
            return Measured(reason=str(error))

    def _of_session(self, python: Path, limit: float) -> Measured:
        """An environment against the old one, until told on which side of the limit it lies. Raises BenchError."""
        job = self._job({_OLD: self._old.python, _NEW: python})
        if len({comparison_key(each.cell) for each in job.plan.cells}) > 1:
            raise InputError("blame: found several comparisons, expected one: --set measure=train or measure=infer, "
                             "and one value of each setting")
        is_code = all(each.cell.measure == "step" for each in job.plan.cells)
        judge = functools.partial(regression.judge, base=_OLD, head=_NEW, allow=1 - limit)
        folder, _ = ran(job, is_proved=is_code, sides=(_OLD, _NEW), ends=self._journal.ends,
                        enough=lambda measured: judge(measured).decided)
        compared = judge(measured_in(folder)).compared[0]
        ratio = compared.ratio
        if time.monotonic() > self._journal.ends and compared.answer is regression.Answer.UNCLEAR:
            raise TimeOver
        if compared.answer is regression.Answer.BROKEN:
            return Measured(reason=compared.reason)
        if compared.answer is regression.Answer.UNCLEAR and ratio.excludes(limit):
            return Measured(doubt=f"{ratio.text()}, but {compared.reason}")      # as where steps get slower
        if not ratio.is_judged or ratio.interval is None or ratio.value is None:
            raise Busy(f"blame: {compared.reason or 'too few rounds count'}: {self._request.going.goes_on}")
        return Measured(ratio.value, *ratio.interval)

    def _release(self, group: str, reason: Reason) -> blame.Releases | None:
        """The first release of a group's package that is like the new one; None where it is not in both, or unknown."""
        names = self._groups[group]
        name = max(names, key=lambda each: sum(need in names for need, _ in self._new.needs(each)))
        if name not in self._old.packages or name not in self._new.packages:
            return None
        first, last = (of.packages[name].version for of in (self._old, self._new))
        if first == last:
            return None
        try:
            between = mixing.releases(name, first, last, self._minor)
        except InputError as error:
            screen.say(str(error))
            return None
        screen.say(f"{name}: {formatting.count(len(between), 'release')} between {first} and {last}")

        def measure(version: str, limit: float) -> Measured:
            return self._mixed(f"{name}=={version}", names, lambda: mixing.brought(
                name, version, [each for each in names if each != name], self._work / f"{name}-{version}", self._minor),
                limit)

        return blame.first_release(between, last, reason.limit, measure)
