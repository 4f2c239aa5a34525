"""Published numbers: what a study printed, as data. Pure."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import FiniteFloat, PositiveInt

from runner.results.lines import says
from runner.strict_toml import Position, Text
from runner.study import quantities
from runner.study.subjects import OfCells, Subject, unknown_fields

# of ratios: their mean, the ratio of the sums, the greatest of them
STATISTICS = ("mean", "total", "greatest")


class Published(OfCells):
    """A number of a study: of one subject in its unit, or of two subjects' (quantities.RATIO_UNITS)."""

    source: Annotated[Text, says("The table, figure or claim, and the GPU.")]
    text: str = ""
    of: Subject
    printed: Annotated[str, says('As the paper prints it: "4.85 %".')] = ""
    value: Annotated[FiniteFloat, says("The number in it.")]
    row: Annotated[str, says("Of the paper's table.")] = ""
    column: str = ""
    unit: Annotated[str, says(
        's, bytes, W, share, %, count, samples/s or steps/s; of two subjects x (of / to), "% more" (in per cent, what '
        "of that is above 1), mpe ((of - to) / of) or % of it. Rates are of all workers together.")]
    steps: Annotated[PositiveInt, says("Of how many steps its seconds are.")] = 1
    statistic: Annotated[str, says("Over its cells: mean, total or greatest.")] = "mean"
    paper_cells: Annotated[int, says("At the paper's scale, of a ratio pairs; 0: not known.")] = 0

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """`of`, and `to` where it has one: the number holds `of` against it."""
        return (self.of, self.to) if self.to else (self.of,)

    @property
    def ratio(self) -> float:
        """Of two subjects of / to."""
        match self.unit:
            case "x":
                return self.value
            case "% more":
                return 1 + self.value / 100
            case _:
                return 1 / (1 - self.value / (100 if self.unit == "%" else 1))


class Printed(NamedTuple):
    """A number as a paper prints it, with what stands before and after it."""

    before: str
    digits: str
    after: str

    @property
    def scale(self) -> float:
        """Of "62M" a million."""
        return {"K": 1e3, "M": 1e6}.get(self.after[:1], 1.0)


_NUMBER = re.compile(r"(?P<before>[^\d-]*)(?P<digits>-?\d+(?:\.\d+)?)(?P<after>[^\d]*)")


def parted(printed: str) -> Printed | None:
    """A printed number in its parts; None where it is none, or several."""
    found = _NUMBER.fullmatch(printed)
    return Printed(**found.groupdict()) if found else None


def amount(printed: Any, position: Position) -> float:
    """The number in what a paper prints. Raises InputError."""
    if not isinstance(printed, str) or (parts := parted(printed)) is None:
        raise position.wrong(f'key "printed": found {printed!r}, expected text with one number')
    return float(parts.digits) * parts.scale


def from_record(record: Mapping[str, Any]) -> Published:
    """What record() made. Raises ValueError."""
    number = Published.model_validate(record)
    if wrong := wrong_number(number) or unknown_fields(number.subjects, number.where):
        raise ValueError(wrong)
    return number


def wrong_number(number: Published) -> str | None:
    """What of a number contradicts its quantity, unit or statistic, or None."""
    for name, known in (("quantity", quantities.QUANTITIES), ("unit", quantities.UNITS), ("statistic", STATISTICS)):
        if getattr(number, name) not in known:
            return f'key "{name}": found "{getattr(number, name)}", expected one of {", ".join(known)}'
    if number.unit not in (known := quantities.RATIO_UNITS if number.to else quantities.units(number.quantity)):
        return (f'key "unit": found "{number.unit}", expected one of {", ".join(known)} for {number.quantity} of '
                + ("two subjects, a ratio" if number.to else 'one subject; a ratio has "of" and "to"'))
    if number.value <= 0 and number.unit not in ("mpe", "%", "% more", "share"):
        return f'key "printed": found {number.value:g}, expected a number above 0'
    if number.statistic != STATISTICS[0] and number.unit not in ("x", "% more"):
        return f'key "statistic": found unit "{number.unit}", expected "x" or "% more"; other numbers are means'
    return None
