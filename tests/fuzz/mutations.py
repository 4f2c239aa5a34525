"""Real files with something wrong in them: what an accident or a stranger makes of a study, a result, a data file."""

import copy
import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from runner.errors import BenchError
from workloads.process.errors import DataError

# where parsers break: no Unicode, codes that terminals obey, text that turns, numbers that no float or printer holds
_BYTES = (b"", b"\0", b"\n", b"\r", b'"', b"'", b"\\", b"[", b"]", b"{", b"}", b"=", b",", b".", b"#", b"-", b"1e999",
          b"\xff", b"\xed\xa0\x80", b"\x1b[2J", b"\xc2\x9b31m", "\u202e".encode(), b"\\ud800", b"null", b"NaN",
          b"-Infinity", b"true", b"9" * 30, b"9" * 5000, b"0x" + b"f" * 5000, b"[" * 3000, b'{"a":' * 3000, b"a." * 300)
_NAMES = ("", "x", "id", "task", "batch", "steps", "stack", "event", "seconds", "../../x", "/x", "\x1b]0;x\x07",
          "\u202e", "\ud800", "=1+1", "<script>", "a" * 300, "con\0trol")
_ODD = (None, True, False, 0, -1, 1, 2**53, 2**62, 2**63, -(2**64), 10**400, 0.0, -0.5, 1e-320, 1e308, float("nan"),
        float("inf"), -float("inf"), [], {}, [[]], [{}], {"a": {"a": 1}}, ["lenet5", 1], *_NAMES)
odd_values = st.sampled_from(_ODD)


@st.composite
def bytes_of(draw: st.DrawFn, real: bytes) -> bytes:
    """The bytes with a few of them flipped, cut, doubled, moved or replaced."""
    found = real
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(found)))
        end = min(len(found), place + draw(st.sampled_from((0, 1, 1, 2, 8, 60))))
        match draw(st.sampled_from(("flip", "cut", "drop", "put", "twice", "move"))):
            case "flip":
                found = found[:place] + bytes(byte ^ 1 << draw(st.integers(0, 7)) for byte in found[place:end][:1]) \
                    + found[place + 1:]
            case "cut":
                found = found[:place]
            case "drop":
                found = found[:place] + found[end:]
            case "put":
                found = found[:place] + draw(st.sampled_from(_BYTES)) + found[end:]
            case "twice":
                found = found[:end] + found[place:]
            case "move":
                to = draw(st.integers(0, len(found)))
                found = found[:to] + found[place:end] + found[to:]
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for name, each in inner for found in [(*path, name), *places(each, (*path, name))]]


@st.composite
def document_of(draw: st.DrawFn, real: Any, changes: int = 3) -> Any:
    """A copy of the document with a few of its values gone, renamed, doubled, nested, swapped or of another kind."""
    found = copy.deepcopy(real)
    for _ in range(draw(st.integers(1, changes))):
        known = places(found)
        if not known:
            return found
        *path, name = draw(st.sampled_from(known))
        holder = _at(found, path)
        match draw(st.sampled_from(("gone", "renamed", "odd", "odd", "nested", "swapped", "twice"))):
            case "gone":
                del holder[name]
            case "renamed" if isinstance(holder, dict):
                holder[draw(st.sampled_from(_NAMES))] = holder.pop(name)
            case "odd":
                holder[name] = copy.deepcopy(draw(odd_values))
            case "nested":
                holder[name] = {"a": holder[name]} if draw(st.booleans()) else [holder[name]]
            case "swapped":
                holder[name] = copy.deepcopy(_at(found, draw(st.sampled_from(known))))
            case "twice" if isinstance(holder, list):
                holder.insert(name, copy.deepcopy(holder[name]))
    return found


def _at(document: Any, path: Any) -> Any:
    for name in path:
        document = document[name]
    return document


def read_or_refused(made: Callable[[], Any]) -> Any:
    """What is made of a stranger's file; None where it is refused in one line, of no great length."""
    try:
        return made()
    except (BenchError, DataError) as error:
        assert str(error) and "\n" not in str(error) and len(str(error)) < 3000
        return None


def json_lines(records: list[Any]) -> bytes:
    """The records as a store writes them, half surrogates, NaN and all."""
    return b"".join(json.dumps(record).encode("ascii") + b"\n" for record in records)
