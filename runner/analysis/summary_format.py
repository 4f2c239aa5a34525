"""summary.json's format: the Summary and its parts, as frozen models; tools.pages publishes its schema."""

from typing import TYPE_CHECKING, Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from runner import schemas
from runner.analysis import doubts, stats
from runner.analysis.flags import Flag
from runner.analysis.result_numbers import NUMBERS
from runner.analysis.stats import Interval, Verdict
from runner.results.lines import says
from runner.study import claims
from runner.study.published import Published
from workloads.spec.measures import TIMED
from workloads.spec.turns import LEAST_TURNS

Unit = Literal["samples/s", "tokens/s", "steps/s"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False,
                              json_schema_serialization_defaults_required=True)


class Machine(_Model):
    """What was measured on. Null: not recorded."""

    cpu: str | None = None
    cpus: Annotated[int | None, says("That the session could use.")] = None
    memory_bytes: int | None = None
    kernel: str | None = None
    system: str | None = None
    hostname: str | None = None


class Data(_Model):
    """A data set that runs read, as they observed it."""

    name: str
    images: Annotated[int | None, says("That one run used.")]
    is_stand_in: bool
    sha256: Annotated[str | None, says("Of the images and labels in the files' order; null for synthetic input.")]


class Column(_Model):
    """A stack and what its runs observed; null where none started."""

    stack: str
    framework: str | None
    version: str | None
    python: str | None
    isolation: Annotated[str | None, says("docker, or venv: a virtual environment on the host.")]
    image: Annotated[str | None, says("Digest of the image that ran.")]
    base: Annotated[str | None, says("The base image, or the host's interpreter.")]
    base_is_default: Annotated[bool | None, says("Whether it is the base that the stack pins.")]
    onednn: bool | None
    threads: int | None


class _Result(_Model):
    """A stack in a comparison, but for its NUMBERS."""

    stack: str
    key: Annotated[str, says("The cell's key: finds its runs in events.jsonl.")]
    endings: Annotated[dict[str, int], says("How many runs ended in each way.")]
    runs: Annotated[int, says("That its numbers are of: ended ok, in rounds that count.")] = 0
    rate_per_worker: Annotated[float | None, says(
        "Geometric mean of the runs' rates, in the comparison's unit; null without an ok run.")] = None
    rate_interval: Annotated[Interval | None, says("Null with fewer than three ok runs.")] = None
    ratio: Annotated[float | None, says(
        "How many times as fast as the baseline; null without a common round, and for the baseline itself.")] = None
    ratio_interval: Annotated[Interval | None, says("That decides the verdict, at 1 - 0.05 / words.")] = None
    pairs: Annotated[int, says("Rounds in which both this stack and the baseline ran ok.")] = 0
    round_ratios: Annotated[tuple[float, ...], says("The ratio of each of them, in order.")] = ()
    verdict: Verdict
    withheld: Annotated[str, says('Why there is no other verdict; "" where there is one, or none is asked for.')] = ""
    turns: Annotated[int, says("Of all runs; 0 where none took turns.")] = 0
    disturbed_turns: Annotated[int, says(
        "Of these, those that lost over 1 % of their time to others, or stood still; they do not count.")] = 0
    flags: tuple[Flag, ...] = ()
    workers: Annotated[int, says("That trained together; 1 on one node, 0 without an ok run.")] = 0
    mode: Annotated[str | None, says("How they did, in the framework's own words; null on one node.")] = None
    step_seconds: Annotated[float | None, says("Of one worker; the geometric mean over runs.")] = None
    step_interval: Interval | None = None
    phases: Annotated[dict[str, float], says(
        "Seconds a step by phase: load, forward, backward, communication, update, dispatch; empty if not "
        "stamped.")] = {}
    communication: Annotated[Literal["exposed", "full"] | None, says(
        "exposed: only what does not overlap with the backward pass; full: all of it.")] = None
    stamping_cost: Annotated[float | None, says(
        "Share by which stamped steps took longer than plain ones of this session; null where those were not "
        "measured.")] = None
    place_peaks: Annotated[dict[str, int], says("Peak bytes by place of a parallel run; empty on one node.")] = {}
    weights_agree: Annotated[bool | None, says(
        "Whether all workers held the same weights after the last step; null on one node, and where none said.")] = None
    loss_first: Annotated[float | None, says(
        "The median over the rounds in which all stacks have one, at the first step that they share; null without "
        "one.")] = None
    loss_last: Annotated[float | None, says("At the last one.")] = None
    tokens_per_second: float | None = None
    tokens_interval: Interval | None = None
    padded_tokens_per_second: float | None = None
    padded_tokens_interval: Interval | None = None
    machine_share: Annotated[float | None, says(
        "FLOPs that the steps need a second, over the best matrix product of the session, which limits says.")] = None
    epochs: Annotated[int | None, says("Of the run that has most; null of other measures.")] = None
    parameters: int | None = None
    rerun: Annotated[str, says('The command that measures it again; "" where it was skipped.')] = ""
    loss_steps: Annotated[tuple[int, int] | None, says(
        "Those two steps, counted from the run's first, warm-up and all.")] = None
    ran_as: Annotated[str | None, says(
        "How its first run said its steps ran, such as eager, jit or tf.function.")] = None
    ran_precision: Annotated[str | None, says(
        "That its first run said it computed in, which loop tuned may choose; null where none said.")] = None


