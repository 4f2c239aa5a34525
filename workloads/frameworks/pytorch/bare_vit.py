"""ViT-B/16 as its users take it in PyTorch, from transformers: what evenbench's own is compared with."""
import numpy as np
import torch

from workloads.frameworks.pytorch.bare_gpt2 import Logits


def model(cell, transformers):
    """(net, batch, labels): transformers' ViTForImageClassification, whose defaults are ViT-B/16, and random images.

    Without dropout, as ours. net(batch) gives the logits, (batch, classes).
    """
    net = Logits(transformers.ViTForImageClassification(transformers.ViTConfig(
        image_size=cell.image, num_labels=cell.classes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)))
    random = np.random.RandomState(0)
    pixels = random.uniform(-1, 1, (cell.batch, 3, cell.image, cell.image)).astype(np.float32)
    labels = torch.tensor(random.randint(0, cell.classes, cell.batch))
    return net.train(), {"pixel_values": torch.tensor(pixels)}, labels
