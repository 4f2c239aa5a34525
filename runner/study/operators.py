"""The studies' words for operators and the frameworks' own names behind them. Pure.

A word has names whose times add up, or groups of such names, with | between them, of which the first that was seen
counts: PyTorch 2.x's cross_entropy_loss contains the log_softmax and nll_loss that stand alone in 1.x.
Sources: krisilias, figures 5, 7 and 10, for the words, and mahorker, figure 5, for those of an LSTM; the profilers of
the stacks themselves for the names.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase


def _with_backward(form: str, names: Mapping[str, str]) -> dict[str, str]:
    """The names by word, and those of each word's backward pass, which the framework forms so."""
    return {**names, **{f"{word}_backward": " ".join(map(form.format, own.split())) for word, own in names.items()}}


# PyTorch 1.4 leaves out "aten::"; 2.x numbers its backward nodes. The exchange of DistributedDataParallel has a name
# from 2.x on, and overlaps with the backward pass; "exchange" is ours, of overlap = off, as is "optimizer.step".
_PYTORCH = {
    "convolution": "conv2d",
    "convolution_backward": "convolution_backward | mkldnn_convolution_backward",
    "fully_connected": "addmm",
    "fully_connected_backward": "AddmmBackward AddmmBackward0",
    "batch_norm": "native_batch_norm",
    "batch_norm_backward": "native_batch_norm_backward",
    "tanh": "tanh",
    "tanh_backward": "tanh_backward",
    "relu": "relu relu_",
    "relu_backward": "threshold_backward",
    "pooling": "avg_pool2d max_pool2d adaptive_avg_pool2d",
    "pooling_backward": "avg_pool2d_backward max_pool2d_with_indices_backward MeanBackward1",
    "loss": "cross_entropy_loss | log_softmax nll_loss",
    "loss_backward": "NllLossBackward LogSoftmaxBackward NllLossBackward0 LogSoftmaxBackward0",
    "weights_update": "optimizer.step",
    "exchange": "exchange gloo:all_reduce",
    "lstm": "mkldnn_rnn_layer | _cudnn_rnn | _thnn_fused_lstm_cell",
    "lstm_backward": "mkldnn_rnn_layer_backward | _cudnn_rnn_backward | _thnn_fused_lstm_cell_backward",
    "sigmoid": "sigmoid sigmoid_",
    "sigmoid_backward": "sigmoid_backward",
}
# MXNet 1.7 and 1.9. With a store the update runs on the servers, of which each worker tells its own place's; the
# exchange's operations overlap and contain waiting for other workers.
_MXNET = _with_backward("_backward_{}", {
    "convolution": "Convolution",
    "fully_connected": "FullyConnected",
    "batch_norm": "BatchNorm",
    "tanh": "Activation/tanh",
    "relu": "Activation/relu",
    "pooling": "Pooling",
    "loss": "log_softmax pick _mul_scalar mean",
    "lstm": "RNN",
    "sigmoid": "sigmoid",
}) | {
    "weights_update": "multi_sgd_update multi_sgd_mom_update adam_update sgd_update sgd_mom_update "
                      "server/multi_sgd_update server/multi_sgd_mom_update server/adam_update",
    "exchange": "KVStoreDistDefaultStoragePushPull KVStoreDistDefaultStoragePush KVStoreDistDefaultStoragePull",
}
# "gradient/" is the backward pass, "optimizer/" the update, "batch_norm/" the parts where no kernel is fused (Keras 3).
# A bias of a convolution and of a dense layer have one name, gradient/BiasAddGrad, so it stands under neither.
_TENSORFLOW = {
    "convolution": "Conv2D _FusedConv2D DepthwiseConv2dNative _MklNativeConv2D _MklNativeFusedConv2D",
    "convolution_backward": "gradient/Conv2DBackpropFilter gradient/Conv2DBackpropInput "
                            "gradient/_MklNativeConv2DBackpropFilter gradient/_MklNativeConv2DBackpropInput "
                            "gradient/_MklNativeConv2DBackpropFilterWithBias",
    "fully_connected": "MatMul _FusedMatMul _MklMatMul _MklNativeFusedMatMul",
    "fully_connected_backward": "gradient/MatMul gradient/_MklMatMul",
    "batch_norm": "FusedBatchNormV3 _MklNativeFusedBatchNormV3 _MklNativeFusedBatchNormEx batch_norm/*",
    "batch_norm_backward": "gradient/FusedBatchNormGradV3 gradient/_MklNativeFusedBatchNormGradV3 "
                           "gradient/batch_norm/*",
    "tanh": "Tanh",
    "tanh_backward": "gradient/TanhGrad",
    "relu": "Relu",
    "relu_backward": "gradient/ReluGrad",
    "pooling": "AvgPool MaxPool _MklNativeAvgPool _MklNativeMaxPool",
    "pooling_backward": "gradient/AvgPoolGrad gradient/MaxPoolGrad gradient/_MklNativeAvgPoolGrad "
                        "gradient/_MklNativeMaxPoolGrad",
    "loss": "SparseSoftmaxCrossEntropyWithLogits",
    "weights_update": "optimizer/*",
    "exchange": "CollectiveReduceV2 HorovodAllreduce",
    "lstm": "BlockLSTM LSTMBlockCell CudnnRNN CudnnRNNV2 CudnnRNNV3",
    "lstm_backward": "gradient/BlockLSTMGrad gradient/LSTMBlockCellGrad gradient/CudnnRNNBackprop "
                     "gradient/CudnnRNNBackpropV2 gradient/CudnnRNNBackpropV3",
    "sigmoid": "Sigmoid",
    "sigmoid_backward": "gradient/SigmoidGrad",
}
# The adapter's scopes; XLA fuses operations across them, and such a kernel stands where its last operation does.
_JAX = _with_backward("gradient/{}", {
    "convolution": "conv/*",
    "fully_connected": "dense/*",
    "batch_norm": "norm/*",
    "tanh": "tanh/*",
    "relu": "relu/* relu6/*",
    "pooling": "pool/* global_pool/*",
    "loss": "loss/*",
    "lstm": "lstm/*",
    "sigmoid": "sigmoid/*",
}) | {
    "weights_update": "optimizer/*",
    "exchange": "exchange/*",
}
WORDS = tuple(_PYTORCH)
NAMES: dict[str, dict[str, tuple[tuple[str, ...], ...]]] = {
    framework: {word: tuple(tuple(f"{before}{name}" for before in begin for name in group.split())
                            for group in names.split("|")) for word, names in of.items()}
    for framework, of, begin in (("pytorch", _PYTORCH, ("", "aten::")), ("tensorflow", _TENSORFLOW, ("",)),
                                 ("mxnet", _MXNET, ("",)), ("jax", _JAX, ("",)))}


def named(framework: str, own: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Seconds by word and own name; what has no word stands under ""."""
    words_by_name: dict[str, str] = {}
    for word, groups in NAMES.get(framework, {}).items():
        seen = ([name for name in own if any(fnmatchcase(name, pattern) for pattern in group)] for group in groups)
        words_by_name |= dict.fromkeys(next(filter(None, seen), []), word)
    named_seconds: dict[str, dict[str, float]] = {}
    for name, seconds in own.items():
        named_seconds.setdefault(words_by_name.get(name, ""), {})[name] = seconds
    return named_seconds


def seconds(framework: str, own: Mapping[str, float]) -> dict[str, float]:
    """Seconds by word."""
    return {word: sum(names.values()) for word, names in named(framework, own).items() if word}
