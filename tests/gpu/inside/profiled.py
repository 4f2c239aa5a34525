"""python -m tests.gpu.inside profiled '<cell JSON>': what PyTorch's profiler itself sums up over our training steps.

On a GPU the kernels, and the copies and fills, with their seconds; on a CPU the calls of each operator.
"""

from tests.gpu.inside import ours

_COPIES = ("Memcpy", "Memset")


def main(text):
    cell = ours.prepared(text)
    import torch

    workload, batches, _ = ours.built(cell)
    ours.block(cell._replace(steps=cell.warmup), workload, batches)
    kinds = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[kinds.CUDA if cell.device == "gpu" else kinds.CPU]) as profile:
        seconds = ours.block(cell, workload, batches)
    if cell.device == "cpu":
        calls = {each.key: each.count for each in profile.key_averages()}
        ours.say(event="operators", calls=calls, seconds=seconds)
        return
    spans = [each for each in profile.events() if each.device_type == torch.autograd.DeviceType.CUDA
             and not getattr(each, "is_user_annotation", False) and not each.name.startswith("Optimizer.")]
    kernels = [each for each in spans if not each.name.startswith(_COPIES)]
    copies = [each for each in spans if each.name.startswith(_COPIES)]
    ours.say(event="kernels", kernels=len(kernels), kernel_seconds=_sum(kernels), copies=len(copies),
             copy_seconds=_sum(copies), seconds=seconds)


def _sum(spans):
    return sum(each.time_range.elapsed_us() for each in spans) / 1e6
