"""A run as a job of Slurm: its files on the shared folder, and its state as the controller tells it."""

import contextlib
import json
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clusters.slurm.commands import GONE, OUT_OF_MEMORY, WAITING, Job, Slurm
from runner.launchers.line_queue import lines_of_chunks
from runner.launchers.protocol import Exit, Running
from runner.machine.kernel_files import content
from runner.processes import Say
from workloads.spec.cluster import Place

_LOOK_SECONDS = 1.0                 # between two looks at the job
_LINES_SECONDS = 0.3                # between two looks at a file
_LATE_SECONDS = 3.0                 # by which a shared folder, or Slurm itself, may show an end late
_GONE_SECONDS = 40.0                # for a cancelled job to leave its nodes; Slurm gives processes 30 to end
_BEAT_SECONDS = 4.0                 # in which a node that runs says so, also where a shared folder shows it late
_SIGN_SECONDS = 30.0                # between two signs that somebody follows
_CHUNK = 2**20
FOLLOWED = "followed"               # the file that says that a run's beginning is in the record and somebody listens


class SlurmRunning(Running):
    """A submitted job."""

    def __init__(self, slurm: Slurm, folder: Path, job: str, places: Sequence[Place], record: dict[str, Any],
                 say: Say = lambda text: None) -> None:
        super().__init__({**record, "job": job}, places)
        self._slurm, self._folder, self._id, self._say = slurm, folder, job, say
        self._places = [place.name for place in places]
        self._job = Job()
        self._names: list[str] = []              # the job's nodes, in order, once it has them
        self._over_since: float | None = None
        self._changed = threading.Condition()
        self._is_stopped = False
        self._signed: float | None = None        # when the nodes were last told that somebody follows
        threading.Thread(target=self._look, daemon=True).start()
        for place in self.reporters:
            self._pipe.add(place, lines_of_chunks(self._chunks(place)))

    def _look(self) -> None:
        """Ask for the job until it is over or the run is stopped; say once what it waits for."""
        told = ""
        while not self._is_stopped and not self._job.is_over:
            job = self._slurm.job(self._id)
            if job is not None:
                self._hostnames(job)
            with self._changed:
                if job is not None:
                    self._job = job
                    self._over_since = time.monotonic() if job.is_over else None
                self._changed.notify_all()
            if self._job.state in WAITING and self._job.reason not in ("", "None", told):
                told = self._job.reason
                self._say(f"slurm: job {self._id} waits: {told}")
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped, _LOOK_SECONDS)

    def _has_ended(self, place: str) -> bool:
        """Whether nothing more comes of a place; the job's end counts a moment later, for its files may come late."""
        return (self._file(place, "exit").exists() or self._is_stopped
                or (self._over_since is not None and time.monotonic() - self._over_since > _LATE_SECONDS))

    def _file(self, place: str, kind: str) -> Path:
        return self._folder / f"{place}.{kind}"

    def _chunks(self, place: str) -> Iterator[bytes]:
        """A place's lines as they come. The file is opened anew each time, which shows what other nodes wrote."""
        position = 0
        while True:
            is_last = self._has_ended(place)
            with contextlib.suppress(FileNotFoundError), self._file(place, "lines").open("rb") as file:
                file.seek(position)
                while chunk := file.read(_CHUNK):
                    position += len(chunk)
                    yield chunk
            if is_last:
                return
            time.sleep(_LINES_SECONDS)

    def next_line(self, seconds: float) -> tuple[str, bytes] | None:
        self._sign(time.monotonic())
        return super().next_line(seconds)

    def _sign(self, now: float) -> None:
        """Tell the nodes, and the next sweep, that the run is followed; a job that nobody follows gives up by itself.

        The first line is asked for once the run's beginning is in the record: so the file says also that.
        """
        if self._signed is not None and now - self._signed < _SIGN_SECONDS:
            return
        self._signed = now
        with contextlib.suppress(OSError):       # the folder is gone or full: the job's end will tell
            self._folder.joinpath(FOLLOWED).write_text(repr(now))

    def is_waiting(self) -> bool:
        return self._job.state in WAITING

    def exit(self, place: str, seconds: float) -> Exit:
        deadline = time.monotonic() + seconds
        while not self._has_ended(place) and time.monotonic() < deadline:
            time.sleep(0.1)
        said = content_of(self._file(place, "exit"))
        if not said:
            return self._without_a_word(place) if self._has_ended(place) else Exit(None)
        code, last_words = int(said.get("code", 1)), str(said.get("last_words", ""))
        if said.get("is_out_of_memory"):
            return Exit(137, True, last_words)
        if code in (-9, -15, 137, 143):
            return self._by_slurm(code, last_words)
        return Exit(code, last_words=last_words, limit_bytes=int(said.get("limit_bytes", 0)))

    def _by_slurm(self, code: int, last_words: str) -> Exit:
        """How a worker went that a signal ended, once the job's state says who sent it, or that nobody says."""
        with self._changed:
            self._changed.wait_for(lambda: self._verdict() is not None or self._job.is_over, _LATE_SECONDS)
        if self._job.state == OUT_OF_MEMORY:
            return Exit(137, True, last_words)
        return Exit(code, last_words=last_words, verdict=self._verdict())

    def _without_a_word(self, place: str) -> Exit:
        """How a place went that left no word: as the job did."""
        if self._job.state == OUT_OF_MEMORY:
            return Exit(137, True)
        if self._job == GONE:
            return Exit(None, is_gone=True, last_words=f"job {self._id}: {GONE.reason}")
        if verdict := self._verdict():
            return Exit(None, verdict=verdict)
        if self._file(place, "node").exists():
            return Exit(1, last_words=f"job {self._id}: {self._job.state}, exit code {self._job.exit}{self._output()}")
        return Exit(None, verdict=("not_started", f"job {self._id} ended ({self._job.state}, exit code "
                                   f"{self._job.exit}) and {place} wrote nothing to {self._folder}, which every node "
                                   f"must see at this path{self._output()}"))

    def _verdict(self) -> tuple[str, str] | None:
        """The ending that the job's state alone says, None where it says none."""
        state, id = self._job.state, self._id
        if state in ("TIMEOUT", "DEADLINE"):
            return "timeout", f"Slurm ended job {id} at its time limit: give a run more with --launcher slurm:time="
        if state in ("NODE_FAIL", "BOOT_FAIL"):
            lost = [name for name, node in self._slurm.states(self._job.nodes).items() if node.trouble]
            return "killed", f"Slurm lost a node of job {id} ({state}): {', '.join(lost) or self._job.nodes}"
        if state in ("CANCELLED", "REVOKED"):
            return "killed", f"job {id} was cancelled by somebody else"
        return ("killed", f"Slurm took job {id} from its nodes ({state})") if state == "PREEMPTED" else None

    def _output(self) -> str:
        """The end of what the job's own step wrote, which is where srun complains."""
        text = " ".join(content(self._folder / "job.out").split())
        return f": {text[-400:]}" if text else ""

    def trouble(self) -> dict[str, str]:
        """As protocol.Running, from what the controller knows of the job and its nodes."""
        job = self._slurm.job(self._id)
        if job is None:
            return dict.fromkeys(self._places, "cannot be seen: Slurm's controller does not answer")
        if job.state in ("SUSPENDED", "STOPPED"):
            return dict.fromkeys(self._places, f"is {job.state.lower()} by Slurm")
        on = self._nodes(job)
        known = self._slurm.states(",".join(self._names))
        lost = {place: known[name].trouble for place, name in on.items() if name in known and known[name].trouble}
        return lost or {place: f"is on {on.get(place, 'a node')}, which has fallen silent" for place in self._silent()}

    def _silent(self) -> list[str]:
        """The places whose nodes have stopped to say that they run; Slurm notices a lost one after minutes."""
        before = {place: content(self._file(place, "beat")) for place in self._places
                  if not self._file(place, "exit").exists()}
        time.sleep(_BEAT_SECONDS)
        return [place for place, beat in before.items()
                if beat and beat == content(self._file(place, "beat")) and not self._file(place, "exit").exists()]

    def _nodes(self, job: Job) -> dict[str, str]:
        """The node of each place: nodes' places in order, others on the first."""
        names = self._hostnames(job)
        return {place: names[int(place[4:])] if place[4:].isdigit() and int(place[4:]) < len(names) else names[0]
                for place in self._places} if names else {}

    def _hostnames(self, job: Job) -> list[str]:
        """The nodes that the job was given, in order: of one that completes, Slurm shows only those not yet free."""
        if not self._names:
            self._names = self._slurm.hostnames(job.nodes)
        return self._names

    def learnt(self) -> dict[str, Any]:
        """As protocol.Running: the host of each place, and by what it is limited."""
        nodes = {place: node for place in sorted(self._places) if (node := content_of(self._file(place, "node")))}
        return {"nodes": nodes} if nodes else {}

    @property
    def hosts(self) -> str:
        """Where the job is or was, as Slurm shortens it; "" while it waits."""
        return self._job.nodes

    def stop(self) -> None:
        """Cancel the job if it is not over, wait until it has left its nodes, remove its folder."""
        super().stop()
        if all(self._file(place, "exit").exists() for place in self.reporters):
            with self._changed:              # it is about to end by itself: the accounts should not say cancelled
                self._changed.wait_for(lambda: self._job.is_over, _LATE_SECONDS)
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        if end(self._slurm, self._id):
            shutil.rmtree(self._folder, ignore_errors=True)      # else the next sweep takes both


def end(slurm: Slurm, id: str) -> bool:
    """Cancel a job that is not over, and wait for its end; whether it is known to be over."""
    job = slurm.job(id)
    if job is not None and job.is_over:
        return True
    if not slurm.cancel(id) and job is None:
        return False
    deadline = time.monotonic() + _GONE_SECONDS
    while time.monotonic() < deadline:
        job = slurm.job(id)
        if job is not None and job.is_over:
            return True
        time.sleep(0.2)
    return job is not None


def content_of(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; {} where it is not there or not whole."""
    try:
        said = json.loads(content(path) or "{}")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
