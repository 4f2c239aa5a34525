"""A clock that tests move."""


class FakeClock:
    """Each reading is `step` seconds after the one before; advance() adds more."""

    def __init__(self, step: float = 1.0) -> None:
        self.now = 0.0
        self._step = step

    def __call__(self) -> float:
        self.now += self._step
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
