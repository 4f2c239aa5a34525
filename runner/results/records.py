"""What the records of events.jsonl say, a model a kind, by which they are read. Pure."""

from typing import Annotated

from pydantic import AfterValidator, Field

from runner.results.lines import Count, Line, Number, Object, Positive, Readings, Seconds, Text
from runner.results.matrix_products import Product


def _cell(cell: Object) -> Object:
    """A cell, whose fields are runner.results.rows' to judge, but for its stack."""
    if not isinstance(cell.get("stack"), str):
        raise ValueError(f"found the stack {cell.get('stack')!r:.40}, expected text")
    return cell


class Planned(Line):
    """A cell of the plan."""

    key: Text
    experiment: Text = ""
    cell: Annotated[Object, AfterValidator(_cell)]


class LeftOut(Line):
    """A cell that the plan left out."""

    experiment: Text
    cell: Object
    reason: Text


class Experiment(Line):
    """A part of the study, as the plan kept it."""

    id: Text
    title: Text
    cells: list[Text]                      # keys, of those that it shares with others too
    assumed: dict[Text, Text]              # where the study is silent
    scaled: list[Text]                     # what the scale changes of the study's own sizes
    node: dict[str, Count] = Field(default={})     # the CPUs and bytes that the study's nodes had, where it says so


class Plan(Line):
    """What the session is to do; of several the last one holds."""

    rounds: Count = 0
    looks: list[Positive] = Field(default=[])             # rounds after which words are judged; []: at the end alone
    baseline: Text = ""
    cells: list[Planned]
    skipped: list[LeftOut]
    published: list[Object] = Field(default=[])           # the study's own numbers
    claims: list[Object] = Field(default=[])              # what it claims
    index: list[Object] = Field(default=[])               # its figures and tables
    title: Text = ""
    experiments: list[Experiment] = Field(default=[])
    settings: Object = Field(default={})                  # that the user put over the study's
    stacks: list[Text] = Field(default=[])                # that the user chose instead of the study's


class Begin(Line):
    """A run begins."""

    run: Text
    key: Text
    round: Count
    seed: Count | None = None              # of this round; None: not recorded, the cell's own
    place: Object | None = None            # None where no worker was started
    host: Readings | None = None


class OfRun(Line):
    """A line of a worker."""

    run: Text
    line: Object
    at: Seconds | None = None              # since the run's launch


class Ending(Line):
    """How a run ended, and what it used."""

    run: Text
    ending: Text
    message: Text = ""
    seconds: Number | None = None
    host: Readings | None = None
    places: dict[Text, Readings | None] | None = None


class Rewarmed(Line):
    """The run's turns so far were a warm-up."""

    run: Text


class Apart(Line):
    """Workers of a comparison did not fit into memory together."""

    comparison: Text


class Closed(Line):
    """Why the session ended."""

    reason: Text


RECORDS: dict[str, type[Line]] = {
    "plan": Plan, "begin": Begin, "line": OfRun, "ending": Ending, "rewarmed": Rewarmed, "apart": Apart,
    "product": Product, "closed": Closed}
