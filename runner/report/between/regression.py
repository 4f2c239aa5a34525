"""What `evenbench gate` says, for a pull request (Markdown) and for a CI server (JUnit's XML). Pure."""

from collections.abc import Iterator
from xml.etree import ElementTree

from runner.analysis.between import regression
from runner.analysis.between.regression import Answer, Outcome
from runner.formatting import clean
from runner.report.writers.markdown import escaped, table_row

_MARKS = {Answer.SLOWER: "❌", Answer.WITHIN: "✅", Answer.UNCLEAR: "❔"}


def markdown(outcome: Outcome, folder: str) -> str:
    """A summary to be put under a pull request; folder: of the session."""
    return "\n".join(_lines(outcome, folder)) + "\n"


def _lines(outcome: Outcome, folder: str) -> Iterator[str]:
    yield f"### {_MARKS[outcome.answer]} {escaped(regression.conclusion(outcome))}"
    yield ""
    rows = regression.columns(outcome)
    yield table_row(tuple(rows[0]))
    yield table_row(["---"] * len(rows[0]), is_rule=True)
    yield from (table_row(tuple(row.values())) for row in rows)
    yield ""
    yield ("Rates are samples a second of one worker; the brackets of head / base decide. At most one session in "
           "twenty of equal sides says slower.")
    yield ""
    yield f"Session: {escaped(folder)}"


def junit(outcome: Outcome) -> str:
    """A test case a comparison: failed where the head is slower than allowed, skipped where it could not be told."""
    answers = [each.answer for each in outcome.compared]
    suite = ElementTree.Element("testsuite", name=f"evenbench gate {clean(outcome.base)} {clean(outcome.head)}",
                                tests=str(len(answers)), failures=str(answers.count(Answer.SLOWER)),
                                skipped=str(answers.count(Answer.UNCLEAR)), errors="0")
    for each, row in zip(outcome.compared, regression.columns(outcome), strict=True):
        case = ElementTree.SubElement(suite, "testcase", name=clean(each.label), classname=f"evenbench.{each.measure}")
        text = f"head / base: {row['head / base']}; {row['']}"
        if each.answer is not Answer.WITHIN:
            tag = "failure" if each.answer is Answer.SLOWER else "skipped"
            ElementTree.SubElement(case, tag, message=clean(text))
        else:
            ElementTree.SubElement(case, "system-out").text = clean(text)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=False) + "\n"
