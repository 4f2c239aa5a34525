"""TensorFlow's graph optimisers (Grappler): which of them work, and what they remove. TensorFlow 1.15 and 2.x.

The four of dai2022 are pruning, constant folding, arithmetic and dependency optimisation; all others stay as they are.
A session folds constants once more, after Grappler, unless its own optimiser is at level 0: without constant folding,
it is.
"""
import tensorflow as tf

from workloads.process.errors import Unsupported
from workloads.profiles import graph_operations

PASSES = ("pruning", "constant_folding", "arithmetic", "dependency")       # in the order in which Grappler makes them
_GRAPPLER = {"pruning": "pruning", "constant_folding": "constfold", "arithmetic": "arithmetic",
             "dependency": "dependency"}
_OPTIONS = {"pruning": "disable_model_pruning", "constant_folding": "constant_folding",
            "arithmetic": "arithmetic_optimization", "dependency": "dependency_optimization"}


def switched_off(cell):
    """Which of PASSES the cell switches off."""
    if cell.graph_opt == "default":
        return ()
    return PASSES if cell.graph_opt == "off" else (cell.graph_opt[len("no_"):],)


def apply(cell):
    """Switch passes off for every tf.function of this process. A session has its own configuration."""
    off = switched_off(cell)
    if off and tf.executing_eagerly():
        tf.config.optimizer.set_experimental_options({_OPTIONS[name]: name == "pruning" for name in off})


def configure(config, cell):
    """Switch passes off in a session's ConfigProto."""
    options = config.graph_options.rewrite_options
    off = switched_off(cell)
    for name in off:
        setattr(options, _OPTIONS[name], True if name == "pruning" else options.OFF)
    if "constant_folding" in off:
        config.graph_options.optimizer_options.opt_level = config.graph_options.optimizer_options.L0


def removed(session, fetches, values=None):
    """What Grappler's passes remove from a session's graph for a step, and how many nodes the step then runs.

    nodes_before counts the graph with its initialisers, but without what hangs on placeholders that no step feeds: the
    copy of a model that Keras builds on inputs of its own, and the ways by which weights are loaded. Passes are
    switched on one after the other; each has what it removes beyond those before it (constant folding adds
    constants, so it may be negative); removed are the nodes whose names are gone in the end, by class; nodes_run are
    those that the session ran, with its own additions. values: what the step feeds.
    """
    graph = _written(session.graph.as_graph_def(add_shapes=True), fetches)
    counts, optimised = [len(graph.node)], graph
    for count in range(1, len(PASSES) + 1):
        optimised = _optimised(session.graph, graph, fetches, PASSES[:count])
        counts.append(len(optimised.node))
    left = {node.name for node in optimised.node}
    return {"nodes_before": counts[0], "nodes_after": counts[-1],
            "removed": graph_operations.counted([node.op for node in graph.node if node.name not in left]),
            "passes": {name: before - after for name, before, after in zip(PASSES, counts, counts[1:])},
            "nodes_run": _nodes_run(session, fetches, values)}


def _written(graph, fetches):
    """The GraphDef without what depends on placeholders that the fetches do not need."""
    inputs = {node.name: [_node(name) for name in node.input] for node in graph.node}
    needed, waiting = set(), [_node(fetch.name) for fetch in fetches]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += inputs[name]
    users = {}
    for name, sources in inputs.items():
        for used in sources:
            users.setdefault(used, []).append(name)
    gone, waiting = set(), [node.name for node in graph.node if node.op == "Placeholder" and node.name not in needed]
    while waiting:
        name = waiting.pop()
        if name not in gone:
            gone.add(name)
            waiting += users.get(name, ())
    written = tf.compat.v1.GraphDef(versions=graph.versions, library=graph.library)
    written.node.extend(node for node in graph.node if node.name not in gone)
    return written


def _node(tensor):
    """The name of the node that a tensor, or a control input, comes from."""
    return tensor.lstrip("^").partition(":")[0]


def _optimised(graph, written, fetches, passes):
    """The GraphDef after these passes alone, by Grappler itself."""
    try:
        from tensorflow.python.grappler import tf_optimizer  # no public door to it
    except ImportError as error:
        raise Unsupported("this TensorFlow does not let its graph optimiser be called: %s" % error) from None
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.optimizers.extend(_GRAPPLER[name] for name in passes)
    config.graph_options.rewrite_options.min_graph_nodes = -1
    with graph.as_default():
        described = tf.compat.v1.train.export_meta_graph(graph=graph)
        described.graph_def.CopyFrom(written)
        described.collection_def["train_op"].node_list.value[:] = [fetch.name for fetch in fetches]
        return tf_optimizer.OptimizeGraph(config, described, verbose=False)


def _nodes_run(session, fetches, values):
    """How many nodes the executors of a step have."""
    seen = tf.compat.v1.RunMetadata()
    session.run(fetches, values, run_metadata=seen, options=tf.compat.v1.RunOptions(output_partition_graphs=True))
    return sum(len(graph.node) for graph in seen.partition_graphs)
