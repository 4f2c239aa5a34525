"""Runs cells on the nodes of compose.yaml, which connect to the runner; it has no engine and starts no container.

A run is a fresh interpreter in every place (workloads/places/compose_node.py), not a fresh container: marked in every
record. What a node is, it says itself; one that has other workloads than the runner is refused. Decided 2026-11-21:
compose is to need neither a privileged container nor the engine's socket. Each stack has nodes of its own, which wait
while another one's are measured.
"""

import json
import queue
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from runner.errors import BenchError, ImageMissing
from runner.launchers.compose_messages import About, Alive, End, Output, Unheard, message
from runner.launchers.line_queue import Pipe
from runner.launchers.protocol import Exit, Launcher, Order, Running, Worker
from runner.machine import host
from runner.machine.host import Machine
from runner.processes import Say
from runner.results.contract import LONGEST_LINE
from runner.results.lines import Line
from runner.stacks.definition import Stack, fingerprint, pinned, workloads_digest
from workloads.spec.cell import Cell

PORT = 9000
_PATIENCE_SECONDS = 50.0         # for places that have not come yet, from the runner's start: named within a minute
_GREETING_SECONDS = 20.0         # a node reads its sources first, which a busy machine makes slow
_ANSWER_SECONDS = 2.0
_STOP_SECONDS = 10.0
_SILENCE_SECONDS = 25            # after which a network that has been cut counts as closed
_KILLED = 137                    # what an engine says of a container that was killed
_LONGEST_MESSAGE = 8 * LONGEST_LINE      # a line of a worker, as JSON


class ComposeLauncher(Launcher):
    """Launches workers in the places that connect to it."""

    name = "compose"

    def __init__(self, address: tuple[str, int] = ("0.0.0.0", PORT), patience: float = _PATIENCE_SECONDS) -> None:
        self._deadline = time.monotonic() + patience
        self._changed = threading.Condition()
        self._nodes: dict[tuple[str, str], _Node] = {}      # by stack and place
        self._server = socket.create_server(address)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> tuple[str, int]:
        """The address on which it listens."""
        host, port = self._server.getsockname()[:2]
        return str(host), int(port)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        """Take in a place that says what it is, and listen to it; anything else is shut out."""
        _notice_silence(connection)
        try:
            node = _Node(connection)
        except (OSError, Unheard):
            connection.close()
            return
        with self._changed:
            key = (node.about.stack, node.name)
            if key in self._nodes:
                node.close()
                return
            self._nodes[key] = node
            self._changed.notify_all()
        node.listen()

    def machine(self, here: Machine) -> Machine:
        """The whole machine: the nodes are in none of the groups that limit the runner."""
        return host.whole()

    def missing(self, stack: Stack) -> str | None:
        """As protocol.Launcher, of the nodes that connect; waits for the stack's first. Raises BenchError."""
        try:
            self._awaited(stack, ["node0"])
        except BenchError:
            if others := sorted({name for name, _ in self._nodes.copy()}):
                return (f"no node of it connected, only of {', '.join(others)}: run `STACK={stack.name} docker compose "
                        "up`")
            raise
        return None

    def prepare(self, stacks: list[Stack], say: Say) -> None:
        """Check that the nodes are made of what this runner knows. Raises BenchError."""
        for stack in stacks:
            for node in self._awaited(stack, ["node0"]):
                _check(node, stack)

    def begin(self, order: Order) -> "ComposeRunning":
        """Start a worker in each place of the cell. Raises BenchError."""
        names = [each.name for each in order.places]
        nodes = self._awaited(order.stack, names)
        for node in nodes:
            _check(node, order.stack)
            _check_room(node, order.cell)
        share = order.share()
        running = ComposeRunning({**self._made_of(order, nodes, len(share.cpus(0))), **share.record()}, order, nodes)
        try:
            with running.stopped_on_error():
                for rank, node in enumerate(nodes):
                    running.begin(node, {
                        "cell": order.cell._asdict(), "nodes": ",".join(names) if len(names) > 1 else "", "rank": rank,
                        "module": order.module, "data": str(order.data), "cpus": share.cpus(rank),
                        "variables": order.variables()})
        except OSError as error:
            raise BenchError(f"a place is gone: {error.strerror}") from error
        return running

    def _made_of(self, order: Order, nodes: list["_Node"], cpus: int) -> dict[str, Any]:
        """What is known of the places, for the record. A quota that their number of CPUs does not reach is none."""
        base, quotas = nodes[0].about.base, [node.about.cpu_quota for node in nodes]
        return {"launcher": self.name, "isolation": self.name, "image": f"evenbench:{order.stack.name}", "base": base,
                "base_is_default": base == pinned(order.stack).base.image, **order.record(),
                "cpu_quota": min((quota for quota in quotas if quota and quota < cpus), default=None),
                "nodes": {node.name: {"affinity": node.about.affinity, "cpu_quota": node.about.cpu_quota,
                                      "memory_bytes": node.about.memory_bytes} for node in nodes}}

    def _awaited(self, stack: Stack, names: list[str]) -> list["_Node"]:
        """The stack's places of those names. Raises BenchError where one has gone, or has not come in time."""
        with self._changed:
            while absent := [name for name in names if (stack.name, name) not in self._nodes]:
                left = self._deadline - time.monotonic()
                if left <= 0:
                    raise BenchError(f"{', '.join(absent)} of {stack.name} did not connect within "
                                     f"{_PATIENCE_SECONDS:g} s: see `docker compose logs`; this launcher works in "
                                     "compose.yaml's runner alone (`docker compose up`)")
                self._changed.wait(left)
            nodes = [self._nodes[stack.name, name] for name in names]
        if lost := [node.name for node in nodes if node.is_lost]:
            raise BenchError(f"{', '.join(lost)} was lost in an earlier run: start again with `docker compose up`")
        return nodes

    def close(self) -> None:
        """Listen no more, and let the nodes go."""
        self._server.close()
        for node in self._nodes.values():
            node.close()