if TYPE_CHECKING:
    class Result(_Result):
        """A stack in a comparison."""

        def __getattr__(self, name: str) -> float | None: ...
else:
    Result = create_model("Result", __base__=_Result, __doc__="A stack in a comparison.", **{
        name: (Annotated[(int if each.is_whole else float) | None, Field(description=each.says or None)], None)
        for name, each in NUMBERS.items()})


class MachineLimit(_Model):
    """The best rate at which a stack of this session multiplied matrices on this machine."""

    device: str
    precision: str
    cpus: Annotated[int, says("Threads; 0 on a GPU.")]
    stack: Annotated[str, says("That was the best at it.")]
    device_name: str
    flops_per_second: float


class Comparison(_Model):
    """The stacks in cells that are equal but for the stack."""

    key: Annotated[str, says("A hash of all that is equal.")]
    experiment: str
    label: str
    unit: Annotated[Unit, says("Of its rates; tokens are counted without padding.")]
    task: str
    measure: Annotated[str, Field(json_schema_extra={"enum": list(TIMED)})]
    settings: Annotated[dict[str, str | int | float], says("Every field of the cell but the stack.")]
    results: tuple[Result, ...]
    winner: Annotated[str | None, says(
        "The stack that is faster than every other one that ran; null where none is shown to be, or it is withheld.")]
    left_out: Annotated[tuple[str, ...], says("Stacks without an ok run, which the winner is not held against.")] = ()
    unproved: Annotated[tuple[str, ...], says("Measured stacks that no check has shown to build the same model.")]


class LaneResult(_Model):
    """A stack as it stands and as its experts would tune it."""

    stack: str
    common_rate: Annotated[float | None, says(
        "Geometric mean of the runs' rates with loop native; null without an ok run.")]
    tuned_rate: Annotated[float | None, says("With loop tuned.")]
    ratio: Annotated[float | None, says("Tuned over common, paired by round; null without a common round.")]
    ratio_interval: Interval | None
    pairs: int
    verdict: Annotated[Verdict, says("Of tuned against common.")]
    withheld: Annotated[str, says('Why there is no other verdict, lane by lane; "" where there is one.')] = ""
    switches: Annotated[dict[str, str], says(
        "loop, layout, precision and attention as the tuned runs had them; empty without an ok run.")]
    endings: Annotated[dict[str, int], says("Of the tuned runs.")]
    first_step_seconds: Annotated[float | None, says("Of the tuned runs, compilation included.")]
    compile_seconds: float | None


class Lanes(_Model):
    """Two comparisons that differ in the loop alone: native and tuned."""

    experiment: str
    label: str
    unit: Unit
    task: str
    common: Annotated[str, says("The comparison's key.")]
    tuned: str
    results: tuple[LaneResult, ...]
    common_winner: Annotated[str | None, says(
        "The stack that is the fastest as it stands; null where none is shown to be.")]
    tuned_winner: str | None
    common_left_out: Annotated[tuple[str, ...], says(
        "Stacks without an ok run in that lane, which its winner is not held against.")] = ()
    tuned_left_out: tuple[str, ...] = ()


class Profile(_Model):
    """Operators of a stack, from profiled runs, which are not timed ones."""

    seconds: Annotated[dict[str, float], says("A step, by the studies' operators.")]
    names: Annotated[dict[str, dict[str, float]], says(
        "The framework's own names behind each, with seconds a step; \"\" holds those of none. Those may contain "
        "each other's time.")]
    rerun: str = ""


class DeviceTime(_Model):
    """Where the time of a step goes on the device, from profiled runs; shares are of the whole of it."""

    kernels: float | None
    copies: float | None
    gaps: Annotated[float | None, says("Neither a kernel nor a copy runs.")]
    launches: Annotated[float | None, says(
        "The host's time of launching kernels; null where the profiler does not tell.")]
    kernels_a_step: float | None
    top: Annotated[dict[str, float], says("Seconds a step of the kernels that take longest, in the first run.")]
    source: Annotated[str, says("Whose record it is, and what it cannot tell.")]
    kernel_seconds: float | None = None
    copy_seconds: float | None = None
    overlap_seconds: float | None = None
    gap_seconds: Annotated[float | None, says("Each of a step; overlap: a kernel and a copy ran at once.")] = None
    top_calls: Annotated[dict[str, float], says("Calls a step of the kernels in `top`.")] = {}
    rerun: str = ""


