"""What the user may choose when a data set is prepared."""

from pathlib import Path
from typing import Any, NamedTuple


class Wanted(NamedTuple):
    """The options of `evenbench data prepare`; what a data set has no use for is not looked at."""

    image: int = 80                        # pixels of a side
    limit: int = 0                         # samples at most; 0: all
    labels: Path | None = None             # class numbers of images that lie in one folder
    vocabulary: Path | None = None         # one token a line

    def first(self, samples: list[Any]) -> list[Any]:
        """As many of the samples as are wanted."""
        return samples[:self.limit] if self.limit else samples
