"""Which implementations of an LSTM exist where. Python 3.6 and later, standard library only.

Sources: dai2022, Table 5, for what its models had; the frameworks themselves, in the stacks here, for what runs now.
"""
# dai2022, Table 5: LC is our cell, LBC block; both frameworks alike
TABLE_5 = {
    "deepspeech2": ("cell", "block", "cudnn"),
    "gnmt": ("cell", "block", "cudnn"),
    "tacotron2 encoder": ("cell", "block", "cudnn"),
    "tacotron2 decoder": ("cell", "block"),            # its row of cuDNN takes LBC here, as our lstm_step does
}

_PYTORCH = {"cell": "plain operations in a Python loop", "native": "torch.lstm", "cudnn": "torch.lstm"}
_TENSORFLOW = {"native": "keras.layers.LSTM", "cell": "plain operations in tf.while_loop",
               "block": "LSTMBlockCell in tf.while_loop", "keras1": "Keras' loop, a product for each gate",
               "keras2": "Keras' loop, one product for all gates"}
_MXNET = {"native": "RNN, whose vector is packed in each call", "cudnn": "RNN on a vector that is kept packed",
          "cell": "plain operators in a Python loop"}
_JAX = {"native": "plain operations in lax.scan, the inputs' product before it where that is faster",
        "cell": "plain operations in lax.scan"}
# (framework, device) -> what each value of the switch lstm is there; a name that is missing is not there
IMPLEMENTATIONS = {
    ("pytorch", "cpu"): dict(_PYTORCH, block="torch.lstm_cell, plain operations, in a Python loop"),
    ("pytorch", "gpu"): dict(_PYTORCH, block="torch.lstm_cell, fused, in a Python loop"),
    ("tensorflow", "cpu"): dict(_TENSORFLOW, cudnn="BlockLSTM, TensorFlow's own operation of a whole sequence"),
    ("tensorflow", "gpu"): dict(_TENSORFLOW, cudnn="CudnnRNNV2, which searches for its algorithm"),
    ("mxnet", "cpu"): _MXNET,
    ("mxnet", "gpu"): _MXNET,
    ("jax", "cpu"): dict(_JAX, cudnn=_JAX["native"]),
    ("jax", "gpu"): _JAX,
    ("onednn", "cpu"): {"native": "oneDNN's LSTM primitive", "cudnn": "oneDNN's LSTM primitive"},
    ("cudnn", "gpu"): {"native": "cuDNN's RNN", "cudnn": "cuDNN's RNN",
                       "skip_input": "cuDNN's RNN without its input product, as DeepBench has it"},
}


def missing(framework: str, device, kind: str):
    """Why a framework has no such LSTM on the device, or None."""
    known = IMPLEMENTATIONS.get((framework, device), {})
    if kind in known:
        return None
    return "%s has no lstm %s on a %s: it has %s" % (
        framework, kind, device, ", ".join("%s (%s)" % pair for pair in sorted(known.items())) or "none")
