"""An engine of the campaign's own, which may be killed: nothing that other programs run is in it.

It has its own network namespace, so that its start does not touch the firewall rules of the machine's engine, and no
bridge. Needs root.
"""

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from runner.stacks import bases, engine
from tests.faults.lab import PYTHON
from tests.lifetimes import eventually

_PATIENCE_SECONDS = 60.0
# mounts and network that outlive a dockerd, as a machine's do: what it left running is in them
_PLACE = """mount --make-rprivate /; mkdir -p /var/run/docker; mount -t tmpfs none /var/run/docker
ip link set lo up; echo ready; exec sleep infinity"""


def missing() -> str:
    """What this machine lacks to start an engine, "" for nothing."""
    if os.geteuid():
        return "an engine of one's own needs root"
    absent = [name for name in ("dockerd", "unshare", "nsenter", "ip") if shutil.which(name) is None]
    return f"{', '.join(absent)} not found" if absent else ""


class Engine:
    """A dockerd, and the base of the laboratory's image in it."""

    def __init__(self, root: Path) -> None:
        """root: where all that it keeps lies; its path must be short, for a socket's has 107 bytes at most."""
        self._root = root
        root.mkdir(parents=True)
        self.host = f"unix://{root}/socket"
        self._place = subprocess.Popen(["unshare", "--mount", "--net", "sh", "-ec", _PLACE], stdout=subprocess.PIPE)
        if self._place.stdout.readline() != b"ready\n":
            raise AssertionError("no namespaces for an engine: see above")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = ["nsenter", f"--target={self._place.pid}", "--mount", "--net", "dockerd", "--bridge=none",
                   f"--data-root={self._root}/data", f"--exec-root={self._root}/exec", f"--pidfile={self._root}/pid",
                   f"--host={self.host}"]
        with (self._root / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                             start_new_session=True)
        if not eventually(self._answers, _PATIENCE_SECONDS):
            raise AssertionError(f"dockerd did not come up: {(self._root / 'log').read_text()[-2000:]}")

    def _answers(self) -> bool:
        """Asked without docker's client, which leaves its socket open where nobody listens. Raises OSError there."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(self.host.removeprefix("unix://"))
            asked.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b" 200 " in asked.recv(64)

    def kill(self) -> None:
        """SIGKILL to dockerd alone: its containers run on until the next one takes them over."""
        self._process.kill()
        self._process.wait()
        (self._root / "pid").unlink(missing_ok=True)

    def end(self) -> None:
        """SIGTERM to dockerd, which ends its containers before itself."""
        self._process.terminate()
        self._process.wait(_PATIENCE_SECONDS)

    def hang(self, seconds: float) -> None:
        """SIGSTOP to dockerd, and SIGCONT after so many seconds."""
        self._process.send_signal(signal.SIGSTOP)
        threading.Timer(seconds, self._process.send_signal, (signal.SIGCONT,)).start()

    def stop(self) -> None:
        """End it with all that it runs, and remove what it kept."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for process in psutil.process_iter(["cmdline"]):         # containerd, and what it started
            if any(word.startswith(str(self._root)) for word in process.info["cmdline"] or ()):
                process.kill()
        self._place.kill()
        self._place.communicate()
        shutil.rmtree(self._root, ignore_errors=True)

    def load_base(self) -> None:
        """Copy what the laboratory's image is built on from the machine's engine, which makes it if need be."""
        client = engine.connect()
        tag = bases.own(client, PYTHON, lambda text: None)
        client.close()
        system = tag.partition("-py")[0]
        with subprocess.Popen(["docker", "save", tag, system], stdout=subprocess.PIPE) as saving:
            subprocess.run(["docker", "load", "--quiet"], stdin=saving.stdout, check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "DOCKER_HOST": self.host})


@contextmanager
def started(root: Path) -> Iterator[Engine]:
    """A running engine with the laboratory's base; gone with all that it kept when this ends."""
    made = Engine(root)
    made.start()
    try:
        made.load_base()
        yield made
    finally:
        made.stop()
