"""The classes of TensorFlow's operations by what they compute, as dai2022's Table 6 names them.

    expensive   convolution, matrix product, Fourier transform, RNN
    cheap       other arithmetic: element-wise, reductions, pooling, normalisation, updates, random numbers
    noop        no arithmetic: Const, Assign, Identity, Shape, Reshape, Enter, Switch and the like: all the rest

The study's own lists are not published: which operation counts as cheap is this suite's reading of "element-wise
arithmetic". Python 3.6 and later, standard library only.
"""
CLASSES = ("expensive", "cheap", "noop")

_EXPENSIVE = ("Conv2D", "Conv3D", "DepthwiseConv2d", "DepthwiseConv", "MatMul", "BatchMatMul", "SparseMatMul",
              "SparseTensorDenseMatMul", "Einsum", "FFT", "IFFT", "RFFT", "IRFFT", "CudnnRNN", "LSTMBlock", "BlockLSTM",
              "GRUBlock", "_FusedConv2D", "_FusedMatMul")                         # how the names begin
_CHEAP = frozenset("""
    Abs Acos Add AddN AddV2 All Any ApproximateEqual ArgMax ArgMin Asin Atan AvgPool AvgPoolGrad BiasAdd BiasAddGrad
    BiasAddV1 Cast Ceil ClipByValue Cos Cumprod Cumsum CTCLoss CTCLossV2 Div DivNoNan Elu EluGrad Equal Erf Erfc Exp
    Expm1 Floor FloorDiv FloorMod FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3
    FusedBatchNormV2 FusedBatchNormV3 Greater GreaterEqual Inv InvGrad IsFinite IsInf IsNan L2Loss LeakyRelu
    LeakyReluGrad Less LessEqual Log Log1p LogicalAnd LogicalNot LogicalOr LogSoftmax Max Maximum MaxPool MaxPoolGrad
    MaxPoolV2 Mean Min Minimum Mod Mul MulNoNan Neg NotEqual Pow Prod RandomStandardNormal RandomUniform
    RandomUniformInt RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Rint Round Rsqrt RsqrtGrad
    SegmentSum Select SelectV2 Selu SeluGrad Sigmoid SigmoidGrad Sign Sin Softmax SoftmaxCrossEntropyWithLogits Softplus
    SoftplusGrad Softsign SparseSoftmaxCrossEntropyWithLogits Sqrt SqrtGrad Square SquaredDifference Sub Sum Tan Tanh
    TanhGrad TruncateDiv TruncatedNormal UnsortedSegmentSum Xdivy Xlogy _FusedBatchNormEx
    ApplyAdam ApplyGradientDescent ApplyMomentum AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp
    ResourceApplyAdam ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum ResourceScatterAdd
    ScatterAdd ScatterSub
""".split())


def kind(operation):
    """The class of an operation of that type."""
    if operation.startswith(_EXPENSIVE):
        return "expensive"
    return "cheap" if operation in _CHEAP else "noop"


def counted(operations):
    """{class: how many} of operations' types."""
    kinds = [kind(operation) for operation in operations]
    return {name: kinds.count(name) for name in CLASSES}
