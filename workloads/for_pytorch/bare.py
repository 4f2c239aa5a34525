"""LeNet-5's training loop as one writes it by hand in PyTorch: what evenbench's own is compared with."""
import numpy as np
import torch
from torch import nn


def lenet5(batch, learning_rate):
    """(step, sync): step() trains on one random batch that stays in memory, sync(what it returned) waits for it."""
    net = nn.Sequential(
        nn.Conv2d(3, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=learning_rate)
    random = np.random.RandomState(0)
    images = torch.from_numpy(random.uniform(-1, 1, (batch, 3, 32, 32)).astype(np.float32))
    labels = torch.from_numpy(random.randint(0, 10, batch))

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda loss: None
