"""python -m workloads.places.slurm_node ORDER HOST,HOST...: a node's part of a Slurm job, started there by srun.

ORDER is a JSON file in the run's folder, which every node and the runner see. The node starts the places that are its
own, each a worker in a process group with a temporary folder of its own, and writes beside the order, for each place:
NAME.node, what the node is and by what the worker is limited; NAME.lines, what the worker writes on standard output;
NAME.beat, that the node still runs; NAME.exit, how it went. The runner may be gone, and no longer write the file
"followed" anew: then the job ends by itself.
Python 3.6 and later, standard library only.
"""
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from workloads.process.control_groups import around, kills, limit_bytes, memory_group
from workloads.process.lifetime import end_with_parent

_LAST_WORDS = 400                # characters of standard error that an ending quotes
_FLUSH_SECONDS = 1.0             # by which a shared folder shows lines late
_LOOK_SECONDS = 0.5
_PATIENCE_SECONDS = 90           # for the others once a place has failed; a runner, if there is one, ends them earlier
_SILENCE_SECONDS = 1800          # without a line, after which a job is given up that nobody has followed for as long
_MOST_BYTES = 2 ** 30            # of a worker's lines; the runner takes fewer
_GROUPS = "/sys/fs/cgroup"
_FOLLOWED = "followed"           # the file that a runner writes anew while it listens
# what a worker keeps of the job's environment: which GPUs Slurm gave it, and how programs and libraries are found
_KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def main(arguments, environment=os.environ):
    """The exit code: 0 where all workers of this node went well, 2 for wrong words."""
    if len(arguments) != 2:
        print("usage: python -m workloads.places.slurm_node ORDER HOST,HOST...", file=sys.stderr)
        return 2
    with open(arguments[0]) as file:
        order = json.load(file)
    hosts = [host for host in arguments[1].split(",") if host]
    node = int(environment.get("SLURM_PROCID", "0"))
    folder = os.path.dirname(os.path.abspath(arguments[0]))
    places = [_Place(order, rank, hosts, folder) for rank in own_places(len(order["places"]), order["nodes"], node)]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        for place in places:
            place.start()
        watch(places, order["reporters"], folder)
    finally:
        codes = [place.end() for place in places]
    return int(any(codes))


def own_places(count: int, nodes, node):
    """The ranks of the places of a node: its own; those after the nodes, such as a coordinator, are on the first."""
    return [rank for rank in range(count) if rank == node or (node == 0 and rank >= nodes)]


def addresses(count: int, nodes, hosts, port: int):
    """Where each place is, in order of rank. Those after the nodes share the first one's: roles have ports apart."""
    return ",".join("%s:%d" % (hosts[rank if rank < nodes else 0], port) for rank in range(count))


def watch(places, reporters, folder: str, clock=time.monotonic, wait=time.sleep) -> None:
    """Return once these places have gone, or are to: nobody needs them any more, or nobody can."""
    failed, sign, followed = None, None, clock()
    while any(place.is_running() for place in places):
        wait(_LOOK_SECONDS)
        if not os.path.isdir(folder):
            return                                   # the runner has cleared up, also where Slurm cannot reach us
        for place in places:
            place.beat(clock())
            if not place.is_running():
                place.end()                          # its word must be there while another place here still serves
        exits = [_exit(folder, name) for name in reporters]
        if all(exit is not None for exit in exits):
            return
        if any(exit is not None and exit["code"] != 0 for exit in exits):
            failed = clock() if failed is None else failed
            if clock() - failed > _PATIENCE_SECONDS:
                return
        latest = _read(os.path.join(folder, _FOLLOWED))
        if latest != sign:                           # a runner is there, and ends by its own limits what is silent
            sign, followed = latest, clock()
        if clock() - followed > _SILENCE_SECONDS and any(
                place.is_silent(clock()) for place in places if place.name in reporters):
            return


def _exit(folder: str, name: str):
    """What a place left when it went; None while it runs."""
    try:
        with open(os.path.join(folder, name + ".exit")) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


