"""Some of a study's experiments: STUDY/EXPERIMENT, or several with commas. Pure but for reading the study's file."""

from collections.abc import Mapping, Sequence

from runner.errors import InputError, unknown
from runner.paths import Shelf
from runner.study import file as study
from runner.study.claims import Claim
from runner.study.file import Study
from runner.study.published import Published
from workloads.spec.cell import Cell


def parted(name: str) -> tuple[str, tuple[str, ...]]:
    """The study's name or path, and the experiments after it; none: all of them."""
    file, end, rest = name.partition(".toml")
    if not end:
        file, _, rest = name.partition("/")
    return f"{file}{end}" or name, tuple(filter(None, rest.removeprefix("/").split(","))) if file else ()


def read(name: str, folders: Shelf, scale: str | None = None, on_gpu: bool = False) -> Study:
    """The study of that name with the experiments after it. on_gpu: as study.read.

    Raises InputError, also where its scale has no cell of those experiments.
    """
    of, ids = parted(name)
    whole = study.read(of, folders, scale, on_gpu)
    if not ids:
        return whole
    chosen = selected(whole, ids)
    if not any(each.cases for each in chosen.experiments):
        fuller = [f"--scale {scale}" for scale in study.scales(of, folders) if any(
            each.cases for each in selected(study.read(of, folders, scale, on_gpu), ids).experiments)]
        raise InputError(f"study {whole.id}: {', '.join(ids)}: found no cells at scale {whole.scale}, "
                         f"expected {' or '.join(fuller) or 'other experiments'}")
    return chosen


def selected(whole: Study, ids: tuple[str, ...]) -> Study:
    """The study with these experiments alone, and the claims and published numbers that they can say something of.

    Raises InputError where it has no such experiment.
    """
    known = [experiment.id for experiment in whole.experiments]
    for name in ids:
        if name not in known:
            raise unknown(f"study {whole.id}: experiment", name, known)
    chosen = tuple(experiment for experiment in whole.experiments if experiment.id in ids)
    cells = {experiment.id: [*study.cells_of(experiment)] for experiment in chosen}
    return whole._replace(experiments=chosen,
                          published=tuple(number for number in whole.published if _can_be_said(number, cells)),
                          claims=tuple(claim for claim in whole.claims if _can_be_said(claim, cells)))


def _can_be_said(one: Claim | Published, cells: Mapping[str, Sequence[Cell]]) -> bool:
    """Whether each subject has a cell that its number could come from."""
    is_about = one.selection()
    of = [cell for name, own in cells.items() if one.experiment in ("", name) for cell in own if is_about(cell)]
    return all(any(subject.owns(cell) for cell in of) for subject in one.subjects)
