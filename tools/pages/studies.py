"""The page of a published study, as `evenbench paper` says it on a machine of two cores and no GPU."""

from collections.abc import Iterable, Iterator, Sequence

from runner import paths
from runner.machine.host import Machine
from runner.planning import paper_index
from runner.planning.plan import Wishes, plan, run_seconds
from runner.report import paper
from runner.report.writers import markdown
from runner.stacks import definition
from runner.study import file
from tools import paper_check

_MACHINE = Machine(cpu="", cpus=2, memory_bytes=8 * 10**9, kernel="", system="", hostname="")


def published_studies() -> list[str]:
    """The ids of the repository's studies that repeat a publication."""
    return [name for name in file.available(paths.STUDIES) if file.repeats_publication(name, paths.STUDIES)]


def page(name: str) -> str:
    """The page of the study of that id, as Markdown."""
    made = plan(file.read(name, paths.STUDIES, "quick"), definition.read_all(paths.STACKS), _MACHINE, Wishes(),
                lambda stack: stack.unbuildable)
    index = paper_index.rows(made, lambda each: run_seconds(each.cell, cpus=2))
    study = file.read(name, paths.STUDIES)
    title, *others = paper.parts(study, made, [index])
    others += ["On the paper's own numbers:", [{"id": each.id, "word": each.word, "numbers": "; ".join(each.numbers)}
                                               for each in paper_check.check(study)]]
    return f"# {title}\n\nWritten by `python -m tools pages`, for two cores.\n\n" + markdown.of_parts(others)


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown, and an empty line."""
    yield markdown.of_parts([[dict(zip(head, line, strict=True)) for line in lines]])