class _Place(object):
    """A place: its worker, and the files that tell of it."""

    def __init__(self, order, rank, hosts, folder):
        self.name = order["places"][rank]
        self._order, self._folder = order, folder
        self._variables = dict(order["variables"])
        if len(order["places"]) > 1:
            self._variables.update(EVENBENCH_RANK=str(rank), EVENBENCH_NODES=addresses(
                len(order["places"]), order["nodes"], hosts, order["port"]))
        self._process = self._scratch = self._code = None
        self._heard = time.monotonic()
        self._tail = []
        self._readers = []

    def start(self) -> None:
        order, group = self._order, memory_group()
        self._kills, limit = kills(group), limit_bytes({"memory": around(group, _GROUPS) if group else []})
        by_group = limit is not None and limit <= 1.1 * order["memory_bytes"]
        by_process = self._limit = 0 if by_group or order["cell"]["device"] != "cpu" else order["memory_bytes"]
        cpus = sorted(os.sched_getaffinity(0))
        own = cpus[:order["cpus"]]
        write(self._folder, self.name + ".node", {
            "host": socket.gethostname(), "cpus": len(own), "bound_by_slurm": len(cpus) <= order["cpus"],
            "memory_limited_by": "group" if by_group else "process" if by_process else None,
            "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"), "step": os.environ.get("SLURM_STEP_ID")})
        self._scratch = tempfile.mkdtemp(prefix="evenbench-")
        environment = dict({name: os.environ[name] for name in _KEPT if name in os.environ}, HOME=self._scratch,
                           TMPDIR=self._scratch, PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1", **self._variables)
        self._process = subprocess.Popen(
            [sys.executable, "-m", order["module"], json.dumps(order["cell"]), "--data", order["data"]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
            start_new_session=True, preexec_fn=lambda: _enter(own, by_process))
        for target in (self._pass_on, self._keep_tail):
            self._readers.append(threading.Thread(target=target, daemon=True))
            self._readers[-1].start()

    def _pass_on(self) -> None:
        """The worker's lines to the file. It is flushed now and then, not by the worker: a step waits for no server."""
        written, flushed = 0, time.monotonic()
        try:
            with open(os.path.join(self._folder, self.name + ".lines"), "ab", buffering=0) as file:
                for chunk in iter(lambda: os.read(self._process.stdout.fileno(), 2 ** 16), b""):
                    self._heard = time.monotonic()
                    file.write(chunk)
                    written += len(chunk)
                    if written > _MOST_BYTES:
                        self._kill()
                        return
                    if self._heard - flushed > _FLUSH_SECONDS:
                        os.fsync(file.fileno())
                        flushed = time.monotonic()
                os.fsync(file.fileno())
        except (OSError, ValueError):
            self._kill()                             # the folder is gone or full: nobody will hear the rest

    def _keep_tail(self) -> None:
        for chunk in iter(lambda: os.read(self._process.stderr.fileno(), 4 * _LAST_WORDS), b""):
            self._tail = self._tail[-8:] + [chunk]

    def beat(self, now) -> None:
        """Show that this node still runs: Slurm notices a lost one after minutes."""
        try:
            with open(os.path.join(self._folder, self.name + ".beat"), "w") as file:
                file.write(repr(now))
        except OSError:
            pass                                     # the folder is gone or full

    def is_running(self) -> bool:
        return self._process.poll() is None

    def is_silent(self, now) -> bool:
        return now - self._heard > _SILENCE_SECONDS

    def end(self):
        """The worker's exit code, once it and its helpers are gone and that is told; told once."""
        if self._process is None:
            return 0
        if self._code is not None:
            return self._code
        ended_by_itself = self._process.poll() is not None
        self._kill()
        code = self._process.wait()
        for reader in self._readers:
            reader.join(2.0)                         # helpers that left the group may hold the pipe open
        shutil.rmtree(self._scratch, ignore_errors=True)
        last_words = " ".join(b"".join(self._tail).decode(errors="replace").split())[-_LAST_WORDS:]
        exit = {"code": code, "last_words": last_words, "limit_bytes": self._limit,
                "is_out_of_memory": ended_by_itself and code == -signal.SIGKILL and kills(memory_group()) > self._kills}
        try:
            write(self._folder, self.name + ".exit", exit)
        except OSError:
            pass                                     # the folder is gone: nobody asks
        self._code = code if ended_by_itself else 0
        return self._code

    def _kill(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _enter(cpus, memory_bytes) -> None:
    """Limit the child to its CPUs and, where no control group does it, its memory; it ends with this process."""
    os.sched_setaffinity(0, cpus)
    if memory_bytes:
        least = resource.getrlimit(resource.RLIMIT_DATA)[1]        # -1: none
        own = memory_bytes if least < 0 else min(memory_bytes, least)
        resource.setrlimit(resource.RLIMIT_DATA, (own, own))
    end_with_parent()


def write(folder: str, name: str, content) -> None:
    """A JSON file, whole or not at all."""
    path = os.path.join(folder, name)
    with open(path + ".unfinished", "w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".unfinished", path)


def _read(path: str):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