def _check(node: "_Node", stack: Stack) -> None:
    """Raises ImageMissing where a node is made of something else than the runner."""
    if (node.about.workloads != workloads_digest(stack.root)
            or node.about.fingerprint not in ("", fingerprint(stack))):     # "": built by compose or by hand
        raise ImageMissing(f"the images of {stack.name} and of the runner were not built from the same files: run "
                           f"`evenbench images {stack.name} runner`")


def _check_room(node: "_Node", cell: Cell) -> None:
    """Raises BenchError where a node may use fewer CPUs or less memory than the cell says."""
    quota, memory = node.about.cpu_quota, node.about.memory_bytes
    if quota is not None and cell.cpus > max(1.0, quota):
        raise BenchError(f"{node.name} may use {quota:g} CPUs and the cell asks for {cell.cpus}: raise NODE_CPUS")
    if memory is not None and cell.memory_bytes > memory:
        raise BenchError(f"{node.name} may use {memory / 1e9:.1f} GB and the cell asks for "
                         f"{cell.memory_bytes / 1e9:.1f} GB: raise NODE_MEMORY")


def _notice_silence(connection: socket.socket) -> None:
    """The same as workloads.places.compose_node does at the other end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3),
                          (socket.TCP_USER_TIMEOUT, 1000 * _SILENCE_SECONDS)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


class ComposeRunning(Running):
    """A run in the places that take part."""

    def __init__(self, record: dict[str, Any], order: Order, nodes: list["_Node"]) -> None:
        super().__init__(record, order.places)
        self._workers = {node.name: node for node in nodes}

    def begin(self, node: "_Node", order: dict[str, Any]) -> None:
        """Give a place its order. Raises OSError."""
        node.begin(order, self._pipe)

    def stop(self) -> None:
        """End the workers; a place that does not answer is let go, and its end then ends its worker."""
        super().stop()
        deadline = time.monotonic() + _STOP_SECONDS
        for node in self._workers.values():
            if not node.is_over.wait(0.0 if node.is_silent else max(0.0, deadline - time.monotonic())):
                node.close()


class _Node(Worker):
    """A place that has connected."""

    def __init__(self, connection: socket.socket) -> None:
        """Read the greeting. Raises OSError, and Unheard where it is none of a place."""
        self._connection = connection
        self._stream = connection.makefile("rb")
        connection.settimeout(_GREETING_SECONDS)
        greeting = message(self._stream.readline(_LONGEST_MESSAGE))
        if not isinstance(greeting, About):
            raise Unheard("no greeting")
        connection.settimeout(None)
        self.about, self.name = greeting, greeting.place
        self.is_lost, self.is_silent = False, False
        self._pipe: Pipe | None = None
        self._exit = Exit(None)
        self.is_over = threading.Event()
        self.is_over.set()
        self._answers: queue.Queue[Alive] = queue.Queue()

    def listen(self) -> None:
        """Hear everything, until the connection ends."""
        try:
            for line in iter(lambda: self._stream.readline(_LONGEST_MESSAGE), b""):
                self._heard(message(line))
        except ConnectionResetError:
            pass                      # the same as its end
        except (Unheard, UnicodeError):               # whoever that is has no business here
            self.close()
        except (OSError, ValueError):
            self.is_lost = True       # silent: the watchdog waits, as for a paused one, then asks for the trouble
            self.is_over.set()
            return
        self.is_lost = True
        self._ended(Exit(_KILLED))

    def _heard(self, said: Line | None) -> None:
        match said:
            case Output(line=line) if self._pipe:
                self._pipe.put(self.name, line.encode("utf-8", "surrogateescape") + b"\n")
            case End():
                self._ended(Exit(said.exit, said.is_out_of_memory, said.last_words))
            case Alive():
                self._answers.put(said)

    def _ended(self, how: Exit) -> None:
        if not self.is_over.is_set():
            self._exit = how
            self.is_over.set()
            if self._pipe:
                self._pipe.put(self.name, b"")

    def begin(self, order: dict[str, Any], pipe: Pipe) -> None:
        """Have it start a worker, whose lines go to the pipe. Raises OSError."""
        self._pipe, self._exit = pipe, Exit(None)
        self.is_over.clear()
        self._send(order)
        if self.is_lost:              # between the check and now: nobody else would say so
            self._ended(Exit(_KILLED))

    def exit(self, seconds: float) -> Exit:
        self.is_over.wait(seconds)
        return self._exit

    def trouble(self) -> str:
        """As protocol.Worker, from what it answers when asked."""
        if self.is_lost:
            return "is cut from the network, or gone"
        return "" if self._asked() else "does not answer (it is paused, or cut from the network)"

    def used(self) -> dict[str, int | None] | None:
        answer = self._asked()
        return answer.model_dump() if answer else None

    def _asked(self) -> Alive | None:
        """What it answers, None if nothing comes soon, now or before."""
        if self.is_silent:
            return None
        while not self._answers.empty():
            self._answers.get()
        try:
            self._send({"ask": True})
            return self._answers.get(timeout=_ANSWER_SECONDS)
        except (OSError, queue.Empty):
            self.is_silent = True
            return None

    def stop(self) -> None:
        """Have it end its worker, if that still runs."""
        if self.is_over.is_set():
            return
        with suppress(OSError):       # listen has seen it, or will
            self._send({"stop": True})

    def close(self) -> None:
        """Close the connection; a node whose runner is gone ends."""
        self.is_lost = True
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _send(self, message: dict[str, Any]) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")
