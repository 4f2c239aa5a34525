"""Runs cells on the nodes of a cluster whose engine has started one process a node, of which this one is rank 0.

The others are agents, which connect here (runner/launchers/nodes.py) and start workers by their own local launcher, as
rank 0's own node does; or, with `inside:stacks`, containers of the stacks, whose agents start fresh interpreters.
"""

import atexit
import os
import secrets
import shlex
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from runner.errors import BenchError, ImageMissing, InputError
from runner.findings import Finding, judged
from runner.launchers import choose, host_agent, rank
from runner.launchers.line_queue import Pipe
from runner.launchers.nodes import Node, Nodes, RemoteWorker, said
from runner.launchers.protocol import Launcher, Order, Running
from runner.launchers.rank import STACKS
from runner.machine import host, nvml, topology
from runner.machine.gpus import Gpus
from runner.machine.host import Machine
from runner.processes import Say
from runner.stacks.definition import PinnedStack, Stack, pinned, workloads_digest
from workloads.places import agent, wire
from workloads.spec.cell import Cell

_SECRET = ("EVENBENCH_SECRET: found none, expected a word that all nodes know and nobody else: "
           "export EVENBENCH_SECRET=$(openssl rand -hex 16), or EVENBENCH_SECRET_FILE=PATH")
_LEAST_SECRET = 8
_START_SECONDS = 120.0           # for a node to start a worker: an engine may take long
_GONE_SECONDS = 10.0             # for an agent of ssh to end
_CLOCK_SECONDS = 0.1             # by which the times in nodes' records may differ unnoticed


