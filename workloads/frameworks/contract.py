"""What an adapter has: the modules, functions and classes that the rest of workloads/ asks it for, in which order.

An adapter is a folder beside this file: one for each of spec.frameworks, and library, a bare library with one LSTM.
Those of runtimes that only infer are made of onnx_graphs/. numpy is the reference, which no worker runs; own/ runs a
user's own model by the others' steps, and has what its measures ask for alone. Every adapter has every function here;
what its framework lacks raises Unsupported with the reason, so nobody asks with hasattr. Where one answer serves most
of them, it stands in Workload, from which theirs inherit.

A run asks an adapter in this order:

    surroundings/NAME.py                           before the framework is imported: SURROUNDINGS
    settings.tuned(cell, features)                 where the cell's loop is tuned
    NAME; settings.apply(cell)                     the process is as the cell wants it
    parallel.serve(role, cell, cluster)            in a place that only serves; nothing else is asked there
    product.made(cell, size, numbers)              measure product; nothing but facts is asked there
    Workload(table, cell), sequences.Workload(cell), parallel.Workload, parallel.Sequences        one of the four
    load(weights)                                  unless the framework draws its own
    facts(cell); loop, layout, precision, loading, mode, communication; kernels(); parameters()    the event "start"
    synthetic(...), batches(...) or passes(...)    what the steps are handed
    device_clock(); train, train_phases, infer, follow, profile, trace, graph or check, with sync and value in between;
    recorder(), where steps are profiled for their parts
    programs()                                     between blocks of steps: whether one was made within them
    weights()                                      parallel runs send their digest
    compiled()
    is_oom(error); device_peak_bytes(cell)         how the run ended

mypy holds every adapter against it: tests/unit/workloads/frameworks/test_contract.py. Python 3.6 and later.
"""
import abc
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from workloads.process.errors import Unsupported
from workloads.profiles.traces import Trace
from workloads.spec import refusals
from workloads.spec.cell import Cell

OF_HEIRS = None      # type: Any     # what who inherits a class sets
Arrays = Dict[str, np.ndarray]       # by canonical name

if TYPE_CHECKING:                # typing.Protocol came with Python 3.8
    from typing import Protocol

    class Adapter(Protocol):
        """An adapter's folder."""

        __name__: str
        NAME: str

        def Workload(self, table: Any, cell: Cell) -> "Images":
            """That of a table of layers. Raises Unsupported."""

        def facts(self, cell: Cell) -> Dict[str, Any]:
            """Of the event start: framework, version, device, threads, inter_op_threads, onednn, build; GPUs'."""

        def is_oom(self, error: BaseException) -> bool:
            """Whether an exception says that the host's or the device's memory ran out."""

        def unbiased_variance(self, cell: Cell) -> bool:
            """Whether a running variance is n / (n - 1) times the batch's."""

        def device_peak_bytes(self, cell: Cell) -> Dict[str, int]:
            """{allocated, reserved}: the most bytes of its allocator on a GPU; {} on a CPU, or where it is not told."""

    class Settings(Protocol):
        """settings.py"""

        def apply(self, cell: Cell) -> None:
            """Set the whole process as the cell's switches say. Raises Unsupported."""

        def tuned(self, cell: Cell, features: Any) -> Cell:
            """The cell of loop=tuned with what else an expert would set; features: the processor's instructions."""

    class SequencesModule(Protocol):
        """sequences.py"""

        def Workload(self, cell: Cell) -> "Sequences":
            """That of the cell's task. Raises Unsupported."""

    class Server(Protocol):
        """A module that serves a role of a parallel run, which reports nothing."""

        def serve(self, role: str, cell: Cell, cluster: Any) -> None:
            """Return once it was stopped."""

    class Parallel(Server, Protocol):
        """parallel.py: of one of many workers; without a cluster, of many GPUs of one process."""

        def Workload(self, table: Any, cell: Cell, cluster: Any) -> "Images":
            """That of a table of layers. Raises Unsupported."""

        def Sequences(self, cell: Cell, cluster: Any) -> "Sequences":
            """That of the cell's task. Raises Unsupported."""

    class Product(Protocol):
        """product.py"""

        def made(self, cell: Cell, size: int, numbers: str) -> Tuple[Any, Any]:
            """(step, sync): step() issues a product of two (size, size) matrices, sync() waits for all of them."""

    class Bare(Protocol):
        """bare.py"""

        def loop(self, cell: Cell, folder: str = "") -> Tuple[Any, Any]:
            """(step, sync) as one writes them by hand, one random batch in memory: sync(step()) waits for a step."""

    class Model(Protocol):
        """models/TASK.py, one for each task of spec.sequence_tasks."""

        def arrange(self, batch: Dict[str, np.ndarray]) -> Dict[str, np.ndarray]:
            """The batch's arrays as the framework wants them: once, before the clock starts."""

        def forward(self, weights: Any, batch: Any, sizes: Any, mode: Any) -> Any:
            """The logits, or a tuple of which the first stands for them; mode.keep names what a check compares."""

        def loss(self, said: Any, batch: Any, sizes: Any) -> Any:
            """The loss of what forward gave; inference leaves it out."""

    class Surroundings(Protocol):
        """frameworks/surroundings/NAME.py, which is asked before the framework is imported."""

        SEEN: tuple
        SEEN_FAMILIES: tuple
        SERVERS: dict

        def variables(self, cell: Cell) -> Dict[str, str]:
            """The variables that the framework reads at its import; every worker has those of all frameworks."""

        def place_variables(self, cluster: Any, role: str) -> Dict[str, str]:
            """Those of a process with that role in a parallel run."""

        def gpu_code(self, framework: Any) -> Tuple[str, List[Any]]:
            """(version of CUDA or "", architectures) of the imported framework."""


