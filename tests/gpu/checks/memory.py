"""Check 7: the largest batch."""

from collections.abc import Iterator
from typing import Any

from tests.gpu.checks.cells import cell_text, sized
from tests.gpu.environment import Environment
from tests.gpu.verdicts import Line, NotRun, between, judged, seen

FILLED = 0.80                 # of the free memory at the largest batch that trains; the rest is the next workspace


def largest_batch(env: Environment) -> Iterator[Line]:
    """max_batch finds the memory there is: its batch fills the GPU, and one 1.25 times as large does not fit.

    On a CPU: a batch without room ends as oom, which the search goes by.
    """
    if not env.is_gpu:
        yield from _limited_on_cpu(env)
        return
    if env.package != "torch":
        raise NotRun("compared with PyTorch's allocator alone")
    cell = {**sized(env, task="resnet50", measure="train", batch=64), "steps": 1, "warmup": 1, "sync": "end"}
    few, more = env.script("memory", cell_text(env, cell), "32,64")
    a_sample = (more["allocated"] - few["allocated"]) / 32
    expected = int((more["free"] - more["allocated"]) / a_sample) + 64
    told = env.cell(**{**cell, "measure": "max_batch", "batch": max(1, int(0.9 * expected))})
    event = next(event for event in told if event["event"] == "max_batch")
    peak, = env.script("memory", cell_text(env, cell), str(event["largest"]))
    share = peak["reserved"] / peak["free"]
    yield seen("largest batch of ResNet-50 at 224 pixels, float32", f"{event['largest']} "
               f"({len(event['tried'])} trials; a sample takes {a_sample / 1e6:.0f} MB, which foretold {expected})")
    yield between("allocator's peak there over free memory", share, FILLED, 1.0,
                  f"{share:.3f} ({peak['reserved'] / 1e9:.1f} of {peak['free'] / 1e9:.1f} GB)")
    yield _does_not_fit(env, {**cell, "batch": int(1.25 * event["largest"]) + 1})


def _does_not_fit(env: Environment, cell: dict[str, Any]) -> Line:
    end = env.ended(**cell)[-1]
    return judged(f"a batch of {cell['batch']}, 1.25 times as large", end["status"], "oom", end["status"] == "oom")


def _limited_on_cpu(env: Environment) -> Iterator[Line]:
    """That a batch without room ends as oom, which the search goes by; the search itself would take minutes."""
    limit = 3 << 30                                      # of addresses: PyTorch's own start takes less than one
    cell = {**sized(env, task="lenet5", measure="train"), "steps": 1, "warmup": 0, "sync": "end"}
    for batch, word in ((64, "ok"), (1 << 16, "oom")):
        end = env._replace(limit_bytes=limit).ended(**{**cell, "batch": batch})[-1]
        what = f"a batch of {batch} in {limit >> 30} GiB of addresses"
        yield judged(what, end["status"], word, end["status"] == word)
