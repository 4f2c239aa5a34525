"""Check 4: the rate and the device's limit."""

import json
from collections.abc import Iterator
from typing import Any

from tests.gpu.checks.cells import cell_text, has_tf32, sized
from tests.gpu.environment import CUT, Environment, Event
from tests.gpu.verdicts import Failed, Line, NotRun, judged, seen, skipped
from workloads.spec import tasks
from workloads.spec.cell import parse

SHARES = (("resnet50", "float32", 64), ("resnet50", "tf32", 64), ("resnet50", "amp", 256), ("bert", "amp", 64))
SMALL = (("resnet18", "float32", 4), ("bert", "float32", 4))


def limits(env: Environment) -> Iterator[Line]:
    """No rate is above what the device can do: FLOP/s of training against a matrix product of the same minute.

    A share above 1 would be an operation not done or a clock that lies. Also: precisions are what they say, since a
    GPU's products in TF32 and bfloat16 are faster than in float32.
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
            yield _share(env, cell, events, complaint, rates[cell["precision"]])


def _cell(env: Environment, task: str, precision: str, batch: int) -> dict[str, Any]:
    layout = "nhwc" if precision in ("amp", "tf32") and task == "resnet50" else "best"
    return sized(env, task=task, measure="train", precision=precision, batch=batch, steps=10, warmup=5, sync="end",
                 layout=layout)


def _share(env: Environment, cell: dict[str, Any], events: list[Event], complaint: str, rate: float) -> Line:
    what = f"{cell['task']} {cell['precision']}, batch {cell['batch']}: share of the product's rate"
    if not events:
        return skipped(what, CUT) if env.was_cut else judged(what, complaint or "said nothing", "0 to 1", False)
    event, = events
    if event["event"] == "unsupported":
        return skipped(what, event["message"])
    flops = tasks.step_flops(parse({"stack": env.name, "device": env.device, **cell}))
    share, samples = flops / event["seconds"] / rate, cell["batch"] / event["seconds"]
    return judged(what, f"{share:.3f} ({samples:.0f} samples/s)", "0 to 1", 0 < share <= 1)
