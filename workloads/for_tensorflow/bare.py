"""LeNet-5's training loop as one writes it by hand in TensorFlow: what evenbench's own is compared with."""
import numpy as np
import tensorflow as tf

from workloads.for_tensorflow import settings

v1 = tf.compat.v1
layers = tf.keras.layers


def lenet5(batch, learning_rate):
    """(step, sync): step() trains on one random batch that stays in memory, sync(what it returned) waits for it."""
    random = np.random.RandomState(0)
    images = random.uniform(-1, 1, (batch, 32, 32, 3)).astype(np.float32)
    labels = random.randint(0, 10, batch)
    return (_function if tf.executing_eagerly() else _session)(images, labels, learning_rate)


def _net():
    return tf.keras.Sequential([
        layers.Conv2D(6, 5, activation="tanh", input_shape=(32, 32, 3)), layers.AveragePooling2D(2),
        layers.Conv2D(16, 5, activation="tanh"), layers.AveragePooling2D(2), layers.Flatten(),
        layers.Dense(120, activation="tanh"), layers.Dense(84, activation="tanh"), layers.Dense(10)])


def _entropy(labels, logits):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _function(images, labels, learning_rate):
    """A tf.function a step, TensorFlow 2."""
    net, optimizer = _net(), tf.keras.optimizers.SGD(learning_rate)
    images, labels = tf.constant(images), tf.constant(labels)

    @tf.function
    def train(images, labels):
        with tf.GradientTape() as tape:
            loss = _entropy(labels, net(images, training=True))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        return loss

    return lambda: train(images, labels), lambda loss: loss.numpy()


def _session(images, labels, learning_rate):
    """A session's run a step, TensorFlow 1."""
    slots = v1.placeholder(tf.float32, images.shape), v1.placeholder(tf.int64, labels.shape)
    kept = [tf.Variable(slot, trainable=False, use_resource=True) for slot in slots]
    loss = _entropy(kept[1], _net()(kept[0], training=True))
    update = v1.train.GradientDescentOptimizer(learning_rate).minimize(loss)
    session = v1.Session(config=settings.session_config())
    session.run(v1.global_variables_initializer(), dict(zip(slots, (images, labels))))
    return lambda: session.run([update, loss])[1], lambda loss: None
