"""Verdicts of a check as lines of a table. Pure."""

from runner.analysis.agreement import ALIKE, KINDS, Verdict


def row(verdict: Verdict) -> dict[str, str]:
    """A verdict with the worst relative difference of every kind, for documents."""
    worst = {kind: f"{verdict.worst[kind]:.0e}" if kind in verdict.worst else "" for kind in KINDS}
    return {"task": verdict.task, "stack": verdict.stack, "against": verdict.reference, **worst,
            "verdict": outcome(verdict)}


def listed(verdict: Verdict) -> dict[str, str]:
    """A verdict as a line of a table; logits are the last layer's output."""
    kinds = {"activation": "layers", "loss": "loss", "gradient": "gradient", "weight": "weight", "statistic": "stats",
             "inferred": "inferred"}
    worst = {name: f"{verdict.worst[kind]:.0e}" if kind in verdict.worst else "-" for kind, name in kinds.items()
             if kind in ALIKE or not verdict.parallel}
    return {"task": verdict.task, "stack": verdict.stack, **worst, "verdict": outcome(verdict)}


def outcome(verdict: Verdict) -> str:
    """The verdict in words."""
    return "equal" if verdict.passed else verdict.problem or f"DIFFERS first in {verdict.first}"
