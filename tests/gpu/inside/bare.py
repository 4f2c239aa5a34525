"""Training loops as a user writes them in PyTorch: what evenbench's own are put beside.

Nets are torchvision's and transformers' where those are installed, else written here in plain torch.nn. The arithmetic
is ours: the same batch, the same optimizer in its fused form, and the settings of the process, which the cell decides.
"""

import torch
from torch import nn

from workloads.spec import sequence_tasks
from workloads.spec.models import bert


def loop(cell, arrays):
    """(step, where its net is from): step() trains once on the arrays, which lie on the device, and gives the loss."""
    device = torch.device("cuda" if cell.device == "gpu" else "cpu")
    net, inputs, loss_of, source = {"lstm": _lstm, "bert": _bert}.get(cell.task, _image)(cell, arrays, device)
    net = net.to(device).train()
    if cell.layout == "nhwc":
        net = net.to(memory_format=torch.channels_last)
    optimizers = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
    optimizer = optimizers[cell.optimizer](net.parameters(), lr=cell.learning_rate, fused=True)
    forward = torch.compile(net) if cell.loop == "compile" else net

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=cell.precision == "amp"):
            loss = loss_of(forward(*inputs))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, source


def _image(cell, arrays, device):
    images = torch.from_numpy(arrays.images).to(device).float() / 127.5 - 1
    labels = torch.from_numpy(arrays.labels).to(device)
    if cell.layout == "nhwc":
        images = images.contiguous(memory_format=torch.channels_last)
    net, source = _net(cell)
    return net, (images,), lambda logits: nn.functional.cross_entropy(logits, labels), source


def _net(cell):
    if cell.task == "lenet5":
        return nn.Sequential(
            nn.Conv2d(3, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
            nn.Linear(84, cell.classes)), "torch.nn"
    try:
        import torchvision
    except ImportError:
        return resnet50(cell.classes), "torch.nn"
    return torchvision.models.resnet50(num_classes=cell.classes), "torchvision"


def resnet50(classes):
    """ResNet-50 v1.5 as torchvision has it: the stride is in the 3 x 3 convolution."""
    layers, inputs = [_normed(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for index in range(count):
            layers.append(_Bottleneck(inputs, width, stride if index == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


class _Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(_normed(inputs, width, 1, 1), nn.ReLU(inplace=True),
                                  _normed(width, width, 3, stride), nn.ReLU(inplace=True),
                                  _normed(width, 4 * width, 1, 1))
        is_same = stride == 1 and inputs == 4 * width
        self.short = nn.Identity() if is_same else _normed(inputs, 4 * width, 1, stride)
        self.last = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.last(self.body(x) + self.short(x))


def _normed(inputs, outputs, window, stride):
    return nn.Sequential(nn.Conv2d(inputs, outputs, window, stride, window // 2, bias=False), nn.BatchNorm2d(outputs))


def _lstm(cell, arrays, device):
    """nn.LSTM over time-major vectors; half the mean of the outputs' squares."""
    sizes = sequence_tasks.sizes(cell)
    x = torch.from_numpy(arrays.batches[0]["x"]).to(device).transpose(0, 1).contiguous()
    return nn.LSTM(sizes.hidden, sizes.hidden), (x,), lambda said: 0.5 * (said[0] * said[0]).mean(), "torch.nn"


def _bert(cell, arrays, device):
    batch = {name: torch.from_numpy(array).to(device) for name, array in arrays.batches[0].items()}
    labels, shares = batch["labels"].flatten(), batch["weights"].flatten()
    sizes = sequence_tasks.sizes(cell)

    def loss_of(logits):
        each = nn.functional.cross_entropy(logits, labels, reduction="none")
        return (each * shares).sum() / shares.sum()

    inputs = (batch["ids"], batch["types"], batch["mask"], batch["positions"].flatten())
    try:
        import transformers
    except ImportError:
        return Bert(sizes), inputs, loss_of, "torch.nn"
    return _Masked(transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=sizes.vocabulary, hidden_size=sizes.width, num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads, intermediate_size=sizes.inner, max_position_embeddings=sizes.positions,
        layer_norm_eps=bert.EPSILON))), inputs, loss_of, "transformers"


class _Masked(nn.Module):
    """transformers' model, whose own forward would compute the logits of all positions."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, ids, types, mask, positions):
        hidden = self.net.bert(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        return self.net.cls(hidden.flatten(0, 1).index_select(0, positions))


class Bert(nn.Module):
    """BERT as a masked language model, in plain torch.nn."""

    def __init__(self, sizes):
        super().__init__()
        self.tokens = nn.Embedding(sizes.vocabulary, sizes.width)
        self.places = nn.Embedding(sizes.positions, sizes.width)
        self.types = nn.Embedding(bert.TYPES, sizes.width)
        self.norm = nn.LayerNorm(sizes.width, bert.EPSILON)
        self.layers = nn.ModuleList(_BertLayer(sizes) for _ in range(sizes.layers))
        self.head = nn.Sequential(nn.Linear(sizes.width, sizes.width), nn.GELU(),
                                  nn.LayerNorm(sizes.width, bert.EPSILON))
        self.bias = nn.Parameter(torch.zeros(sizes.vocabulary))

    def forward(self, ids, types, mask, positions):
        x = self.tokens(ids) + self.places.weight[:ids.shape[1]] + self.types(types)
        x = nn.functional.dropout(self.norm(x), bert.DROPOUT)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.head(x.flatten(0, 1).index_select(0, positions))
        return nn.functional.linear(x, self.tokens.weight, self.bias)


class _BertLayer(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.heads = sizes.heads
        self.query, self.key, self.value, self.out = (nn.Linear(sizes.width, sizes.width) for _ in range(4))
        self.inner, self.outer = nn.Linear(sizes.width, sizes.inner), nn.Linear(sizes.inner, sizes.width)
        self.first, self.second = (nn.LayerNorm(sizes.width, bert.EPSILON) for _ in range(2))

    def forward(self, x, mask):
        mixed = self.out(self._attended(x, mask))
        x = self.first(x + nn.functional.dropout(mixed, bert.DROPOUT))
        inner = self.outer(nn.functional.gelu(self.inner(x)))
        return self.second(x + nn.functional.dropout(inner, bert.DROPOUT))

    def _attended(self, x, mask):
        query, key, value = (layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                             for layer in (self.query, self.key, self.value))
        bias = ((1 - mask) * bert.PADDING_BIAS)[:, None, None, :].to(query.dtype)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, bias, bert.DROPOUT)
        return mixed.transpose(1, 2).flatten(2)
