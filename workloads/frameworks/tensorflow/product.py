"""A product of two square matrices in TensorFlow 1.15 and 2.x: a graph in a session, which both have."""
import tensorflow as tf

from workloads.frameworks.tensorflow import settings
from workloads.process.errors import Unsupported

v1 = tf.compat.v1


def made(cell, size, numbers):
    """(step, sync): step() runs a product of (size, size) matrices of these numbers, sync() waits for all of them.

    Raises Unsupported where the device has no such product.
    """
    graph = tf.Graph()
    with graph.as_default():
        matrices = [v1.Variable(tf.cast(tf.random.uniform((size, size)), numbers), use_resource=True)
                    for _ in range(2)]
        out = v1.Variable(tf.zeros((size, size), numbers), use_resource=True)
        product = out.assign(tf.matmul(*matrices), read_value=False)       # an assignment, which nothing prunes
        corner, start = out[0, 0], v1.global_variables_initializer()
    session = v1.Session(graph=graph, config=settings.session_config())
    session.run(start)
    step, sync = session.make_callable(product), session.make_callable(corner)
    try:
        step()
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
        raise Unsupported("no product of %s on a %s" % (numbers, cell.device)) from error
    return step, sync
