"""Training and inference as one writes them by hand in PyTorch: what evenbench's own loops are compared with."""
import inspect

import numpy as np
import torch
from torch import nn

from workloads.frameworks import peers
from workloads.frameworks.pytorch import bare_bert, bare_gpt2, bare_images, bare_llama
from workloads.process.errors import Unsupported
from workloads.spec import sequence_tasks
from workloads.spec.measures import GENERATING

_no_gradients = getattr(torch, "inference_mode", torch.no_grad)


def loop(cell, folder=""):
    """(step, sync): step() takes a step on one random batch that stays in memory, sync(what it returned) waits for it.

    It infers where that is the cell's measure, else it trains with plain SGD, or with AdamW, fused as transformers'
    Trainer has it by default. LeNet-5 is written out here, the LSTM is nn.LSTM, transformers are from the library of
    that name, other nets torchvision's, from folder/peers/<stack>; ResNet-50 is transformers' where torchvision is not
    installed. Raises Unsupported where the library is not, or has no such net.
    """
    net, batch, loss = _made(cell, folder)
    if cell.device == "gpu":
        net, batch = net.cuda(), _on_gpu(batch)
    if cell.measure in GENERATING:
        step = bare_gpt2.generating(cell, net, batch)
    elif cell.measure == "infer":
        step = _inference(net, batch)
    else:
        step = _training(net, batch, loss, _optimizer(net, cell))
    return step, lambda handle: torch.cuda.synchronize() if cell.device == "gpu" else None


def _made(cell, folder):
    """(net, batch, the loss as a function of what the net says of it)."""
    if cell.task == "lstm":
        return _lstm(cell)
    of_transformers = _OF_TRANSFORMERS.get(cell.task)
    if cell.task in _PEERS and peers.has(cell, folder, "torchvision"):
        of_transformers = None
    net, batch, labels = (of_transformers.model(cell, peers.library(cell, folder, "transformers")) if of_transformers
                          else _images(cell, folder))
    labels = labels.cuda() if cell.device == "gpu" else labels
    return net, batch, lambda logits: nn.functional.cross_entropy(logits, labels)


def _lstm(cell):
    """The layer over time-major random vectors; half the mean of the outputs' squares."""
    sizes = sequence_tasks.sizes(cell)
    x = np.random.RandomState(0).standard_normal((sizes.length, cell.batch, sizes.hidden)).astype(np.float32)
    return nn.LSTM(sizes.hidden, sizes.hidden), torch.tensor(x), lambda said: 0.5 * (said[0] * said[0]).mean()


def _images(cell, folder):
    """(net, batch, labels) of an image task."""
    net = _net(cell, folder)
    random = np.random.RandomState(0)
    pixels = random.uniform(-1, 1, (cell.batch, 3, cell.image, cell.image)).astype(np.float32)
    images = torch.tensor(pixels)              # a copy in memory that PyTorch aligned, as a loader's batches are
    return net, images, torch.tensor(random.randint(0, cell.classes, cell.batch))


def _net(cell, folder):
    if cell.task == "lenet5":
        return nn.Sequential(
            nn.Conv2d(3, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, cell.classes))
    if cell.task not in _PEERS:
        raise Unsupported("torchvision is no peer for %s: it is for %s" % (cell.task, ", ".join(sorted(_PEERS))))
    return getattr(peers.library(cell, folder, "torchvision").models, _PEERS[cell.task])(num_classes=cell.classes)


def _on_gpu(batch):
    """A tensor, or a dict of them."""
    return batch.cuda() if hasattr(batch, "cuda") else {name: tensor.cuda() for name, tensor in batch.items()}


def _optimizer(net, cell):
    if cell.optimizer == "adamw":
        return torch.optim.AdamW(net.parameters(), lr=cell.learning_rate, weight_decay=0.0, fused=True)
    return torch.optim.SGD(net.parameters(), lr=cell.learning_rate)


def _training(net, batch, loss_of, optimizer):
    takes_none = "set_to_none" in inspect.signature(optimizer.zero_grad).parameters
    clearing = {"set_to_none": True} if takes_none else {}

    def step():
        optimizer.zero_grad(**clearing)
        loss = loss_of(net(batch))
        loss.backward()
        optimizer.step()
        return loss

    return step


def _inference(net, images):
    net.eval()

    @_no_gradients()
    def step():
        return net(images)

    return step


# resnet50 is v1.5 there too; VGG16 and MobileNetV2 have dropout, as ours have
_PEERS = {"resnet50": "resnet50", "vgg16": "vgg16", "mobilenetv2": "mobilenet_v2"}
_OF_TRANSFORMERS = {"bert": bare_bert, "gpt2": bare_gpt2, "llama": bare_llama, "vit_b16": bare_images,
                    "resnet50": bare_images}
