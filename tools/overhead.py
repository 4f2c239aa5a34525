"""What evenbench itself costs: its training loop against a bare one, and its start against the framework's.

And whether our models are as fast as those that a framework's users take: by turns with the peer library's in one
process, training and inference, each with the loop that one writes by hand.
"""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from runner.analysis import stats
from runner.errors import InputError
from runner.launchers.protocol import Launcher
from runner.launchers.watchdog import Ending, Limits, follow, followed
from runner.stacks.definition import PinnedStack, Stack
from tools import peers as libraries
from workloads.spec import sequence_tasks, tasks
from workloads.spec.cell import Cell
from workloads.spec.measures import GENERATING, HARNESSES

HARNESS_GOAL = 1.01          # of the bare loop's time
START_GOAL_SECONDS = 1.0     # more than the framework's own import and first step
_STEPS_A_BLOCK = 40          # LeNet-5's steps take 3 to 15 ms: blocks of some tenths of a second
_BLOCKS = 12                 # of each kind in a process
PEER_GOAL = 1.0              # of the peer's images a second
_PEER_BLOCKS = 6


class Size(NamedTuple):
    """What a model is compared on; a block of so many steps takes 0.5 to 1 s on two cores."""

    batch: int
    image: int
    train_steps: int
    infer_steps: int
    optimizer: str = "sgd"


SIZES = {
    "resnet50": Size(4, 64, 5, 20),
    "resnet50_v1": Size(4, 64, 5, 20),
    "vgg16": Size(1, 224, 1, 4),             # torchvision's head is made for 224 pixels
    "mobilenetv2": Size(8, 96, 5, 24),
    "vit_b16": Size(1, 224, 1, 4),           # as published
    "bert": Size(8, 0, 20, 60),              # the small preset, as the next ones
    "gpt2": Size(4, 0, 20, 60, "adamw"),
    "llama": Size(4, 0, 2, 6, "adamw"),
    "lstm": Size(64, 0, 100, 300),
}
# By framework the libraries, and the tasks that each has a model for. ResNet-50 is v1.5 in torchvision and
# transformers, v1 elsewhere. What else differs stands in each bare.py: VGG16 and MobileNetV2 of Keras and MobileNetV2
# of Gluon have no dropout; ResNet-50 of both has biases before normalisations
PEERS: dict[str, dict[str, tuple[str, ...]]] = {
    "pytorch": {"torch.nn": ("lstm",), "torchvision": ("resnet50", "vgg16", "mobilenetv2"),
                "transformers": ("resnet50", "bert", "gpt2", "llama", "vit_b16")},
    "tensorflow": {"keras.layers": ("lstm",), "keras.applications": ("resnet50_v1", "vgg16", "mobilenetv2"),
                   "keras-hub": ("gpt2", "llama", "vit_b16")},
    "jax": {"a bare jitted loop": ("lstm",), "dm-haiku": ("resnet50",), "keras-hub": ("gpt2", "llama", "vit_b16")},
    "mxnet": {"Gluon's model zoo": ("resnet50_v1", "vgg16", "mobilenetv2")},
}
_INSTALLED = ("torchvision", "transformers", "dm-haiku", "keras-hub")     # beside a stack, where its peers.txt has them


class Cost(NamedTuple):
    """One figure with its 95 % interval, its goal and how it was measured."""

    what: str
    stack: str
    value: float | None
    interval: stats.Interval | None
    unit: str
    goal: float
    turns: int
    problem: str = ""
    is_more_better: bool = False      # the goal is "at least", not "at most"

    def listed(self) -> dict[str, str]:
        """A line of a table."""
        value = "-" if self.value is None else f"{self.value:.3f} {self.unit}"
        interval = f"{self.interval.low:.3f} to {self.interval.high:.3f}" if self.interval else ""
        goal = f"at {'least' if self.is_more_better else 'most'} {self.goal:g} {self.unit}"
        return {"what": self.what, "stack": self.stack, "found": value, "interval": interval, "goal": goal,
                "turns": str(self.turns), "": self.problem or ("met" if self.is_met else "NOT MET")}

    def record(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "interval": self.interval and self.interval.record(), "met": self.is_met}

    @property
    def is_met(self) -> bool:
        """Whether the goal is not excluded: the interval's better end, or the value where there is none, is within."""
        if self.value is None:
            return False
        low, high = self.interval or (self.value, self.value)
        return high >= self.goal if self.is_more_better else low <= self.goal


class Setup(NamedTuple):
    """What all figures of a bench are measured with."""

    launcher: Launcher
    data: Path
    cpus: int
    turns: int                # processes of each kind
    clock: Callable[[], float]
    device: str = "cpu"


def harness(stack: Stack, setup: Setup) -> Cost:
    """Our loop's reported seconds over a bare loop's, by turns in one process; LeNet-5, batch 42, synthetic.

    A number is a process, since where its arrays happen to lie moves a step by up to a fifth, and each process draws
    these places from another seed; it is the median over blocks. Both nets have the framework's own initial weights:
    tanh takes longer for larger numbers.
    """
    cell = Cell(stack=stack.name, task="lenet5", measure="harness", input="synthetic", init="framework", steps=_BLOCKS,
                warmup=_STEPS_A_BLOCK, cpus=setup.cpus, device=setup.device)
    return _quotient("loop / bare loop", cell, stack, setup)


def peers(library: str, models: Collection[str], stack: Stack, setup: Setup) -> Iterator[Cost]:
    """Our samples a second over those of the library's models, by task, in training and inference."""
    for task in models:
        for measure, of in HARNESSES.items():
            if of not in GENERATING or sequence_tasks.generates(task):
                kind = measure.removeprefix("harness_") if "_" in measure else "train"
                yield _quotient(f"{task} {kind}, ours / {library}", _peer_cell(task, measure, stack, setup),
                                stack, setup, is_of_peer=True)


