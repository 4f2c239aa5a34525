"""What is done to sessions, and what must follow: a worker that breaks the contract, one that something is done to, an
engine that is restarted, a disk that is full, a clock that is set, a runner that is killed.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import psutil

from runner.launchers.docker import RUN
from runner.stacks import engine as engines
from tests import freezer
from tests.faults import kills, lab, worker
from tests.faults.engines import Engine
from tests.faults.lab import PATIENCE_SECONDS, Lab, Session
from tests.faults.outcome import ONE_MINUTE, Outcome, all_records, finished, missing, repeated

STALL_SECONDS = "10"         # of a session; a start may then take 50 s
_FASTER = 0.1                # of the count of kills: what a minor fault is made
_SLOW = 0.02                 # and one for which a deadline of many seconds is waited
_WALL_CLOCK = Path(__file__).with_name("wall_clock.c")
_THREE_DAYS = "259200"       # seconds
_DISK_BYTES = 2**20
_PAGE = 4096


class Amount(NamedTuple):
    count: int                   # kills of the runner; of other faults a share
    deadline: float              # by time.monotonic: no fault is begun after it

    def share(self, of: float) -> int:
        return max(1, round(self.count * of))


Act = Callable[[Lab, Session, str], None]      # on a run of that name


class Fault(NamedTuple):
    name: str
    expected: str
    behaviour: Callable[[], None] = worker.endless
    share: float = _FASTER
    act: Act | None = None
    fields: Mapping[str, Any] = {}
    launchers: Sequence[str] = ("docker", "venv")
    takes_all: bool = False                      # the good run, which takes turns with the faulty one, goes with it
    make: "Callable[[Fault, Lab, Amount, Random], Outcome] | None" = None          # one_of_two_cells if left out

    def lacks(self) -> str:
        """What this machine has not that the fault needs, "" for nothing."""
        if self.make is disk_full and os.geteuid():
            return "mounting a small disk needs root"
        return "a clock of its own needs a C compiler, cc" if self.make is clock_set and not shutil.which("cc") else ""


def made(chosen: Sequence[Fault], root: Path, engine: Engine | None, amount: Amount, random: Random,
         ) -> Iterator[Outcome]:
    """The outcomes of faults, in a laboratory at root that is theirs."""
    place = placed(root, engine)
    for fault in chosen:
        if place.launcher in fault.launchers and not fault.lacks() and time.monotonic() < amount.deadline:
            yield once(fault, place, amount, random)


def placed(root: Path, engine: Engine | None) -> Lab:
    """A new laboratory, of the engine's containers or else of the host's virtual environments, in which a run works."""
    place = lab.made(root, engine)
    if Session(place, "first", [lab.case(worker.good)]).ended():
        raise AssertionError(f"the laboratory does not work: {place.log.read_text()[-2000:]}")
    return place


def once(fault: Fault, place: Lab, amount: Amount, random: Random) -> Outcome:
    """A fault's outcome; the next one finds the laboratory tidy."""
    try:
        return (fault.make or one_of_two_cells)(fault, place, amount, random)
    finally:
        for folder in (place.results, place.scratch):
            shutil.rmtree(folder)
            folder.mkdir()


def one_of_two_cells(fault: Fault, place: Lab, amount: Amount, random: Random) -> Outcome:
    """A session of a faulty cell and a good one, by turns; every faulty run ends as expected, every good one well."""
    rounds = amount.share(fault.share)
    cases = [lab.case(fault.behaviour, **fault.fields), lab.case(worker.good)]
    session = Session(place, "faults", cases, "--rounds", str(rounds), "--stall", STALL_SECONDS)
    return _watched(fault, place, session, rounds)


