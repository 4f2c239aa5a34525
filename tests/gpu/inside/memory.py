"""python -m tests.gpu.inside memory '<cell JSON>': the GPU memory that our training takes, by its allocator."""

from tests.gpu.inside import ours


def main(text):
    cell = ours.prepared(text)
    import torch

    free, _ = torch.cuda.mem_get_info()
    workload, batches, _ = ours.built(cell)
    ours.block(cell, workload, batches)
    ours.say(event="memory", free=free, reserved=torch.cuda.max_memory_reserved())
