"""LeNet-5's training loop as one writes it by hand in MXNet: what evenbench's own is compared with."""
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def lenet5(batch, learning_rate):
    """(step, sync): step() trains on one random batch that stays in memory, sync(what it returned) waits for it."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(6, 5, activation="tanh"), gluon.nn.AvgPool2D(),
            gluon.nn.Conv2D(16, 5, activation="tanh"), gluon.nn.AvgPool2D(), gluon.nn.Flatten(),
            gluon.nn.Dense(120, activation="tanh"), gluon.nn.Dense(84, activation="tanh"), gluon.nn.Dense(10))
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    entropy.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": learning_rate}, kvstore=None)
    random = np.random.RandomState(0)
    images = mx.nd.array(random.uniform(-1, 1, (batch, 3, 32, 32)))
    labels = mx.nd.array(random.randint(0, 10, batch))

    def step():
        with autograd.record():
            loss = entropy(net(images), labels)
        loss.backward()
        trainer.step(batch)
        return loss

    return step, lambda loss: mx.nd.waitall()
