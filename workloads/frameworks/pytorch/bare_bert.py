"""BERT as its users take it in PyTorch, from transformers: what evenbench's own is compared with."""
import numpy as np
import torch
from torch import nn

from workloads.spec import sequence_tasks
from workloads.spec.models import bert


def model(cell, transformers):
    """(net, batch, labels): transformers' BertForMaskedLM in the cell's sizes, and a random batch of full length.

    net(batch) gives the logits of the masked positions alone, as ours.
    """
    sizes = sequence_tasks.sizes(cell)
    net = _Masked(transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=sizes.vocabulary, hidden_size=sizes.width, num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads, intermediate_size=sizes.inner, max_position_embeddings=sizes.positions,
        layer_norm_eps=bert.EPSILON, hidden_dropout_prob=bert.DROPOUT, attention_probs_dropout_prob=bert.DROPOUT)))
    return (net.train(),) + _batch(cell, sizes)


class _Masked(nn.Module):
    """The model, whose own forward would compute the logits of all positions."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, batch):
        """(batch * masked, tokens known)."""
        positions = batch["positions"]
        inputs = {name: tensor for name, tensor in batch.items() if name != "positions"}
        hidden = self.net.bert(**inputs).last_hidden_state
        return self.net.cls(hidden.flatten(0, 1).index_select(0, positions))


def _batch(cell, sizes):
    random = np.random.RandomState(0)
    masked = bert.predictions(sizes.length)
    ids = torch.tensor(random.randint(0, sizes.vocabulary, (cell.batch, sizes.length)))
    starts = sizes.length * np.arange(cell.batch)[:, None]
    positions = torch.tensor((starts + np.arange(1, masked + 1)).ravel())
    batch = {"input_ids": ids, "token_type_ids": torch.zeros_like(ids), "attention_mask": torch.ones_like(ids),
             "positions": positions}
    return batch, torch.tensor(random.randint(0, sizes.vocabulary, cell.batch * masked))
