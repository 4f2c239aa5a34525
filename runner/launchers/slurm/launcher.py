"""Runs cells as jobs of Slurm, a job a run, in the stacks' virtual environments or Apptainer's images of them.

Both lie on a file system that the nodes share.

A job a run leaves queues, limits, GPUs and endings to Slurm. All of a session's jobs ask for the nodes of its first
one, while those are usable, so that stacks are compared on the same machines. What a run says goes through files in its
folder under the cache, since a job outlives the shell that submitted it: a session that goes on takes its job over.
"""

import errno
import json
import secrets
import shutil
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner import formatting, leftovers
from runner.errors import BenchError, DiskFull, InputError
from runner.launchers import kernel_cache
from runner.launchers.apptainer import ApptainerLauncher
from runner.launchers.protocol import ClusterLauncher
from runner.launchers.slurm.commands import Node, Options, Order, Slurm, SlurmUnreachable, options, script, submission
from runner.launchers.slurm.running import FOLLOWED, SlurmRunning, end
from runner.launchers.venv import VenvLauncher
from runner.machine.cpu_sets import reporters, servers
from runner.stacks.definition import Stack, fingerprint
from workloads.spec import cluster, measures, placement
from workloads.spec.cell import Cell

_ORDER, _JOB, _OWNER = "order.json", "job", "owner"        # files of a run's folder
_KEPT_SECONDS = 30 * 86400       # for which a session may come and collect a run that ended without its runner
_PORTS = (23000, 800, 10)        # first, how many groups, ports a group: a job that shares its node has its own group


