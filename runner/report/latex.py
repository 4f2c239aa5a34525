"""A Report's comparisons as LaTeX tables for a paper, by booktabs. Pure."""

from collections.abc import Iterator

from runner.analysis.summary_format import Comparison, Interval, Result, Summary
from runner.formatting import clean, number
from runner.report import claim_text

_SPECIAL = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
            "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
            ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}",
            "–": "--", "…": r"\dots{}", "×": r"$\times$", "-": "{-}", "'": "{'}"}


def latex(summary: Summary, machine: str) -> str:
    r"""A table for each comparison; a document needs \usepackage{booktabs} and \usepackage[T1]{fontenc}."""
    return "\n".join(_lines(summary, machine)) + "\n"


def escaped(text: str) -> str:
    """The text as LaTeX prints it, in one line."""
    return "".join(_SPECIAL.get(letter, letter) for letter in clean(text))


def _lines(summary: Summary, machine: str) -> Iterator[str]:
    yield f"% {escaped(summary.id)}; needs \\usepackage{{booktabs}} and \\usepackage[T1]{{fontenc}}"
    for place, comparison in enumerate(summary.comparisons, 1):
        yield from _table(comparison, summary, machine, place)


def _table(comparison: Comparison, summary: Summary, machine: str, place: int) -> Iterator[str]:
    caption = (f"{comparison.label}: samples a second of one worker, the median of {summary.rounds} runs, and the "
               f"ratio to {summary.baseline}, with 95 % intervals. {machine}.")
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{escaped(caption)}}}",
                rf"\label{{tab:{comparison.key if comparison.key.isalnum() else place}}}",
                r"\begin{tabular}{lrlrll}", r"\toprule",
                r"Stack & Samples/s & 95 \% & Ratio & 95 \% & Verdict \\", r"\midrule")
    yield from (_line(comparison, result) for result in comparison.results)
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}", "")


def _line(comparison: Comparison, result: Result) -> str:
    if result.rate_per_worker is None:
        ended = ", ".join(result.endings) or "not run"
        return rf"{escaped(result.stack)} & \multicolumn{{5}}{{l}}{{{escaped(ended)}}} \\"
    name = escaped(result.stack)
    texts = [rf"\textbf{{{name}}}" if result.stack == comparison.winner else name,
             number(result.rate_per_worker), _interval(result.rate_interval, result.rate_per_worker),
             "" if result.ratio is None else f"{result.ratio:.3f}", _interval(result.ratio_interval, 1.0),
             escaped(claim_text.word(comparison, result) or result.verdict.value)]
    return " & ".join(texts) + r" \\"


def _interval(found: Interval | None, like: float) -> str:
    if found is None:
        return ""
    shown = (f"{end:.3f}" if like == 1.0 else number(end, like) for end in (found.low, found.high))
    return "--".join(shown)
