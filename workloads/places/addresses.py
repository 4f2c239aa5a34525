"""Where places are, and their ports. Python 3.6 and later, Linux, standard library only."""
import fcntl
import itertools
import socket
import struct
import threading
import time

from workloads.spec.cluster import PATIENCE_SECONDS

_SIOCGIFADDR = 0x8915            # linux/sockios.h
_PORTS = range(23000, 31000, 10)         # first ports of places, each with those behind it; below what kernels hand out
_LOCK, _NEXT = threading.Lock(), itertools.cycle(_PORTS)


def patiently(ask, clock=time.monotonic, wait=time.sleep):
    """What ask returns, called again while it raises OSError: the other end may not be up yet. Raises OSError."""
    deadline = clock() + PATIENCE_SECONDS
    while True:
        try:
            return ask()
        except OSError:
            if clock() > deadline:
                raise
            wait(0.1)


def resolved(host: str, clock=time.monotonic, wait=time.sleep):
    """The IPv4 address of a host that may not be up yet. Raises OSError."""
    return patiently(lambda: socket.gethostbyname(host), clock, wait)


def interface(address: str):
    """The name of this host's network interface with an IPv4 address; "" where none has it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                told = fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()))
            except OSError:                      # it has no address
                continue
            if socket.inet_ntoa(told[20:24]) == address:
                return name
    return ""


def free_ports(count: int):
    """First ports of so many places of this host, free a moment ago, others than the last call's. Raises OSError."""
    with _LOCK:
        found = list(itertools.islice(filter(_are_free, itertools.islice(_NEXT, len(_PORTS))), count))
    if len(found) < count:
        raise OSError("the host has no %d free groups of ports from %d to %d" % (count, _PORTS.start, _PORTS.stop))
    return found


def _are_free(first: int):
    """Whether nothing listens on a place's ports."""
    for port in range(first, first + _PORTS.step):
        with socket.socket() as listener:
            try:
                listener.bind(("", port))
            except OSError:
                return False
    return True