def _size(task: str, device: str) -> Size:
    """On a GPU work enough that a step is not all launches, as the LSTM has."""
    size = SIZES[task]
    if device != "gpu" or task == "lstm":
        return size
    return Size(32, 224, 10, 40) if size.image else Size(32, 0, 20, 60, size.optimizer)


def _peer_cell(task: str, measure: str, stack: Stack, setup: Setup) -> Cell:
    """The cell, by a learning rate at which no loss overflows within the run."""
    size = _size(task, setup.device)
    steps = size.train_steps if measure == "harness" else size.infer_steps
    cell = Cell(stack=stack.name, task=task, measure=measure, batch=size.batch, input="synthetic",
                optimizer=size.optimizer, learning_rate=1e-4, steps=_PEER_BLOCKS, warmup=steps, cpus=setup.cpus,
                device=setup.device)
    return cell if tasks.is_sequence(task) else cell._replace(image=size.image, classes=1000)


def _quotient(what: str, cell: Cell, stack: Stack, setup: Setup, is_of_peer: bool = False) -> Cost:
    """The mean over processes, which differ in their seeds, of the median quotient of their blocks."""
    over, under, goal = ("bare", "reported", PEER_GOAL) if is_of_peer else ("reported", "bare", HARNESS_GOAL)
    quotients, ending = [], Ending("ok")
    for turn in range(setup.turns):
        running = setup.launcher.start(cell._replace(seed=turn), stack, setup.data, "self.0.1")
        events, ending = followed(running, Limits(), setup.clock)
        blocks = [event[over] / event[under] for event in events if event["event"] == "harness"]
        if ending.word != "ok" or not blocks:
            break
        quotients.append(float(stats.median(blocks) or 0))
    return _cost(what, stack, quotients, "x", goal, ending, is_of_peer)


def start(stack: Stack, setup: Setup) -> Cost:
    """Seconds from a worker's start to the end of its first step, less those of a bare script, by turns."""
    cell = Cell(stack=stack.name, task="lenet5", measure="train", input="synthetic", steps=1, warmup=1,
                cpus=setup.cpus, device=setup.device)
    more, ending = [], Ending("ok")
    for _ in range(setup.turns):
        ours, ending = _first_step(cell, stack, setup, "workloads")
        theirs, bare_ending = _first_step(cell, stack, setup, "workloads.measuring.self_cost")
        ending = ending if ending.word != "ok" else bare_ending
        if ours is None or theirs is None:
            break
        more.append(ours - theirs)
    return _cost("start - bare start", stack, more, "s", START_GOAL_SECONDS, ending)


def _first_step(cell: Cell, stack: Stack, setup: Setup, module: str) -> tuple[float | None, Ending]:
    """Seconds from before the launch until the first step is told: by "warm", or by the bare script's "end"."""
    began, seconds = setup.clock(), None
    running = setup.launcher.start(cell, stack, setup.data, "self.0.1", module)
    try:
        for heard in follow(running, Limits(), setup.clock):
            if isinstance(heard, Ending):
                if seconds is None and module != "workloads" and heard.word == "ok":
                    seconds = setup.clock() - began
                return seconds, heard
            if seconds is None and heard["event"] == "warm":
                seconds = setup.clock() - began
    finally:
        running.stop()
    raise AssertionError("follow always yields an Ending last")


def _cost(what: str, stack: Stack, values: list[float], unit: str, goal: float, ending: Ending,
          is_more_better: bool = False) -> Cost:
    problem = f"{ending.word}: {ending.message}" if ending.word != "ok" or not values else ""
    value = None if problem else stats.geometric_mean(values) if unit == "x" else stats.median(values)
    interval = stats.interval(values) if unit == "x" and not problem else None
    return Cost(what, stack.name, value, interval, unit, goal, len(values), problem, is_more_better)


def run(stacks: list[Stack], setup: Setup, say: Callable[[str], None]) -> Iterator[Cost]:
    """Both costs of every stack that has image models: bare libraries have none."""
    for stack in stacks:
        if stack.framework in PEERS:
            say(f"bench-self: {stack.name}")
            yield harness(stack, setup)
            yield start(stack, setup)


def run_peers(stacks: list[Stack], setup: Setup, say: Callable[[str], None], only: Collection[str] = (),
              ) -> Iterator[Cost]:
    """The comparisons with its peer libraries of every stack that has one; only: these tasks, if any are named.

    Raises InputError where no stack has any.
    """
    pinned = [stack for stack in stacks if stack.framework in PEERS and isinstance(stack, PinnedStack)]
    compared = [(stack, *peer) for stack in pinned for peer in peers_of(stack, only).items()]
    if not compared:
        known = dict.fromkeys(task for stack in pinned for models in peers_of(stack).values() for task in models)
        raise InputError(f"--peers: found no library with {', '.join(only) or 'models'} for "
                         f"{', '.join(stack.name for stack in stacks)}, expected one of {', '.join(known) or 'none'}")
    for stack, library, models in compared:
        libraries.ready(stack, setup.data, say)
        say(f"bench-self: {stack.name} and {library}")
        yield from peers(library, models, stack, setup)


def peers_of(stack: PinnedStack, only: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Tasks by library: of its framework's own modules, and of other libraries where they are locked for the stack."""
    here = {library: tuple(task for task in models if not only or task in only)
            for library, models in PEERS[stack.framework].items()
            if library not in _INSTALLED or library in libraries.names(stack)}
    return {library: models for library, models in here.items() if models}
