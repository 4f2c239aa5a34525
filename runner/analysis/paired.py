"""A stack against another in the rounds that both have: rates, ratio, word, and what withholds the word. Pure."""

from typing import NamedTuple

from runner.analysis import stats
from runner.analysis.doubts import Doubt, Doubts
from runner.analysis.stats import Ratio, Verdict
from runner.results.rows import Row


def mean_rate(row: Row) -> float | None:
    """The geometric mean of a row's rates, of one worker; None of none."""
    return stats.geometric_mean(row.rates.values())


class Paired(NamedTuple):
    """Rows of one session, held against each other round by round."""

    one: Row
    other: Row | None            # None: not planned
    ratio: Ratio                 # of one to the other
    doubt: Doubt | None          # about one
    other_doubt: Doubt | None

    @classmethod
    def of(cls, one: Row, other: Row | None, error: float, doubts: Doubts) -> "Paired":
        """error: of each word of the session (stats.error_of)."""
        ratio = stats.ratio(one.rates, other.rates if other else {}, error * one.look.share)
        return cls(one, other, ratio, doubts.get(one.key), doubts.get(other.key) if other else None)

    @property
    def rates(self) -> tuple[float | None, float | None]:
        """The means of both rows' rates."""
        return mean_rate(self.one), mean_rate(self.other) if self.other else None

    @property
    def verdict(self) -> Verdict:
        """What may be said of the ratio; what withholds a word, where either row is doubted."""
        doubt = self.other_doubt or self.doubt
        return doubt.verdict if doubt else stats.verdict(self.ratio)

    @property
    def round_ratios(self) -> tuple[float, ...]:
        """The ratio of each round that both have."""
        return tuple(stats.quotients(self.one.rates, self.other.rates if self.other else {}).values())

    def withheld(self, one: str, other: str) -> str:
        """Both rows' doubts under these names, and once what is missing of rounds that both are in; "" without any."""
        if self.doubt and self.doubt == self.other_doubt and self.doubt.verdict in (
                Verdict.TOO_BUSY, Verdict.UNFINISHED):
            return self.doubt.text
        return "; ".join(f"{name}: {doubt.text}" for name, doubt in ((other, self.other_doubt), (one, self.doubt))
                         if doubt)
