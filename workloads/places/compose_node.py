"""python -m workloads.places.compose_node HOST:PORT: a node's part under compose: run the cells that the runner sends.

Both sides write one JSON object a line. The node first says what it is; then {"line": ...} for each line of a worker,
{"exit": ...} when that has gone, {"alive": ...} when asked. The runner writes {"cell": ..., "nodes", "rank", "cpus",
"data", "module"}, {"stop": true} or {"ask": true}. A closed connection ends the node. Every run is a fresh interpreter
with a folder of its own; the container stays. Python 3.6 and later, standard library only.
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

from workloads.process import control_groups

PATIENCE_SECONDS = 60.0          # containers start one after the other
_LONGEST_LINE = 2 ** 24 + 1      # the runner refuses longer ones
_LAST_WORDS = 400                # characters of standard error that an ending quotes
_SILENCE_SECONDS = 25            # after which a network that has been cut counts as closed


def main(arguments):
    """The exit code: 0 when the runner has gone, 1 where none came, 2 for wrong words."""
    if len(arguments) != 1 or not arguments[0].rpartition(":")[2].isdigit():
        print("usage: python -m workloads.places.compose_node HOST:PORT", file=sys.stderr)
        return 2
    host, _, port = arguments[0].rpartition(":")
    try:
        connection = connected(host, int(port))
    except OSError as error:
        print("no runner at %s within %.0f s: %s" % (arguments[0], PATIENCE_SECONDS, error), file=sys.stderr)
        return 1
    serve(connection)
    return 0


def connected(host: str, port: int, clock=time.monotonic, wait=time.sleep):
    """A connection to a runner that may not be up yet. Raises OSError."""
    deadline = clock() + PATIENCE_SECONDS
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=5)
        except OSError:
            if clock() > deadline:
                raise
            wait(0.2)
        else:
            connection.settimeout(None)
            _notice_silence(connection)
            return connection


def _notice_silence(connection) -> None:
    """The same as runner.launchers.compose does at the other end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3),
                          ("TCP_USER_TIMEOUT", 1000 * _SILENCE_SECONDS)):
        if hasattr(socket, option):              # Python 3.6 on other systems
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def serve(connection) -> None:
    """Say what this node is, then do what is asked until the connection is closed; leaves no worker behind."""
    send = _Sender(connection)
    run = None
    try:
        send(about())
        for line in connection.makefile("rb"):
            order = json.loads(line.decode())
            if "cell" in order:
                run = _Run(order, send)
                run.start()
            elif "stop" in order and run is not None:
                run.kill()
            elif "ask" in order:
                send({"alive": True, "group_peak_bytes": control_groups.peak_bytes()})
    except OSError:
        pass                                     # the runner's end broke: the same as closed
    finally:
        if run is not None:
            run.kill()
            run.join()


class _Sender:
    """Writes whole lines from two threads."""

    def __init__(self, connection):
        self._connection, self._lock = connection, threading.Lock()

    def __call__(self, message: dict) -> None:
        with self._lock:
            self._connection.sendall(json.dumps(message).encode() + b"\n")


class _Run(threading.Thread):
    """A worker and its helpers in a process group of their own, and the passing on of what it writes."""

    def __init__(self, order, send):
        super().__init__(daemon=True)
        self._send, self._scratch = send, tempfile.mkdtemp(prefix="evenbench-")
        self._errors = tempfile.TemporaryFile()
        self._kills = control_groups.out_of_memory_kills()
        environment = dict(os.environ, HOME=self._scratch, TMPDIR=self._scratch)
        environment.update(order.get("variables", {}))
        if order["nodes"]:
            environment.update(EVENBENCH_NODES=order["nodes"], EVENBENCH_RANK=str(order["rank"]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", order["module"], json.dumps(order["cell"]), "--data", order["data"]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, env=environment,
            start_new_session=True, preexec_fn=lambda: os.sched_setaffinity(0, order["cpus"]))

    def run(self) -> None:
        """Pass on every line, then how it went."""
        try:
            for line in iter(lambda: self._process.stdout.readline(_LONGEST_LINE), b""):
                self._send({"line": line.rstrip(b"\n").decode("utf-8", "surrogateescape")})
            code = self._process.wait()
            self.kill()                          # what stays of its helpers
            is_out_of_memory = code == -signal.SIGKILL and control_groups.out_of_memory_kills() > self._kills
            self._send({"exit": code, "last_words": self._last_words(), "is_out_of_memory": is_out_of_memory})
        except OSError:
            self.kill()                          # nobody listens any more
        finally:
            self._process.stdout.close()
            self._process.wait()
            self._errors.close()
            shutil.rmtree(self._scratch, ignore_errors=True)

    def kill(self) -> None:
        """End the group. Safe to repeat."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def _last_words(self):
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), 4 * _LAST_WORDS, max(0, size - 4 * _LAST_WORDS))
        return " ".join(tail.decode(errors="replace").split())[-_LAST_WORDS:]


def about():
    """What this container is and may use, as it sees it itself."""
    return {"place": os.environ.get("EVENBENCH_PLACE") or socket.gethostname(),
            "stack": os.environ.get("EVENBENCH_STACK", ""), "base": os.environ.get("EVENBENCH_BASE", ""),
            "fingerprint": os.environ.get("EVENBENCH_FINGERPRINT", ""),
            "workloads": digest(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
            "affinity": sorted(os.sched_getaffinity(0)), "cpu_quota": control_groups.cpu_quota(),
            "memory_bytes": control_groups.limit_bytes()}


def digest(folder: str):
    """The SHA-256 of a folder's sources, the same as runner.stacks.definition.workloads_digest."""
    paths = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        paths += [os.path.join(parent, name) for name in names if not name.endswith(".pyc")]
    total = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.split(os.sep)):
        with open(path, "rb") as file:
            content = file.read()
        name = os.path.relpath(path, os.path.dirname(folder))
        total.update(("%s\0%d\0" % (name, len(content))).encode() + content)
    return total.hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
