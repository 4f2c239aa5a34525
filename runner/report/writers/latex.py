"""A Report's comparisons as LaTeX tables for a paper, by booktabs. Pure."""

import re
from collections.abc import Iterator

from runner.analysis.summary_format import Comparison, Summary
from runner.formatting import clean
from runner.report.columns import RESULTS, Form, Line, of

_SPECIAL = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
            "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
            ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}",
            "–": "--", "…": r"\dots{}", "×": r"$\times$", "-": "{-}", "'": "{'}"}

_PLAIN = re.compile(r"[\w .-]+")      # a command that stands in a comment as it is
_COLUMNS = of(RESULTS, Form.LATEX)


def latex(summary: Summary, machine: str) -> str:
    r"""A table for each comparison; a document needs \usepackage{booktabs} and \usepackage[T1]{fontenc}."""
    return "\n".join(_lines(summary, machine)) + "\n"


def escaped(text: str) -> str:
    """The text as LaTeX prints it, in one line."""
    return "".join(_SPECIAL.get(letter, letter) for letter in clean(text))


def _lines(summary: Summary, machine: str) -> Iterator[str]:
    yield f"% {escaped(summary.id)}; needs \\usepackage{{booktabs}} and \\usepackage[T1]{{fontenc}}"
    for number, comparison in enumerate(summary.comparisons, 1):
        yield from _table(comparison, summary, machine, number)


def _table(comparison: Comparison, summary: Summary, machine: str, number: int) -> Iterator[str]:
    caption = (f"{comparison.label}: samples a second of one worker, the geometric mean of {summary.rounds} runs, and "
               f"the ratio to {summary.baseline}, with 95 % intervals. {machine}.")
    kinds = "".join("r" if column.is_number else "l" for column in _COLUMNS)
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{escaped(caption)}}}",
                rf"\label{{tab:{comparison.key if comparison.key.isalnum() else number}}}",
                rf"\begin{{tabular}}{{l{kinds}}}", r"\toprule",
                " & ".join(["Stack", *(escaped(column.title) for column in _COLUMNS)]) + r" \\", r"\midrule")
    yield from (_line(Line(summary, comparison, result)) for result in comparison.results)
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")
    yield from (f"% {result.rerun}" for result in comparison.results if _PLAIN.fullmatch(result.rerun))
    yield ""


def _line(line: Line) -> str:
    name = escaped(line.result.stack)
    if not line.has_rate:
        ended = ", ".join(line.result.endings) or "not run"
        return rf"{name} & \multicolumn{{{len(_COLUMNS)}}}{{l}}{{{escaped(ended)}}} \\"
    texts = [rf"\textbf{{{name}}}" if line.is_winner else name,
             *(escaped(column.shown(line, Form.LATEX)) for column in _COLUMNS)]
    return " & ".join(texts) + r" \\"
