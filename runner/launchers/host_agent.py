"""A node's part where nodes are hosts: it prepares stacks and starts workers by the node's own launcher.

The same command as the runner's, started on another node, comes here: workloads/places/agent.py serves the runner.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from runner import __version__
from runner.datasets import choice
from runner.errors import BenchError
from runner.findings import Finding
from runner.launchers import choose
from runner.launchers.protocol import Launcher, Order, Running
from runner.machine import host
from runner.machine.gpus import Gpus
from runner.paths import ROOT, cache_folder
from runner.stacks.definition import PinnedStack, Stack, workloads_digest
from runner.stacks.own import OwnStack
from workloads.places import agent
from workloads.spec.cell import loads

_LEAVE_SECONDS = 20.0
_STACK: TypeAdapter[Stack] = TypeAdapter(PinnedStack | OwnStack)


def told() -> dict[str, Any]:
    """What a node says of itself as it comes."""
    return {**agent.of_host(), "stack": "", "version": f"{__version__} {workloads_digest(ROOT)[:12]}"}


def packed(stack: Stack) -> dict[str, str]:
    """A stack as it is sent to another node, which has the same files at the same paths."""
    return {"said": stack.model_dump_json(), "fingerprint": stack.made_of()}


def sent(order: Order) -> dict[str, Any]:
    """An order for one place as it is sent to its node."""
    return {**order._asdict(), "cell": order.cell._asdict(), "stack": packed(order.stack), "data": str(order.data)}


class HostAgent(agent.Local):
    """Workers are started by a launcher of this host."""

    runs: dict[str, Running]
    CALLS = agent.Local.CALLS | {"join", "missing", "prepare", "has_data", "findings"}

    def __init__(self, gpus: Gpus, findings: Sequence[Finding] = ()) -> None:
        """findings: of the doctor, who asks for them."""
        super().__init__()
        self._gpus, self._findings = gpus, findings
        self._launcher: Launcher = Launcher()

    def join(self, local: str) -> dict[str, Any]:
        """Start workers by the launcher of that name; what there is for them."""
        self._launcher = choose.for_stacks(local, lambda line: None, self._gpus, ())
        here = self._launcher.machine(host.observe())
        return {"cpus": here.cpus, "memory_bytes": here.memory_bytes}

    def findings(self) -> list[Any]:
        """What the doctor found here."""
        return list(self._findings)

    def missing(self, stack: dict[str, str]) -> str | None:
        """Why a stack cannot run here, or None."""
        return self._launcher.missing(_unpacked(stack))

    def prepare(self, stack: dict[str, str]) -> None:
        """Build a stack, and sweep what earlier sessions left."""
        self._launcher.prepare([_unpacked(stack)], lambda line: None)

    def has_data(self, folder: str) -> str:
        """The SHA-256 of a data set's file names and sizes: what tells another one, or half of one, at once.

        The stand-in is written first where it is not there.
        """
        if folder == str(choice.digits32_folder(cache_folder())):
            choice.digits32(cache_folder(), lambda line: None)
        found = sorted((str(path.relative_to(folder)), path.stat().st_size) for path in Path(folder).rglob("*")
                       if path.is_file())
        return hashlib.sha256(json.dumps(found).encode()).hexdigest() if found else ""

    def start(self, run: str, cell: dict[str, Any], stack: dict[str, str], data: str, **how: Any) -> dict[str, Any]:
        """Start the worker of a place, of an order as sent() has it; what the record says of it."""
        order = Order(loads(json.dumps(cell)), _unpacked(stack), Path(data), run, **how)
        running = self.runs[run] = self._launcher.begin(order)
        threading.Thread(target=self._pass_on, args=(run, running, self.send), daemon=True).start()
        return running.place

    def _pass_on(self, run: str, running: Running, send: Any) -> None:
        """Send what the worker of the one place that is here writes, then how it ended."""
        [place] = (*running.reporters, *running.servers)
        with suppress(OSError):      # the runner is gone, and serve ends the worker
            while run in self.runs:
                line = running.next_line(1.0)
                if line and not line[1]:
                    send(run=run, exit=running.exit(place, _LEAVE_SECONDS)._asdict())
                    return
                if line:
                    send(run=run, line=line[1].decode("utf-8", "surrogateescape"))

    def trouble(self, run: str) -> str:
        return "".join(self.runs[run].trouble().values())

    def used(self, run: str) -> dict[str, int | None] | None:
        return next(iter(self.runs[run].used().values()), None)

    def errors(self, run: str) -> list[Any] | None:
        """[head, tail, dropped], bytes as half surrogates."""
        return next(([*(part.decode("utf-8", "surrogateescape") for part in each[:2]), each.dropped]
                     for each in self.runs[run].errors().values()), None)


def _unpacked(stack: dict[str, str]) -> Stack:
    """Raises BenchError where this node's files make another stack of it."""
    known = _STACK.validate_json(stack["said"], strict=False)
    if known.made_of() != stack["fingerprint"]:
        raise BenchError(f"{known.name} is made of other files here than on rank 0: install the same evenbench")
    return known
