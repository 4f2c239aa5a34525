"""Published numbers: what a study printed, as data. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import FiniteFloat, PositiveInt, TypeAdapter

from runner.study import quantities
from runner.study.subjects import Subject, Text, unknown_fields

# of ratios: their mean, the ratio of the sums, the greatest of them, the mean of how far they are from 1
STATISTICS = ("mean", "total", "greatest", "difference")


class Published(NamedTuple):
    """A number of a study: of one subject in its unit, or of two subjects' (quantities.RATIO_UNITS)."""

    id: Text
    source: Text                 # the table, figure or claim
    text: str
    quantity: str
    of: Subject
    to: Subject | None
    where: Mapping[str, tuple[Any, ...]]     # cell fields and the values that it is about; all of them where absent
    value: FiniteFloat
    unit: str
    experiment: str = ""         # the one that it is about, "" where all are
    contradiction: str = ""      # why it does not follow from the paper's other numbers, as arithmetic
    steps: PositiveInt = 1       # of how many steps its seconds are: a study may print those of a whole run
    statistic: str = "mean"      # over its cells, of STATISTICS
    said: Mapping[str, tuple[Any, ...]] = {}      # the fields of `where` that the study's file says
    paper: Mapping[str, tuple[Any, ...]] = {}     # sizes of its cells at the paper's scale, by field
    paper_cells: int = 0         # how many there are at the paper's scale, of a ratio pairs; 0: not known

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Whose numbers it needs."""
        return (self.of, self.to) if self.to else (self.of,)

    def record(self) -> dict[str, Any]:
        """As the store keeps it."""
        return {**self._asdict(), "of": self.of.record(), "to": self.to.record() if self.to else None,
                **{each: {name: list(values) for name, values in getattr(self, each).items()}
                   for each in ("where", "said", "paper")}}


_PUBLISHED = TypeAdapter(Published)


def from_record(record: Mapping[str, Any]) -> Published:
    """What record() made. Raises ValueError."""
    number: Published = _PUBLISHED.validate_python(record)
    if wrong := wrong_number(number) or unknown_fields(number.subjects, number.where):
        raise ValueError(wrong)
    return number


def known_units(number: Published) -> tuple[str, ...]:
    """The units that it may be printed in."""
    return quantities.RATIO_UNITS if number.to else quantities.units(number.quantity)


def wrong_number(number: Published) -> str | None:
    """What of a number contradicts its quantity, unit or statistic, or None."""
    for name, known in (("quantity", quantities.QUANTITIES), ("unit", quantities.UNITS), ("statistic", STATISTICS)):
        if getattr(number, name) not in known:
            return f'key "{name}": found "{getattr(number, name)}", expected one of {", ".join(known)}'
    if number.unit not in (known := known_units(number)):
        return (f'key "unit": found "{number.unit}", expected one of {", ".join(known)} for {number.quantity} of '
                + ("two subjects, a ratio" if number.to else 'one subject; a ratio has "of" and "to"'))
    if number.value <= 0 and number.unit not in ("mpe", "%", "share"):
        return f'key "value": found {number.value:g}, expected a number above 0'
    if number.statistic != STATISTICS[0] and number.unit != "x":
        return f'key "statistic": found unit "{number.unit}", expected "x"; other numbers are means'
    return None