class InsideLauncher(Launcher):
    """Launches workers on the nodes that have joined."""

    name = rank.NAME
    has_options = True
    has_gpus_here = False
    tells = True                     # where nodes are containers

    def __init__(self, nodes: Nodes, local: Launcher | None, count: int, trouble: Callable[[], str] = lambda: ""
                 ) -> None:
        """local: what starts workers on rank 0's own node; None: nodes are containers of stacks.

        count: of processes. trouble(): why one of them will never come, "" for nothing.
        """
        self._nodes, self._local, self._count, self._trouble = nodes, local, count, trouble
        self._abouts: dict[Node, Mapping[str, Any]] = {}
        self._clocks: dict[Node, float] = {}         # seconds ahead of rank 0's; samples do not depend on it
        if local:
            self.takes, self.uses_images, self.tells = local.takes, local.uses_images, local.tells
            self.builds_at_once = local.builds_at_once

    @classmethod
    def made(cls, here: Gpus, options: Sequence[str], findings: Sequence[Finding] = ()) -> "InsideLauncher":
        """Rank 0's launcher. Another rank serves it, and this process then ends. findings: the doctor's, who asks."""
        if not _MADE:
            _MADE.append(_join(here, rank.asked(options), findings))
        return _MADE[0]

    @classmethod
    def examine(cls, findings: list[Finding], options: Sequence[str], here: Gpus) -> list[Finding]:
        """What the doctor finds on each node, and between them; findings: on this one."""
        return cls.made(here, options, findings)._examined()

    def _hosts(self) -> list[Node]:
        """All nodes, where they are hosts, which start workers as rank 0 does. Raises InputError where one cannot."""
        nodes = self._nodes.awaited("", range(self._count), self._trouble)
        assert self._local is not None
        name = self._local.name
        try:
            new = [node for node in nodes if node not in self._abouts]
            self._abouts.update(_each(new, "join", local=name))
        except BenchError as error:
            raise InputError(f"{error}; `--launcher inside:venv` needs no engine") from error
        return nodes

    def _nodes_of(self, stack: Stack, ranks: Sequence[int]) -> list[Node]:
        """The nodes of those ranks, of a stack where they are containers. Raises BenchError."""
        if self._local:
            hosts = self._hosts()
            return [hosts[rank] for rank in ranks]
        on = self._nodes.awaited(stack.name, ranks)
        for node in on:
            if (node.told["workloads"] != workloads_digest(stack.root)
                    or node.told["fingerprint"] not in ("", stack.made_of())):         # "": built by compose or by hand
                raise ImageMissing(f"{node.name}: the images of {stack.name} and of the runner were not built from the "
                                   f"same files: run `evenbench images {stack.name} runner`")
        return on

    def _examined(self) -> list[Finding]:
        found = []
        for node in self._hosts():
            found += [Finding(f"{node.name} {what}", *rest) for what, *rest in node.call("findings")]
            ahead, uncertainty = node.clock_ahead()
            found.append(judged(f"{node.name} clock", abs(ahead) - uncertainty <= _CLOCK_SECONDS,
                                f"{1e3 * ahead:+.3f} ms ± {1e3 * uncertainty:.3f} ms against rank 0",
                                "let chrony or systemd-timesyncd set it"))
        return found

    @property
    def hosts(self) -> int:
        """How many machines the nodes are on: several may be on one."""
        return len({node.machine for node in self._hosts()}) if self._local else 1

    def machine(self, here: Machine) -> Machine:
        """The smallest of the machines; containers of stacks are in none of the groups that limit the runner."""
        if not self._local:
            return host.whole()
        told = [self._abouts[node] for node in self._hosts()]
        named = here.hostname if self.hosts == 1 else f"{self.hosts} hosts"
        return here._replace(cpus=min(each["cpus"] for each in told), hostname=named,
                             memory_bytes=min(each["memory_bytes"] for each in told))

    def record(self) -> dict[str, Any]:
        return {"inside": {"local": self._local.name if self._local else STACKS, "nodes": self._count}}

    def check(self, cells: Sequence[Cell]) -> None:
        for cell in cells:
            if cell.nodes > self._count:
                raise InputError(f"--launcher inside: found {self._count} nodes, expected {cell.nodes} for a cell of "
                                 f"the plan: start more, or measure with --set nodes={self._count}")

    def missing(self, stack: Stack) -> str | None:
        """As protocol.Launcher, of every node; of containers, waits for the stack's first."""
        if self._local:
            told = _each(self._hosts(), "missing", stack=host_agent.packed(stack))
            return next((f"{node.name}: {why}" for node, why in told if why), None)
        try:
            self._nodes.awaited(stack.name, [0])
        except BenchError:
            if others := self._nodes.others():
                return f"no node of it connected, only of {', '.join(others)}"
            raise
        return None

    def is_built(self, stack: PinnedStack) -> bool:
        return self._local is None or self._local.is_built(stack)

    def prepare(self, stacks: list[Stack], say: Say) -> None:
        """Have every node build what the stacks need. Raises BenchError."""
        for stack in stacks:
            if self._local:
                say(f"{stack.name}: on every node")
                _each(self._hosts(), "prepare", stack=host_agent.packed(stack))
            else:
                self._nodes_of(stack, [0])

    def check_data(self, folders: Iterable[Path]) -> None:
        """Raise InputError where nodes have other files than rank 0 at a data set's path."""
        for folder in folders if self._local else ():
            told = _each(self._hosts(), "has_data", folder=str(folder))
            if others := [node.name for node, listing in told if listing != told[0][1]]:
                path = shlex.quote(str(folder))
                raise InputError(f"{folder}: found other files on {', '.join(others)} than on rank 0, expected the "
                                 f"same: rsync -a {path}/ NODE:{path}/")

    def begin(self, order: Order) -> "InsideRunning":
        """Start a worker in each place of the cell. Raises BenchError."""
        cell, count = order.cell, len(order.places)
        on = self._nodes_of(order.stack, [rank if rank < self._count else 0 for rank in range(count)])
        for node in on if not self._local else ():
            _check_room(node, cell)
        self._clocks.update({node: round(node.clock_ahead()[0], 6) for node in on if node not in self._clocks})
        addresses = self._addresses(on) if count > 1 else ()
        told = [self._told(order._replace(rank=rank, addresses=addresses, beside=_beside(on[:cell.nodes], node)), node)
                for rank, node in enumerate(on)]
        running = InsideRunning(order, on)
        with running.stopped_on_error(), ThreadPoolExecutor(count) as pool:
            started = list(pool.map(running.begin, range(count), told))
        self._describe(running, order, started)
        return running

    def _addresses(self, on: Sequence[Node]) -> tuple[str, ...]:
        """HOST:FIRST_PORT of each place, free there; nodes may share an address."""
        hosts = [node.address or self._nodes.address() for node in on]
        asked = dict(zip(hosts, on, strict=True))
        ports = {host: iter(asked[host].call("ports", count=count)) for host, count in Counter(hosts).items()}
        return tuple(f"{host}:{next(ports[host])}" for host in hosts)

    def _told(self, order: Order, node: Node) -> dict[str, Any]:
        """What a node is told of the worker of its place."""
        if self._local:
            return host_agent.sent(order)
        [rank], known = order.ranks, None if node.machine else topology.observe()
        share = order.share(node.told["affinity"], known)
        return {"cell": order.cell._asdict(), "module": order.module, "data": str(order.data),
                "cpus": share.cpus(rank), "variables": order.variables(rank)}

    def _describe(self, running: "InsideRunning", order: Order, started: list[dict[str, Any]]) -> None:
        """Say in the run's record where each place is."""
        on = running.on
        if not self._local:
            base, quotas = on[0].told["base"], [node.told["cpu_quota"] for node in on]
            quota = min((quota for quota in quotas if quota and quota < order.cell.cpus), default=None)
            started = [{"isolation": "container", "image": f"evenbench:{order.stack.name}", "base": base,
                        "base_is_default": base == pinned(order.stack).base.image, **order.record(),
                        "cpu_quota": quota}] * len(on)
        nodes = {}
        for place, node, told in zip(order.places, on, started, strict=True):
            own = {key: node.told[key] for key in ("affinity", "cpu_quota", "memory_bytes") if key in node.told}
            nodes[place.name] = {"host": node.host, "clock_ahead_seconds": self._clocks[node], **own,
                                 **{key: value for key, value in told.items() if value != started[0].get(key)}}
        running.place.update(started[0], launcher=self.name, nodes=nodes)
        if any(node.machine for node in on):
            running.place["remote"] = True


