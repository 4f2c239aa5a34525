"""The kinds of what a step's time goes into, the same in all frameworks, and the profilers' names behind them. Pure.

A worker tells for how long each of its framework's operators ran, by the wall: where several run at once, each gets its
share of that time, so all parts add up to the steps. Names have "optimizer/" before them within the update. The first
pattern that a name fits says its kind; one that fits none is unexplained.
`python -m runner.analysis.step_parts` prints the table of docs/why.md.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

INPUT, WAITING, DISPATCH, UNEXPLAINED = "input", "waiting", "dispatch", "unexplained"
# of all frameworks, asked first: what the thread of the steps does, and a framework between operators
_HOST = {INPUT: "input input/* host/*Iterator*", WAITING: "host/*wait* host/*Wait* host/*BlockUntilReady*",
         DISPATCH: "host/*"}
# what runs: by kind, the patterns of each framework; a kind earlier in a table is asked first
_PYTORCH: dict[str, str] = {
    "optimizer": "optimizer/* Optimizer.*",
    "convolutions": "[!g]*conv*",
    "products": "*mm *addmv* *linear* *matmul* *dot* *scaled_dot_product* *flash_attention*",
    "norms": "*norm*",
    "recurrent": "*lstm* *rnn* *gru*",
    "elementwise": """
        *softmax* *tanh* *relu* *gelu* *sigmoid* *silu* *threshold* *dropout* *nll_loss* aten::add*
        aten::sub* aten::mul* aten::div* aten::neg aten::pow* *sqrt* aten::exp aten::log aten::where
        *masked* aten::eq aten::ne aten::lt aten::gt aten::le aten::ge *bernoulli* *random* *normal_
        graph_*cpp_fused*
    """,
    "pooling": "*pool* *sum* *mean* *max* *min*",
    "copies": """
        *copy* *contiguous* *clone* *cat *index* *embedding* *gather* *scatter* *fill* *zero* *empty*
        *resize* aten::arange aten::ones* aten::scalar_tensor
    """,
    "communication": "*gloo* *nccl* exchange",
    DISPATCH: """
        autograd::* *Backward* *Compiled* *Dynamo* torch::* *view* *reshape* *transpose* *permute* *expand*
        *squeeze* aten::t *detach* *to *result_type* *split* *unbind* *cross_entropy* *select* *slice* *narrow*
        *as_strided* *alias* *item* *chunk* *flatten* *is_*
    """,
}
_TENSORFLOW: dict[str, str] = {
    "optimizer": "optimizer/*",
    "convolutions": "*Conv2D* *DepthwiseConv* xla/*convolution*",
    "products": "*MatMul* *Einsum* xla/*dot* xla/*ynn*",
    "norms": "*BatchNorm* *batch_norm/* *LayerNorm*",
    "recurrent": "*LSTM* *RNN*",
    "elementwise": """
        *Softmax* *Tanh* *Relu* *Elu* *Sigmoid* *Erf* *Add *AddV2 *AddN *Sub *Mul *Div* *Neg *Pow *Sqrt*
        *Rsqrt* *Square* *Exp *Log* *Select* *Equal *Less* *Greater* *BiasAdd* *Maximum *Minimum *Random*
        *Fused* *Reciprocal *ArgMax xla/*add* xla/*sub* xla/*mul* xla/*div* xla/*tanh* xla/*exp* xla/*max*
        xla/*select* xla/*compare* xla/*rsqrt* xla/*log* xla/*convert*
    """,
    "pooling": "*Pool* *Sum *Mean *Max *Min xla/*reduce*",
    "copies": """
        *Transpose *Concat* *Pad* *Gather* *Slice* *Split* *Pack *Tile *ReadVariableOp *Assign* *Identity*
        *Const *Fill *ZerosLike *OneHot *Scatter* *Cast *ToTf *Memcpy* *Copy* xla/*
    """,
    "communication": "*Collective* *Horovod*",
    DISPATCH: """
        *Shape *Reshape *ExpandDims *Squeeze *NoOp *_Arg *_Retval *Switch *Merge *Call *Range *Send *Recv
        *Function* *BroadcastGradientArgs *StridedSliceGrad _XlaRun __inference*
    """,
}
_MXNET: dict[str, str] = {
    "optimizer": "optimizer/* *_update *adam* *sgd*",
    "convolutions": "*Convolution*",
    "products": "*FullyConnected* *dot* *matmul*",
    "norms": "*Norm*",
    "recurrent": "*RNN*",
    "elementwise": """
        *softmax* *Activation* *tanh* *relu* *gelu* *LeakyReLU* *sigmoid* *erf* *add* *plus* *sub* *minus*
        *mul* *div* *negative* *power* *sqrt* *square* *exp *log* *where* *Dropout* *equal* *lesser*
        *greater* *broadcast* *clip*
    """,
    "pooling": "*Pooling* *sum* *mean* *max *min",
    "copies": """
        *Copy* *copy* *transpose* *Concat* *slice* *Embedding* *take* *pick* *zeros* *ones* *full*
        *set_value* *SetValue* *Cast* *stack* *split* *gather*
    """,
    "communication": "KVStore*",
    DISPATCH: "WaitForVar DeleteVariable *Reshape* *reshape* *expand_dims* *Flatten* *identity*",
}
# the last part is XLA's operation, the one that ends a fusion
_JAX: dict[str, str] = {
    "optimizer": "optimizer/*",
    "convolutions": "*conv_general_dilated* *convolution* conv/dot_general gradient/conv/dot_general",
    "products": "*dot_general* dot* *ynn* *matmul*",
    "norms": "norm/* gradient/norm/* *layer_norm* *norm/*",
    "recurrent": "lstm/* gradient/lstm/*",
    "elementwise": """
        */tanh */add* */sub */mul */div */neg */max */min */exp* */log* */sqrt */rsqrt */integer_pow */pow
        */square */erf* */logistic */select* */eq */lt */gt */ge */le */ne */and */or */xor */shift*
        */random* */iota */threefry* */stop_gradient */abs */sign */argmax add* multiply* subtract* divide*
        exponential* select* compare* tanh* maximum*
    """,
    "pooling": """
        *reduce_window* *select_and_scatter* *reduce_sum* *reduce_max* *reduce_and* *pool/* *reduce-window*
        reduce*
    """,
    "copies": """
        *copy* *transpose* *gather* *scatter* *concatenate* *slice* *pad* *broadcast* *convert* *reshape*
        bitcast* *squeeze*
    """,
    "communication": "exchange/* *all_reduce* *psum*",
}
NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    framework: {kind: tuple(patterns.split()) for kind, patterns in of.items()} for framework, of in (
        ("all", _HOST), ("pytorch", _PYTORCH), ("tensorflow", _TENSORFLOW), ("mxnet", _MXNET), ("jax", _JAX))}
KINDS = (INPUT, WAITING, DISPATCH, *(kind for kind in _PYTORCH if kind != DISPATCH), UNEXPLAINED)


class Parts(NamedTuple):
    """What a step's time goes into, in seconds a step; they add up to the profiled step's."""

    seconds: float                     # of a profiled step
    by_kind: Mapping[str, float]
    timed: float                       # of a step that nobody profiled

    @property
    def cost(self) -> float:
        """How many times as long as a plain step the profiled one took; 1.0 where nobody timed a plain one."""
        return self.seconds / self.timed if self.timed else 1.0

    def of(self, kind: str) -> float:
        """The seconds of a kind."""
        return self.by_kind.get(kind, 0.0)

    def record(self) -> dict[str, object]:
        """For programs."""
        return {"seconds": self.seconds, "timed_seconds": self.timed, "by_kind": dict(self.by_kind)}


def parts(framework: str, seconds: float, own: Mapping[str, float], timed: float) -> Parts:
    """The parts of a step; seconds by our clock, own by the profiler's and its names, by the wall.

    What the profiler saw nothing in is unexplained, and so is what has a name of no kind.
    """
    by_kind = {UNEXPLAINED: max(0.0, seconds - sum(own.values()))}
    for name, spent in own.items():
        found = kind(framework, name)
        by_kind[found] = by_kind.get(found, 0.0) + spent
    return Parts(seconds, by_kind, timed)


def kind(framework: str, name: str) -> str:
    """The kind of an operator by its profiler's name."""
    patterns = [*NAMES["all"].items(), *NAMES.get(framework, {}).items()]
    return next((each for each, of_kind in patterns if any(fnmatchcase(name, one) for one in of_kind)), UNEXPLAINED)


def table() -> str:
    """The patterns by kind, as Markdown."""
    rows = [f"| {each} | {' | '.join(' '.join(f'`{one}`' for one in of.get(each, ())) for of in NAMES.values())} |"
            for each in KINDS if any(each in of for of in NAMES.values())]
    return "\n".join([f"| kind | {' | '.join(NAMES)} |", "|---" * (len(NAMES) + 1) + "|", *rows])


if __name__ == "__main__":
    print(table())