def _watched(fault: Fault, place: Lab, session: Session, rounds: int) -> Outcome:
    """What became of the faulty runs of a session, while fault.act is done to each of them."""
    seed = worker.BEHAVIOURS.index(fault.behaviour)
    faulty: set[str] = set()             # keys of cells
    hurt: set[str] = set()               # runs; of a parallel one each worker says that it is warm
    good, right, began, slowest = 0, 0, 0.0, 0.0
    wrong: list[str] = []
    for record in filter(None, session.records(PATIENCE_SECONDS + rounds * ONE_MINUTE)):
        is_faulty = record.get("run", "").partition(".")[0] in faulty
        if record["event"] == "plan":
            faulty = {each["key"] for each in record["cells"] if each["cell"]["seed"] == seed}
        elif record["event"] == "begin":
            began = time.monotonic()
        elif (record["event"] == "line" and record["line"]["event"] == "warm" and is_faulty and fault.act
              and record["run"] not in hurt):
            began = time.monotonic()
            hurt.add(record["run"])
            try:
                fault.act(place, session, record["run"])
            except Exception:                # a session that goes on would be in the way of all other tests
                session.process.kill()
                session.process.wait()
                raise
        elif record["event"] == "ending" and not is_faulty:
            good += record["ending"] == "ok"
        elif record["event"] == "ending":
            slowest = max(slowest, time.monotonic() - began)
            if record["ending"] in fault.expected.split(" or "):
                right += 1
            else:
                wrong.append(f"{record['ending']}: {record['message']}")
    if session.is_hung:
        wrong.append("the session hung and was killed")
    is_good = good == rounds or fault.takes_all
    if not is_good:
        wrong.append(f"only {good} of {rounds} good runs were ok")
    return Outcome(fault.name, fault.expected, place.launcher, rounds, min(right, rounds) if is_good else 0,
                   slowest, left=place.left(), wrong=wrong)


@contextmanager
def _first(place: Lab, session: Session, run: str) -> Iterator[Any]:
    """The run's first worker: a container, or a process of the host."""
    if not place.engine:
        yield _workers(session)[0]
        return
    with closing(engines.connect({"DOCKER_HOST": place.engine.host})) as client:
        yield client.containers.list(filters={"label": f"{RUN}={run}"})[0]


def kill(place: Lab, session: Session, run: str) -> None:
    with _first(place, session, run) as worker:
        worker.kill()


def pause(place: Lab, session: Session, run: str) -> None:
    """The run's first worker stands still: the freezer, or SIGSTOP."""
    with _first(place, session, run) as worker:
        if place.engine:
            freezer.pause(worker)
        else:
            worker.suspend()


def _workers(session: Session) -> list[psutil.Process]:
    """The workers of the run that goes on: of a parallel one, which is started in its turn, else the first."""
    workers = [each for each in psutil.Process(session.process.pid).children()
               if each.status() != psutil.STATUS_ZOMBIE and "workloads" in each.cmdline()]
    return [each for each in workers if '"nodes": 1' not in " ".join(each.cmdline())] or workers


def remove(place: Lab, session: Session, run: str) -> None:
    with _first(place, session, run) as container:
        container.remove(force=True)


def kill_engine(place: Lab, session: Session, run: str) -> None:
    place.engine.kill()
    time.sleep(2)
    place.engine.start()


def restart_engine(place: Lab, session: Session, run: str) -> None:
    """SIGTERM to dockerd, as `systemctl restart docker` does, and a new one once it has ended."""
    place.engine.end()
    place.engine.start()


def hang_engine(place: Lab, session: Session, run: str) -> None:
    place.engine.hang(25)


def disk_full(fault: Fault, place: Lab, amount: Amount, random: Random) -> Outcome:
    """results/ on a small disk, full after a few kilobytes; then there is room, and the same command goes on."""
    count, right, slowest, lost, again = amount.share(fault.share), 0, 0.0, 0, 0
    wrong: list[str] = []
    with _small_disk(place.root / "disk") as disk:
        for number in range(count):
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(_DISK_BYTES - shutil.disk_usage(disk).used - _PAGE * random.randint(1, 6)))
            code, seconds = _until_full(place, disk, number)
            before = {folder: finished(records) for folder, records in all_records(disk).items()}
            ballast.unlink()
            resumed = _session(place, disk, number).ended()
            after = all_records(disk)
            lost += sum(len(set(runs) - set(finished(after[folder]))) for folder, runs in before.items())
            again += sum(map(repeated, after.values()))
            slowest = max(slowest, seconds)
            if (code, resumed, sum(map(missing, after.values()))) == (2, 0, 0):
                right += 1
            else:
                wrong.append(f"exit codes {code} and {resumed}")
    return Outcome(fault.name, fault.expected, place.launcher, count, right, slowest, lost, again,
                   place.left(), wrong)