class Watch:
    """What hears of a workload's steps, and by itself does nothing."""

    def loading(self) -> None:
        """A batch is asked for."""

    def loaded(self) -> None:
        """The batch is there."""

    def resumed(self) -> None:
        """What was done since the last step belongs to none."""

    def stepped(self, handle: Any, phases: Optional[Dict[str, float]] = None) -> None:
        """A step is issued; the handle is its loss or logits, for sync and value; phases are seconds by name."""


def watched(batches: Iterator[Any], count: int, watch: Watch) -> Iterator[Any]:
    """The batch of each of count steps; the watch hears before it is asked for and when it is there."""
    for _ in range(count):
        watch.loading()
        batch = next(batches)
        watch.loaded()
        yield batch


class Workload:
    """A task as an adapter builds it: what images and sequences have in common. Building it raises Unsupported.

    Batches are iterators without end, whose items only the workload itself reads.
    """

    cell: Cell
    loop = layout = precision = ""                       # what the cell's switches became
    loader = None        # type: Optional[str]           # what loads where input = loader
    loading = None       # type: Optional[str]           # how batches are loaded, where not as inputs/loading.py says
    mode = None          # type: Optional[str]           # of a parallel run, where it is more than spec.cluster's title
    communication = None         # type: Optional[str]   # of a parallel run: "exposed" or "full" (docs/cluster.md)
    attention = "plain"          # what computes it in transformers, where the cell's switch became something else
    units = None         # type: Optional[Tuple[float, str]]     # of a step: 512, "tokens"; None: its samples
    generates = False            # whether it keeps keys and values, and so has prefill, decode and cached
    is_coordinator = False       # whether its watch hears told(worker, seconds, loss, phases) of others' steps

    @abc.abstractmethod
    def load(self, weights: Arrays) -> None:
        """Take the arrays of every parameter and running statistic by canonical name."""

    @abc.abstractmethod
    def weights(self) -> Arrays:
        """Copies of these arrays, in canonical layouts."""

    @abc.abstractmethod
    def parameters(self) -> int:
        """How many numbers the optimizer updates."""

    @abc.abstractmethod
    def train(self, batches: Iterator[Any], count: int, watch: Watch) -> None:
        """Take count steps of training; the watch gets each one's loss, which stays on the device."""

    def train_phases(self, batches: Iterator[Any], count: int, watch: Watch) -> None:
        """As train; the watch gets each step's seconds by phase, too. Raises Unsupported."""
        raise Unsupported("no phases of a step are stamped here")

    @abc.abstractmethod
    def infer(self, batches: Iterator[Any], count: int, watch: Watch) -> None:
        """Take count forward passes in evaluation mode; the watch gets each one's logits."""

    def follow(self, batches: Iterator[Any], count: int, steps: int, course: Any) -> None:
        """Train count epochs of so many steps; the course, a watch, hears when each one begins and has ended."""
        for _ in range(count):
            course.begun()
            self.train(batches, steps, course)
            course.ended()

    def profile(self, batches: Iterator[Any], warmup: int, steps: int) -> Dict[str, Tuple[int, float]]:
        """{operator: (calls, seconds)} over so many training steps, after the warm-up. Raises Unsupported."""
        raise Unsupported("no profiler of its operators is read here")

    def recorder(self) -> Any:
        """A recorder of the steps that follow, to be asked for before the first one. Raises Unsupported.

        start() begins; stop() gives the profiles.walls.Operators that ran since then; within span(name) this thread is
        in one of that name.
        """
        raise Unsupported("no profiler of its operators is read here")

    def trace(self, batches: Iterator[Any], warmup: int, steps: int) -> Trace:
        """The spec.traces.Trace of so many training steps on a GPU, after the warm-up. Raises Unsupported."""
        raise Unsupported("no profiler of its operators is read here")

    def graph(self, batches: Iterator[Any]) -> Dict[str, Any]:
        """What the framework's optimisers remove from the graph of a training step. Raises Unsupported."""
        raise Unsupported(refusals.NO_GRAPH)

    @abc.abstractmethod
    def sync(self, handle: Any) -> None:
        """Return when all work is done that was issued so far, not the handle's alone."""

    @abc.abstractmethod
    def value(self, handle: Any) -> Any:
        """The float of a loss, the array of logits."""

    def kernels(self) -> Dict[str, str]:
        """{"lstm": what an LSTM layer of the model really runs}, for the event start; {} where it has none."""
        return {}

    def device_clock(self) -> Any:
        """A clock on the device with mark() and seconds(); None where there is none."""

    def compiled(self) -> Dict[str, Any]:
        """{programs, seconds, tracing_seconds} that were compiled so far in this process; {} where nobody says it."""
        return {}

    def programs(self) -> int:
        """How many programs or graphs were made so far in this process; 0 where nobody counts them."""
        return self.compiled().get("programs", 0)