class GraphChange(_Model):
    """A graph before and after its optimisation."""

    nodes_before: int
    nodes_after: int
    removed: Annotated[dict[str, int], says("Nodes that went, by what they do.")]
    passes: Annotated[dict[str, int], says(
        "How many fewer nodes there are for each optimisation; negative where it added some.")]
    removed_share: Annotated[float | None, says("Of all nodes, net of those that were added.")] = None
    rerun: str = ""


class TriedBatch(_Model):
    """A batch that was tried in a process of its own."""

    batch: int
    ending: str


class LargestBatch(_Model):
    """The largest batch that trains, each tried in a fresh process."""

    largest: Annotated[int, says("0: none does.")]
    smallest_oom: Annotated[int | None, says("Null: none that was tried ran out of memory.")]
    limit_bytes: Annotated[int | None, says("Of the host's memory; null: a GPU's own is the limit.")]
    tried: Annotated[tuple[TriedBatch, ...], says("In the run that decides.")] = ()
    rerun: str = ""


Told = TypeVar("Told", Profile, DeviceTime, GraphChange, LargestBatch)


class ProfileTable(_Model, Generic[Told]):
    """What runs of stacks reported in equal cells."""

    experiment: str
    label: str
    task: str
    stacks: dict[str, Told]


class _OfPaper(_Model):
    differs: Annotated[tuple[str, ...], says("How the cells here differ from the paper's, in words.")] = ()
    stand_ins: Annotated[dict[str, str], says("What ran in place of a subject's stack.")] = {}


class PublishedNumber(_OfPaper, Published):
    """A number of the study, and the same quantity here."""

    ours: Annotated[float | None, says(
        "In the same unit; the mean over cells, of ratios the geometric mean; null without data.")]
    beside: Annotated[float | None, says(
        "Of the quantity that stands beside the paper's own (krisilias: the exchange phase).")] = None
    cells: Annotated[int, says("That ours is computed from.")]
    keys: Annotated[tuple[str, ...], says("Of the results that ours is computed from.")] = ()


class ClaimNumber(_Model):
    """A number that a claim is judged by."""

    what: Annotated[str, says("Whose time, or memory, over whose.")]
    case: Annotated[dict[str, str | int | float], says(
        "Values of the cell fields that tell the claim's cases apart; empty for a mean over them.")]
    value: Annotated[float, says("A ratio, a share, or an mpe.")]
    interval: Annotated[Interval | None, says("Null with fewer than three rounds.")]
    rounds: Annotated[int, says("That it is computed from.")]
    reason: Annotated[str, says('Why nothing is said of it; "" where something is.')] = ""
    low: Annotated[float | None, says("The least value that the claim allows; null: any.")]
    high: Annotated[float | None, says("The greatest.")]
    verdict: claims.Verdict


class JudgedClaim(_OfPaper, claims.Statement):
    """A claim of the study, and whether it holds here."""

    verdict: claims.Verdict
    numbers: tuple[ClaimNumber, ...]
    missing: Annotated[tuple[str, ...], says("Cells without data, with reasons.")]
    beside: Annotated[tuple[ClaimNumber, ...], says(
        "The same of the quantity that stands beside the paper's own (krisilias: the exchange phase).")] = ()


class PaperClaim(_Model):
    """A claim as the paper makes it, of one or more of ours."""

    id: str
    parts: Annotated[tuple[str, ...], says("Ids of ours.")]
    verdict: Annotated[claims.Verdict, says(
        "Holds if all parts do, does not if one does not; else no data where a part has none, or inconclusive.")]


class Failure(_Model):
    """A run that did not end ok."""

    run: str
    stack: str
    label: str
    round: int
    ending: str
    message: str


class Skip(_Model):
    """A cell that the plan left out."""

    experiment: str
    stack: str
    label: str
    reason: str


class Footnote(_Model):
    """What a flag means."""

    flag: Flag
    text: str


