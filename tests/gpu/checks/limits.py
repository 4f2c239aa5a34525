"""Check 4: the rate and the device's limit."""

from collections.abc import Iterator

from tests.gpu.checks.cells import cell_text, has_tf32, sized, step_seconds
from tests.gpu.environment import Environment
from tests.gpu.verdicts import Line, NotRun, judged, seen, skipped

SHARES = (("resnet50", "float32", 64), ("resnet50", "tf32", 64), ("resnet50", "amp", 256), ("bert", "amp", 64))


def limits(env: Environment) -> Iterator[Line]:
    """No rate is above what the device can do: FLOP/s of training against a matrix product of the same minute.

    A share above 1 would be an operation not done or a clock that lies. Also: precisions are what they say, since a
    GPU's products in TF32 and bfloat16 are faster than in float32.
    """
    sizes, copied = ("4096,8192", 2 << 30) if env.is_gpu else ("768", 64 << 20)
    text = cell_text(env, {"task": "lenet5", "measure": "train", "cpus": 2 if env.is_gpu else 1})
    told = env.script("limits", env.package, text, sizes, str(copied))
    rates = {event["precision"]: event["rate"] for event in told if event["event"] == "product"}
    copy = next(event["rate"] for event in told if event["event"] == "copy")
    for precision, rate in rates.items():
        yield seen(f"matrix product, {precision}", f"{rate / 1e12:.2f} TFLOP/s")
    yield seen("copy within memory, read and written", f"{copy / 1e9:.0f} GB/s")
    if has_tf32(env) and {"tf32", "amp"} <= rates.keys():
        yield judged("TF32 and bf16 products are faster than float32",
                     f"{rates['tf32'] / rates['float32']:.1f}, {rates['amp'] / rates['float32']:.1f} times",
                     "> 1.5, > tf32's", rates["float32"] * 1.5 < rates["tf32"] < rates["amp"])
    for task, precision, batch in SHARES if env.is_gpu else (("resnet18", "float32", 4), ("bert", "float32", 4)):
        if precision in rates:
            yield _share(env, task, precision, batch, rates[precision])


def _share(env: Environment, task: str, precision: str, batch: int, rate: float) -> Line:
    what = f"{task} {precision}, batch {batch}: share of the product's rate"
    try:
        cell = sized(env, task=task, measure="train", precision=precision, batch=batch, steps=10, warmup=5,
                      sync="end", layout="nhwc" if precision in ("amp", "tf32") and task == "resnet50" else "best")
        events = env.cell(**cell)
    except NotRun as reason:
        return skipped(what, str(reason))
    [start] = [event for event in events if event["event"] == "start"]        # beats may come before it
    share = start["flops"] / step_seconds(events) / rate
    samples = cell["batch"] / step_seconds(events)
    return judged(what, f"{share:.3f} ({samples:.0f} samples/s)", "0 to 1", 0 < share <= 1)
