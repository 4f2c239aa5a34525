"""What workers' lines say: a model an event, by which they are read. Pure.

A key without a default stands in every such line. The host adds `place` where a run has many places. `python -m tools
pages` writes the schema of all.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    InstanceOf,
    ValidationError,
    create_model,
    model_validator,
)

Facts = Mapping[str, Any]
Text = InstanceOf[str]                                   # half surrogates, too
Object = InstanceOf[dict]                                # type: ignore[type-arg]
Number = float                                           # finite: of the models' configuration
Count = Annotated[int, Field(ge=0, lt=2**62)]
Positive = Annotated[int, Field(ge=1, lt=2**62)]
Seconds = Annotated[float, Field(ge=0)]
Readings = dict[str, float | None]                       # what was not measured is null or absent
_Top = Annotated[tuple[Text, Count, Seconds], Field(strict=False)]       # a list, in JSON


def says(text: str) -> Any:
    """What a key tells, with its unit where its name has none."""
    return Field(description=text)


class Line(BaseModel):
    """Values of a line or a record; unknown keys are passed over."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> Self:
        """What the line says. Raises ValueError of one line."""
        try:
            return cls.model_validate(line)
        except ValidationError as error:
            raise ValueError(_mistake(error)) from error


_WORDS = {"Input should be an instance of str": "text", "Input should be an instance of dict": "an object"}


def _mistake(error: ValidationError) -> str:
    """The first mistake, in one line."""
    first = error.errors()[0]
    where = f'key "{".".join(map(str, first["loc"]))}"'
    if first["type"] == "missing":
        return f"{where} is missing"
    if first["type"] == "value_error":
        return f"{where}: {first['ctx']['error']}" if first["loc"] else str(first["ctx"]["error"])
    expected = _WORDS.get(first["msg"]) or first["msg"].removeprefix("Input should be ")
    return f"{where}: found {first['input']!r:.40}, expected {expected}"


class Event(Line):
    """A line."""

    place: Text = ""


class Told(Event):
    """A line of which a coordinator says whose it is."""

    worker: Annotated[Count | None, says("whose steps, where a coordinator tells of its workers")] = None


class Data(Line):
    """What was read."""

    name: Text | None = None
    stand_in: bool | None = None
    sha256: Text | None = None
    images: Count | None = None
    pass_tokens: Annotated[list[Positive], says("of each batch of a pass over sequences")] = []


class StartFacts(Line):
    """What a worker observed, not what it was asked for. Those that have a default are of some stacks or measures."""

    framework: Text
    version: Text
    build: Annotated[Text, says("what the framework says that it was built with")]
    device: Annotated[Text, says("as the framework names it")]
    threads: Annotated[Count | None, says("of an operator, as the framework says or the process shows")]
    inter_op_threads: Annotated[Count, says("operators that may run at once")]
    onednn: Annotated[bool | None, says("whether oneDNN computes here")]
    cuda: Annotated[Text | None, says("its version; a GPU's cells, as the five below")] = None
    cudnn: Annotated[Text | Count | None, says("its version")] = None
    compute_capability: Text | None = None
    tf32: Annotated[Object, says("by switch: whether the framework may round products to TF32")] = {}
    cudnn_benchmark: Annotated[bool, says("whether cuDNN searches for its algorithms")] = False
    cudnn_deterministic: Annotated[bool, says("whether it takes none whose sums vary")] = False
    numpy: Annotated[Text, says("its version")] = ""
    loop: Annotated[Text, says("what the cell's loop became; so layout and precision")] = ""
    layout: Text = ""
    precision: Text = ""
    data: Data | None = None
    loading: Annotated[Text, says("how batches are loaded")] = ""
    attention: Annotated[Text, says("what computes it in a transformer")] = ""
    lstm: Annotated[Text, says("the operation that runs an LSTM layer, as the framework's profiler sees it")] = ""
    lstm_weights: Annotated[Text, says("whether its arrays are one buffer, on a GPU")] = ""
    mode: Annotated[Text, says("how a parallel run exchanges, in the framework's words")] = ""
    communication: Annotated[Text | None, says('"exposed", what the backward pass does not hide, or "full"')] = None
    python: Annotated[Text, says("its version")]
    libc: Annotated[Text, says("its name and version")]
    affinity: Annotated[list[Count], says("the CPUs that the process may use")]
    cpu: Annotated[Text | None, says("the processor's name")]
    cpu_features: Annotated[list[Text], says("of its vector instructions")]
    environment: Annotated[Object, says("the variables that may move a result")]
    cpu_quota: Annotated[Number | None, says("how many CPUs' time its control group may use")]
    openmp: Annotated[Text, says("the OpenMP libraries that it has loaded")]
    foreign_libraries: Annotated[list[Text], says("libraries that it has loaded by LD_LIBRARY_PATH or LD_PRELOAD, each "
                                                  "with its size and when it was changed, in Unix's seconds")] = []
    allocators: Annotated[list[Text], says("allocators beside the C library's that are installed")]
    left_off: Annotated[list[Text], says("fast paths that the framework left off here by itself, with their "
                                         "switches")] = []
    executable: Annotated[Text, says("the interpreter's path")]
    kernel_cache: Annotated[Text, says('"none", "empty" or "filled": GPU code that the driver compiled earlier')]
    packages: Annotated[Object, says("version and digest by name, in an environment of the user's own")] = {}


