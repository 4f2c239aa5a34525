"""Runs cells in virtual environments on the host itself: the default where no engine answers. Marked in every record.

The worker gets the same CPUs, threads and lock as in an image, but no network boundary and the host's own C library.
Its memory limit is the kernel's on a process's private writable memory, so that on a CPU an allocation beyond it fails
and the worker says so itself; what it only maps, such as libraries, is not counted, nor what a GPU's driver reserves.
"""

from pathlib import Path

from runner.errors import InterpreterMissing
from runner.launchers.process_groups import ProcessGroup, ProcessRunning, on_gpus
from runner.launchers.protocol import HostLauncher, Order
from runner.processes import Say, answer_of
from runner.stacks import environments
from runner.stacks import own as own_stacks
from runner.stacks.definition import PinnedStack, Stack, pinned
from runner.stacks.own import OwnStack


class VenvLauncher(HostLauncher):
    """Launches workers with the interpreters of this machine."""

    name = "venv"
    takes = frozenset({own_stacks.PINNED, own_stacks.ENVIRONMENT})
    uses_images = False
    builds_at_once = 2               # pip installs on one CPU

    def missing(self, stack: Stack) -> str | None:
        """The missing interpreter, or None."""
        if not isinstance(stack, PinnedStack):
            return None                     # it was asked what it holds before it was planned
        if stack.foreign:
            return stack.foreign
        if stack.base.has_framework:
            return f"{stack.name} is only there as an image: its base has the framework, and no index"
        try:
            environments.find_interpreter(stack.python)
        except InterpreterMissing as error:
            return str(error)
        return environments.missing_tools(stack)

    def is_built(self, stack: PinnedStack) -> bool:
        return environments.is_made(stack, self._cache)

    def prepare(self, stacks: list[Stack], say: Say) -> None:
        """As HostLauncher; the workloads are compiled beside their sources, as images have them: workers write nothing.

        Where the folder cannot be written either, each run compiles what it imports.
        """
        super().prepare(stacks, say)
        pythons = {(each.python, each.root): self._prepared[each.name] for each in stacks}
        for (_, root), python in pythons.items():
            answer_of([python, "-m", "compileall", "-q", "workloads"], cwd=root)

    def _made(self, stack: Stack, say: Say) -> Path:
        """The interpreter of a stack, its environment made first where it is one of ours. Raises BenchError."""
        if isinstance(stack, OwnStack):
            own_stacks.check_unchanged(stack)
            return Path(stack.interpreter)
        return environments.ready(pinned(stack), self._cache, say)

    def image(self, stack: Stack) -> str:
        """What the files of one of our environments are, in place of an image; "" of a user's, which lists packages."""
        if isinstance(stack, OwnStack):
            return ""
        folder = environments.folder(pinned(stack), self._cache)
        if folder not in self._contents:
            self._contents[folder] = environments.content(folder)
        return self._contents[folder]

    def begin(self, order: Order) -> ProcessRunning:
        """Start a worker a place, each on CPUs of its own where there are enough. Raises BenchError."""
        python = self._ready(order.stack)
        share, own, kernels = self._given(order)
        limit = 0 if order.cell.device == "gpu" else order.cell.memory_bytes
        record = {"image": None, "base": f"host, {python}", "base_is_default": False,
                  "environment": self.image(order.stack), **self._record(order, share, own)}
        return ProcessRunning(record, order, lambda rank, variables: ProcessGroup(
            lambda scratch: [str(python), "-m", *order.words, "--data", str(order.data)], share.cpus(rank), limit,
            order.stack.root, {**variables, **on_gpus(own, kernels)}, order.listens))

    def _ready(self, stack: Stack) -> Path:
        """The interpreter of a stack; of a user's own one it is looked each time whether it still holds the same."""
        return self._made(stack, lambda text: None) if isinstance(stack, OwnStack) else Path(super()._ready(stack))