class InsideRunning(Running):
    """A run in the places that take part."""

    def __init__(self, order: Order, on: Sequence[Node]) -> None:
        super().__init__({}, order)
        self._pipe, self.on = Pipe(0), on
        self._run = f"{order.run}.{secrets.token_hex(4)}"

    def begin(self, place: int, told: Mapping[str, Any]) -> dict[str, Any]:
        """Have a node start the worker of a place; what it says of it. Raises BenchError."""
        node, name = self.on[place], self._names[place]
        run = f"{self._run}.{name}"
        self._workers[name] = RemoteWorker(node, run, name, self._pipe)
        return dict(node.call("start", _START_SECONDS, **{**told, "run": run}))

    def machine(self, place: str) -> str:
        return self.on[self._names.index(place)].machine

    def stop(self) -> None:
        """End the workers, side by side."""
        self._pipe.close()
        with ThreadPoolExecutor(len(self._names)) as pool:
            list(pool.map(lambda worker: worker.stop(), list(self._workers.values())))


def _beside(on: Sequence[Node], node: Node) -> tuple[int, int]:
    """Which of how many nodes on its machine a node is."""
    same = [each.rank for each in on if each.machine == node.machine]
    return (same.index(node.rank) if node.rank in same else 0), max(1, len(same))


def _check_room(node: Node, cell: Cell) -> None:
    """Raises BenchError where a container may use fewer CPUs or less memory than the cell says."""
    quota, memory = node.told["cpu_quota"], node.told["memory_bytes"]
    if quota is not None and cell.cpus > max(1.0, quota):
        raise BenchError(f"{node.name} may use {quota:g} CPUs and the cell asks for {cell.cpus}: raise NODE_CPUS")
    if memory is not None and cell.memory_bytes > memory:
        raise BenchError(f"{node.name} may use {memory / 1e9:.1f} GB and the cell asks for "
                         f"{cell.memory_bytes / 1e9:.1f} GB: raise NODE_MEMORY")


