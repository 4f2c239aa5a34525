"""Training and inference as one writes them by hand in MXNet: what evenbench's own loops are compared with."""
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon.model_zoo import vision

from workloads.process.errors import Unsupported


def loop(cell, folder=""):
    """(step, sync): step() takes a step on one random batch that stays in memory, sync(what it returned) waits for it.

    It infers where that is the cell's measure, else it trains with plain SGD. LeNet-5 is written out here, the other
    nets are of Gluon's model zoo. Raises Unsupported where the zoo has no such net.
    """
    net, device = _net(cell), mx.gpu() if cell.device == "gpu" else mx.cpu()
    net.initialize(ctx=device)
    net.hybridize(static_alloc=True, static_shape=True)
    random = np.random.RandomState(0)
    images = mx.nd.array(random.uniform(-1, 1, (cell.batch, 3, cell.image, cell.image)), device)
    labels = mx.nd.array(random.randint(0, cell.classes, cell.batch), device)
    step = (lambda: net(images)) if cell.measure == "infer" else _training(net, images, labels, cell.learning_rate)
    return step, lambda handle: mx.nd.waitall()


def _net(cell):
    if cell.task == "lenet5":
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Conv2D(6, 5, activation="tanh"), gluon.nn.AvgPool2D(),
                gluon.nn.Conv2D(16, 5, activation="tanh"), gluon.nn.AvgPool2D(), gluon.nn.Flatten(),
                gluon.nn.Dense(120, activation="tanh"), gluon.nn.Dense(84, activation="tanh"),
                gluon.nn.Dense(cell.classes))
        return net
    if cell.task not in _PEERS:
        raise Unsupported("Gluon's model zoo is no peer for %s: it is for %s"
                          % (cell.task, ", ".join(sorted(_PEERS))))
    return getattr(vision, _PEERS[cell.task])(classes=cell.classes)


def _training(net, images, labels, learning_rate):
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    entropy.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": learning_rate}, kvstore=None)

    def step():
        with autograd.record():
            loss = entropy(net(images), labels)
        loss.backward()
        trainer.step(len(labels))
        return loss

    return step


# resnet50_v1 has biases in 1x1 convolutions there; VGG16 has dropout, as ours has; MobileNetV2 lacks ours and has a 1x1
# convolution more in its first block, 4 % of all multiplications
_PEERS = {"resnet50_v1": "resnet50_v1", "vgg16": "vgg16", "mobilenetv2": "mobilenet_v2_1_0"}
