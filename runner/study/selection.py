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
    """The study of that name, with the experiments after it and what claims and numbers can say of their cells.

    Raises InputError, also where it has no such experiment, or its scale no cell of them.
    """
    of, ids = parted(name)
    whole = study.read(of, folders, scale, on_gpu)
    known = [experiment.id for experiment in whole.experiments]
    for each in ids:
        if each not in known:
            raise unknown(f"study {whole.id}: experiment", each, known)
    if not ids:
        return whole
    chosen = tuple(experiment for experiment in whole.experiments if experiment.id in ids)
    if not any(experiment.cases for experiment in chosen):
        fuller = [f"--scale {other}" for other, at_scale in study.experiments(of, folders, on_gpu).items()
                  if any(experiment.cases for experiment in at_scale.experiments if experiment.id in ids)]
        raise InputError(f"study {whole.id}: {', '.join(ids)}: found no cells at scale {whole.scale}, "
                         f"expected {' or '.join(fuller) or 'other experiments'}")
    cells = {experiment.id: [*study.cells_of(experiment)] for experiment in chosen}
    return whole._replace(experiments=chosen,
                          published=tuple(number for number in whole.published if _can_be_said(number, cells)),
                          claims=tuple(claim for claim in whole.claims if _can_be_said(claim, cells)))


def _can_be_said(one: Claim | Published, cells: Mapping[str, Sequence[Cell]]) -> bool:
    """Whether each subject has a cell that its number could come from."""
    is_about = one.selection()
    of = [cell for name, own in cells.items() if one.experiment in ("", name) for cell in own if is_about(cell)]
    return all(any(subject.owns(cell) for cell in of) for subject in one.subjects)
