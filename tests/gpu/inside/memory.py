"""python -m tests.gpu.inside.memory '<cell JSON>' BATCHES: the GPU memory that our training takes, by its allocator.

BATCHES, as 32,64, are trained one after another in one process, smaller ones first; a line each.
"""

import sys

from tests.gpu.inside import ours


def main(text, batches):
    cell = ours.prepared(text)
    import torch

    free, total = torch.cuda.mem_get_info()
    for batch in map(int, batches.split(",")):
        sized = cell._replace(batch=batch)
        workload, given, _ = ours.built(sized)
        ours.block(sized, workload, given)
        ours.say(event="memory", batch=batch, free=free, total=total, allocated=torch.cuda.max_memory_allocated(),
                 reserved=torch.cuda.max_memory_reserved())
        del workload, given


if __name__ == "__main__":
    main(*sys.argv[1:])
