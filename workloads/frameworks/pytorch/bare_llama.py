"""Llama as its users take it in PyTorch, from transformers: what evenbench's own is compared with."""
import numpy as np
import torch

from workloads.frameworks.pytorch.bare_gpt2 import Logits
from workloads.spec import sequence_tasks
from workloads.spec.models import llama


def model(cell, transformers):
    """(net, batch, labels): transformers' LlamaForCausalLM in the cell's sizes, and random tokens.

    net(batch) gives the logits of all positions, (batch * time, tokens known).
    """
    sizes = sequence_tasks.sizes(cell)
    net = Logits(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=sizes.vocabulary, hidden_size=sizes.width, num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads, num_key_value_heads=sizes.key_heads, intermediate_size=sizes.inner,
        max_position_embeddings=sizes.positions, rms_norm_eps=llama.EPSILON, tie_word_embeddings=False,
        use_cache=False)))
    random = np.random.RandomState(0)
    ids, labels = torch.tensor(random.randint(0, sizes.vocabulary, (2, cell.batch, sizes.length)))
    return net.train(), {"input_ids": ids}, labels.flatten()
