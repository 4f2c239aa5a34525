"""Check 2: our clock and the device's."""

from collections.abc import Iterator

from tests.gpu.checks.cells import CLOSE, sized, step_events, step_seconds
from tests.gpu.environment import Environment
from tests.gpu.verdicts import Line, absent, between, judged, seen

LONG_STEP = 5e-3              # seconds: below it the wait for a step, 10 to 50 us, is a share of it
# Of a step, that reading its loss may still take: a wait that lies leaves most of a step, and an H200's handing over of
# one number took PyTorch 0.1 to 0.3 ms and JAX 0.7 to 4 ms.
LEFT = 0.1


def clocks(env: Environment) -> Iterator[Line]:
    """A step takes as long by our clock as by the device's own; and waiting for each step costs what it should.

    With sync=each the device is idle between steps, so our step is never shorter than the device's, and not longer by
    more than the wait. With sync=blocks, as studies on GPUs have it, the device runs ahead: that is never slower.
    """
    task = "resnet50" if env.is_gpu else "lenet5"
    cell = sized(env, task=task, measure="train", batch=64, steps=25, warmup=8)
    each = env.cell(sync="each", **cell)
    step = step_seconds(each)
    device = [value for event in step_events(each) for value in event.get("device_seconds", ())]
    if device:
        ours = sum(sum(event["seconds"]) for event in step_events(each))
        ratio = ours / sum(device)
        high = 1 + CLOSE if step >= LONG_STEP else float("inf")
        yield between("our clock over the device's", ratio, 1 - CLOSE, high,
                      f"{ratio:.4f} (step {1e3 * step:.2f} ms, {len(device)} steps)")
    else:
        yield absent("our clock over the device's", f"{env.package} has no clock of the device for {env.device}")
    drain = max(event.get("drain_seconds", 0.0) for event in step_events(each))
    what, figure = "reading the loss after a step said to be over", f"{1e6 * drain:.0f} us"
    yield judged(what, figure, f"<= {LEFT:g} of a step", drain <= LEFT * step) if env.is_gpu else seen(what, figure)
    ratio = step / step_seconds(env.cell(sync="blocks", **cell))
    what = "a step of sync=each over one of sync=blocks"
    yield between(what, ratio, 1 - CLOSE, 1.25) if env.is_gpu else seen(what, f"{ratio:.3f}")
