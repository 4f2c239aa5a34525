"""The GPU's own clock in PyTorch: CUDA events. PyTorch 1.4 and later."""
import torch


class DeviceClock:
    """Moments on the GPU, noted behind the work that was issued before; noting one does not wait for it."""

    def __init__(self, event=lambda: torch.cuda.Event(enable_timing=True)):
        self._event, self._marks = event, []

    def mark(self):
        """The moment when all that was issued so far is done."""
        self._marks.append(self._event())
        self._marks[-1].record()

    def seconds(self):
        """Between each mark and the next, all of which must be over; forgets them."""
        marks, self._marks = self._marks, []
        return [before.elapsed_time(after) / 1e3 for before, after in zip(marks, marks[1:])]
