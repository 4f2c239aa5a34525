"""Training and inference as one writes them by hand in TensorFlow: what evenbench's own loops are compared with."""
import numpy as np
import tensorflow as tf

from workloads.frameworks import peers
from workloads.frameworks.tensorflow import settings, waits
from workloads.process.errors import Unsupported
from workloads.spec import sequence_tasks
from workloads.spec.measures import GENERATING

v1 = tf.compat.v1
layers = tf.keras.layers


def loop(cell, folder=""):
    """(step, sync): step() takes a step on one random batch that stays in memory, sync(what it returned) waits for it.

    It infers where that is the cell's measure, else it trains with plain SGD, or with Keras' AdamW. LeNet-5 is written
    out here, GPT-2, Llama and ViT are KerasHub's, from folder/peers/<stack>, the LSTM and the other nets Keras' own.
    Raises Unsupported where KerasHub is not, or Keras has no such net.
    """
    if cell.task in peers.KERAS_HUB:
        return _of_keras_hub(cell, folder)
    random = np.random.RandomState(0)
    if cell.task == "lstm":
        sizes, loss = sequence_tasks.sizes(cell), _squares
        batch = random.standard_normal((cell.batch, sizes.length, sizes.hidden)).astype(np.float32)
        labels = np.zeros(cell.batch, np.int64)
    else:
        batch, loss = random.uniform(-1, 1, (cell.batch, cell.image, cell.image, 3)).astype(np.float32), _entropy
        labels = random.randint(0, cell.classes, cell.batch)
    if tf.executing_eagerly():
        return _function(cell, _net(cell), batch, labels, loss)
    with tf.Graph().as_default():
        return _session(cell, _net(cell), batch, labels, loss)


def _net(cell):
    if cell.task == "lstm":
        # TensorFlow 1's default is hard_sigmoid
        return layers.LSTM(sequence_tasks.sizes(cell).hidden, return_sequences=True, recurrent_activation="sigmoid")
    if cell.task == "lenet5":
        return tf.keras.Sequential([
            layers.Conv2D(6, 5, activation="tanh", input_shape=(32, 32, 3)), layers.AveragePooling2D(2),
            layers.Conv2D(16, 5, activation="tanh"), layers.AveragePooling2D(2), layers.Flatten(),
            layers.Dense(120, activation="tanh"), layers.Dense(84, activation="tanh"), layers.Dense(cell.classes)])
    if cell.task not in _PEERS:
        raise Unsupported("keras.applications is no peer for %s: it is for %s"
                          % (cell.task, ", ".join(sorted(_PEERS))))
    net = getattr(tf.keras.applications, _PEERS[cell.task])(
        weights=None, input_shape=(cell.image, cell.image, 3), classes=cell.classes)
    net.layers[-1].activation = tf.keras.activations.linear    # 2.1 and before have no classifier_activation
    return net


def _entropy(labels, logits):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _squares(labels, outputs):
    """Half the mean of the squares; there are no labels."""
    return 0.5 * tf.reduce_mean(outputs * outputs)


def _of_keras_hub(cell, folder):
    net, inputs, labels = peers.of_keras_hub(cell, folder, "tensorflow")
    if cell.measure not in GENERATING:
        return _function(cell, net, inputs, labels, _entropy)

    @tf.function
    def answer(ids, cache, position):
        logits, _, cache = net.call_with_cache(ids, cache, position)
        return tf.argmax(logits[:, -1], -1, output_type=ids.dtype), cache

    ids = tf.constant(inputs["token_ids"][:, :sequence_tasks.prompt(cell)])
    step = peers.generating(cell, answer, ids, tf.zeros(peers.keras_hub_cache(cell)), tf.constant)
    return step, lambda handle: waits.wait(handle, cell)


def _optimizer(cell):
    if cell.optimizer == "adamw":
        return tf.keras.optimizers.AdamW(cell.learning_rate, weight_decay=0.0)
    return tf.keras.optimizers.SGD(cell.learning_rate)


def _function(cell, net, images, labels, loss_of):
    """A tf.function a step, TensorFlow 2; images: an array, or a dict of them."""
    optimizer = _optimizer(cell)
    images, labels = tf.nest.map_structure(tf.constant, images), tf.constant(labels)

    @tf.function
    def infer(images):
        return net(images, training=False)

    @tf.function
    def train(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, net(images, training=True))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        return loss

    @tf.function
    def infer_to_wait_for(images):
        logits = net(images, training=False)
        return logits, tf.reshape(logits, [-1])[0]

    answer = infer_to_wait_for if waits.needs_scalar(cell) else infer
    step = (lambda: answer(images)) if cell.measure == "infer" else (lambda: train(images, labels))
    return step, lambda handle: waits.wait(handle, cell)


def _session(cell, net, images, labels, loss_of):
    """A session's run a step, TensorFlow 1."""
    slots = v1.placeholder(tf.float32, images.shape), v1.placeholder(tf.int64, labels.shape)
    kept = [tf.Variable(slot, trainable=False, use_resource=True).read_value() for slot in slots]
    if cell.measure == "infer":
        logits = net(kept[0], training=False)
    else:
        loss = loss_of(kept[1], net(kept[0], training=True))
        update = v1.train.GradientDescentOptimizer(cell.learning_rate).minimize(loss)
        update = tf.group(update, *net.get_updates_for(kept[0]))      # running means do not move by themselves
    session = v1.Session(config=settings.session_config())
    session.run(v1.global_variables_initializer(), dict(zip(slots, (images, labels))))
    if cell.measure == "infer":           # on a GPU fetching logits would copy them
        logits = logits.op if cell.device == "gpu" else logits
    step = (lambda: session.run(logits)) if cell.measure == "infer" else (lambda: session.run([update, loss])[1])
    return step, lambda handle: None


# resnet50_v1's convolutions have biases there; VGG16 and MobileNetV2 lack the dropout that ours have
_PEERS = {"resnet50_v1": "ResNet50", "vgg16": "VGG16", "mobilenetv2": "MobileNetV2"}
