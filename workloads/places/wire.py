"""The connections between the processes of a cluster: both ends prove that they know a secret, then talk in JSON lines.

The secret itself is never sent: each end answers the other's random challenge by HMAC-SHA-256. Who knows no secret is
sent nothing but a challenge. What follows is neither encrypted nor signed, as frameworks' own traffic between nodes.
Python 3.6 and later, standard library only.
"""
import hashlib
import hmac
import json
import os
import socket
import threading
import time

from workloads.places.addresses import patiently

PORT = 22219                     # on which rank 0 listens
_PROVING_SECONDS = 20.0
_SILENCE_SECONDS = 25            # after which a network that has been cut counts as closed
_LONGEST_PROOF, _LONGEST_MESSAGE = 256, 2 ** 28
_SECRET = "EVENBENCH_SECRET"


class Unproved(Exception):
    """The other end does not know the secret."""


def secret(environment=os.environ):
    """The secret: EVENBENCH_SECRET, or the first line of the file that EVENBENCH_SECRET_FILE names; b"" for none.

    It is taken out of the environment, which workers inherit. Raises OSError.
    """
    said, path = environment.pop(_SECRET, ""), environment.get(_SECRET + "_FILE")
    if said or not path:
        return said.encode()
    with open(path, "rb") as file:
        return file.readline().strip()


class Link(object):
    """A connection whose other end is known. Whole messages are sent, from any thread."""

    def __init__(self, connection):
        self._connection, self._lock = connection, threading.Lock()
        self._stream, self._is_heard = connection.makefile("rb"), False
        _notice_silence(connection)

    def send(self, **message):
        """Send a message. Raises OSError."""
        line = json.dumps(message).encode() + b"\n"
        with self._lock:
            self._connection.sendall(line)

    def messages(self):
        """The other end's messages, until it closes. Raises OSError, and ValueError for what is no message."""
        self._is_heard = True
        with self._stream:
            for line in iter(lambda: self._stream.readline(_LONGEST_MESSAGE), b""):
                message = json.loads(line.decode())
                if not isinstance(message, dict):
                    raise ValueError("no object: %.40r" % (message,))
                yield message

    def close(self):
        """Close it, also under who listens."""
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass                     # it is closed
        if not self._is_heard:       # else who listens closes it
            self._stream.close()
        self._connection.close()


def linked(connection, key, is_runner):
    """The Link of a new connection, once both ends have proved that they know the key; else it is closed.

    Raises OSError, Unproved.
    """
    try:
        _prove(connection, key, is_runner)
        return Link(connection)
    except BaseException:
        connection.close()
        raise


def _prove(connection, key, is_runner) -> None:
    connection.settimeout(_PROVING_SECONDS)
    with connection.makefile("rb", buffering=0) as stream:       # which takes no byte behind a line
        own = os.urandom(16).hex().encode()
        if is_runner:                # it waits: a stranger who says nothing is told nothing
            theirs = _line(stream)
            connection.sendall(own + b"\n")
            _check(stream, _proof(key, b"agent", theirs, own))
            connection.sendall(_proof(key, b"runner", theirs, own) + b"\n")
        else:
            connection.sendall(own + b"\n")
            theirs = _line(stream)
            connection.sendall(_proof(key, b"agent", own, theirs) + b"\n")
            _check(stream, _proof(key, b"runner", own, theirs))
    connection.settimeout(None)


def _line(stream):
    text = stream.readline(_LONGEST_PROOF)
    if not text.endswith(b"\n"):
        raise Unproved("it closed the connection, or does not talk as evenbench does")
    return text.strip()


def _check(stream, expected) -> None:
    if not hmac.compare_digest(_line(stream), expected):
        raise Unproved("it has another secret")


def _proof(key, *words):
    """Of a role and the challenges of the agent and the runner."""
    return hmac.new(key, b" ".join(words), hashlib.sha256).hexdigest().encode()


def connected(host: str, port: int, clock=time.monotonic, wait=time.sleep):
    """A connection to a runner that may not be up yet. Raises OSError."""
    return patiently(lambda: socket.create_connection((host, port), timeout=5), clock, wait)


def _notice_silence(connection) -> None:
    """Let the kernel close a connection whose other end, or the network between, has gone without a word."""
    if connection.family == socket.AF_UNIX:
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3),
                          ("TCP_USER_TIMEOUT", 1000 * _SILENCE_SECONDS)):
        if hasattr(socket, option):              # Python 3.6 on other systems
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
