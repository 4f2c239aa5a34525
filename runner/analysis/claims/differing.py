"""How what was measured differs from what the paper has: on another device, of other sizes, of fewer epochs. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from runner.results.rows import Row
from runner.study.subjects import Value, sizes

ON_A_CPU = "on a CPU"          # what the paper has of a GPU
_MOST_VALUES = 3               # of a size that are listed; of more the first and the last
_ALL = 0                       # images: as many as the set has


def differences(paper: Mapping[str, Sequence[Value]], rows: Sequence[Row]) -> tuple[str, ...]:
    """What differs, in words; none where all that was measured is of the paper's sizes, or these are not known."""
    if not paper or not rows:
        return ()
    here = sizes(row.cell for row in rows)
    if any(row.cell.measure == "epochs" and _has_stand_in(row) for row in rows):
        here["data"] = ("stand-in",)
    return tuple(_differences(paper, here))


def _differences(paper: Mapping[str, Sequence[Value]], here: Mapping[str, Sequence[Value]]) -> Iterator[str]:
    for name, values in here.items():
        theirs = paper.get(name, ())
        if not theirs or set(values) <= set(theirs):
            continue
        if name == "device":
            yield ON_A_CPU if set(values) == {"cpu"} else f"on a {'/'.join(map(str, values)).upper()}"
        elif name == "epochs":
            yield f"{_listed(values)} of {_listed(theirs)} epochs"
        elif name == "images" and set(theirs) == {_ALL}:
            yield f"{_listed(values)} images, not all"
        else:
            yield f"{name} {_listed(values)}, not {_listed(theirs)}"
    if "data" in here:
        yield "stand-in data"


def _has_stand_in(row: Row) -> bool:
    data = [run.facts.get("data") for run in row.ok_runs]
    return any(isinstance(each, Mapping) and each.get("stand_in") is True for each in data)


def _listed(values: Sequence[Value]) -> str:
    shown = values if len(values) <= _MOST_VALUES else (values[0], "...", values[-1])
    return "/".join(map(str, shown))
