"""The command that proves evenness: check."""

import sys
from typing import Annotated

import typer

from runner.analysis.agreement import NATIVE
from runner.application import prove
from runner.cli import complete, options
from runner.cli.output import Output
from runner.cli.request import Own, Settled
from runner.errors import InputError
from runner.measuring import own_models
from runner.planning.plan import Wishes
from runner.report.tables import Part
from runner.report.writers import equality as written

app = options.Commands()


@app.command("check")
def check_(names: Annotated[list[str] | None, typer.Argument(
               metavar="TASK", autocompletion=complete.tasks,
               help="lenet5 if none. MODEL.py: models of your own.")] = None,
           stacks: options.StackNames = None,
           every: Annotated[bool, typer.Option("--all", help="Every task; without --stack in every stack.")] = False,
           parallel: Annotated[bool, typer.Option(
               "--parallel", help="Three workers' update against one worker's on the whole batch.")] = False,
           precision: Annotated[str, typer.Option(
               help="float64 proves; float32 shows rounding; amp is bfloat16.")] = "float64",
           loop: Annotated[str, typer.Option(help="native; tuned: against the first stack's native loop.")] = "native",
           launcher: options.LauncherName = "auto",
           results: options.Results = options.RESULTS, pairs: options.Settings = None,
           data: Annotated[str | None, typer.Option(help="own=FOLDER that MODEL.py reads.")] = None, *, own: Own,
           folders: options.Folders, output: Output) -> None:
    """Prove that stacks compute the same: weights, batch, every activation, gradient and update, compared."""
    files = names if names and own_models.is_file(names[0]) else []
    others = {"--all": every, "--parallel": parallel, "--precision": precision != "float64",
              "--loop": loop != NATIVE} if files else {
                  "--same": own.same, "--lane": own.lanes, "--with": own.packages, "--set": pairs, "--data": data}
    if wrong := next((option for option, value in others.items() if value), ""):
        raise InputError(f"check: found {wrong}, which is of {'tasks' if files else 'models of your own, MODEL.py'}")
    if names and every:
        raise InputError(f"check: found --all and {names[0]}, expected one of them")
    settled = Settled(launcher=launcher, data=data, pairs=pairs, results=results)
    request = settled.request(files[0] if files else "", Wishes(options.split_stacks(stacks)))._replace(
        places=folders.places)
    if files:
        verdicts = prove.of_files(own.of(request, files[1:]))
        parts: list[Part] = [*map(own_models.told, verdicts)] or ["it runs; one column has no other to be compared "
                                                                         "with"]
    else:
        verdicts = prove.of_tasks(request, names or ["lenet5"], precision, loop, parallel, is_all=every)
        against = "one worker" if parallel else ", ".join(sorted({verdict.reference for verdict in verdicts}))
        parts = [f"worst relative differences, against {against}:", list(map(written.listed, verdicts))]
    output.rows([{**verdict._asdict(), "passed": verdict.passed} for verdict in verdicts], parts,
                documented=[list(map(written.row, verdicts))])
    sys.exit(0 if all(verdict.passed for verdict in verdicts) else 1)
