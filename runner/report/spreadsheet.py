"""A Summary as CSV: a line a result, its columns documented in docs/report.md. Pure."""

import csv
import io
from collections.abc import Sequence

from runner.analysis.summary_format import Comparison, Result, Summary
from runner.formatting import clean

_OF_SESSION = ("id", "study", "scale", "began", "launcher")
_OF_COMPARISON = ("experiment", "label", "task", "measure")
_SETTINGS = ("batch", "image", "steps", "nodes", "cpus", "device", "parallel", "precision")
_OF_RESULT = ("stack", "key", "rate_per_worker", "ratio", "pairs", "verdict", "workers", "step_seconds",
              "first_step_seconds", "load_share", "loss_first", "loss_last", "accuracy", "peak_bytes", "parameters",
              "tokens_per_second", "padded_tokens_per_second", "machine_share")
_COMPUTED = ("rate_low", "rate_high", "ratio_low", "ratio_high", "runs_ok", "endings", "is_winner", "flags",
             "other_settings")
COLUMNS = (*_OF_SESSION, *_OF_COMPARISON, *_SETTINGS, *_OF_RESULT, *_COMPUTED)
_OBEYED = ("=", "+", "-", "@", "\t", "\r", "|", "%")      # what a spreadsheet takes for a formula


def comma_separated(summary: Summary) -> str:
    """The file; texts that a spreadsheet would compute have an apostrophe in front."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for comparison in summary.comparisons:
        for result in comparison.results:
            writer.writerow([harmless(value) for value in _values(summary, comparison, result)])
    return file.getvalue()


def _values(summary: Summary, comparison: Comparison, result: Result) -> Sequence[object]:
    rate, ratio = result.rate_interval, result.ratio_interval
    others = {name: value for name, value in comparison.settings.items()
              if name not in (*_SETTINGS, "task", "measure")}
    return [*(getattr(summary, name) for name in _OF_SESSION), *(getattr(comparison, name) for name in _OF_COMPARISON),
            *(comparison.settings.get(name) for name in _SETTINGS), *(getattr(result, name) for name in _OF_RESULT),
            rate and rate.low, rate and rate.high, ratio and ratio.low, ratio and ratio.high,
            result.endings.get("ok", 0), " ".join(f"{name}:{count}" for name, count in result.endings.items()),
            int(result.stack == comparison.winner), " ".join(result.flags),
            " ".join(f"{name}:{value}" for name, value in others.items())]


def harmless(value: object) -> object:
    """Numbers as they are, texts so that nothing in them is obeyed."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.lstrip().startswith(_OBEYED) else text
