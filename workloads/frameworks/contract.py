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

tests/unit/workloads/frameworks/test_contract.py compares every adapter with this file, without importing a framework.
Python 3.6 and later, no framework.
"""
from typing import NamedTuple

from workloads.process.errors import Unsupported
from workloads.spec import refusals


class Function(NamedTuple):
    """A function, or a class that is called like one, of a module."""

    name: str
    parameters: tuple            # the first ones; a module may have further ones with defaults
    returns: str


class Module(NamedTuple):
    """A file of an adapter's folder, or a folder of that name in it."""

    name: str                    # "": the folder's own __init__.py
    functions: tuple
    constants: tuple = ()


MODULES = (
    Module("settings", (
        Function("apply", ("cell",), "None, with the whole process set as the cell's switches say. Raises Unsupported"),
        Function("tuned", ("cell", "features"), "the cell of loop=tuned with the other switches that an expert would "
                 "set here; features: the processor's vector instructions"),
    )),
    Module("", (
        Function("Workload", ("table", "cell"), "the Images of a table of layers"),
        Function("facts", ("cell",), "what the framework says of itself, for the event start: FACTS, of a GPU more; "
                 "once the Workload is built"),
        Function("is_oom", ("error",), "whether an exception says that the host's or the device's memory ran out"),
        Function("unbiased_variance", ("cell",), "whether a running variance is n / (n - 1) times the batch's"),
        Function("device_peak_bytes", ("cell",), "{allocated, reserved}: the most bytes that the framework's allocator "
                 "held on a GPU; {} on a CPU, and where it does not tell"),
    ), ("NAME",)),
    Module("sequences", (
        Function("Workload", ("cell",), "the Sequences of the cell's task"),
    )),
    Module("parallel", (
        Function("serve", ("role", "cell", "cluster"), "None, once a role that reports nothing was stopped"),
        Function("Workload", ("table", "cell", "cluster"), "the Images of one of many workers; without a cluster, of "
                 "many GPUs of one process"),
        Function("Sequences", ("cell", "cluster"), "the same of a sequence model"),
    )),
    Module("product", (
        Function("made", ("cell", "size", "numbers"), "(step, sync): step() issues a product of two (size, size) "
                 "matrices of these numbers, sync() waits for all of them"),
    )),
    Module("bare", (
        Function("loop", ("cell", "folder"), "(step, sync) of the same steps as one writes them by hand, one random "
                 "batch in memory: step() takes one, sync(what it returned) waits for it"),
    )),
)
FACTS = ("framework", "version", "device", "threads", "inter_op_threads", "onednn", "build")
# of a file models/TASK.py, one for each task of spec.sequence_tasks
MODEL = (
    Function("arrange", ("batch",), "the batch's arrays as the framework wants them: once, before the clock starts"),
    Function("forward", ("weights", "batch", "sizes", "mode"), "the logits, or a tuple of which the first stands for "
             "them; mode.keep names what a check compares"),
    Function("loss", ("said", "batch", "sizes"), "the loss of what forward gave; inference leaves it out"),
)
# of frameworks/surroundings/NAME.py, which is asked before the framework is imported
SURROUNDINGS = Module("", (
    Function("variables", ("cell",), "the variables of the environment that the framework reads at its import, {} of "
             "none; every worker has those of all frameworks"),
    Function("place_variables", ("cluster", "role"), "those of a process with that role in a parallel run"),
    Function("gpu_code", ("framework",), "(version of CUDA or \"\", architectures) of the imported framework"),
), ("SEEN", "SEEN_FAMILIES", "SERVERS"))
# of the Workload of numpy/, the readable reference that tests compare adapters with: forward only, in float64
REFERENCE = (
    Function("parameters", (), "how many numbers an optimizer would update"),
    Function("load", ("weights",), "None, with the arrays taken by canonical name"),
    Function("weights", (), "the arrays by canonical name"),
    Function("logits", ("images", "is_training"), "(n, classes)"),
    Function("activations", ("images", "is_training"), "every place's output by its path"),
    Function("loss", ("images", "labels"), "the cross-entropy in training mode"),
)
ATTRIBUTES = ("cell", "loop", "layout", "precision")          # of a workload, once it is built


