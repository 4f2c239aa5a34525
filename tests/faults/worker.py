"""A worker that keeps to the contract or breaks it, by its cell's seed: workloads/__main__.py of the laboratory.

Python 3.6 and later, standard library only. The seed is the place of a behaviour in BEHAVIOURS.
"""
import json
import os
import signal
import sys
import time

STEPS = 3
_GIGABYTE = 2 ** 30


def send(event, **values):
    write(1, json.dumps(dict({"event": event}, **values)).encode() + b"\n")


def write(descriptor, content):
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest):]


def flood(descriptor, block, size=_GIGABYTE):
    for _ in range(size // len(block)):
        write(descriptor, block)


def begin():
    send("start", facts={}, parameters=1, flops=1)
    send("warm", seconds=[0.01])


def step(first):
    time.sleep(0.01)
    send("steps", first=first, seconds=[0.01], loss=[1.0])


def end(status="ok"):
    send("end", status=status, message="", peak_bytes=1)


def good():
    begin()
    for first in range(STEPS):
        step(first)
    end()


def steady():
    """Steps for two seconds."""
    begin()
    for first in range(20):
        step(first)
        time.sleep(0.1)
    end()


def endless():
    """Steps until something is done to it."""
    begin()
    first = 0
    while True:
        step(first)
        time.sleep(0.2)
        first += 1


def killed():
    begin()
    os.kill(os.getpid(), signal.SIGKILL)


def stopped():
    begin()
    os.kill(os.getpid(), signal.SIGSTOP)


def greedy():
    """Takes memory until there is none; a limit that the process itself can notice is said, as by a real worker."""
    begin()
    held = []
    try:
        while True:
            held.append(bytearray(b"x" * 2 ** 22))
    except MemoryError:
        held.clear()
        end("oom")


def flooding(block, size=_GIGABYTE):
    """The behaviour that writes so many bytes of the block over and over."""
    def behave():
        begin()
        flood(1, block, size)

    return behave


_LINES = (b"x" * 63 + b"\n") * 2 ** 14
noise = flooding(os.urandom(2 ** 20), 2 ** 26)
long_line = flooding(b"x" * 2 ** 20)
many_lines = flooding(_LINES)
many_events = flooding(b'{"event": "beat"}\n' * 2 ** 14)
long_events = flooding(b'{"event": "beat", "why": "%s"}\n' % (b"x" * 2 ** 20))


def loud():
    """A gigabyte on standard error, then well."""
    flood(2, _LINES)
    good()


def silent():
    time.sleep(3600)


def leaves():
    begin()


def closes():
    begin()
    os.close(1)
    time.sleep(3600)


def stays():
    good()
    time.sleep(3600)


BEHAVIOURS = (good, steady, endless, killed, stopped, greedy, noise, long_line, many_lines, many_events, long_events,
              loud, silent, leaves, closes, stays)


if __name__ == "__main__":
    CELL = json.loads(sys.argv[1])
    if os.environ.get("EVENBENCH_TURNS"):
        send("waiting", at="imported")
        sys.stdin.readline()
    if CELL["measure"] == "product":       # asked before the runs, with no behaviour in its seed
        end("unsupported")
    else:
        BEHAVIOURS[CELL["seed"]]()
