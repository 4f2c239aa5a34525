"""Where other places are. Python 3.6 and later, standard library only."""
import socket
import time

_RESOLVE_SECONDS = 30.0          # containers start one after the other


def resolved(host: str, clock=time.monotonic, wait=time.sleep):
    """The IPv4 address of a host that may not be up yet. Raises OSError."""
    deadline = clock() + _RESOLVE_SECONDS
    while True:
        try:
            return socket.gethostbyname(host)
        except OSError:
            if clock() > deadline:
                raise
            wait(0.1)
