"""The command that says which package made a file of the user's slower: blame."""

import functools
import hashlib
import json
import math
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from runner import formatting, paths, screen
from runner.analysis import blame
from runner.analysis.between import regression
from runner.analysis.blame import Finding, Measured, Mix, Reason
from runner.application.measure import ran
from runner.application.read import measured_in
from runner.cells import comparison_key
from runner.cli import options
from runner.cli.options import Folders
from runner.cli.output import Output
from runner.cli.request import Own, Settled
from runner.errors import BenchError, BuildFailed, Busy, DiskFull, InputError
from runner.measuring import building, equality, own_models
from runner.measuring import job as jobs
from runner.measuring.bench import Going, Request
from runner.measuring.session import INCOMPLETE
from runner.planning.plan import Wishes
from runner.report import blaming as told
from runner.results import store
from runner.stacks import mixing, own
from runner.stacks.mixing import Environment, Package

app = options.Commands()
FORMAT = 1                   # of blame.json
ROUNDS = 20                  # of a measurement at most
_SECONDS = 60                # that one takes, where nothing is known
_HIGHEST = 1e300             # end of an interval, for infinity, which JSON has not
_OLD, _NEW = "old", "new"    # the columns


class _TimeOver(Exception):
    """The time that was given is over; the journal has what was measured."""


@app.command("blame")
def blame_(old: Annotated[str, typer.Argument(metavar="OLD", help="An environment's PATH, or requirements.txt, "
                                              "pylock.toml or uv.lock.")],
           new: Annotated[str, typer.Argument(metavar="NEW", help="The same, of what may have become slower.")],
           model: Annotated[str, typer.Option("--model", metavar="MODEL.py", help="The file that both run.",
                                              show_default=False)] = ...,  # type: ignore[assignment]
           rounds: Annotated[int, typer.Option(min=5, max=1000, help="Rounds of a measurement at most.")] = ROUNDS,
           python: Annotated[str, typer.Option(help="The Python that environments of lock files are made of.")
                             ] = sys.executable,
           is_kept: Annotated[bool, typer.Option("--keep", help="Leave the environments that it makes.")] = False,
           *, own: Own, settled: Settled, going: Going, folders: Folders,
           output: Output) -> None:
    """Which package, and which release of it, made your file slower? By mixes of two environments."""
    if not own_models.is_file(model):
        raise InputError(f"--model {model}: expected a Python file, MODEL.py: `evenbench init torch` writes one")
    digest = _digest("\0".join([own_models.read(model).text, *map(_content, (old, new)), *sys.argv[1:]]))
    results, work = settled.results / f"blame-{digest}", paths.cache_folder() / "blame" / digest
    store.check_usable(settled.results)
    for folder in (results, work):
        with paths.writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + 60 * going.minutes if going.minutes else math.inf
    try:
        before, after = (_environment(word, work / name, python) for name, word in ((_OLD, old), (_NEW, new)))
        request = own.of(settled.request(model, Wishes(rounds=rounds)))._replace(
            results=results, places=folders.places, with_products=False,
            going=going._replace(minutes=None, is_agreed=True))
        search = _Search(request, before, after, work, _Journal(results / "blame.json"), ends, is_kept)
        code = search.run(output)
    finally:
        if not is_kept:
            shutil.rmtree(work, ignore_errors=True)
    if is_kept:
        screen.say(f"environments: {work}")
    sys.exit(code)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


def _content(word: str) -> str:
    path = paths.named(word)
    if path.is_file() and _is_lock(path):
        return path.read_text(encoding="utf-8", errors="replace")
    return str(path.absolute())


def _is_lock(path: Path) -> bool:
    return path.suffix in (".txt", ".toml", ".lock")


def _environment(word: str, folder: Path, python: str) -> Environment:
    """The environment at a path, or made of a file. Raises InputError, BuildFailed."""
    path = paths.named(word)
    if word.startswith("image:"):
        raise InputError(f"blame {word}: found an image, expected an environment or a lock file: packages of images "
                         "cannot be mixed")
    if path.is_file() and _is_lock(path):
        path = mixing.installed(path.absolute(), folder, python, screen.say)
        return mixing.read(path / "bin" / "python")
    try:
        return mixing.read(Path(own.executable(own.Asked("blame", word))))
    except InputError as error:
        raise InputError(str(error).replace("--stack blame=", "blame ", 1)) from error