# how each number was made
METHODS = {
    "rate_per_worker":
        "for one worker and each run the geometric mean over its undisturbed turns, of their samples (or tokens) over "
        "their seconds (without turns: of all timed steps together); the geometric mean over the ok runs",
    "interval":
        f"95 %, Student's t on the logarithms of the runs; none with fewer than {stats.LEAST_RUNS}; those of ratios "
        "are wider",
    "ratio":
        "rate over the baseline's rate in the same round; the geometric mean over the rounds in which both ended ok; "
        "its interval is Student's t on the log-ratios of these rounds, at 1 - 0.05 / words (Bonferroni), which "
        "looks share: the first may use half of it, the next half of what is left, the last all",
    "verdict":
        "faster or slower only where the ratio's interval excludes 1, and the ratio is at least "
        f"{stats.LEAST_DIFFERENCE * 100:g} % away from it: by chance some verdict is false in at most 5 % of sessions; "
        f"none with fewer than {stats.LEAST_ROUNDS} rounds",
    "withheld": doubts.METHOD,
    "turns":
        "slices of timed steps while the other stacks wait; disturbed where it lost over 1 % of its time to others, or "
        f"stood still; a round counts where each stack has at least {LEAST_TURNS} others",
    "winner": "the stack with the highest rate, where its ratio to every other that ran is shown so to be above 1",
    "step_seconds":
        "of one worker the batch over the rate, of each run; the geometric mean over runs, its interval as a rate's",
    "loss":
        "at the first and the last step (warm-up and all), or epoch, that all stacks of the comparison share; the "
        "median over the rounds in which they do, the same for each stack",
    "tokens_per_second":
        "of one worker of a sequence task: real tokens or time steps of a batch, the mean over all batches, over the "
        "seconds of a step; the geometric mean over runs; padded ones count padding too",
    "phases":
        "seconds a step, the mean over steps and workers, the median over runs; from runs that stamp them, whose "
        "rates are compared among themselves",
    "operators": "by the framework's own profiler, seconds a step of one worker; the median over runs",
    "kernels":
        "by the framework's own profiler, from runs of their own; shares of the steps' time on the device; the median "
        "over runs",
    "graphs": "nodes of the graph that the framework really ran, counted before and after; of the first ok run",
    "largest_batches":
        "doubled, then halved between the largest that trained and the smallest that did not; the least of the runs",
    "place_peaks":
        "the peak of the place's control group, page cache and helper processes included (in virtual environments the "
        "worker's resident memory); the median over runs",
    "claims":
        "ratios paired by round, with intervals as ratios have them, for as many verdicts as the claim has cases: it "
        "holds where all of them lie wholly on its side, and does not where one lies wholly on the other; "
        f"inconclusive with fewer than {stats.LEAST_ROUNDS} rounds, for times of a stack whose verdict is withheld, "
        "and for accuracies of one seed; no data where a cell is missing and no case contradicts",
    "lanes":
        "loop tuned over loop native of the same stack in the same rounds, as ratios of stacks are; switches are what "
        "the first tuned run that ended ok said",
    **{name: f"{each.says}; the median over runs" for name, each in NUMBERS.items() if each.says},
}


class Summary(_Model):
    """What a session found. Raw samples stay in events.jsonl beside it."""

    schema_: int = Field(schemas.SUMMARY, alias="schema", json_schema_extra={"const": schemas.SUMMARY},
                         description="Version of this format.")
    id: str
    study: str
    scale: str | None
    evenbench: Annotated[str | None, says("Version that measured.")]
    began: Annotated[str | None, says("ISO 8601.")]
    is_complete: Annotated[bool, says("Whether the session ran to its end.")]
    machine: Machine
    data: tuple[Data, ...]
    launcher: str | None
    seed: Annotated[int | None, says("Of the order of the runs.")]
    rounds: int
    baseline: Annotated[str, says("The stack that ratios are taken to.")]
    words: Annotated[int, says(
        "That the plan could say: of each stack against the baseline, of the fastest, and of lanes.")] = 1
    columns: Annotated[tuple[Column, ...], says("The stacks, the baseline first.")]
    comparisons: tuple[Comparison, ...]
    failures: tuple[Failure, ...]
    skipped: tuple[Skip, ...]
    operators: tuple[ProfileTable[Profile], ...]
    kernels: tuple[ProfileTable[DeviceTime], ...]
    graphs: tuple[ProfileTable[GraphChange], ...]
    largest_batches: tuple[ProfileTable[LargestBatch], ...]
    published: Annotated[tuple[PublishedNumber, ...], says("What the study printed; never used for ours.")]
    claims: tuple[JudgedClaim, ...]
    paper_claims: tuple[PaperClaim, ...]
    footnotes: Annotated[tuple[Footnote, ...], says("Of the flags that are set.")]
    methods: Annotated[dict[str, str], says("How each number was made.")]
    limits: Annotated[tuple[MachineLimit, ...], says("What shares of the machine are shares of.")] = ()
    lanes: Annotated[tuple[Lanes, ...], says("Empty where no cell was measured in both loops.")] = ()
