"""The nodes of a cluster as rank 0 sees them: it listens, lets in who knows the secret, and asks what they do."""

import itertools
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter

from runner.errors import BenchError, InputError
from runner.launchers.line_queue import Pipe
from runner.launchers.protocol import Exit, Worker
from runner.results.error_output import Written
from workloads.places import agent, wire
from workloads.spec.cluster import PATIENCE_SECONDS

_ANSWER_SECONDS = 20.0           # for what a node knows at once, also a busy one
_TROUBLE_SECONDS = 5.0           # for a sign of life
_CLOCK_EXCHANGES = 5             # the quickest of them says most
_MOST_BYTES = 2**28              # of lines that nobody has asked for yet, as the watchdog takes at once
_STRANGERS = 32                  # connections that have not proved themselves yet
_SAY_SECONDS = 10.0              # of waiting, after which it is said for whom

_EXIT = TypeAdapter(Exit)        # of a worker, as a node tells of it


def said(line: str) -> None:
    """Tell the user."""
    print(f"evenbench: {line}", file=sys.stderr, flush=True)


class Lost(BenchError):
    """A node is gone, or does not answer."""


class Node:
    """A node that has joined."""

    def __init__(self, link: wire.Link, address: str = "", called: str = "") -> None:
        """Hear what it says first. address: of the node; called: of this host, as the node knows it."""
        self.address, self.called, self._messages = address, called, link.messages()
        told = self.told = next(self._messages)
        self.rank, self.stack = int(told["rank"]), str(told["stack"])
        self.host = str(told["host"])
        self.machine = "" if told["machine"] == agent.of_host()["machine"] else str(told["machine"])
        self.name = f"node{self.rank} ({self.host})"
        self.workers: dict[str, RemoteWorker] = {}
        self.is_lost = self.is_silent = False
        self._link, self._numbers = link, itertools.count()
        self._answers: dict[int, queue.SimpleQueue[Mapping[str, Any]]] = {}

    def listen(self) -> None:
        """Hear everything, until the connection ends."""
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            for message in self._messages:       # what is broken, or no message of ours, counts as its end
                self._heard(message)
        self._messages.close()
        self.is_lost = True
        self._link.close()
        for answer in list(self._answers.values()):
            answer.put({"error": f"{self.name} is gone"})
        for worker in list(self.workers.values()):
            worker.ended(Exit(None, verdict=("killed", f"{self.name} is gone, or cut from the network")))

    def _heard(self, message: Mapping[str, Any]) -> None:
        if "number" in message:
            if answer := self._answers.get(message["number"]):
                answer.put(message)
        elif worker := self.workers.get(message["run"]):
            if "exit" in message:
                worker.ended(_EXIT.validate_python(message["exit"]))
            else:
                worker.heard(message["line"].encode("utf-8", "surrogateescape"))

    def call(self, what: str, seconds: float | None = _ANSWER_SECONDS, **arguments: Any) -> Any:
        """What the node answers; seconds: None for as long as it takes. Raises BenchError, Lost where nothing comes."""
        answer: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
        number = next(self._numbers)
        self._answers[number] = answer
        try:
            if self.is_silent:
                raise queue.Empty
            self.send(call=what, number=number, **{"with": arguments})
            told = answer.get(timeout=seconds)
        except queue.Empty as error:
            self.is_silent = True
            raise Lost(f"{self.name} does not answer (it is paused, or cut from the network)") from error
        finally:
            del self._answers[number]
        if "error" in told:
            raise (Lost(told["error"]) if self.is_lost else BenchError(f"{self.name}: {told['error']}"))
        return told["value"]

    def send(self, **message: Any) -> None:
        """Send what needs no answer. Raises Lost."""
        try:
            self._link.send(**message)           # in vain where it is lost: the connection is closed then
        except OSError as error:
            raise Lost(f"{self.name} is gone") from error

    def clock_ahead(self) -> tuple[float, float]:
        """The seconds that its clock is ahead of this host's, and by how much that may be wrong."""
        exchanges = []
        for _ in range(_CLOCK_EXCHANGES):
            before, theirs, after = time.time(), float(self.call("clock")), time.time()
            exchanges.append(((after - before) / 2, theirs - (before + after) / 2))
        uncertainty, ahead = min(exchanges)
        return ahead, uncertainty

    def close(self, is_release: bool = False) -> None:
        """Let it go, or close the connection, at which it ends its workers and itself."""
        if is_release:
            with suppress(Lost):
                self.send(release=True)
                return
        self._link.close()


