"""Check 7: the largest batch."""

from collections.abc import Iterator

from tests.gpu.checks.cells import cell_text, sized
from tests.gpu.environment import Environment, Event
from tests.gpu.verdicts import Line, NotHere, between, judged, seen

FILLED = 0.80                 # of the free memory at the largest batch that trains; the rest is the next workspace
SAMPLE_BYTES = 94e6           # of ResNet-50's training in float32, 224 pixels: an H100 took 93e6, so the first one fits
MORE = 1.25                   # times the largest batch: what does not fit any more


def largest_batch(env: Environment) -> Iterator[Line]:
    """max_batch finds the memory there is: its batch fills the GPU, and one 1.25 times as large does not fit.

    On a CPU: a batch without room ends as oom, which the search goes by.
    """
    if not env.is_gpu:
        yield from _limited_on_cpu(env)
        return
    if env.package != "torch":
        raise NotHere("compared with PyTorch's allocator alone")
    cell = {**sized(env, task="resnet50", measure="train", batch=64), "steps": 1, "warmup": 1, "sync": "end"}
    expected = int(env.facts["memory_bytes"] / SAMPLE_BYTES)
    told = env.cell(**{**cell, "measure": "max_batch", "batch": max(1, expected)})
    event = next(event for event in told if event["event"] == "max_batch")
    yield seen("largest batch of ResNet-50 at 224 pixels, float32",
               f"{event['largest']} ({len(event['tried'])} trials, the first of {expected})")
    yield _does_not_fit(event)
    peak, = env.script("memory", cell_text(env, {**cell, "batch": event["largest"]}))
    share = peak["reserved"] / peak["free"]
    yield between("allocator's peak there over free memory", share, FILLED, 1.0,
                  f"{share:.3f} ({peak['reserved'] / 1e9:.1f} of {peak['free'] / 1e9:.1f} GB)")


def _does_not_fit(event: Event) -> Line:
    """That the search itself saw a batch a little larger run out of memory, each trial in a process of its own."""
    what, limit = "the smallest batch that did not fit, over the largest that did", f"above 1, <= {MORE}"
    if not event["smallest_oom"] or not event["largest"]:
        return judged(what, f"none: {event['smallest_oom']} and {event['largest']}", limit, False)
    ratio = event["smallest_oom"] / event["largest"]
    return judged(what, f"{ratio:.3f} (a batch of {event['smallest_oom']})", limit, 1 < ratio <= MORE)


def _limited_on_cpu(env: Environment) -> Iterator[Line]:
    """That a batch without room ends as oom, which the search goes by; the search itself would take minutes."""
    limit = 3 << 30                                      # of addresses: PyTorch's own start takes less than one
    cell = {**sized(env, task="lenet5", measure="train"), "steps": 1, "warmup": 0, "sync": "end"}
    for batch, word in ((64, "ok"), (1 << 16, "oom")):
        end = env._replace(limit_bytes=limit).ended(**{**cell, "batch": batch})[-1]
        what = f"a batch of {batch} in {limit >> 30} GiB of addresses"
        yield judged(what, end["status"], word, end["status"] == word)