class Workload:
    """A task as an adapter builds it: what images and sequences have in common. Building it raises Unsupported.

    loop, layout and precision are what the cell's switches became. Batches are iterators without end, whose items
    only the workload itself reads. A watch hears loading() before a batch is asked for, loaded() when it is there, and
    stepped(handle) when a step is issued: a handle is whatever sync and value take, the step's loss or logits.
    """

    loader = None                # what loads where input = loader
    loading = None               # how batches are loaded, where not as inputs/loading.py says
    mode = None                  # of a parallel run, where it is more than spec.cluster's title
    communication = None         # of a parallel run: "exposed" or "full" (docs/cluster.md)
    attention = "plain"          # what computes it in transformers, where the cell's switch became something else
    generates = False            # whether it keeps keys and values, and so has prefill, decode and cached
    is_coordinator = False       # whether its watch hears told(worker, seconds, loss, phases) of others' steps

    def load(self, weights):
        """Take the arrays of every parameter and running statistic by canonical name."""
        raise NotImplementedError

    def weights(self):
        """Copies of these arrays, in canonical layouts."""
        raise NotImplementedError

    def parameters(self):
        """How many numbers the optimizer updates."""
        raise NotImplementedError

    def train(self, batches, count, watch):
        """Take count steps of training; the watch gets each one's loss, which stays on the device."""
        raise NotImplementedError

    def train_phases(self, batches, count, watch):
        """As train; the watch gets each step's seconds by phase, too. Raises Unsupported."""
        raise NotImplementedError

    def infer(self, batches, count, watch):
        """Take count forward passes in evaluation mode; the watch gets each one's logits."""
        raise NotImplementedError

    def follow(self, batches, count, steps, course):
        """Train count epochs of so many steps; the course, a watch, hears when each one begins and has ended."""
        for _ in range(count):
            course.begun()
            self.train(batches, steps, course)
            course.ended()

    def profile(self, batches, warmup, steps):
        """{operator: (calls, seconds)} over so many training steps, after the warm-up. Raises Unsupported."""
        raise NotImplementedError

    def recorder(self):
        """A recorder of the steps that follow, to be asked for before the first one. Raises Unsupported.

        start() begins; stop() gives the profiles.walls.Operators that ran since then.
        """
        raise Unsupported("no profiler of its operators is read here")

    def trace(self, batches, warmup, steps):
        """The spec.traces.Trace of so many training steps on a GPU, after the warm-up. Raises Unsupported."""
        raise NotImplementedError

    def graph(self, batches):
        """What the framework's optimisers remove from the graph of a training step. Raises Unsupported."""
        raise Unsupported(refusals.NO_GRAPH)

    def sync(self, handle):
        """Return when all work is done that was issued so far, not the handle's alone."""
        raise NotImplementedError

    def value(self, handle):
        """The float of a loss, the array of logits."""
        raise NotImplementedError

    def device_clock(self):
        """A clock on the device with mark() and seconds(); None where there is none."""

    def compiled(self):
        """{programs, seconds, tracing_seconds} that were compiled so far in this process; {} where nobody says it."""
        return {}

    def programs(self):
        """How many programs or graphs were made so far in this process; 0 where nobody counts them."""
        return self.compiled().get("programs", 0)


class Images(Workload):
    """The workload of a table of layers. Images are uint8, (n, 3, side, side); labels whole numbers."""

    def batches(self, images, labels):
        """Normalised batches on the device, over and over, in the cell's order; a rest is dropped."""
        raise NotImplementedError

    def passes(self, images, labels, ahead):
        """The same pass by pass, as inputs.passes' Passes say; the only iterator that ends."""
        raise NotImplementedError

    def loaded(self, records):
        """Batches that the framework's own loader reads from records.Records, over and over. Raises Unsupported."""
        raise Unsupported(refusals.NO_LOADER)

    def synthetic(self, images, labels):
        """One batch that lies on the device, over and over."""
        raise NotImplementedError

    def predict(self, images):
        """The logits (n, classes) in evaluation mode, a batch at a time. Raises Unsupported."""
        raise NotImplementedError

    def check(self, images, labels):
        """One update in training mode without dropout. Raises Unsupported.

        {"activation": every place's output by path, "logits": array, "loss": float, "gradient": by name, "weight":
        every array by name, after the update}, all of them canonical. What only infers has a loss of None, no gradient
        and no weight.
        """
        raise NotImplementedError


class Sequences(Workload):
    """The workload of a sequence model. A batch is a dict of arrays, as inputs/models/ makes them."""

    def kernels(self):
        """{"lstm": what an LSTM layer of the model really runs}, for the event start; {} where it has none."""
        raise NotImplementedError

    def batches(self, batches):
        """The batches on the device, in the order given, over and over."""
        raise NotImplementedError

    def synthetic(self, batches):
        """The first batch, which lies on the device, over and over."""
        raise NotImplementedError

    def prefill(self, batches, count, watch):
        """Read count prompts; the watch gets the token after each one. Raises Unsupported."""
        raise Unsupported("it keeps no keys and values here: it trains the model and infers whole sequences")

    def decode(self, batches, count, watch):
        """Give one token more for each sequence, count times; the watch gets each. Raises Unsupported."""
        raise Unsupported("it keeps no keys and values here: it trains the model and infers whole sequences")

    def cached(self, batch):
        """(logits by the cache, logits of a pass over the whole sequences). Raises Unsupported."""
        raise Unsupported("it keeps no keys and values here: it trains the model and infers whole sequences")

    def check(self, batch):
        """As Images' check; the activations are what the model keeps. Raises Unsupported."""
        raise NotImplementedError