# what a summary has of them is of its kind, where it is there
_of_summary: dict[str, Any] = {name: (StartFacts.__annotations__[name] | None, None)
                               for name in ("framework", "version", "python", "onednn", "threads", "data")}
_ReadFacts = create_model("_ReadFacts", __base__=Line, **_of_summary)


def _facts(facts: dict[str, Any]) -> dict[str, Any]:
    _ReadFacts.read(facts)
    return facts


class Start(Event):
    """Once; before it only `beat`: the data are read, the model is built, nothing was computed yet."""

    facts: Annotated[Object, AfterValidator(_facts), says("what the worker sees: StartFacts")]
    parameters: Annotated[Count | None, says("numbers that the optimizer updates; null in measure product")] = None
    flops: Annotated[Number | None, says("of a step, by the task's table; the padding of sequences counted too; none "
                                         "of a model of the user's own")] = None
    needed_flops: Annotated[Number | None, says("of a step without the padding; sequence tasks")] = None
    cpu_seconds: Annotated[Number | None, says("of the worker and all that descends from it, so far")] = None


class Beat(Event):
    """Now and then while nothing else can be told for long, as in warm-up: only that the run goes on."""


class Waiting(Event):
    """Where a worker that listens waits for the runner's word; not stored."""

    at: Annotated[Text, says("imported, or built: after the first step")]
    forks: Annotated[bool, says("whether a child of it may run a cell that it is told, while it waits")] = False


class Warm(Told):
    """When the warm-up of timed steps is over, in several lines where it is very long; not where there is none."""

    seconds: Annotated[list[Seconds], says("of each step, the first with all that is built or compiled")]
    ended: Annotated[Literal["fixed", "steady", "limit"] | None, says(
        '"fixed", as many steps as the cell says; "steady"; or "limit", long enough without being steady; in the last '
        "line of a very long one")] = None


class Values(Told):
    """Ahead of a line of steps that would be too long: what it leaves out."""

    phases: Annotated[dict[str, list[Number]], says(
        "seconds of each step by phase: load, forward, backward, communication, update, dispatch")] = {}
    loss: Annotated[list[Number | None], says("of each step, null for one that is not finite; none where it infers")
                    ] = []


