"""What `evenbench gate` says, for a pull request (Markdown) and for a CI server (JUnit's XML). Pure."""

from xml.etree import ElementTree

from runner.analysis.between import regression
from runner.analysis.between.regression import Answer, Outcome
from runner.formatting import clean
from runner.report.writers.markdown import of_parts

_MARKS = {Answer.SLOWER: "❌", Answer.BROKEN: "❌", Answer.WITHIN: "✅", Answer.UNCLEAR: "❔"}
_TAGS = {Answer.SLOWER: "failure", Answer.BROKEN: "error", Answer.UNCLEAR: "skipped"}


def markdown(outcome: Outcome, folder: str) -> str:
    """A summary to be put under a pull request; folder: of the session."""
    return f"### {_MARKS[outcome.answer]} " + of_parts([
        regression.conclusion(outcome), regression.columns(outcome),
        "Rates are of one worker; the brackets of head / base decide. At most one session in twenty "
        "of equal sides says slower.", f"Session: {folder}"])


def benchmark(outcome: Outcome) -> list[dict[str, str | float]]:
    """The ratios as customBiggerIsBetter of github-action-benchmark; what has none is left out."""
    return [{"name": clean(each.label), "unit": "times as fast as base", "value": each.ratio.value,
             "extra": f"{each.answer.value}, {row['head / base']}"}
            for each, row in zip(outcome.compared, regression.columns(outcome), strict=True)
            if each.ratio.value is not None]


def junit(outcome: Outcome) -> str:
    """A test case a comparison: a failure where it is slower than allowed, skipped where that cannot be told."""
    answers = [each.answer for each in outcome.compared]
    suite = ElementTree.Element("testsuite", name=f"evenbench gate {clean(outcome.base)} {clean(outcome.head)}",
                                tests=str(len(answers)), failures=str(answers.count(Answer.SLOWER)),
                                skipped=str(answers.count(Answer.UNCLEAR)), errors=str(answers.count(Answer.BROKEN)))
    for each, row in zip(outcome.compared, regression.columns(outcome), strict=True):
        case = ElementTree.SubElement(suite, "testcase", name=clean(each.label), classname=f"evenbench.{each.measure}")
        text = clean(f"head / base: {row['head / base']}; {row['']}")
        if each.answer is Answer.WITHIN:
            ElementTree.SubElement(case, "system-out").text = text
        else:
            ElementTree.SubElement(case, _TAGS[each.answer], message=text)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=False) + "\n"
