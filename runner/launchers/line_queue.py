"""The queue of workers' lines. Waiting for a line can time out, and a flood of lines cannot fill the memory."""

import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import IO

from runner.results.contract import LONGEST_LINE

_WAITING_LINES = 256


class Pipe:
    """Lines of a run's places on their way; the threads wait while nobody asks for them."""

    def __init__(self, most: int = _WAITING_LINES) -> None:
        """most: lines that wait before who adds one does; 0: any number."""
        self._lines: queue.Queue[tuple[str, bytes]] = queue.Queue(most)
        self._is_closed = threading.Event()
        self._put = self._taken = 0              # bytes, each counted by one thread at a time

    @property
    def waiting_bytes(self) -> int:
        """The bytes of the lines that nobody has asked for yet."""
        return self._put - self._taken

    def add(self, place: str, lines: Iterable[bytes]) -> None:
        """Read a place's lines from now on."""
        threading.Thread(target=self._read, args=(place, lines), daemon=True).start()

    def _read(self, place: str, lines: Iterable[bytes]) -> None:
        with suppress(OSError, ValueError):      # the stream was closed under us: the same as its end
            for line in lines:
                self.put(place, line)
                if self._is_closed.is_set():
                    return
        self.put(place, b"")

    def put(self, place: str, line: bytes) -> None:
        """Add a line, waiting while too many are on their way; after close it is dropped."""
        while not self._is_closed.is_set():
            with suppress(queue.Full):
                self._lines.put((place, line), timeout=0.5)
                self._put += len(line)
                return

    def next(self, seconds: float) -> tuple[str, bytes] | None:
        """A place and its next line, b"" at its end; None if nothing came in time."""
        try:
            place, line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        self._taken += len(line)
        return place, line

    def close(self) -> None:
        """Stop reading; what was not asked for is dropped."""
        self._is_closed.set()


def lines_of_file(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream, which is then closed. A line that is too long comes in pieces."""
    with stream:
        yield from iter(lambda: stream.readline(LONGEST_LINE + 1), b"")


def lines_of_chunks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines in a series of chunks. A line that is too long comes in pieces, a torn last line as it is."""
    rest = bytearray()
    for chunk in chunks:
        *whole, tail = chunk.split(b"\n")
        for line in whole:
            yield b"".join((rest, line, b"\n"))
            rest.clear()
        rest += tail
        if len(rest) > LONGEST_LINE:
            yield bytes(rest)
            rest.clear()
    if rest:
        yield bytes(rest)