class TurnTaken(Line):
    """The machine in a turn, from before its lead to the end of its timed steps."""

    index: Count = 0
    process: Annotated[Count, says("the worker's number as it sees itself")] = 0
    lead_steps: Count = 0
    seconds: Annotated[Seconds, says("from one reading of the machine to the other")]
    cpus: Annotated[Count, says("that the worker may use")]
    own_seconds: Annotated[Seconds, says("of their CPU seconds the worker's own")]
    busy_seconds: Annotated[Seconds, says("of all programs")]
    stolen_seconds: Annotated[Seconds, says("of the host's other guests")]
    waited_seconds: Annotated[Seconds | None, says(
        "that its threads together were ready and had no CPU; null where the kernel does not count them")] = None
    usual_ready: Annotated[Seconds | None, says(
        "how many of its threads run or are ready on average: the median of its warm-up and the turns before; null "
        "where there were none")] = None
    taken_seconds: Annotated[Seconds | None, says(
        "of CPU time that others took, as the runner saw them by process; null where it sees none")] = None
    has_ended: Annotated[bool, says("whether a program ended meanwhile, whose time is in busy_seconds alone")] = False
    beside_seconds: Annotated[Seconds, says(
        "of busy_seconds, what the run's other places took that share these CPUs; the host adds it")] = 0.0


class Parts(Line):
    """About 20 parts of the one sample of sync = end."""

    seconds: list[Seconds]
    counts: list[Positive]
    device_seconds: list[Seconds] = []

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _alike(len(self.counts), len(self.seconds), "length of counts")
        return self


class Steps(Values):
    """About once a second, and after the last timed step: the samples of a block of timed steps; or of a turn."""

    first: Annotated[Count, says("the first of these steps, from 0")] = 0
    turn: TurnTaken | None = None
    before: Annotated[Count | None, says("steps that the worker had taken before these, warm-up and leads too")] = None
    seconds: Annotated[list[Seconds], says(
        "the samples: of each step; of each block with sync = blocks; one of all steps with sync = end")]
    count: Annotated[Count | None, says("steps that the samples cover; without it as many as there are samples")] = None
    counts: Annotated[list[Positive] | None, says("steps that each sample covers; sync = blocks")] = None
    blocks: Parts | None = None
    # made, not copied: a session has a hundred thousand such lines
    device_seconds: Annotated[list[Seconds], says("the same samples by the device's own clock, where it has one")
                              ] = Field(default_factory=list)
    is_part_of_pass: Annotated[bool, says(
        "true where it was the last line, and a pass over batches that are not alike was longer than timed steps may "
        "last")] = False
    compiled: Annotated[Count, says("programs that the framework compiled within these steps")] = 0
    drain_seconds: Annotated[Number, says(
        "that reading the last loss still took once its step was said to be over")] = 0.0

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _alike(len(self.sample_steps), len(self.seconds), "length of counts")
        if self.count is not None:
            _alike(self.count, sum(self.sample_steps), "count")
        if self.blocks:
            _alike(sum(self.blocks.counts), sum(self.sample_steps), "steps in blocks")
        return self

    @property
    def sample_steps(self) -> list[int]:
        """The number of steps in each of the samples: one each, all in one, or as "counts" says."""
        if self.counts is not None:
            return self.counts
        return [self.count] if self.count is not None and len(self.seconds) == 1 else [1] * len(self.seconds)


