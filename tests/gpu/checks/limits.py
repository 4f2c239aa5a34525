"""Check 4: the rate and the device's limit."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.gpu.checks.cells import cell_text, has_tf32, sized
from tests.gpu.environment import CUT, Environment, Event
from tests.gpu.verdicts import Failed, Line, NotRun, absent, judged, seen, skipped
from workloads.spec import tasks
from workloads.spec.cell import parse

SHARES = (("resnet50", "float32", 64), ("resnet50", "tf32", 64), ("resnet50", "amp", 256), ("bert", "amp", 64))
# A loop that the device limits is near one limit at least, the product's or the copy's (ResNet-50 in bfloat16 moves
# more than it computes): an H100 trained 792 and 4,002 samples a second where it copied 3018 GB a second.
SAMPLES_PER_GB = {("resnet50", "float32"): 792 / 3018, ("resnet50", "amp"): 4002 / 3018}
NEAR_PRODUCT, NEAR_COPY = 0.25, 0.7      # of the product's rate; of the H100's samples for each GB: caches differ
SMALL = (("resnet18", "float32", 4), ("bert", "float32", 4))


def limits(env: Environment) -> Iterator[Line]:
    """No rate is above what the device can do: FLOP/s of training against a matrix product of the same minute.

    A share above 1 would be an operation not done or a clock that lies. Also: precisions are what they say, since a
    GPU's products in TF32 and bfloat16 are faster than in float32. And ResNet-50 is near one of the device's limits.
    """
    sizes, copied = ("4096,8192", 2 << 30) if env.is_gpu else ("768", 64 << 20)
    cells = [_cell(env, *each) for each in (SHARES if env.is_gpu else SMALL)]
    text = json.dumps([json.loads(cell_text(env, cell)) for cell in cells])
    told, complaint = env.told("limits", env.adapter, text, sizes, str(copied))
    if not any(event["event"] == "copy" for event in told):
        raise NotRun(CUT) if env.was_cut else Failed(f"limits: {complaint}")
    rates = {event["precision"]: event["rate"] for event in told if event["event"] == "product"}
    copy = next(event["rate"] for event in told if event["event"] == "copy")
    for precision, rate in rates.items():
        yield seen(f"matrix product, {precision}", f"{rate / 1e12:.2f} TFLOP/s")
    yield seen("copy within memory, read and written", f"{copy / 1e9:.0f} GB/s")
    if has_tf32(env) and {"tf32", "amp"} <= rates.keys():
        yield judged("TF32 and bf16 products are faster than float32",
                     f"{rates['tf32'] / rates['float32']:.1f}, {rates['amp'] / rates['float32']:.1f} times",
                     "> 1.5, > tf32's", rates["float32"] * 1.5 < rates["tf32"] < rates["amp"])
    for index, cell in enumerate(cells):
        if cell["precision"] in rates:
            events = [event for event in told if event.get("index") == index]
            yield from _shares(env, cell, events, complaint, Rates(rates[cell["precision"]], copy))


def _cell(env: Environment, task: str, precision: str, batch: int) -> dict[str, Any]:
    layout = "nhwc" if precision in ("amp", "tf32") and task == "resnet50" else "best"
    return sized(env, task=task, measure="train", precision=precision, batch=batch, steps=10, warmup=5, sync="end",
                 layout=layout)


class Rates(NamedTuple):
    """What the device reaches."""

    product: float               # FLOP/s in the cell's precision
    copy: float                  # bytes/s, read and written


def _shares(env: Environment, cell: dict[str, Any], events: list[Event], complaint: str,
            rates: Rates) -> Iterator[Line]:
    what = f"{cell['task']} {cell['precision']}, batch {cell['batch']}: share of the product's rate"
    if not events:
        yield skipped(what, CUT) if env.was_cut else judged(what, complaint or "said nothing", "0 to 1", False)
        return
    event, = events
    if event["event"] == "unsupported":
        yield absent(what, event["message"])
        return
    flops = tasks.step_flops(parse({"stack": env.name, "device": env.device, **cell}))
    share, samples = flops / event["seconds"] / rates.product, cell["batch"] / event["seconds"]
    yield judged(what, f"{share:.3f} ({samples:.0f} samples/s)", "0 to 1", 0 < share <= 1)
    usual = SAMPLES_PER_GB.get((cell["task"], cell["precision"]))
    if env.is_gpu and usual:
        moved = samples / (rates.copy / 1e9) / usual
        yield judged(f"{cell['task']} {cell['precision']}: near a limit, of the product or the copy",
                     f"{share:.3f} of the product, {moved:.2f} of an H100's samples for each GB copied",
                     f">= {NEAR_PRODUCT:g}, or >= {NEAR_COPY:g}", share >= NEAR_PRODUCT or moved >= NEAR_COPY)
