"""The stacks and data of a job, made where they are missing; a stack that cannot be built leaves the plan."""

from collections.abc import Mapping

from runner import paths
from runner.datasets import choice
from runner.errors import BenchError, BuildFailed, DiskFull
from runner.launchers.protocol import Launcher
from runner.measuring import at_once
from runner.measuring.job import Job
from runner.paths import cache_folder, usable
from runner.planning.plan import Plan, of_fullest_form, plan
from runner.processes import Say
from runner.stacks import definition, package_sources


def unbuilt(stacks: Mapping[str, definition.Stack], launcher: Launcher, say: Say) -> dict[str, str]:
    """Build the stacks; the reason of each that cannot be built, by its name. Raises DiskFull."""
    def build(name: str) -> str:
        try:
            launcher.of(stacks[name]).prepare([stacks[name]], say)
        except DiskFull:
            raise
        except BenchError as error:
            say(f"{name}: {str(error).removeprefix(f'{name}: ')}")
            return str(error)
        return ""

    reasons = at_once.each(launcher.builds_at_once, build, stacks)
    return {name: reason for name, reason in zip(stacks, reasons, strict=True) if reason}


def prepared(job: Job, say: Say) -> Job:
    """The job with its data and stacks; what cannot be built is skipped. Raises InputError, DiskFull, BuildFailed."""
    cache = usable(cache_folder())
    if choice.digits32_folder(cache) in job.folders.values():
        choice.digits32(cache, say)
    for folder in job.folders.values():
        if folder.is_relative_to(cache) and folder.is_dir():
            paths.let_all_read(folder)
    job.launcher.check_data(job.folders.values())
    failures: dict[str, str] = {}
    tried: set[str] = set()
    while names := [name for name in dict.fromkeys(planned.cell.stack for planned in job.plan.cells)
                    if name not in tried]:
        tried.update(names)
        if new := unbuilt({name: job.stacks[name] for name in names}, job.launcher, say):
            failures.update(new)
            job = job._replace(plan=_without(job, failures))
    if failures and not job.plan.cells:
        raise BuildFailed(next(iter(failures.values())))
    return job.hashed()


def ahead(job: Job) -> list[str]:
    """Lines on the stacks that are not built here: their size, and packages that no index or folder has."""
    names = dict.fromkeys(planned.cell.stack for planned in job.plan.cells)
    pinned = {stack.name: stack for name in names if isinstance(stack := job.stacks[name], definition.PinnedStack)}
    unbuilt = [stack for stack in pinned.values() if not job.launcher.of(stack).is_built(stack)]
    if not unbuilt:
        return []
    sizes = ", ".join(f"{stack.name} {stack.size.wheels_bytes / 1e9:.1f} GB" for stack in unbuilt)
    lacking = package_sources.not_had(unbuilt, package_sources.pip_settings()) or {}
    return [f"to build first, with the size on disk: {sizes}", *(f"{name}: {why}" for name, why in lacking.items())]


def _without(job: Job, failures: Mapping[str, str]) -> Plan:
    """The plan without stacks that failed; another form of the study may have more cells then."""
    if not job.forms:                     # of a record
        return job.plan.without(failures)
    return of_fullest_form(job.forms, lambda form: plan(
        form, job.stacks, job.machine, job.request.wishes,
        lambda stack: failures.get(stack.name) or job.launcher.of(stack).missing(stack), job.gpus, job.launcher.hosts))
