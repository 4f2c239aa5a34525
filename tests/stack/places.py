"""A parallel cell's places as local processes, each a worker of this interpreter. Python 3.6 and later."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from workloads.__main__ import find_adapter
from workloads.spec.cluster import places

ROOT = Path(__file__).resolve().parents[2]
PORTS = 10                       # from one place's first port to the next's: a place has up to four roles


def run_places(cell, seconds=120.0):
    """{place name: [events]} of a cell; who still runs when the reporters ended is killed.

    A cell with input=loader reads made images, all others need no data.
    Raises AssertionError with a reporter's last words where it does not end in time.
    """
    found = places(find_adapter(), cell.parallel, cell.nodes)
    first = free_port(len(found) * PORTS)
    nodes = ",".join(f"127.0.0.1:{first + rank * PORTS}" for rank in range(len(found)))
    with tempfile.TemporaryDirectory() as folder:
        folder, processes = Path(folder), []
        if cell.input == "loader":
            _write_images(folder)
        try:
            for rank in range(len(found)):
                variables = dict(os.environ, EVENBENCH_NODES=nodes, EVENBENCH_RANK=str(rank), PYTHONUNBUFFERED="1")
                processes.append(_started(cell, variables, folder / found[rank].name))
            _wait(found, processes, folder, time.monotonic() + seconds)
        finally:
            for process in processes:
                _stop(process)
        return {place.name: [json.loads(line) for line in (folder / place.name).read_text().splitlines()]
                for place in found}


def _write_images(folder):
    """The files of digits32, 16 records of noise each; the label is the first byte."""
    for number in range(1, 6):
        records = np.random.RandomState(number).randint(0, 256, (16, 1 + 3 * 32 * 32), dtype=np.uint8)
        records[:, 0] %= 10
        (folder / ("data_batch_%d.bin" % number)).write_bytes(records.tobytes())


def free_port(count):
    """The first of count ports that nobody listens on, below those that the kernel gives to clients."""
    for first in range(20000 + os.getpid() % 100 * 100, 32000, 100):
        if not any(_is_taken(first + offset) for offset in range(count)):
            return first
    raise OSError(f"found no {count} free ports in a row")


def _is_taken(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _started(cell, variables, path):
    """A worker in a process group of its own; its events go to path, its other words beside it."""
    with path.open("wb") as events, path.with_suffix(".err").open("wb") as words:
        return subprocess.Popen([sys.executable, "-m", "workloads", json.dumps(cell._asdict()), "--data",
                                 str(path.parent)], env=variables,
                                cwd=str(ROOT), stdin=subprocess.DEVNULL, stdout=events, stderr=words,
                                start_new_session=True)


def _wait(found, processes, folder, deadline):
    for rank, place in enumerate(found):
        try:
            if place.reports:
                processes[rank].wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            words = (folder / place.name).with_suffix(".err").read_text(errors="replace")
            raise AssertionError(f"{place.name} did not end in time; its last words: {words[-2000:]}") from error


def _stop(process):
    """End the process and its helpers."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
