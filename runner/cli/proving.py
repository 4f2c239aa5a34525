"""The command that proves evenness: check."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from runner import paths, screen
from runner.analysis import agreement
from runner.cli import complete
from runner.cli.options import (
    RESULTS,
    Commands,
    Folders,
    LauncherName,
    Results,
    Settings,
    StackNames,
    settings,
    split_stacks,
)
from runner.cli.output import Output
from runner.cli.request import Own
from runner.errors import InputError, unknown
from runner.launchers import choose
from runner.machine import nvml
from runner.measuring import building, equality, job, own_models, own_stacks
from runner.measuring.bench import Request
from runner.planning.plan import Wishes
from runner.report.tables import Part
from runner.report.writers import equality as written
from runner.results import store
from runner.stacks import definition
from runner.stacks.definition import PinnedStack, chosen_names
from workloads.spec.tasks import NAMES

app = Commands()


@app.command("check")
def check_(names: Annotated[list[str] | None, typer.Argument(
               metavar="TASK", autocompletion=complete.tasks,
               help="lenet5 if none. MODEL.py: models of your own.")] = None,
           stacks: StackNames = None,
           every: Annotated[bool, typer.Option("--all", help="Every task in every stack.")] = False,
           parallel: Annotated[bool, typer.Option(
               "--parallel", help="Three workers' update against one worker's on the whole batch.")] = False,
           precision: Annotated[str, typer.Option(help="float64 proves; float32 shows rounding.")] = "float64",
           loop: Annotated[str, typer.Option(help="native; tuned: against the first stack's native loop.")] = "native",
           launcher: LauncherName = "auto",
           results: Results = RESULTS, pairs: Settings = None,
           data: Annotated[str | None, typer.Option(help="own=FOLDER that MODEL.py reads.")] = None, *, own: Own,
           folders: Folders, output: Output) -> None:
    """Prove that stacks compute the same: weights, batch, every activation, gradient and update, compared."""
    files = names if names and own_models.is_file(names[0]) else []
    others = {"--all": every, "--parallel": parallel, "--precision": precision != "float64",
              "--loop": loop != agreement.NATIVE} if files else {
                  "--same": own.same, "--lane": own.lanes, "--with": own.packages, "--set": pairs, "--data": data}
    if wrong := next((option for option, value in others.items() if value), ""):
        raise InputError(f"check: found {wrong}, which is of {'tasks' if files else 'models of your own, MODEL.py'}")
    if files:
        of_cells, values = own_models.options_of(files[0], pairs or [])
        wishes = Wishes(split_stacks(stacks), settings=settings(of_cells))
        request = Request(files[0], None, launcher, data, wishes, results=results, options=values,
                          places=folders.places)
        sys.exit(_of_files(own.of(request, files[1:]), output))
    if names and every:
        raise InputError(f"check: found --all and {names[0]}, expected one of them")
    here_gpus = nvml.observe()
    here = own_stacks.chosen(split_stacks(stacks), definition.read_all(folders.places.stacks), paths.ROOT, here_gpus)
    today = [name for name, each in here.stacks.items() if isinstance(each, PinnedStack) and "quick" in each.studies]
    chosen = [here.stacks[name] for name in chosen_names(here.names or ([] if every else today), here.stacks)]
    tasks = [*NAMES] if every else names or ["lenet5"]
    for name in tasks:
        if name not in NAMES:
            raise unknown("check: task", name, NAMES)
    if precision not in own_models.PRECISIONS:
        raise InputError(f'--precision: found "{precision}", expected float64 or float32')
    if loop not in (agreement.NATIVE, "tuned") or (loop != agreement.NATIVE and parallel):
        raise InputError(f'--loop: found "{loop}", expected native or tuned, and native with --parallel')
    store.check_usable(results)
    how = choose.for_stacks(launcher, screen.say, here_gpus, here.named)
    chosen = building.buildable(chosen, how, screen.say)
    verdicts = equality.Check.by(how, paths.cache_folder(), screen.say, precision=precision, loop=loop,
                                 is_parallel=parallel).kept(tasks, chosen, results)
    against = "one worker" if parallel else ", ".join(sorted({verdict.reference for verdict in verdicts}))
    sys.exit(_judged(verdicts, output, [f"worst relative differences, against {against}:",
                                        list(map(written.listed, verdicts))]))


def _judged(verdicts: Sequence[agreement.Verdict], output: Output, parts: Sequence[Part]) -> int:
    """Give the verdicts, to people as those parts; the exit code."""
    rows = [{**verdict._asdict(), "passed": verdict.passed} for verdict in verdicts]
    output.rows(rows, parts, documented=[list(map(written.row, verdicts))])
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def _of_files(request: Request, output: Output) -> int:
    """Check models of the user's own; the exit code."""
    store.check_usable(request.results)
    made = building.prepared(job.planned(request, screen.say), screen.say)
    check = equality.Check.by(made.launcher, made.data.folder, screen.say)
    _, verdicts = own_models.checked(made.plan, made.stacks, check, request.results)
    return _judged(verdicts, output, list(map(own_models.told, verdicts)) or ["it runs; one column has no other to be "
                                                                              "compared with"])
