"""ViT-B/16 and ResNet-50 as PyTorch's users take them, from transformers: what evenbench's are compared with."""
import numpy as np
import torch

from workloads.frameworks.pytorch.bare_gpt2 import Logits


def model(cell, transformers):
    """(net, batch, labels): transformers' net, whose defaults are the published one, and random images.

    Its ResNet-50 is v1.5, as ours; its ViT has no dropout here, as ours. net(batch) gives the logits, (batch, classes).
    """
    net = Logits(_NETS[cell.task](cell, transformers))
    random = np.random.RandomState(0)
    pixels = random.uniform(-1, 1, (cell.batch, 3, cell.image, cell.image)).astype(np.float32)
    labels = torch.tensor(random.randint(0, cell.classes, cell.batch))
    return net.train(), {"pixel_values": torch.tensor(pixels)}, labels


def _vit(cell, transformers):
    return transformers.ViTForImageClassification(transformers.ViTConfig(
        image_size=cell.image, num_labels=cell.classes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def _resnet(cell, transformers):
    return transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=cell.classes))


_NETS = {"vit_b16": _vit, "resnet50": _resnet}
