"""What a worker's line may say, and the closed list of words with which a run ends. Pure.

`python -m tools pages` writes these tables for people.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from runner.results.worker_lines import mistake
from workloads.spec import frameworks

# what an ending means; the first five are said by the worker, the others by the host
ENDINGS = {
    "ok": "measured to the end",
    "oom": "out of memory: a result, not a crash",
    "unsupported": "the stack cannot do what the cell asks",
    "not_finite": "the loss became NaN or infinite: no throughput",
    "error": "the worker failed and said why",
    "timeout": "it did not start, or no step finished, in time",
    "killed": "ended from outside before its end; run again on resume",
    "died": "it went without saying how it ended, or wrote what is no event",
    "not_started": "no worker could be started; tried again on resume",
    "skipped": "planned, but cannot run here",
}
SAID_BY_WORKER = ("ok", "oom", "unsupported", "not_finite", "error")
# endings that are results; `killed` and `not_started` were cut short from outside and run again on resume
FINAL = frozenset({"ok", "oom", "unsupported", "not_finite", "error", "timeout", "died", "skipped"})
WELL = frozenset({"ok", "oom", "unsupported"})      # nothing went wrong: too little memory is an answer, too
LONGEST_LINE = 2**24     # bytes; the longest real event is far smaller, and a longer line comes cut


class Key(NamedTuple):
    """A key of a line, or of an object in it."""

    name: str
    kind: str                    # one of KINDS, several with " or " between them
    unit: str
    says: str
    is_always: bool = True       # whether every such line has it


class Event(NamedTuple):
    """A kind of line."""

    when: str
    keys: tuple[Key, ...] = ()


_WORKER = Key("worker", "count", "", "whose steps, where a coordinator tells of its workers", False)
_STEPS = Key("steps", "count", "steps", "that were profiled")
# by the name that a line's "event" has, in the order in which a run can send them
EVENTS: dict[str, Event] = {
    "start": Event("once; before it only `beat`: the data are read, the model is built, nothing was computed yet", (
        Key("facts", "object", "", "what the worker sees: the table below"),
        Key("parameters", "count or null", "", "numbers that the optimizer updates; null in measure product"),
        Key("flops", "number", "FLOPs", "of a step, by the task's table; the padding of sequences counted too; "
            "none of a model of the user's own", False),
        Key("needed_flops", "number", "FLOPs", "of a step without the padding; sequence tasks", False),
        Key("cpu_seconds", "number", "s", "CPU time of the worker and all that descends from it, so far"))),
    "beat": Event("now and then while nothing else can be told for long, as in warm-up: only that the run goes on"),
    "waiting": Event("where a worker that listens waits for the runner's word; not stored", (
        Key("at", "text", "", "imported, or built: after the first step"),)),
    "warm": Event("when the warm-up of timed steps is over, in several lines where it is very long; not where there is "
                  "none", (
        Key("seconds", "numbers", "s", "of each step of the warm-up, the first with all that is built or compiled"),
        Key("ended", "text", "", '"fixed", as many steps as the cell says; "steady"; or "limit", long enough without '
            "being steady; in the last line of a very long one", False),
        _WORKER)),
    "values": Event("ahead of a line of steps that would be too long: what it leaves out", (
        Key("phases", "object", "s", "as in steps", False), Key("loss", "numbers with null", "", "as in steps", False),
        _WORKER)),
    "steps": Event("about once a second, and after the last timed step: the samples of a block of timed steps", (
        Key("first", "count", "", "the first of these steps, from 0"),
        Key("turn", "object", "", "where the worker takes turns, a line a turn: index, lead_steps, seconds of the "
            "slice as the machine was read around it, cpus that the worker may use, and of their CPU seconds "
            "own_seconds of the worker, busy_seconds of all programs and stolen_seconds of the host's other guests; "
            "is_throttled", False),
        Key("before", "count", "steps", "that the worker had taken before these, warm-up and leads too", False),
        Key("seconds", "numbers", "s", "the samples: of each step; of each block with sync = blocks; one of all steps "
            "with sync = end"),
        Key("count", "count", "steps", "that the samples cover in all; without it as many as there are samples", False),
        Key("counts", "counts", "steps", "that each sample covers; sync = blocks", False),
        Key("blocks", "object", "", "sync = end: about 20 parts of the one sample, as seconds, counts and "
            "device_seconds", False),
        Key("device_seconds", "numbers", "s", "the same samples by the device's own clock, where it has one", False),
        Key("phases", "object", "s", "of each step by phase: load, forward, backward, communication, update, dispatch",
            False),
        Key("loss", "numbers with null", "", "of each step, null for one that is not finite; not where it infers",
            False),
        Key("is_part_of_pass", "boolean", "", "true where it was the last line, and a pass over batches that are not "
            "alike was longer than timed steps may last", False),
        Key("compiled", "count", "programs", "that the framework compiled within these steps; where there was one",
            False),
        Key("drain_seconds", "number", "s", "that reading the last loss still took once its step was said to be over",
            False),
        _WORKER)),
    "epoch": Event("after each epoch, in measure epochs", (
        Key("index", "count", "", "from 0"), Key("steps", "count", "steps", "of the epoch"),
        Key("train_seconds", "number", "s", "from the first batch to the end of the last step"),
        Key("loss", "number", "", "the mean over the steps"),
        Key("validation_seconds", "number or null", "s", "null where there is nothing to classify"),
        Key("accuracy", "number or null", "share", "of the held-out images"),
        Key("confusion", "list", "images", "by true class, then by predicted class", False))),
    "operators": Event("once, in measure operators", (
        _STEPS, Key("operators", "object", "s", "[calls, seconds] over all these steps by the framework's own name"))),
    "kernels": Event("once, in measure kernels", (
        _STEPS, Key("kernel_seconds", "number", "s", "at least one kernel ran on the GPU"),
        Key("copy_seconds", "number", "s", "at least one copy or fill of memory ran"),
        Key("overlap_seconds", "number", "s", "a kernel and a copy ran at once", False),
        Key("gap_seconds", "number", "s", "neither ran"),
        Key("launch_seconds", "number or null", "s", "the host launched kernels; null where nobody tells"),
        Key("kernels", "count", "", "how many ran"),
        Key("top", "list", "s", "[name, calls, seconds] of the 20 kernels that took longest"),
        Key("source", "text", "", "whose record it is, and what that cannot tell"))),
    "graph": Event("once, in measure graph", (
        Key("nodes_before", "count", "nodes", "of the graph of a training step as it was built"),
        Key("nodes_after", "count", "nodes", "after the framework's optimisers"),
        Key("removed", "object", "nodes", "that are gone: expensive, cheap, noop"),
        Key("passes", "object", "nodes", "fewer by each pass: pruning, constant_folding, arithmetic, dependency"),
        Key("nodes_run", "count", "nodes", "that the session ran, its own included", False))),
    "tensor": Event("once for each array, in measure check", (
        Key("kind", "text", "", "activation, gradient, weight, statistic, logits, loss; decoded: logits by a cache; "
            "inferred: logits in evaluation mode"),
        Key("name", "text", "", "the array's canonical name, or a place's path"),
        Key("shape", "counts", "", "the array's"),
        Key("norm", "number or null", "", "its length; null where that is not finite"),
        Key("sketch", "text", "", "its sums in buckets under seeded signs: float64, little-endian, base64"),
        Key("from_whole", "number", "", "of kind decoded: its relative difference from a pass over the whole sequence",
            False))),
    "harness": Event("after each pair of blocks, in the measures behind bench-self", (
        Key("reported", "number", "s", "our block by its own samples"),
        Key("wall", "number", "s", "our block by the wall"),
        Key("bare", "number", "s", "the hand-written block"), Key("steps", "count", "steps", "of each block"))),
    "product": Event("once for each size and type, in measure product", (
        Key("numbers", "text", "", "float32, float64 or bfloat16"),
        Key("size", "count", "", "both sides of the square matrices"),
        Key("count", "count", "", "products a block"), Key("seconds", "numbers", "s", "of each block"))),
    "max_batch": Event("once, in measure max_batch", (
        Key("largest", "count", "samples", "the largest batch that trained; 0: none"),
        Key("smallest_oom", "count or null", "samples", "the smallest that was seen not to; null: none"),
        Key("limit_bytes", "count or null", "bytes", "of the host's memory; null: the GPU's own is the limit"),
        Key("tried", "list", "", "of each trial: batch, ending, message, seconds, peak_bytes"))),
    "weights": Event("once, after the last step of a parallel run", (
        Key("sha256", "text", "", "of what the optimizer updates: alike in all workers of a synchronous run"),)),
    "compiled": Event("once, after the last step, where the framework says what it compiled", (
        Key("programs", "count", "", "compiled in this process"), Key("seconds", "number", "s", "of the compiler"),
        Key("tracing_seconds", "number", "s", "of what the framework did before it", False))),
    "end": Event("once, last", (
        Key("status", "text", "", "one of the five endings that a worker says"),
        Key("message", "text", "", "why; empty where all is well"),
        Key("peak_bytes", "count", "bytes", "the most memory that the process held", False),
        Key("group_peak_bytes", "count or null", "bytes", "the most that its control group ever held, helpers and page "
            "cache too", False),
        Key("cpu_seconds", "number", "s", "CPU time of the worker and all that descends from it", False),
        Key("throttling", "object or null", "", "periods and throttled_periods of its CPU quota; null without one",
            False),
        Key("allocator_peak", "object", "bytes", "allocated and reserved: the most that the framework's own allocator "
            "held on a GPU", False),
        Key("gpu_libraries", "object", "", "versions of cuDNN, CUDA's runtime and NCCL that a GPU's run loaded, as "
            "they say themselves", False))),
}
# what "start" says in "facts"
FACTS = (
    Key("framework", "text", "", f"{', '.join(each.name for each in frameworks.FRAMEWORKS)}, onednn or cudnn"),
    Key("version", "text", "", "of the framework"),
    Key("build", "text", "", "what the framework says that it was built with"),
    Key("device", "text", "", "as the framework names it"),
    Key("threads", "count or null", "", "of an operator, as the framework says or the process shows"),
    Key("inter_op_threads", "count", "", "operators that may run at once"),
    Key("onednn", "boolean", "", "whether oneDNN computes here"),
    Key("cuda", "text or null", "", "its version; a GPU's cells, as the five below", False),
    Key("cudnn", "text or count or null", "", "its version", False),
    Key("compute_capability", "text or null", "", "of the GPU", False),
    Key("tf32", "object", "", "by switch: whether the framework may round products to TF32", False),
    Key("cudnn_benchmark", "boolean", "", "whether cuDNN searches for its algorithms", False),
    Key("cudnn_deterministic", "boolean", "", "whether it takes none whose sums vary", False),
    Key("numpy", "text", "", "its version", False),
    Key("loop", "text", "", "what the cell's loop became", False),
    Key("layout", "text", "", "what the cell's layout became", False),
    Key("precision", "text", "", "what the cell's precision became", False),
    Key("data", "object", "", "name, stand_in, sha256, images or batches, tokens, padding and pass_tokens (of each "
        "batch of a pass): what was read", False),
    Key("loading", "text", "", "how batches are loaded", False),
    Key("attention", "text", "", "what computes it in a transformer", False),
    Key("lstm", "text", "", "the operation that runs an LSTM layer, as the framework's profiler sees it", False),
    Key("lstm_weights", "text", "", "whether its arrays are one buffer, on a GPU", False),
    Key("mode", "text", "", "how a parallel run exchanges, in the framework's words", False),
    Key("communication", "text or null", "", '"exposed", what the backward pass does not hide, or "full"', False),
    Key("python", "text", "", "its version"), Key("libc", "text", "", "its name and version"),
    Key("affinity", "list", "", "the CPUs that the process may use"),
    Key("cpu", "text or null", "", "the processor's name"),
    Key("cpu_features", "list", "", "of its vector instructions"),
    Key("environment", "object", "", "the variables that may move a result"),
    Key("executable", "text", "", "the interpreter's path"),
    Key("kernel_cache", "text", "", '"none", "empty" or "filled": GPU code that the driver compiled in earlier runs'),
    Key("packages", "object", "", "version and digest by name, in an environment of the user's own", False),
)
_PLACE = "place"                 # the host adds it where a run has many places


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


# what a key's kind takes
KINDS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": _is_number,
    "count": _is_count,
    "numbers": lambda value: isinstance(value, list) and all(map(_is_number, value)),
    "numbers with null": lambda value: isinstance(value, list) and all(
        each is None or _is_number(each) for each in value),
    "counts": lambda value: isinstance(value, list) and all(map(_is_count, value)),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def strays(line: Mapping[str, Any]) -> list[str]:
    """How a worker's line differs from the tables above. Tests hold real workers' lines against it."""
    event = EVENTS.get(line.get("event", ""))
    if event is None:
        return [f'event {line.get("event")!r} is unknown']
    rest = {name: value for name, value in line.items() if name not in ("event", _PLACE)}
    facts = line["facts"] if line["event"] == "start" and isinstance(line.get("facts"), dict) else None
    return [*_strays(event.keys, rest), *(f"facts: {each}" for each in (_strays(FACTS, facts) if facts else ()))]


def _strays(keys: tuple[Key, ...], values: Mapping[str, Any]) -> Iterator[str]:
    known = {key.name: key for key in keys}
    for name, value in values.items():
        if name not in known:
            yield f"key {name} is unknown"
        elif not any(KINDS[kind](value) for kind in known[name].kind.split(" or ")):
            yield f"key {name}: found {value!r:.40}, expected {known[name].kind}"
    yield from (f"key {key.name} is missing" for key in keys if key.is_always and key.name not in values)


class NotAnEvent(Exception):
    """A line that is not in the contract, or more lines than any measurement needs."""


def parsed(line: bytes) -> dict[str, Any]:
    """The event in a line. Raises NotAnEvent."""
    shown = ascii(line[:60])[2:-1]
    try:
        event = _loaded(line) if len(line) <= LONGEST_LINE else None
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or event.get("event") not in tuple(EVENTS):
        raise NotAnEvent(f'the worker wrote what is no event: "{shown}"')
    if event["event"] == "end" and not _is_whole_end(event):
        raise NotAnEvent(f'the worker ended with no known status: "{shown}"')
    if wrong := mistake(event):
        raise NotAnEvent(f'the worker wrote a broken event: {wrong[:200]}: "{shown}"')
    return event


def first(line: bytes) -> dict[str, Any] | None:
    """As parsed, of a worker that has said nothing yet; None for a line that its environment printed at its start."""
    begins = 0 if line.startswith(b"{") else line.find(b'{"event"')
    return parsed(line[begins:]) if begins >= 0 else None


def _loaded(line: bytes) -> Any:
    """The line's value. Raises ValueError, RecursionError; also for numbers that are infinite or very long."""
    return json.loads(line, parse_constant=_refuse, parse_float=_finite, parse_int=_small)


def _is_whole_end(event: dict[str, Any]) -> bool:
    return event.get("status") in SAID_BY_WORKER and isinstance(event.get("message"), str)


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _small(text: str) -> int:
    return int(text) if len(text) < 20 else _refuse(text)