class _Journal:
    """What was measured, kept in a file, so that the same command goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            self._measured = dict(kept["measured"]) if kept.get("schema") == FORMAT else {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            self._measured = {}

    def known(self, key: str) -> Measured | None:
        """What was measured under that key."""
        return Measured(*self._measured[key]) if key in self._measured else None

    def keep(self, key: str, measured: Measured, **more: Any) -> None:
        """Keep it."""
        self._measured[key] = measured._replace(high=min(measured.high, _HIGHEST))
        self.write(**more)

    def write(self, **more: Any) -> None:
        """All of it, and what else there is to say."""
        store.write_beside(self._path.parent, self._path.name,
                           json.dumps({"schema": FORMAT, "measured": self._measured, **more}, indent=2))


class _Search:
    """The search, with the world it needs."""

    def __init__(self, request: Request, old: Environment, new: Environment, work: Path, journal: _Journal, ends: float,
                 is_kept: bool) -> None:
        self._request, self._old, self._new, self._work, self._journal, self._ends, self._is_kept = (
            request, old, new, work, journal, ends, is_kept)
        self._began, self._made, self._minor = time.monotonic(), 0, ".".join(old.version.split(".")[:2])
        if self._minor != ".".join(new.version.split(".")[:2]):
            raise InputError(f"blame: found Python {old.version.split()[0]} and {new.version.split()[0]}, expected one "
                             "Python: its packages are built for it; `evenbench gate` compares the two as they are")
        if old.version != new.version:
            screen.say("Python itself differs, too: mixes run on old's, and what new's brings is not told")
        self._names = mixing.differing(old, new)
        if not self._names:
            raise InputError("blame: both environments hold the same packages, so nothing can be blamed")
        groups = blame.grouped(self._names, lambda one, other: mixing.is_bound(one, other, old, new))
        self._groups = {" + ".join(group): group for group in groups}
        if len(self._request.lanes) > 1:
            raise InputError(f"--lane {','.join(self._request.lanes)}: found several, expected one")
        if not self._request.lanes:
            self._request = self._request._replace(lanes=tuple(own_models.columns([self._request.study])[:1]))

    def run(self, output: Output) -> int:
        """Find and say it; the exit code."""
        screen.say(f"{formatting.count(len(self._names), 'package')} differ; environments are linked, in {self._work}; "
                   f"about {formatting.seconds((4 + 2 * math.ceil(math.log2(1 + len(self._groups)))) * _SECONDS)}")
        loaded: list[str] = []
        new, finding = Measured(), Finding((), {}, Measured())
        releases: dict[str, blame.Releases] = {}
        code = 0
        try:
            new = self._against(self._new.python, "new", 1.0)
            if new.ratio is not None and new.differs:
                loaded = self._loaded()
                others = [each for each in self._groups if each not in loaded]
                finding = blame.search(loaded, others, new, self._measure)
                for reason in finding.reasons:
                    if reason.is_proved and len(reason.groups) == 1:
                        group = next(iter(reason.groups))
                        if found := self._release(group, reason):
                            releases[group] = found
            elif new.reason:
                raise BenchError(f"nothing is blamed: {new.reason}")
        except _TimeOver:
            screen.say("the time is over; the same command goes on from here")
            code = INCOMPLETE
        answer = told.Answer(new, finding, releases, {group: self._versions(group) for group in self._groups},
                             tuple(loaded), len(self._names), self._made, time.monotonic() - self._began, code == 0)
        record = told.record(answer)
        self._journal.write(answer=record)
        output.rows(told.rows(answer), told.parts(answer), record)
        return code

    def _versions(self, group: str) -> str:
        """"jax 0.8.1 -> 0.10.2 + jaxlib 0.8.1 -> 0.10.2"."""
        def version(of: Environment, name: str) -> str:
            return of.packages[name].version if name in of.packages else "absent"

        return " + ".join(f"{name} {version(self._old, name)} -> {version(self._new, name)}"
                          for name in self._groups[group])

    def _loaded(self) -> list[str]:
        """The groups of which a process of the file imports something, on either side."""
        if (known := self._journal.known("loaded")) is not None:
            return [each for each in self._groups if each in known.reason.split(", ")]
        found = set()
        for side, of in ((_OLD, self._old), (_NEW, self._new)):
            job = building.prepared(jobs.planned(self._request_of({side: of.python}), screen.say), screen.say)
            check = equality.Check.by(job.launcher, job.data.folder, screen.say)
            cell = job.plan.cells[0].cell._replace(measure="check", warmup=0, warm="fixed", seconds=0.0)
            modules = check.loaded(cell, job.stacks[cell.stack])
            found |= {group for group, names in self._groups.items() for name in names
                      if name in of.packages and mixing.top_level(of.packages[name]) & modules}
        loaded = [group for group in self._groups if group in found]
        self._journal.keep("loaded", Measured(reason=", ".join(loaded)))
        return loaded

    def _measure(self, mix: Mix, limit: float) -> Measured:
        """A mix against the old environment."""
        names = {name for group in mix for name in self._groups[group]}
        packages = [*(each for name, each in self._old.packages.items() if name not in names),
                    *(self._new.packages[name] for name in names if name in self._new.packages)]
        return self._mixed(packages, " ".join(sorted(names)), limit)

    def _mixed(self, packages: Sequence[Package], title: str, limit: float) -> Measured:
        key = _digest(title)
        if (known := self._journal.known(f"{key} {limit:.4f}")) is not None:
            return known
        self._demand_time()
        folder = self._work / key
        try:
            python = mixing.made(folder, self._old.python, packages)
            self._made += 1
            screen.say(f"old with {title if len(title) < 80 else f'{title[:77]}...'}")
            return self._against(python, key, limit)
        finally:
            if not self._is_kept:
                shutil.rmtree(folder, ignore_errors=True)

    def _demand_time(self) -> None:
        if time.monotonic() > self._ends:
            raise _TimeOver

    def _request_of(self, sides: Mapping[str, Path]) -> Request:
        wishes = self._request.wishes._replace(stacks=tuple(f"{name}={path}" for name, path in sides.items()),
                                               baseline=next(iter(sides)))
        return self._request._replace(wishes=wishes)

    def _against(self, python: Path, key: str, limit: float) -> Measured:
        """An environment against the old one, until it is told on which side of the limit it lies; kept."""
        name = f"{key} {limit:.4f}"
        if (known := self._journal.known(name)) is not None:
            return known
        self._demand_time()
        request = self._request_of({_OLD: self._old.python, _NEW: python})
        measured = self._of_session(request, limit, is_mix=key != "new")
        self._journal.keep(name, measured)
        return measured

    def _of_session(self, request: Request, limit: float, is_mix: bool) -> Measured:
        """What a session of both says. Raises BenchError, but of a mix, which may be one that nothing can run in."""
        try:
            job = jobs.planned(request, screen.say)
        except InputError as error:                      # it holds no framework any more, or cannot start
            if is_mix:
                return Measured(reason=str(error))
            raise
        if len({comparison_key(each.cell) for each in job.plan.cells}) > 1:
            raise InputError("blame: found several comparisons, expected one: --set measure=train or measure=infer, "
                             "and one value of each setting")
        is_code = all(each.cell.measure == "step" for each in job.plan.cells)
        judge = functools.partial(regression.judge, base=_OLD, head=_NEW, allow=1 - limit)
        try:
            folder, _ = ran(job, is_proved=is_code, sides=(_OLD, _NEW), ends=self._ends,
                            enough=lambda measured: judge(measured).decided)
        except (Busy, BuildFailed, DiskFull):
            raise
        except BenchError as error:
            if is_mix:
                return Measured(reason=str(error))
            raise
        compared = judge(measured_in(folder)).compared[0]
        if time.monotonic() > self._ends and compared.answer is regression.Answer.UNCLEAR:
            raise _TimeOver
        if compared.answer is regression.Answer.BROKEN:
            return Measured(reason=compared.reason)
        if compared.answer is regression.Answer.UNCLEAR and compared.ratio.excludes(limit):
            return Measured()                            # doubted, as where steps get no faster and no slower
        ratio = compared.ratio
        if not ratio.is_judged or ratio.interval is None or ratio.value is None:
            raise Busy(f"blame: {compared.reason or 'too few rounds count'}: the same command goes on")
        return Measured(ratio.value, *ratio.interval)

    def _release(self, group: str, reason: Reason) -> blame.Releases | None:
        """The first release of a group's package that is like the new one; None where none lies between."""
        names = self._groups[group]
        name = next((each for each in names if each == self._request.study.rpartition(".")[0]), names[0])
        if name not in self._old.packages or name not in self._new.packages:
            return None
        first, last = (of.packages[name].version for of in (self._old, self._new))
        between = mixing.releases(name, first, last, self._minor)
        if not between:
            return None
        screen.say(f"{name}: {formatting.count(len(between), 'release')} between {first} and {last}")

        def measure(version: str, limit: float) -> Measured:
            title = f"{name}=={version}"
            if (known := self._journal.known(f"{_digest(title)} {limit:.4f}")) is not None:
                return known
            self._demand_time()
            folder = self._work / "releases" / f"{name}-{version}"
            folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                brought = mixing.brought(name, version, [each for each in names if each != name], folder, self._minor)
            except BenchError as error:
                measured = Measured(reason=str(error))
                self._journal.keep(f"{_digest(title)} {limit:.4f}", measured)
                return measured
            kept = [each for each in self._old.packages.values() if each.name not in names]
            return self._mixed([*kept, *brought], title, limit)

        return blame.first_release(between, last, reason.limit, measure)