def _alike(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise ValueError(f"{what}: found {found}, expected {expected}")


class Epoch(Told):
    """After each epoch, in measure epochs."""

    index: Annotated[Count, says("from 0")] = 0
    steps: Annotated[Count, says("of the epoch")]
    train_seconds: Annotated[Seconds, says("from the first batch to the end of the last step")]
    loss: Annotated[Number, says("the mean over the steps")]
    validation_seconds: Annotated[Number | None, says("null where there is nothing to classify")] = None
    accuracy: Annotated[Number | None, says("share of the held-out images")] = None
    confusion: Annotated[list[Any], says("images by true class, then by predicted class")] = []


class Operators(Event):
    """Once, in measure operators."""

    steps: Annotated[Count, says("that were profiled")]
    operators: Annotated[dict[str, Annotated[list[Seconds], Field(min_length=2, max_length=2)]], says(
        "[calls, seconds] over all these steps by the framework's own name")]


class Profiled(Event):
    """Once, in the measures of parts: where the time of steps went; seconds are sums over the profiled steps."""

    steps: Annotated[Positive, says("that were profiled")]
    seconds: Annotated[Seconds, says("of these steps, waited for one by one")]
    input_seconds: Annotated[Seconds, says("of them until a batch was there")]
    operators: Annotated[dict[str, Seconds], says(
        "by the framework's own name, by the wall: where several ran at once, each has its part of that time; "
        '"optimizer/" stands before those of an update, "input/" before those until a batch was there, "host/" before '
        "what a host did while none ran")]
    names: Annotated[list[Text], says("that spans have")] = []
    spans: Annotated[list[Annotated[list[Count], Field(min_length=4, max_length=4)]], says(
        "of the last step: thread, the place of its name in names, nanoseconds since the step began, nanoseconds")] = []


class Kernels(Event):
    """Once, in measure kernels: where a device's time went; seconds are sums over the profiled steps."""

    steps: Annotated[Positive, says("that were profiled")]
    kernel_seconds: Annotated[Seconds, says("at least one kernel ran on the GPU")]
    copy_seconds: Annotated[Seconds, says("at least one copy or fill of memory ran")]
    overlap_seconds: Annotated[Seconds, says("a kernel and a copy ran at once")] = 0.0
    gap_seconds: Annotated[Seconds, says("neither ran")]
    launch_seconds: Annotated[Seconds | None, says("the host launched kernels; null where nobody tells")]
    kernels: Annotated[Count, says("how many ran")]
    top: Annotated[list[_Top], says("name, calls and seconds of the 20 kernels that took longest")] = []
    source: Annotated[Text, says("whose record it is, and what that cannot tell")] = ""

    def share(self, seconds: float | None) -> float | None:
        """The share of all seconds; None where there are none."""
        whole = self.kernel_seconds + self.copy_seconds - self.overlap_seconds + self.gap_seconds
        return seconds / whole if seconds is not None and whole else None


class Removed(Line):
    """Nodes that optimising a graph took away, by what they do (dai2022, Table 6)."""

    expensive: Count
    cheap: Count
    noop: Count


class Passes(Line):
    """The nodes that each optimisation removed; negative where it added some."""

    pruning: int
    constant_folding: int
    arithmetic: int
    dependency: int


class Graph(Event):
    """Once, in measure graph: the graph of a training step before and after its optimisation."""

    nodes_before: Annotated[Positive, says("as it was built")]
    nodes_after: Annotated[Count, says("after the framework's optimisers")]
    removed: Removed
    passes: Passes
    nodes_run: Annotated[Count | None, says("that the session ran, its own included")] = None

    @property
    def removed_share(self) -> float:
        """The share of nodes that went, net of those that were added."""
        return 1 - self.nodes_after / self.nodes_before


class Tensor(Event):
    """Once for each array, in measure check."""

    kind: Annotated[Text, says("activation, gradient, weight, statistic, logits, loss; decoded: logits by a cache; "
                               "inferred: logits in evaluation mode")]
    name: Annotated[Text, says("the array's canonical name, or a place's path")]
    shape: list[Count]
    norm: Annotated[Number | None, says("its length; null where that is not finite")]
    sketch: Annotated[Text, says("its sums in buckets under seeded signs: float64, little-endian, base64")]
    from_whole: Annotated[Number | None, says(
        "of kind decoded: its relative difference from a pass over the whole sequence")] = None


class Harness(Event):
    """After each pair of blocks, in the measures behind bench-self."""

    reported: Annotated[Seconds, says("our block by its own samples")]
    wall: Annotated[Seconds, says("our block by the wall")]
    bare: Annotated[Seconds, says("the hand-written block")]
    steps: Annotated[Count, says("of each block")]


class Block(Event):
    """Once for each size and type, in measure product: products of (size, size) matrices."""

    numbers: Annotated[Text, says("float32, float64 or bfloat16")]
    size: Positive
    count: Annotated[Positive, says("products a block")]
    seconds: Annotated[list[Annotated[float, Field(gt=0)]], says("of each block")]

    @property
    def flops_per_second(self) -> float:
        """The FLOPs a second of the fastest block, 0 without blocks. A multiply-add counts as 2."""
        return 2.0 * self.size**3 * self.count / min(self.seconds) if self.seconds else 0.0


class Tried(Line):
    """A batch that was tried in a process of its own."""

    batch: Positive
    ending: Text
    message: Text = ""
    seconds: Seconds
    peak_bytes: Count | None


class MaxBatch(Event):
    """Once, in measure max_batch."""

    largest: Annotated[Count, says("the largest batch that trained; 0: none")]
    smallest_oom: Annotated[Positive | None, says("the smallest that was seen not to; null: none")]
    limit_bytes: Annotated[Positive | None, says("of the host's memory; null: the GPU's own is the limit")]
    tried: list[Tried]


class Loaded(Event):
    """Once, of a user's own file that was checked; not stored."""

    modules: Annotated[list[Text], says("the top names of all that the process has imported")]


class Weights(Event):
    """Once, after the last step of a parallel run."""

    sha256: Annotated[Text, says("of what the optimizer updates: alike in all workers of a synchronous run")]


class Compiled(Event):
    """Once, after the last step, where the framework says what it compiled in this process."""

    programs: Count
    seconds: Annotated[Seconds, says("of the compiler")]
    tracing_seconds: Annotated[Seconds, says("of what the framework did before it, from Python to its input")] = 0.0


class End(Event):
    """Once, last."""

    status: Literal["ok", "oom", "unsupported", "not_finite", "error"]
    message: Annotated[Text, says("why; empty where all is well")]
    peak_bytes: Annotated[Number | None, says("the most memory that the process held")] = None
    group_peak_bytes: Annotated[Number | None, says(
        "the most that its control group ever held, helpers and page cache too; null of a worker's child, beside which "
        "the group had others")] = None
    cpu_seconds: Annotated[Number | None, says("of the worker and all that descends from it")] = None
    throttling: Annotated[Readings | None, says(
        "periods and throttled_periods of its CPU quota; null without one")] = None
    allocator_peak: Annotated[Object | None, says("bytes, allocated and reserved: the most that the framework's own "
                                                  "allocator held on a GPU")] = None
    gpu_libraries: Annotated[Object | None, says("versions of cuDNN, CUDA's runtime and NCCL that a GPU's run loaded, "
                                                 "as they say themselves")] = None
    places: Annotated[None, says("never: the host alone tells of places")] = None


def usage(said: Facts) -> dict[str, Any]:
    """Of an End's values what a record keeps beside the host's readings: memory, and throttled CPU periods."""
    throttling, held = said.get("throttling") or {}, said.get("allocator_peak") or {}
    return {"peak_bytes": said.get("peak_bytes"), "group_peak_bytes": said.get("group_peak_bytes"),
            "periods": throttling.get("periods"), "throttled_periods": throttling.get("throttled_periods"),
            **{f"gpu_{kind}_bytes": held[kind] for kind in ("allocated", "reserved")
               if isinstance(held.get(kind), int)}}


# by the name that a line's "event" has, in the order in which a run can send them
EVENTS: dict[str, type[Event]] = {
    "start": Start, "beat": Beat, "waiting": Waiting, "warm": Warm, "values": Values, "steps": Steps, "epoch": Epoch,
    "operators": Operators, "parts": Profiled, "kernels": Kernels, "graph": Graph, "tensor": Tensor, "harness": Harness,
    "product": Block, "max_batch": MaxBatch, "weights": Weights, "loaded": Loaded, "compiled": Compiled, "end": End}