def _each(nodes: Sequence[Node], what: str, **arguments: Any) -> list[tuple[Node, Any]]:
    """What each node answers, asked side by side, for as long as it takes."""
    with ThreadPoolExecutor(max(1, len(nodes))) as pool:
        return list(zip(nodes, pool.map(lambda node: node.call(what, None, **arguments), nodes), strict=True))


_MADE: list[InsideLauncher] = []         # this process's: a command may ask for it more than once


def _join(here: Gpus, asked: rank.Asked, findings: Sequence[Finding]) -> InsideLauncher:
    place = rank.read(asked, os.environ)
    try:
        key = wire.secret() or (secrets.token_hex(16).encode() if asked.hosts or place.nodes == 1 else b"")
    except OSError as error:
        raise InputError(f"EVENBENCH_SECRET_FILE: {error.strerror}") from error
    if len(key) < _LEAST_SECRET:
        raise InputError(_SECRET)
    local, told = host_agent.HostAgent(here, findings), host_agent.told()
    if place.rank:
        sys.exit(agent.joined(place.host, place.port, key, {**told, "rank": place.rank}, local))
    is_alone = place.nodes == 1 and asked.local != STACKS
    nodes = Nodes(("127.0.0.1", 0) if is_alone else ("", place.port), key, told["version"])
    if asked.local == STACKS:
        made = InsideLauncher(nodes, None, place.nodes)
    else:
        runner, own = socket.socketpair()        # this process is node 0 as others are theirs
        threading.Thread(target=agent.serve, args=(wire.Link(own), {**told, "rank": 0}, local), daemon=True).start()
        threading.Thread(target=nodes.add, args=(Node(wire.Link(runner)),), daemon=True).start()
        made = InsideLauncher(nodes, choose.for_stacks(asked.local, said, here, ()), place.nodes,
                              _by_ssh(asked, nodes.port, key, bool(findings)))
    atexit.register(nodes.close)
    return made


def _by_ssh(asked: rank.Asked, port: int, key: bytes, is_examined: bool) -> Callable[[], str]:
    """Start agents on hosts; why one will not come, "" for nothing. The secret goes by a pipe."""
    started = {}
    for number, name in enumerate(asked.hosts, 1):
        words = asked._replace(hosts=(), rank=number, nodes=1 + len(asked.hosts), head=f":{port}").words()
        program = (["evenbench", "doctor", "--launcher", f"inside:{','.join(words)}"] if is_examined
                   else [InsideLauncher.__module__, *words])
        command = shlex.join(["env", "EVENBENCH_SECRET_FILE=/dev/stdin", sys.executable, "-m", *program])
        try:
            process = started[name] = subprocess.Popen(["ssh", "-T", "-o", "BatchMode=yes", name, command],
                                                       stdin=subprocess.PIPE, stdout=sys.stderr)
        except FileNotFoundError as error:
            raise InputError("--hosts: found no ssh on PATH, expected one: install an ssh client, such as "
                             "openssh-client") from error
        assert process.stdin is not None
        process.stdin.write(key + b"\n")
        process.stdin.flush()
        atexit.register(_gone, process)          # after the nodes were let go
    return lambda: next((f"ssh {name} ended with exit code {process.returncode}" for name, process in started.items()
                         if process.poll() is not None), "")


def _gone(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a program that is to end by itself."""
    try:
        process.wait(_GONE_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()


if __name__ == "__main__":           # an agent that ssh has started
    InsideLauncher.made(nvml.observe(), sys.argv[1:])
