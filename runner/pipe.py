"""A worker's lines, read by a thread, so that waiting for one can time out and a flood cannot fill the memory."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import IO

LONGEST_LINE = 2**24     # bytes; the longest real event is far smaller, and a longer line comes cut
_WAITING_LINES = 256


class Pipe:
    """Lines on their way; the thread waits while nobody asks for them."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines: queue.Queue[bytes] = queue.Queue(_WAITING_LINES)
        self._is_over = False
        self._is_closed = threading.Event()
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: Iterable[bytes]) -> None:
        try:
            for line in lines:
                self._put(line)
                if self._is_closed.is_set():
                    return
        except (OSError, ValueError):
            pass                      # the stream was closed under us: the same as its end
        self._put(b"")

    def _put(self, line: bytes) -> None:
        while not self._is_closed.is_set():
            try:
                self._lines.put(line, timeout=0.5)
            except queue.Full:
                continue
            return

    def next(self, seconds: float) -> bytes | None:
        """The next line; None if none came in time, b"" at the end."""
        if self._is_over:
            return b""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        self._is_over = line == b""
        return line

    def close(self) -> None:
        """Stop reading; what was not asked for is dropped."""
        self._is_closed.set()


def lines_of_file(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream; one that is too long comes in pieces."""
    return iter(lambda: stream.readline(LONGEST_LINE + 1), b"")


def lines_of_chunks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of what comes in chunks; one that is too long comes in pieces, and a torn last one as it is."""
    rest: list[bytes] = []
    size = 0
    for chunk in chunks:
        *whole, tail = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*rest, line, b"\n"])
            rest, size = [], 0
        rest.append(tail)
        size += len(tail)
        if size > LONGEST_LINE:
            yield b"".join(rest)
            rest, size = [], 0
    if size:
        yield b"".join(rest)
