"""Verdicts of a check as text: a table for documents, a line for the terminal. Pure."""

from runner.measuring.equality import ALIKE, KINDS, Verdict
from runner.report.writers.markdown import escaped


def markdown(verdicts: list[Verdict]) -> str:
    """A table of the worst relative differences, for documents."""
    lines = ["| task | stack | against | " + " | ".join(KINDS) + " | verdict |", "|---" * (len(KINDS) + 4) + "|"]
    for verdict in verdicts:
        worst = [f"{verdict.worst[kind]:.0e}" if kind in verdict.worst else "" for kind in KINDS]
        cells = [verdict.task, verdict.stack, verdict.reference, *worst, escaped(outcome(verdict))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


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
