"""What would be measured: a study's plan here, and a paper's figures with what of them runs here."""

from runner import schemas, screen
from runner.application import measure
from runner.errors import InputError
from runner.machine import host, nvml
from runner.measuring import building
from runner.measuring import job as jobs
from runner.measuring.bench import Request
from runner.paths import Places
from runner.planning import paper_index, plan_listing
from runner.planning.plan import Wishes, of_fullest_form, plan, run_seconds
from runner.report import paper as papers
from runner.report.tables import Shown
from runner.results import sessions
from runner.stacks import definition
from runner.study import file


def planned(request: Request) -> tuple[Shown, str]:
    """The plan, and what else could run here, "" for nothing; what to know before it starts is said."""
    job = jobs.planned(request, screen.say)
    for line in (*jobs.warnings(job), *building.ahead(job)):
        screen.say(line)
    seconds, record = job.seconds(sessions.known_seconds(request.results)), job.plan.record()
    index = paper_index.rows(job.plan, lambda each: run_seconds(
        each.cell, job.gpus, cpus=job.machine.cpus * job.launcher.hosts))
    parts = (*paper_index.lines(index), *paper_index.pointer(job.plan), *plan_listing.parts(record, seconds))
    shown = Shown(plan_listing.rows(record), parts, {"schema": schemas.PLAN, **record, "estimate_seconds": seconds})
    return shown, measure.on_a_cpu(request, job)


def paper(name: str, scale: str | None, places: Places) -> Shown:
    """A published study at the scale. Raises InputError for a study of no paper."""
    whole = file.read(name, places.studies)
    if not whole.places:
        names = [each for each in file.available(places.studies) if file.repeats_publication(each, places.studies)]
        raise InputError(f"paper {name}: found a study of no paper, expected one of {', '.join(names)}")
    stacks, machine, here = definition.read_all(places.stacks), host.observe(), nvml.observe()
    forms = [file.read(name, places.studies, scale, on_gpu) for on_gpu in ((False, True) if here.gpus else (False,))]
    made = of_fullest_form(forms, lambda read: plan(read, stacks, machine, Wishes(), lambda stack: stack.unbuildable,
                                                    here))
    index = paper_index.rows(made, lambda each: run_seconds(each.cell, here, cpus=machine.cpus))
    return Shown(index, papers.parts(whole, made, [*paper_index.lines(index), ""]),
                 documented=papers.parts(whole, made, [index]))