def _session(made: Lab, results: Path, number: int) -> Session:
    """A session of some runs; another number is another command."""
    return Session(made, "disk", [lab.case(worker.good), lab.case(worker.good, batch=4)], "--rounds", "10", "--seed",
                   str(number), results=results)


def _until_full(made: Lab, results: Path, number: int) -> tuple[int, float]:
    """A session's exit code, and the seconds from its last record to its end."""
    session = _session(made, results, number)
    last = time.monotonic()
    for record in session.records():
        if record:
            last = time.monotonic()
    return session.process.wait(), time.monotonic() - last


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def clock_set(fault: Fault, place: Lab, amount: Amount, random: Random) -> Outcome:
    """The runner's wall clock jumps by days, to and fro, while workers measure; its monotonic clock goes on."""
    rounds = amount.share(fault.share)
    offset, library = place.root / "offset", place.root / "wall_clock.so"
    offset.write_text("0")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(_WALL_CLOCK), "-ldl"], check=True)
    session = Session(place, "clock", [lab.case(fault.behaviour), lab.case(worker.good)], "--rounds", str(rounds),
                      "--stall", STALL_SECONDS,
                      variables={"LD_PRELOAD": str(library), "WALL_CLOCK_OFFSET": str(offset)})

    def jump(place: Lab, session: Session, run: str) -> None:
        offset.write_text(_THREE_DAYS if offset.read_text().startswith("-") else f"-{_THREE_DAYS}")

    return _watched(fault._replace(act=jump), place, session, rounds)


FAULTS = (
    Fault("runner killed (SIGKILL)", "the same command goes on", make=kills.runner_killed),
    Fault("worker killed", "killed", act=kill),
    Fault("worker kills itself", "killed", worker.killed),
    Fault("one of two workers killed", "killed", act=kill, fields=lab.PARALLEL),
    Fault("worker paused", "timeout", act=pause, share=_SLOW),
    Fault("one of two workers paused", "timeout", act=pause, share=_SLOW, fields=lab.PARALLEL),
    Fault("worker stops itself (SIGSTOP)", "timeout", worker.stopped, _SLOW),
    Fault("memory limit hit", "oom", worker.greedy),
    Fault("pipe: garbage", "died", worker.noise),
    Fault("pipe: a gigabyte in one line", "died", worker.long_line),
    Fault("pipe: a gigabyte in many lines", "died", worker.many_lines),
    Fault("pipe: a gigabyte of short events", "died", worker.many_events),
    Fault("pipe: a gigabyte of long events", "died", worker.long_events),
    Fault("standard error: a gigabyte", "ok", worker.loud),
    Fault("worker prints nothing", "timeout", worker.silent, _SLOW),
    Fault("worker leaves without an end, exit code 0", "died", worker.leaves),
    # a container's init holds the pipe too
    Fault("worker closes its pipe and stays", "died or timeout", worker.closes, _SLOW),
    Fault("worker ends well and stays", "ok", worker.stays, _SLOW),
    Fault("container removed by somebody else", "killed", act=remove, launchers=("docker",)),
    Fault("engine killed and started again", "killed", act=kill_engine, launchers=("docker",), share=0.05,
          takes_all=True),
    Fault("engine ended and started again", "killed", act=restart_engine, launchers=("docker",), share=_SLOW,
          takes_all=True),
    Fault("engine hangs for 25 s", "killed", act=hang_engine, launchers=("docker",), share=_SLOW, takes_all=True),
    Fault("disk full under results/", "exit code 2, then the same command goes on", make=disk_full),
    Fault("wall clock set three days on or back", "ok", worker.steady, make=clock_set),
)
