"""Evenness proved: tasks in stacks, or models of the user's own, compared array by array."""

from collections.abc import Sequence

from runner import paths, screen
from runner.analysis.agreement import NATIVE, Verdict, verdict_of
from runner.errors import InputError, unknown
from runner.launchers import choose
from runner.machine import nvml
from runner.measuring import building, equality, job, own_models, own_stacks
from runner.measuring.bench import Request
from runner.results import store
from runner.stacks import definition
from runner.stacks.definition import PinnedStack, chosen_names
from workloads.spec import cluster
from workloads.spec.tasks import NAMES

LOOPS = (NATIVE, "tuned")


def of_tasks(request: Request, tasks: Sequence[str], precision: str, loop: str, is_parallel: bool, is_all: bool
             ) -> list[Verdict]:
    """Verdicts on the request's stacks, also those that cannot be checked, else on those of today's that can be.

    is_all: on all tasks and stacks. Raises InputError.
    """
    here_gpus = nvml.observe()
    here = own_stacks.chosen(request.wishes.stacks, definition.read_all(request.places.stacks), paths.ROOT, here_gpus)
    today = [name for name, each in here.stacks.items() if isinstance(each, PinnedStack) and "quick" in each.studies]
    chosen = [here.stacks[name] for name in chosen_names(here.names or ([] if is_all else today), here.stacks)]
    if wrong := next((name for name in tasks if name not in NAMES), ""):
        raise unknown("check: task", wrong, NAMES)
    if precision not in (*own_models.PRECISIONS, "amp"):
        raise InputError(f'--precision: found "{precision}", expected float64, float32 or amp')
    if loop not in LOOPS or (loop != NATIVE and is_parallel):
        raise InputError(f'--loop: found "{loop}", expected native or tuned, and native with --parallel')
    if len(chosen) < 2 and loop == NATIVE and not is_parallel:
        raise InputError(f"check: found {chosen[0].name} alone, expected two or more: --stack A,B")
    store.check_usable(request.results)
    launcher = choose.for_stacks(request.launcher, screen.say, here_gpus, here.named)
    check = equality.Check.by(launcher, paths.cache_folder(), screen.say, precision=precision, loop=loop,
                              is_parallel=is_parallel)
    reasons = {each.name: why for each in chosen
               if is_parallel and (why := cluster.impossible(each.framework, "sync", equality.NODES))}
    reasons |= building.unbuilt({each.name: each for each in chosen if each.name not in reasons}, launcher, screen.say)
    names, left = [*NAMES] if is_all else [*tasks], [each for each in chosen if each.name not in reasons]
    verdicts = check.kept(names, left, request.results)
    lacking = [each for each in chosen if each.name in reasons] if here.names or not verdicts else []
    return [*verdicts, *(
        verdict_of(check.cell(task, each, loop), each, (left or chosen)[0], {}, problem=reasons[each.name])._replace(
            parallel="sync" if is_parallel else "") for task in names for each in lacking)]


def of_files(request: Request) -> list[Verdict]:
    """Verdicts on models of the user's own. Raises InputError."""
    store.check_usable(request.results)
    made = building.prepared(job.planned(request, screen.say), screen.say)
    check = equality.Check.by(made.launcher, made.data.folder, screen.say)
    return own_models.checked(made.plan, made.stacks, check, request.results)[1]
