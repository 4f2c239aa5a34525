"""A Report's comparisons as LaTeX tables for a paper, by booktabs. Pure."""

import re
from collections.abc import Iterator, Sequence

from runner.analysis.flags import Flag
from runner.formatting import clean
from runner.report.columns import endings, rounds
from runner.report.document import Report, Standing
from runner.report.tables import Column, Form, of

_SPECIAL = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
            "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
            ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}",
            "–": "--", "…": r"\dots{}", "×": r"$\times$", "-": "{-}", "'": "{'}"}
_PLAIN = re.compile(r"[\w .-]+")      # a command that stands in a comment as it is


def latex(report: Report) -> str:
    r"""A table for each comparison; a document needs \usepackage{booktabs} and \usepackage[T1]{fontenc}."""
    columns = of(report.results.columns, Form.LATEX)
    return "\n".join([
        f"% {escaped(report.name)}; needs \\usepackage{{booktabs}} and \\usepackage[T1]{{fontenc}}",
        *(line for number, (label, lines) in enumerate(report.results.groups, 1)
          for line in _table(label, lines, columns, report.machine, number))]) + "\n"


def escaped(text: str) -> str:
    """The text as LaTeX prints it, in one line."""
    return "".join(_SPECIAL.get(letter, letter) for letter in clean(text))


def _table(label: str, lines: Sequence[Standing], columns: Sequence[Column[Standing]], machine: str, number: int
           ) -> Iterator[str]:
    summary, comparison, _ = lines[0]
    named = ", ".join(f"{line.result.stack} in {line.result.ran_precision}" for line in lines
                      if Flag.OTHER_PRECISION in line.result.flags)
    other = f"Computed in another precision than the cell says: {named}. " if named else ""
    caption = (f"{label}: {comparison.unit} of one worker, the geometric mean over "
               f"{rounds(summary, [comparison])} with its 95 % interval, and the ratio to {summary.baseline} with the "
               f"interval that decides. {other}{machine}.")
    kinds = "".join("r" if column.is_number else "l" for column in columns)
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{escaped(caption)}}}",
                rf"\label{{tab:{comparison.key if comparison.key.isalnum() else number}}}",
                rf"\begin{{tabular}}{{l{kinds}}}", r"\toprule",
                " & ".join(["Stack", *(escaped(column.title) for column in columns)]) + r" \\", r"\midrule")
    yield from (_line(line, columns) for line in lines)
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")
    yield from (f"% {line.result.rerun}" for line in lines if _PLAIN.fullmatch(line.result.rerun))
    yield ""


def _line(line: Standing, columns: Sequence[Column[Standing]]) -> str:
    name = escaped(line.result.stack)
    if line.rate is None:
        return rf"{name} & \multicolumn{{{len(columns)}}}{{l}}{{{escaped(endings(line.result.endings))}}} \\"
    texts = [rf"\textbf{{{name}}}" if line.is_fastest else name,
             *(escaped(column.shown(column.value(line), Form.LATEX)) for column in columns)]
    return " & ".join(texts) + r" \\"
