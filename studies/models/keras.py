"""A small convolutional net in Keras 3: `evenbench run model.py` runs it on TensorFlow, JAX and PyTorch."""
import keras
from keras import layers


def model():
    """Your keras.Model; leave the softmax to the loss."""
    inputs = keras.Input((32, 32, 3))
    x = inputs
    for filters in (16, 32, 64):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D()(layers.ReLU()(x))
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, layers.Dense(10)(x))


def batch(rng, size):
    """(inputs, targets) of size samples as numpy arrays, drawn from rng."""
    return rng.standard_normal((size, 32, 32, 3)), rng.randint(0, 10, size)


def loss():
    """A Keras loss; leave it out for cross-entropy of whole-number targets, or the mean square of real ones."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def optimizer():
    """A Keras optimizer; left out, `--set optimizer=adamw` and its like choose one."""
    return keras.optimizers.SGD(0.01)
