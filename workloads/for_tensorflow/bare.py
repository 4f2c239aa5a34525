"""LeNet-5's training loop as one writes it by hand in TensorFlow: what evenbench's own is compared with."""
import numpy as np
import tensorflow as tf

keras = tf.keras


def lenet5(batch, learning_rate):
    """(step, sync): step() trains on one random batch that stays in memory, sync(what it returned) waits for it."""
    net = keras.Sequential([
        keras.layers.Conv2D(6, 5, activation="tanh", input_shape=(32, 32, 3)), keras.layers.AveragePooling2D(),
        keras.layers.Conv2D(16, 5, activation="tanh"), keras.layers.AveragePooling2D(), keras.layers.Flatten(),
        keras.layers.Dense(120, activation="tanh"), keras.layers.Dense(84, activation="tanh"), keras.layers.Dense(10)])
    random = np.random.RandomState(0)
    images = random.uniform(-1, 1, (batch, 32, 32, 3)).astype(np.float32)
    labels = random.randint(0, 10, batch)
    return (_function if tf.executing_eagerly() else _session)(net, images, labels, learning_rate)


def _function(net, images, labels, learning_rate):
    """TensorFlow 2."""
    optimizer = keras.optimizers.SGD(learning_rate)
    images, labels = tf.constant(images), tf.constant(labels)

    @tf.function
    def update(images, labels):
        with tf.GradientTape() as tape:
            logits = net(images, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    return lambda: update(images, labels), lambda loss: loss.numpy()


def _session(net, images, labels, learning_rate):
    """TensorFlow 1."""
    images, labels = tf.constant(images), tf.constant(labels)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=net(images)))
    update = tf.compat.v1.train.GradientDescentOptimizer(learning_rate).minimize(loss)
    session = keras.backend.get_session()
    session.run(tf.compat.v1.global_variables_initializer())
    return lambda: session.run([loss, update]), lambda results: None
