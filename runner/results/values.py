"""Checks of single values in records. A wrong value raises TypeError or ValueError with what was found and expected."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]
Facts = Mapping[str, Any]
_NO_SAMPLES: Samples = np.empty(0)
_NUMBERS = (float, int)        # themselves: a bool is an int, too
Readings = Mapping[str, float | None]      # of the host; what was not measured is None or absent


def samples(values: list[float]) -> Samples:
    """An array of finite numbers."""
    if values == []:                       # most lists of most runs
        return _NO_SAMPLES
    try:
        # the sum is finite where all are, unless it overflows, and costs a third of asking each
        are_finite = math.isfinite(sum(values)) or all(map(math.isfinite, values))
    except (TypeError, OverflowError):
        are_finite = False
    if not are_finite:
        raise ValueError("expected a list of finite numbers")
    return np.asarray(values, dtype=np.float64)


def seconds(values: list[float]) -> Samples:
    """An array of numbers, none below zero."""
    array = samples(values)
    if len(array) and array.min() < 0:
        raise ValueError("found negative seconds")
    return array


def readings(values: Mapping[str, Any] | None) -> Readings:
    """Numbers by name; {} of None."""
    return {name: number(value) for name, value in mapping(values or {}).items()}


def number(value: Any) -> float | None:
    """A finite number, or None."""
    if value is None:
        return None
    if type(value) not in _NUMBERS or not math.isfinite(value):
        raise TypeError(f"found {value!r:.40}, expected a finite number")
    return float(value)


def least(value: Any, bound: float) -> float:
    """A number that is no smaller than the bound."""
    amount = number(value)
    if amount is None or amount < bound:
        raise ValueError(f"found {value!r:.40}, expected a number from {bound:g}")
    return amount


def count(value: Any) -> int:
    """A whole number from zero."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
        raise TypeError(f"found {value!r:.40}, expected a count")
    return value


def counts_of(values: Any, length: int) -> list[int]:
    """A list of that length of counts above zero."""
    if not isinstance(values, list) or len(values) != length:
        raise ValueError(f"found {values!r:.40}, expected a list of {length} counts")
    if not all(count(value) for value in values):
        raise ValueError("found a count of 0, expected at least 1")
    return values


def one_of(value: Any, choices: tuple[str, ...]) -> str:
    """A text that is one of some."""
    if value not in choices:
        raise ValueError(f"found {value!r:.40}, expected one of {', '.join(filter(None, choices))}")
    return text(value)


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"found {value!r:.40}, expected text")
    return value


def mapping(value: Any) -> Facts:
    """An object."""
    if not isinstance(value, dict):
        raise TypeError(f"found {value!r:.40}, expected an object")
    return value


def recorded(record: Facts, name: str) -> Facts:
    """The object that a record holds under a name; an empty one where it holds none, or something else."""
    facts = record.get(name)
    return facts if isinstance(facts, dict) else {}


def demand(facts: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    """Raise TypeError where a value that is there is not of its kind."""
    for name, kind in kinds.items():
        value = facts.get(name)
        if value is not None and type(value) is not kind:         # a bool is an int, too
            raise TypeError(f"found {name} {value!r:.40}, expected {kind.__name__}")
