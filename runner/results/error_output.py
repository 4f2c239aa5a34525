"""What each run's places wrote on standard error: bounded as it is heard, and kept in results/<id>/stderr.jsonl.

Of a place its beginning and its end are kept, so that a flood fills neither memory nor disk; the file has an ErrorText
a line. JSON escapes what a terminal would obey; who prints it cleans it.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from runner.results.lines import Count, Line, Text

NAME = "stderr.jsonl"
EVENT = "stderr"                # of a session, by which a run's go there
_LONGEST_LINE = 2**23
HEAD_BYTES, TAIL_BYTES = 2**15, 7 * 2**15        # 256 KiB in all, which holds a hundred tracebacks


class Written(NamedTuple):
    """What is kept of it."""

    head: bytes
    tail: bytes = b""
    dropped: int = 0         # bytes between the two


class ErrorOutput:
    """Takes chunks, from one thread; others may ask what there is so far."""

    def __init__(self) -> None:
        self._head, self._tail, self._bytes = b"", bytearray(), 0

    def add(self, chunk: bytes) -> None:
        """Take what was written next."""
        room = max(0, HEAD_BYTES - len(self._head))
        self._head += chunk[:room]
        self._tail += chunk[room:]
        self._bytes += len(chunk)
        if len(self._tail) > 2 * TAIL_BYTES:               # not each time: a flood of short lines would be slow
            del self._tail[:-TAIL_BYTES]

    def written(self) -> Written:
        """What is kept so far."""
        tail = bytes(self._tail[-TAIL_BYTES:])
        return Written(self._head, tail, max(0, self._bytes - len(self._head) - len(tail)))

    def last_words(self, letters: int = 400) -> str:
        """The end of it in one line, as an ending quotes it."""
        kept = self.written()
        return " ".join((kept.tail if len(kept.tail) > 4 * letters else kept.head + kept.tail)
                        .decode(errors="replace").split())[-letters:]


class ErrorText(Line):
    """What a place of a run wrote."""

    run: Text
    place: Text
    text: Text               # its beginning
    end: Text = ""           # what was written last, where bytes between the two were dropped
    dropped: Count = 0       # so many

    def lines(self) -> Iterator[str]:
        """What was written, line by line, with a line for what was dropped."""
        yield from self.text.splitlines()
        if self.dropped:
            yield f"... {self.dropped:,} bytes were dropped here ..."
        yield from self.end.splitlines()


def read(folder: Path) -> Iterator[ErrorText]:
    """All that is kept beside a result; lines that are none of ours are passed over."""
    if not (folder / NAME).is_file():
        return
    with (folder / NAME).open("rb") as file:
        while line := file.readline(_LONGEST_LINE):
            with suppress(ValueError, RecursionError):
                yield ErrorText.read(json.loads(line))