class Images(Workload):
    """The workload of a table of layers. Images are uint8, (n, 3, side, side); labels whole numbers."""

    @abc.abstractmethod
    def batches(self, images: np.ndarray, labels: np.ndarray) -> Iterator[Any]:
        """Normalised batches on the device, over and over, in the cell's order; a rest is dropped."""

    @abc.abstractmethod
    def passes(self, images: np.ndarray, labels: np.ndarray, ahead: Any) -> Iterator[Any]:
        """The same pass by pass, as inputs.passes' Passes say; the only iterator that ends."""

    def loaded(self, records: Any) -> Iterator[Any]:
        """Batches that the framework's own loader reads from records.Records, over and over. Raises Unsupported."""
        raise Unsupported(refusals.NO_LOADER)

    @abc.abstractmethod
    def synthetic(self, images: np.ndarray, labels: np.ndarray) -> Iterator[Any]:
        """One batch that lies on the device, over and over."""

    @abc.abstractmethod
    def predict(self, images: np.ndarray) -> np.ndarray:
        """The logits (n, classes) in evaluation mode, a batch at a time. Raises Unsupported."""

    @abc.abstractmethod
    def check(self, images: np.ndarray, labels: np.ndarray) -> Dict[str, Any]:
        """One update in training mode without dropout. Raises Unsupported.

        {"activation": every place's output by path, "logits": array, "loss": float, "gradient": by name, "weight":
        every array by name, after the update}, all of them canonical. What only infers has a loss of None, no gradient
        and no weight.
        """


class Sequences(Workload):
    """The workload of a sequence model. A batch is a dict of arrays, as inputs/models/ makes them."""

    @abc.abstractmethod
    def batches(self, batches: Sequence[Arrays]) -> Iterator[Any]:
        """The batches on the device, in the order given, over and over."""

    @abc.abstractmethod
    def synthetic(self, batches: Sequence[Arrays]) -> Iterator[Any]:
        """The first batch, which lies on the device, over and over."""

    def prefill(self, batches: Iterator[Any], count: int, watch: Watch) -> None:
        """Read count prompts; the watch gets the token after each one. Raises Unsupported."""
        raise Unsupported("it keeps no keys and values here: it trains the model and infers whole sequences")

    def decode(self, batches: Iterator[Any], count: int, watch: Watch) -> None:
        """Give one token more for each sequence, count times; the watch gets each. Raises Unsupported."""
        raise Unsupported("it keeps no keys and values here: it trains the model and infers whole sequences")

    def decode_program(self, batches: Iterator[Any], count: int, watch: Watch) -> None:
        """As decode, but a step gives all tokens up to the greatest length; the watch gets them, (batch, tokens).

        By the framework's own loop on the device where it has one, else by one that waits for no token.
        """
        raise Unsupported("it keeps no keys and values here: it trains the model and infers whole sequences")

    def tokens(self, handle: Any) -> np.ndarray:
        """The tokens that a step of decode or decode_program handed over."""
        return np.asarray(handle)

    def cached(self, batch: Arrays) -> Tuple[np.ndarray, np.ndarray]:
        """(logits by the cache, logits of a pass over the whole sequences). Raises Unsupported."""
        raise Unsupported("it keeps no keys and values here: it trains the model and infers whole sequences")

    @abc.abstractmethod
    def check(self, batch: Arrays) -> Dict[str, Any]:
        """As Images' check; the activations are what the model keeps. Raises Unsupported."""
