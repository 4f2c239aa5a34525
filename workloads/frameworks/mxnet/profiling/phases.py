"""Stamps between the phases of a step, each after waiting for all that MXNet's engine was given. MXNet 1.7 and 1.9."""
import time

import mxnet as mx


class Stamps:
    """The seconds of a step's phases by name, in the order in which they ended."""

    def __init__(self, clock=time.perf_counter):
        self._clock = clock
        self.seconds = {}
        self._began = clock()

    def ended(self, phase):
        """The phase's work was issued; wait for it."""
        mx.nd.waitall()
        now = self._clock()
        self.seconds[phase], self._began = now - self._began, now