class RemoteWorker(Worker):
    """A run's worker on a node."""

    def __init__(self, node: Node, run: str, place: str, pipe: Pipe) -> None:
        self._node, self._run, self._place, self._pipe = node, run, place, pipe
        self._exit, self._is_over = Exit(None), threading.Event()
        node.workers[run] = self

    def heard(self, line: bytes) -> None:
        """It wrote a line, which waits without holding up what other workers of the node say."""
        if self._pipe.waiting_bytes > _MOST_BYTES:
            self.ended(Exit(None, verdict=("died", "the worker wrote far more than any measurement says")))
        if not self._is_over.is_set():
            self._pipe.put(self._place, line)

    def ended(self, how: Exit) -> None:
        """It has gone; said once."""
        if not self._is_over.is_set():
            self._exit = how
            self._is_over.set()
            self._pipe.put(self._place, b"")

    def exit(self, seconds: float) -> Exit:
        self._is_over.wait(seconds)
        return self._exit

    def trouble(self) -> str:
        try:
            return str(self._node.call("trouble", _TROUBLE_SECONDS, run=self._run))
        except BenchError as error:
            return str(error).removeprefix(f"{self._node.name} ")

    def used(self) -> dict[str, int | None] | None:
        with suppress(BenchError):
            return self._node.call("used", run=self._run)      # type: ignore[no-any-return]
        return None

    def errors(self) -> Written | None:
        with suppress(BenchError):
            if told := self._node.call("errors", run=self._run):
                head, tail = (text.encode("utf-8", "surrogateescape") for text in told[:2])
                return Written(head, tail, told[2])
        return None

    def tell(self, words: str) -> None:
        with suppress(Lost):                     # its end tells it
            self._node.send(call="tell", **{"with": {"run": self._run, "words": words}})

    def forget_errors(self) -> None:
        with suppress(BenchError):
            self._node.call("forget_errors", run=self._run)

    def stop(self) -> None:
        """End it; a node that does not answer is let go, and its end then ends its worker."""
        try:
            self._node.call("stop", run=self._run)
        except Lost:
            self._node.close()
        except BenchError:
            pass                                 # it told what; the next sweep removes what is left
        self._node.workers.pop(self._run, None)


class Nodes:
    """All nodes, as they join."""

    def __init__(self, address: tuple[str, int], key: bytes, version: str, patience: float = PATIENCE_SECONDS) -> None:
        """version: of which nodes that are hosts have to be. Raises InputError where the port is taken."""
        self._key, self._version = key, version
        self._deadline = time.monotonic() + patience
        self._changed = threading.Condition()
        self._nodes: dict[tuple[str, int], Node] = {}        # by stack, "" of hosts, and rank
        self._refused: list[str] = []
        self._is_closed = False
        self._room = threading.BoundedSemaphore(_STRANGERS)
        try:
            self._server = socket.create_server(address)
        except OSError as error:
            raise InputError(f"--launcher inside: port {address[1]} cannot be had ({error.strerror}): say another one "
                             "on every node, --head HOST:PORT") from error
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, (host, *_) = self._server.accept()
            except OSError:
                return
            if self._room.acquire(blocking=False):
                threading.Thread(target=self._greet, args=(connection, host), daemon=True).start()
            else:
                connection.close()

    def _greet(self, connection: socket.socket, host: str) -> None:
        """Take in a node, and listen to it; anything else is shut out."""
        try:
            link = wire.linked(connection, self._key, is_runner=True)
            node = Node(link, host, str(connection.getsockname()[0]))
        except wire.Unproved as error:
            self._refused.append(f"{host}: {error}")
            return
        except (OSError, ValueError, KeyError, TypeError, StopIteration):
            connection.close()
            return
        finally:
            self._room.release()
        self.add(node)

    def add(self, node: Node) -> None:
        """Take in a node, and listen to it until it goes."""
        key = (node.stack, node.rank)
        with self._changed:
            if key in self._nodes:
                self._refused.append(f"{node.address}: a second {node.name}")
            if key in self._nodes or self._is_closed:
                node.close(is_release=self._is_closed)
                return
            self._nodes[key] = node
            self._changed.notify_all()
        node.listen()

    def others(self) -> list[str]:
        """The stacks of nodes that have come."""
        with self._changed:
            return sorted({stack for stack, _ in self._nodes})

    def address(self) -> str:
        """Where nodes find this host."""
        with self._changed:
            return next((node.called for node in self._nodes.values() if node.called), "127.0.0.1")

    def awaited(self, stack: str, ranks: Collection[int], trouble: Callable[[], str] = lambda: "") -> list[Node]:
        """The nodes of those ranks. trouble(): why one will never come, "" for nothing.

        Raises BenchError where one has gone, or has not come in time.
        """
        said_at = time.monotonic() + _SAY_SECONDS
        with self._changed:
            while absent := [rank for rank in ranks if (stack, rank) not in self._nodes]:
                what = f"{', '.join(f'node{rank}' for rank in absent)}{f' of {stack}' if stack else ''}"
                turned = f"; turned away: {', '.join(sorted(set(self._refused)))}" if self._refused else ""
                if why := trouble():
                    raise BenchError(f"{what}: {why}")
                now = time.monotonic()
                if now > self._deadline:
                    raise BenchError(f"{what} did not connect within {PATIENCE_SECONDS:g} s to port {self.port} "
                                     f"of {socket.gethostname()}{turned}")
                if now > said_at:
                    said(f"waiting for {what}{turned}")
                    said_at = self._deadline
                self._changed.wait(min(1.0, self._deadline - now + 0.01))
            nodes = [self._nodes[stack, rank] for rank in ranks]
        if lost := [node.name for node in nodes if node.is_lost]:
            raise BenchError(f"{', '.join(lost)} was lost: the same command, started again on all nodes, goes on")
        old = [node for node in nodes if not node.stack and node.told.get("version") != self._version]
        if old:
            raise InputError(f"{old[0].name}: found evenbench {old[0].told.get('version')}, expected {self._version} "
                             "as on rank 0: install the same on every node")
        return nodes

    def close(self) -> None:
        """Listen no more, and let the nodes go."""
        self._server.close()
        with self._changed:
            self._is_closed = True
        for node in list(self._nodes.values()):
            node.close(is_release=True)
