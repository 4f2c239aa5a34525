"""python -m workloads.places.swarm_probe '{"names": [...], "rank": 0, "data": FOLDER}': what a node is and reaches.

Run in a place of every node at once. Each answers the others, asks them for the time, writes one line of JSON on
standard output and goes on answering until it is stopped. Python 3.6 and later, standard library only.
"""
import hashlib
import json
import os
import platform
import socket
import sys
import threading
import time

PORT = 22229
_PATIENCE_SECONDS = 15.0         # for the others, which start at about the same time
_ANSWER_SECONDS = 3.0
_EXCHANGES = 20                  # the quickest of them says most about the clock
_BULK = 2 ** 16                  # bytes: many packets of full size, which a wrong MTU would swallow


def main(arguments) -> None:
    """Write the line, then stay until stopped."""
    asked = json.loads(arguments[0])
    threading.Thread(target=serve, args=(listening(("", PORT)),), daemon=True).start()
    others = [name for rank, name in enumerate(asked["names"]) if rank != asked["rank"]]
    deadline = time.monotonic() + _PATIENCE_SECONDS
    print(json.dumps(dict(about(), data=listing(asked["data"]), time=time.time(),
                          reached={name: reached(name, deadline) for name in others})), flush=True)
    while True:
        time.sleep(60)


def listening(address):
    """A socket to accept from."""
    server = socket.socket()         # socket.create_server came with Python 3.8
    server.bind(address)
    server.listen(64)
    return server


def serve(server) -> None:
    """Answer every line with the time and the line's length, to all who come, until the server is closed."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection, clock=time.time) -> None:
    with connection, connection.makefile("rb") as stream:
        try:
            for line in iter(lambda: stream.readline(2 * _BULK), b""):
                connection.sendall(json.dumps([clock(), len(line)]).encode() + b"\n")
        except OSError:
            pass                                 # who asked is gone


def reached(name: str, deadline, port: int = PORT, clock=time.time, wait=time.sleep):
    """Of a peer its clock's seconds ahead of ours, with their uncertainty; or how it could not be reached."""
    while True:
        try:
            with socket.create_connection((name, port), timeout=_ANSWER_SECONDS) as connection:
                return _asked(connection, clock)
        except (OSError, ValueError) as error:
            if time.monotonic() > deadline:
                return {"error": "%s: %s" % (type(error).__name__, error)}
            wait(0.2)


def _asked(connection, clock):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection.makefile("rb") as stream:
        exchanges = [offset(*_exchanged(connection, stream, b"\n", clock)) for _ in range(_EXCHANGES)]
        _exchanged(connection, stream, b"x" * _BULK + b"\n", clock)
    ahead, uncertainty = min(exchanges, key=lambda pair: pair[1])
    return {"ahead_seconds": ahead, "uncertainty_seconds": uncertainty}


def _exchanged(connection, stream, line: bytes, clock):
    """Our clock before, the peer's, ours after. Raises OSError, ValueError."""
    before = clock()
    connection.sendall(line)
    answer = stream.readline()
    after = clock()
    theirs, length = json.loads(answer.decode())
    if length != len(line):
        raise ValueError("%d bytes of %d arrived" % (length, len(line)))
    return before, theirs, after


def offset(before, theirs, after):
    """How far another clock is ahead of ours and by how much that may be wrong: it was read between two of ours."""
    return theirs - (before + after) / 2, (after - before) / 2


def about():
    """What this node is and has, as a place on it sees it."""
    memory = _memory()
    return {"cpu": _named("/proc/cpuinfo", "model name"), "cpus": os.cpu_count(), "kernel": platform.release(),
            "memory_bytes": memory.get("MemTotal"), "free_bytes": memory.get("MemAvailable"),
            "swap_bytes": memory.get("SwapTotal"), "mtu": _mtu(),
            "no_new_privileges": _named("/proc/self/status", "NoNewPrivs") == "1"}


def _memory():
    """/proc/meminfo in bytes."""
    with open("/proc/meminfo") as file:
        rows = [line.split() for line in file]
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) > 1}


def _mtu():
    """The least of the interfaces but the loopback; None without any."""
    sizes = []
    for name in os.listdir("/sys/class/net"):
        if name != "lo":
            with open("/sys/class/net/%s/mtu" % name) as file:
                sizes.append(int(file.read()))
    return min(sizes) if sizes else None


def _named(path: str, name: str):
    """The first value of that name in a file of `name: value` lines; None for none."""
    with open(path) as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return None


def listing(folder: str):
    """The SHA-256 of a folder's file names and sizes: what tells another data set, or half of one, at once."""
    sources = []
    for parent, _, names in os.walk(folder):
        sources += [(os.path.relpath(os.path.join(parent, name), folder),
                     os.stat(os.path.join(parent, name)).st_size) for name in names]
    return hashlib.sha256(json.dumps(sorted(sources)).encode()).hexdigest()


if __name__ == "__main__":
    main(sys.argv[1:])
