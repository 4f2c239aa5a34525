"""GPT-2 as its users take it in PyTorch, from transformers: what evenbench's own is compared with."""
import numpy as np
import torch
from torch import nn

from workloads.spec import sequence_tasks
from workloads.spec.models import gpt2


def model(cell, transformers):
    """(net, batch, labels): transformers' GPT2LMHeadModel in the cell's sizes, and random tokens.

    net(batch) gives the logits of all positions, (batch * time, tokens known).
    """
    sizes = sequence_tasks.sizes(cell)
    net = Logits(transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=sizes.vocabulary, n_embd=sizes.width, n_layer=sizes.layers, n_head=sizes.heads, n_inner=sizes.inner,
        n_positions=sizes.positions, layer_norm_epsilon=gpt2.form(sizes).epsilon, resid_pdrop=0.0, embd_pdrop=0.0,
        attn_pdrop=0.0, use_cache=False)))
    random = np.random.RandomState(0)
    ids, labels = torch.tensor(random.randint(0, sizes.vocabulary, (2, cell.batch, sizes.length)))
    return net.train(), {"input_ids": ids}, labels.flatten()


class Logits(nn.Module):
    """A model of transformers without what else it says."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, batch):
        """(batch * time, tokens known), or (batch, classes)."""
        return self.net(**batch).logits.flatten(0, -2)


def generating(cell, net, batch):
    """step() of measure prefill or decode, which gives the greedy token, with transformers' own growing cache."""
    prompt, length = sequence_tasks.prompt(cell), sequence_tasks.sizes(cell).length
    ids = batch["input_ids"][:, :prompt]
    inner = net.net.eval()

    def read():
        with torch.inference_mode():
            said = inner(input_ids=ids, use_cache=True, logits_to_keep=1)
        return said.logits[:, -1].argmax(-1), said.past_key_values

    if cell.measure == "prefill":
        return lambda: read()[0]
    first, cache = read()
    state = {"token": first}

    def step():
        if cache.get_seq_length() == length:
            cache.crop(prompt - length)          # so many tokens from its end
            state["token"] = first
        with torch.inference_mode():
            said = inner(input_ids=state["token"][:, None], past_key_values=cache, use_cache=True)
            state["token"] = said.logits[:, -1].argmax(-1)
        return state["token"]

    return step
