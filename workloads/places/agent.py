"""python -m workloads.places.agent HOST[:PORT] RANK: a node's part in the container of a stack, which needs no more.

The runner's own commands are the part of nodes without such a container (runner/launchers/host_agent.py). Both connect
to the runner (workloads/places/wire.py), say what they are, and do what it asks: {"call": name, "number": n, "with":
{...}}, answered by {"number": n, "value": ...} or {"number": n, "error": ...}. For each line of a worker they send
{"run": run, "line": ...}, once it has ended {"run": run, "exit": {...}}. A runner that says {"release": true} lets them
go; one that is lost ends their workers and them. A run is a fresh interpreter with a folder of its own; the container
stays. Python 3.6 and later, standard library only.
"""
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from workloads.places import addresses, wire
from workloads.process import control_groups
from workloads.spec import turns

_AT_ONCE = 32                    # calls; a worker ends with the thread that started it, so threads stay
_LONGEST_LINE = 2 ** 24 + 1      # the runner refuses longer ones
_LAST_WORDS = 400                # characters of standard error that an ending quotes


def main(arguments):
    """The exit code: 0 once the runner has let this process go, 1 without one, 2 for wrong words."""
    if len(arguments) != 2 or not arguments[1].isdigit():
        print("usage: EVENBENCH_SECRET=... python -m workloads.places.agent HOST[:PORT] RANK", file=sys.stderr)
        return 2
    host, _, port = arguments[0].partition(":")
    return joined(host, int(port or wire.PORT), wire.secret(), dict(about(), rank=int(arguments[1])), InStack())


def joined(host: str, port: int, key, told, local):
    """Join the runner there, which is told this, and serve it; the exit code. local: a Local."""
    try:
        link = wire.linked(wire.connected(host, port), key, is_runner=False)
    except (OSError, wire.Unproved) as error:
        print("evenbench: no runner of ours at %s:%d: %s" % (host, port, error), file=sys.stderr)
        return 1
    if serve(link, told, local):
        return 0
    print("evenbench: the runner at %s:%d is gone: workers ended" % (host, port), file=sys.stderr)
    return 1


def serve(link, told, local):
    """Say what this is, then do what is asked until released; whether it was. Leaves no worker behind."""
    local.send = link.send
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            link.send(**told)
            for message in link.messages():
                if "release" in message:
                    return True
                if message["call"] == "tell":            # at once, and in order
                    local.tell(**message["with"])
                else:
                    pool.submit(_answer, link, local, message)
        except OSError:
            pass                                         # the same as closed
        finally:
            local.end()
            link.close()
    return False


def _answer(link, local, message) -> None:
    try:
        if message["call"] not in local.CALLS:
            raise ValueError("no such call: %s" % message["call"])
        link.send(number=message["number"], value=getattr(local, message["call"])(**message["with"]))
    except Exception as error:                           # whatever it is, the runner names this node with it
        link.send(number=message["number"], error=str(error) or type(error).__name__)    # in vain where it is gone


class Local(object):
    """What a node can be asked for. Each kind of node starts workers in its own way."""

    CALLS = frozenset(("clock", "ports", "start", "trouble", "used", "errors", "forget_errors", "stop"))

    def __init__(self):
        self.send = None                                 # to the runner
        self.runs = {}                                   # by name

    def clock(self):
        """The seconds of this node's clock."""
        return time.time()

    ports = staticmethod(addresses.free_ports)           # of this node

    def tell(self, run, words) -> None:
        """Write a line to the standard input of a worker."""
        if run in self.runs:
            self.runs[run].tell(words)

    def trouble(self, run):
        """What keeps a worker from working, as seen from outside; "" for nothing."""
        return ""

    def used(self, run):
        """What a worker has used so far; None where nobody but itself can tell."""
        return {"group_peak_bytes": control_groups.peak_bytes()}

    def errors(self, run):
        """What a worker wrote on standard error; None where only the last words are known."""
        return

    def forget_errors(self, run):
        """Let errors begin anew."""
        self.runs[run].forget_errors()

    def stop(self, run):
        """End a worker, and forget it."""
        if run in self.runs:
            self.runs.pop(run).stop()

    def end(self) -> None:
        """End all workers."""
        for run in list(self.runs):
            self.stop(run)


class InStack(Local):
    """Workers are this container's own interpreter, anew for each run."""

    def start(self, run, cell, module, data, cpus, variables):
        """Start a worker; what the record says of it, which is nothing more."""
        self.runs[run] = _Worker(run, cell, module, data, cpus, variables, self.send)
        return {}


class _Worker(threading.Thread):
    """A worker and its helpers in a process group of their own, and the passing on of what it writes."""

    def __init__(self, run, cell, module, data, cpus, variables, send):
        super().__init__(daemon=True)
        self._run, self._send, self._scratch = run, send, tempfile.mkdtemp(prefix="evenbench-")
        self._errors = tempfile.TemporaryFile()
        self._kills = control_groups.out_of_memory_kills()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(cell), "--data", data],
            stdin=subprocess.PIPE if turns.VARIABLE in variables else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self._errors, env=dict(os.environ, HOME=self._scratch, TMPDIR=self._scratch, **variables),
            start_new_session=True, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        self.start()

    def run(self) -> None:
        """Pass on every line, then how it went."""
        try:
            for line in iter(lambda: self._process.stdout.readline(_LONGEST_LINE), b""):
                self._send(run=self._run, line=line.decode("utf-8", "surrogateescape"))
            code = self._process.wait()
            self._kill()                         # what stays of its helpers
            self._send(run=self._run, exit={
                "code": code, "last_words": self._last_words(), "is_out_of_memory":
                code == -signal.SIGKILL and control_groups.out_of_memory_kills() > self._kills})
        except OSError:
            self._kill()                         # nobody listens any more
        finally:
            self._process.stdout.close()
            self._process.wait()
            shutil.rmtree(self._scratch, ignore_errors=True)

    def tell(self, words) -> None:
        with suppress(OSError):                  # it is gone
            os.write(self._process.stdin.fileno(), words.encode() + b"\n")

    def forget_errors(self) -> None:
        self._errors.truncate(0)
        os.lseek(self._errors.fileno(), 0, os.SEEK_SET)          # which the worker shares

    def stop(self) -> None:
        self._kill()
        self.join()
        self._errors.close()
        if self._process.stdin:
            self._process.stdin.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _last_words(self):
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), 4 * _LAST_WORDS, max(0, size - 4 * _LAST_WORDS))
        return " ".join(tail.decode(errors="replace").split())[-_LAST_WORDS:]


def about():
    """What this container is and may use, as it sees it itself."""
    return dict(of_host(), stack=os.environ.get("EVENBENCH_STACK", ""), base=os.environ.get("EVENBENCH_BASE", ""),
                fingerprint=os.environ.get("EVENBENCH_FINGERPRINT", ""), cpu_quota=control_groups.cpu_quota(),
                workloads=digest(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                affinity=sorted(os.sched_getaffinity(0)), memory_bytes=control_groups.limit_bytes())


def of_host():
    """The host's name, and what is equal for all nodes of one machine until it starts again."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return {"host": socket.gethostname(), "machine": file.read().strip()}


def digest(folder: str):
    """The SHA-256 of a folder's sources, the same as runner.stacks.definition.workloads_digest."""
    root, total = Path(folder), hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            content = path.read_bytes()
            total.update(("%s\0%d\0" % (path.relative_to(root.parent), len(content))).encode() + content)
    return total.hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
