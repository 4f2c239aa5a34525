"""Check 3: our loop and a user's own."""

import json
import statistics
from collections.abc import Iterator
from typing import Any

from tests.gpu.checks.cells import CLOSE, cell_text, sized
from tests.gpu.environment import CUT, Environment, Event
from tests.gpu.verdicts import Line, NotHere, absent, between, judged, seen, skipped

_RESNET = {"task": "resnet50", "measure": "train", "batch": 64, "steps": 20, "sync": "end"}
# At batch 64 in bfloat16 an H100 waits for the host: a step took 22 ms, and a quarter of one at batch 256 took 16, so
# the ratio is one of two Pythons (0.91, spread over 0.18 by turns). It is judged where the device is the limit.
_HALF = {**_RESNET, "precision": "amp", "batch": 256, "steps": 10}
_TRAIN = {"measure": "train", "sync": "end"}
BESIDE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ResNet-50 float32, batch 64", {**_RESNET, "layout": "nchw", "steps": 10}),
    ("LSTM by cuDNN, hidden 1024, batch 64", {**_TRAIN, "task": "lstm", "batch": 64, "steps": 50, "length": 25,
                                              "hidden": 1024}),
    ("BERT base float32, batch 32", {**_TRAIN, "task": "bert", "batch": 32, "steps": 10, "optimizer": "adam"}),
    ("ResNet-50 TF32, channels_last, batch 64", {**_RESNET, "precision": "tf32", "layout": "nhwc"}),
    ("ResNet-50 bf16, channels_last, batch 256", {**_HALF, "layout": "nhwc"}),
    ("ResNet-50 bf16, channels_last, compiled, batch 256", {**_HALF, "layout": "nhwc", "loop": "compile"}),
)
SMALL = tuple((f"{what} float32", {**_TRAIN, "task": task, "optimizer": optimizer}) for what, task, optimizer in (
    ("LeNet-5", "lenet5", "sgd"), ("ResNet-50", "resnet50", "sgd"), ("LSTM", "lstm", "sgd"),
    ("BERT, small", "bert", "adam")))        # what a CPU runs in seconds: each kind of net once
TURNS = 3
BIG_BYTES = 60e9              # of GPU memory that two nets at batch 256 need; below it all are at 64


def beside_bare(env: Environment) -> Iterator[Line]:
    """Our loop is as fast as the framework's user's own: the same net, batch and optimizer, by turns in one process.

    Nets are torchvision's and transformers', or plain torch.nn. On a CPU the ratio has no limit: two cores are shared.
    """
    if env.package != "torch":
        raise NotHere("bare loops are written for PyTorch alone")
    cases = [(what, _fitting(env, sized(env, **values))) for what, values in (
        BESIDE if env.is_gpu else SMALL)]
    ieee = [case for case in cases if case[1].get("precision", "float32") == "float32"]
    others = [case for case in cases if case not in ieee]      # float32 forbids TF32 by a variable of the process
    for some in filter(None, (ieee, others)):
        cells = [json.loads(cell_text(env, cell)) for _, cell in some]
        told, complaint = env.told("beside", json.dumps(cells), str(TURNS if env.is_gpu else 2))
        for index, (what, cell) in enumerate(some):
            events = [event for event in told if event.get("index") == index]
            yield _beside_line(env, what, cell, events, complaint)


def _fitting(env: Environment, cell: dict[str, Any]) -> dict[str, Any]:
    is_small = env.is_gpu and env.facts.get("memory_bytes", BIG_BYTES) < BIG_BYTES
    return {**cell, "batch": min(64, cell["batch"])} if is_small else cell


def _beside_line(env: Environment, what: str, cell: dict[str, Any], events: list[Event], complaint: str) -> Line:
    turns = [event for event in events if event["event"] == "turn"]
    problem = next((event["message"] for event in events if event["event"] == "failed"), complaint)
    if "Unsupported" in problem:
        return absent(what, problem)
    if len(turns) < 2 and env.was_cut:
        return skipped(what, CUT)
    if len(turns) < 2:
        return judged(what, problem or "said no turns", "runs", False)
    ratios = [turn["ours"] / turn["bare"] for turn in turns]
    ratio, step = statistics.median(ratios), 1e3 * statistics.median(turn["ours"] for turn in turns) / cell["steps"]
    figure = (f"{ratio:.4f} ({min(ratios):.3f} to {max(ratios):.3f}, step {step:.2f} ms, net of {turns[0]['source']})")
    if not env.is_gpu:
        return seen(what, figure)
    if "transformers" in figure:           # its net does more between the same products: ours may be faster, not slower
        return judged(what, figure, f"<= {1 + CLOSE:.2f}", ratio <= 1 + CLOSE)
    return between(what, ratio, 1 - CLOSE, 1 + CLOSE, figure)
