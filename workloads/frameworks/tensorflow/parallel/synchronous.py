"""What synchronous workers have in common, however they exchange gradients. TensorFlow 1.15 and 2.x."""
from workloads.frameworks import contract


class Meeting(contract.Workload):
    """Leaves no work before the others; among the bases it stands before that of one worker alone. Needs _meet()."""

    _meet = contract.OF_HEIRS
    communication = "full"      # the stamps let no exchange begin before the backward pass is over

    def train(self, batches, count, watch):
        """As one worker alone; all leave the last step together."""
        super().train(batches, count, watch)
        self._meet()

    def train_phases(self, batches, count, watch):
        """As one worker alone, with the seconds of the exchange."""
        super().train_phases(batches, count, watch)
        self._meet()

    def profile(self, batches, warmup, steps):
        """As one worker alone: of its own operations."""
        used = super().profile(batches, warmup, steps)
        self._meet()
        return used