class SlurmLauncher(ClusterLauncher):
    """Launches runs with sbatch, from a login node."""

    name = "slurm"
    nodes: tuple[Node, ...]
    uses_images = False              # but with --slurm apptainer
    measures_here = False
    builds_at_once = 2               # pip installs on one CPU

    def __init__(self, cache: Path, words: Iterable[str] = (), slurm: Slurm | None = None) -> None:
        """words: of --slurm. Raises InputError, and SlurmUnreachable where the controller does not answer."""
        self._options = options(words)
        self._slurm = slurm or Slurm()
        self._cache, self._folder = cache, cache.resolve() / "slurm"
        self.uses_images = self._options.in_images
        self._stacks = ApptainerLauncher(cache=cache) if self.uses_images else VenvLauncher(cache)
        self.nodes = chosen(self._slurm.nodes(), self._options)
        self._version = self._slurm.version()
        self._say: Callable[[str], None] = lambda text: None
        self._last: SlurmRunning | None = None               # the session's last run: its nodes are asked for again
        self._on: list[str] = []
        self._sweeping, self._is_swept = threading.Lock(), False

    def record(self) -> dict[str, Any]:
        """The options, and what Slurm has; not its nodes' states, which change while a session lasts."""
        return {"slurm": {**self._options._asdict(), "partition": self.nodes[0].partition, "nodes": len(self.nodes),
                          "version": self._version}}

    def check(self, cells: Sequence[Cell]) -> None:
        """As protocol.Launcher."""
        for cell in cells:
            if lacking := lacks(cell, self.nodes):
                raise InputError(f"--launcher slurm: {lacking}")

    def missing(self, stack: Stack) -> str | None:
        """As the virtual environments or image files on this machine, which are those of the nodes."""
        return self._stacks.missing(stack)

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        """Make environments or image files that are not there yet, and end what dead runners left for no session."""
        self._say = say
        with self._sweeping:                 # stacks are prepared side by side: once is enough, and others wait for it
            if not self._is_swept:
                self._sweep(say)
            self._is_swept = True
        self._stacks.prepare(stacks, say)

    def fingerprint(self, stack: Stack) -> str:
        """The locks and the workloads."""
        return fingerprint(stack)

    def start(self, cell: Cell, stack: Stack, data: Path, run: str, module: str = "workloads",
              padding: int = 0, listens: bool = False) -> SlurmRunning:
        """Submit a job; the nodes' places wait in its queue. Raises BenchError where Slurm does not take it."""
        if lacking := lacks(cell, self.nodes):
            raise BenchError(lacking)
        places = cluster.places(stack.framework, cell.parallel, cell.nodes)
        name = f"evenbench-{run.replace('.', '-')}-{secrets.token_hex(3)}"
        folder = self._folder / name
        gpus = cell.gpus if cell.device == "gpu" else 0
        kernels = [kernel_cache.folder(stack, self._folder.parent)] if gpus else []
        python, record = self._stacks.on_a_node(stack, [folder, data.resolve(), *kernels], gpus > 0)
        order = Order(name, folder, stack.root, python, cell.nodes, cell.cpus, cell.memory_bytes, gpus,
                      self._again(cell.nodes))
        first, groups, ports = _PORTS
        variables = {**placement.variables(padding, stack.env),
                     **({kernel_cache.VARIABLE: str(kernels[0])} if kernels else {})}
        task = {"module": module, "cell": cell._asdict(), "data": str(data.resolve()), "nodes": cell.nodes,
                "places": [place.name for place in places], "reporters": list(reporters(places)),
                "servers": list(servers(places)), "cpus": cell.cpus, "memory_bytes": cell.memory_bytes,
                "port": first + secrets.randbelow(groups) * ports, "variables": variables}
        try:
            folder.mkdir(parents=True)
            self._own(folder)
            (folder / _ORDER).write_text(json.dumps(task))
            (folder / "job.sh").write_text(script(order))
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise _unwritten(folder, error) from error
        return self._submitted(order, task, {
            **record, "launcher": self.name, "stack_version": stack.version, "fingerprint": fingerprint(stack),
            "remote": True, "queues": True, "folder": name})

    def _submitted(self, order: Order, task: Mapping[str, Any], record: dict[str, Any]) -> SlurmRunning:
        id = ""
        try:
            id = self._slurm.submit(submission(order, self._options))
            (order.folder / _JOB).write_text(id)
        except BaseException as error:
            self._slurm.cancel(id or f"--name={order.name}", "--quiet")     # taken, maybe, and the answer lost
            shutil.rmtree(order.folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise _unwritten(order.folder, error) from error
            raise
        self._last = SlurmRunning(self._slurm, order.folder, id, tuple(task["reporters"]), tuple(task["servers"]),
                                  {**record, "job": id}, self._say)
        return self._last

    def _again(self, count: int) -> str:
        """The nodes that a job of so many is to have: those of earlier ones, while all of them are usable."""
        if self._last is not None and len(on := self._slurm.hostnames(self._last.hosts)) > len(self._on):
            self._on = on
        states = self._slurm.states(",".join(self._on))
        if not self._on or not all(states[name].is_usable for name in self._on if name in states):
            self._on = []
        return ",".join(self._on[:count])

    def rejoined(self, place: Mapping[str, Any]) -> SlurmRunning | None:
        """As protocol.Launcher: a job that waits, runs, or has left all its files.

        Raises SlurmUnreachable where nobody says whether the job goes on: a second one beside it would disturb both.
        """
        name = place.get("folder")
        folder = self._folder / str(name)
        id, order = _text(folder / _JOB), _order(folder)
        if not isinstance(name, str) or "/" in name or not id or not order:
            return None
        job, is_whole = self._slurm.job(id), _is_whole(folder, order)
        if job is None and not is_whole:
            raise SlurmUnreachable(f"Slurm does not answer for job {id}, which an interrupted session left and which "
                                   "may go on: look at `scontrol ping`, then give the same command again")
        if is_whole or (job is not None and not job.is_over and job.name == name):
            self._own(folder)
            self._say(f"slurm: job {id} went on without its runner: taking it over")
            self._last = SlurmRunning(self._slurm, folder, id, tuple(order["reporters"]), tuple(order["servers"]),
                                      dict(place), self._say, _seconds_between(folder / _ORDER, folder / _OWNER))
            return self._last
        self._remove(folder, id, name)
        return None

    def _own(self, folder: Path) -> None:
        """Say that this process follows the run."""
        (folder / _OWNER).write_text(f"{socket.gethostname()}:{leftovers.mine()}")

    def _remove(self, folder: Path, id: str, name: str) -> None:
        """End a job that is ours by its name, and remove its folder once it is over."""
        job = self._slurm.job(id) if id else None
        is_ours = job is not None and not job.is_over and job.name == name
        if (is_ours and end(self._slurm, id)) or (not is_ours and (job is not None or not id)):
            shutil.rmtree(folder, ignore_errors=True)

    def _sweep(self, say: Callable[[str], None]) -> None:
        """End the jobs of this host's dead runners that no session's record names; tell of those that one may take."""
        for folder in sorted(self._folder.glob("evenbench-*/")):
            host, _, process = (_text(folder / _OWNER) or "").partition(":")
            if host != socket.gethostname() or not leftovers.is_gone(process):
                continue
            id, order = _text(folder / _JOB) or "", _order(folder)
            if not (folder / FOLLOWED).exists() or order.get("cell", {}).get("measure") in measures.BESIDE:
                say(f"slurm: ending job {id or 'of no number'}, left by a runner that is gone")
                self._remove(folder, id, folder.name)
            elif (job := self._slurm.job(id)) is not None and not job.is_over and job.name == folder.name:
                say(f"slurm: job {id} of an interrupted session still goes on: the same command takes it over, "
                    f"`scancel {id}` ends it")
            elif job is not None and not (_is_whole(folder, order) and self._is_recent(folder)):
                shutil.rmtree(folder, ignore_errors=True)

    def _is_recent(self, folder: Path) -> bool:
        """Whether a session may yet ask for what a run has left."""
        now = self._folder / "swept"
        now.touch()
        return _seconds_between(folder / FOLLOWED, now) < _KEPT_SECONDS


def _order(folder: Path) -> dict[str, Any]:
    """What the nodes were told to do; {} where that was never written whole."""
    try:
        order = json.loads(_text(folder / _ORDER) or "{}")
    except ValueError:
        return {}
    return order if isinstance(order, dict) else {}


def _is_whole(folder: Path, order: Mapping[str, Any]) -> bool:
    """Whether all who report have left their last word."""
    return all((folder / f"{each}.exit").exists() for each in order.get("reporters", ()))


def _seconds_between(earlier: Path, later: Path) -> float:
    """From one file's writing to another's, by the clock of the server that keeps both."""
    return max(0.0, later.stat().st_mtime - earlier.stat().st_mtime)


def _unwritten(folder: Path, error: OSError) -> BenchError:
    """What to raise where a run's folder takes no files."""
    kind = DiskFull if error.errno == errno.ENOSPC else BenchError
    return kind(f"{folder}: {error.strerror}: every node must see this folder, and it needs room")


def _text(path: Path) -> str | None:
    """A small file's content; None where it is not there."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def chosen(nodes: Sequence[Node], said: Options) -> tuple[Node, ...]:
    """The nodes of the partition that jobs go to. Raises InputError where there is none."""
    partitions = sorted({node.partition for node in nodes})
    if said.partition:
        named = tuple(node for node in nodes if node.partition in said.partition.split(","))
        if not named:
            raise InputError(f'--slurm: found "partition={said.partition}", expected one of {", ".join(partitions)}')
        return named
    default = tuple(node for node in nodes if node.is_default)
    if not default:
        raise InputError("--launcher slurm: the cluster has no default partition: choose one with --slurm partition=, "
                         f"of {', '.join(partitions) or 'none that you may see'}")
    return default


def lacks(cell: Cell, nodes: Sequence[Node]) -> str | None:
    """Why the partition's nodes can never run a cell, or None."""
    name = nodes[0].partition
    able = [node for node in nodes if cell.cpus <= node.cpus and cell.memory_bytes <= node.memory_bytes]
    if cell.nodes > len(nodes):
        return (f"the cell needs {formatting.count(cell.nodes, 'node')}, and partition {name} has {len(nodes)}: choose "
                "another with --slurm partition=, or measure with --set nodes=")
    if cell.nodes > len(able):
        most = max(nodes, key=lambda node: (node.cpus, node.memory_bytes))
        return (f"{len(able)} nodes of partition {name} have {cell.cpus} CPUs and {cell.memory_bytes / 1e9:.1f} GB, as "
                f"the cell asks, and the largest has {most.cpus} and {most.memory_bytes / 1e9:.1f} GB: measure with "
                "--set cpus=, --set memory_bytes=")
    if cell.device == "gpu" and cell.nodes > sum(node.gpus >= cell.gpus for node in nodes):
        return f"partition {name} has no {cell.nodes} nodes with {cell.gpus} GPUs as generic resources (sinfo -o %N,%G)"
    return None
