"""What PyTorch's own profiler says of training steps. PyTorch 1.4 and later."""
import importlib
import time

import torch

from workloads.profiles import walls


class Recorder:
    """What operators run from start() to stop(), by PyTorch's profiler; an optimizer's are named so."""

    def __init__(self, is_compiled=False):
        """is_compiled: by torch.compile, whose kernels only then have names."""
        if is_compiled:
            importlib.import_module("torch._inductor.config").cpp.enable_kernel_profile = True
        self._profile = torch.autograd.profiler.profile()

    def start(self):
        """Begin."""
        self._profile.__enter__()

    def span(self, name):
        """A block that is seen under this name."""
        return torch.autograd.profiler.record_function(name)

    def stop(self):
        """The profiles.walls.Operators since then."""
        self._profile.__exit__(None, None, None)
        spans = [(event, getattr(event, "time_range", None) or event.cpu_interval)         # up to PyTorch 1.7
                 for event in self._profile.function_events]
        return walls.within("Optimizer.step", "optimizer/", [
            walls.Operator(event.thread, event.name, round(1000 * span.start), round(1000 * span.end))
            for event, span in spans])


def profiled(step, steps, unnamed):
    """{name: (calls, seconds)} of so many steps: the profiler's names, and those of unnamed, {name: (owner, method)}.

    The seconds of an operator include those of the operators that it calls, so different names nest; of calls under
    the caller's own name only the outermost counts. One window over all steps: the profiler reads its events when it
    is left, which would double the time of each step.
    """
    spent = {name: [] for name in unnamed}
    for name, (owner, method) in unnamed.items():
        setattr(owner, method, _timed(getattr(owner, method), spent[name]))      # hides the class's own
    try:
        with torch.autograd.profiler.profile() as profile:
            for _ in range(steps):
                step()
    finally:
        for owner, method in unnamed.values():
            delattr(owner, method)
    used = _outermost(profile)
    used.update((name, (len(seconds), sum(seconds))) for name, seconds in spent.items())
    return used


def _timed(method, seconds):
    """The method, which also appends what each call took."""
    def timed():
        began = time.perf_counter()
        method()
        seconds.append(time.perf_counter() - began)
    return timed


def _outermost(profile):
    """{name: (calls, seconds)} without what a name calls under its own name, as a form with out= in PyTorch 1.7 is."""
    profile.key_averages()                     # up to 1.7 it is this that finds who called whom
    inner = {id(child) for event in profile.function_events for child in event.cpu_children if child.key == event.key}
    by_name = {}
    for event in profile.function_events:
        if id(event) not in inner:
            calls, seconds = by_name.get(event.key, (0, 0.0))
            by_name[event.key] = (calls + 1, seconds + event.cpu_time_total / 1e6)
    return by_name
