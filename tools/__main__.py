"""python -m tools: what evenbench itself costs and how often it errs, whether images can be made again, pages."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from runner import paths, screen
from runner.application.measure import keep, ran
from runner.application.read import measured_in
from runner.cli.options import Commands, LauncherName, SomeStacks, StackNames, split, split_stacks
from runner.cli.output import Output
from runner.cli.request import Settled
from runner.errors import BenchError, InputError
from runner.launchers import choose
from runner.machine import gpus, host, nvml
from runner.measuring import alone, building, job, own_stacks
from runner.measuring.bench import Going
from runner.planning.plan import Wishes
from runner.stacks import definition, engine, own
from runner.stacks.definition import chosen_names
from tools import overhead, pages, reproducible, self_comparison

app = Commands(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command("bench-self")
def bench_self(stacks: StackNames = None,
               with_peers: Annotated[bool, typer.Option(
                   "--peers", help="Our models against those that libraries have.")] = False,
               only: Annotated[list[str] | None, typer.Option("--task", help="With --peers: these tasks.")] = None,
               turns: Annotated[int, typer.Option(min=1, help="Processes of each kind.")] = 10,
               device: Annotated[str, typer.Option(help="cpu or gpu.")] = "cpu",
               launcher: LauncherName = "auto", *, output: Output) -> None:
    """Measure what evenbench itself costs: its training loop and its start against bare ones, by turns."""
    here_gpus = nvml.observe() if device == "gpu" else gpus.NONE
    here = own_stacks.chosen(split_stacks(stacks), definition.read_all(paths.STACKS), paths.ROOT, here_gpus)
    tasks = split("--task", only)
    for name in tasks:
        if name not in overhead.SIZES:
            raise InputError(f'--task: found "{name}", expected one of {", ".join(overhead.SIZES)}')
    if tasks and not with_peers:
        raise InputError("--task: only with --peers; the loop and the start are measured with lenet5")
    if device not in ("cpu", "gpu"):
        raise InputError(f'--device: found "{device}", expected cpu or gpu')
    if device == "gpu" and not here_gpus.gpus:
        raise InputError(f"--device gpu: this machine has no NVIDIA GPU ({here_gpus.problem}); see `evenbench doctor`")
    how = choose.for_stacks(launcher, screen.say, here_gpus, here.named)
    asked = {name: here.stacks[name] for name in chosen_names(here.names, here.stacks)}
    failed = building.unbuilt(asked, how, screen.say)
    chosen = [each for name, each in asked.items() if name not in failed]
    if refused := next((each for each in chosen if device not in each.devices), None):
        raise InputError(f"--device {device}: stack {refused.name} is for {', '.join(refused.devices)}; name others by "
                         "--stack")
    with alone.measuring_alone(paths.cache_folder(), say=screen.say):
        setup = overhead.Setup(how, paths.cache_folder(), how.machine(host.observe()).cpus, turns, time.monotonic,
                               device)
        bench = (overhead.run_peers(chosen, setup, screen.say, tasks) if with_peers
                 else overhead.run(chosen, setup, screen.say))
        costs = [_said(cost) for cost in bench]
    output.rows([cost.record() for cost in costs], [[cost.listed() for cost in costs]])
    sys.exit(0 if all(cost.is_met for cost in costs) else 1)


def _said(cost: overhead.Cost) -> overhead.Cost:
    """The figure, told as soon as it is found: an interrupted bench was not in vain."""
    screen.say(" ".join(filter(None, cost.listed().values())))
    return cost


@app.command("aa")
def aa(stack_name: Annotated[str, typer.Argument(metavar="STACK", show_default=False)],
       task: Annotated[str, typer.Argument(metavar="TASK", show_default=False)],
       rounds: Annotated[int, typer.Option(min=5, max=100, help="Rounds of each comparison.")] = 5,
       repetitions: Annotated[int, typer.Option(min=1, max=1000, help="Comparisons.")] = 20,
       measure: Annotated[str, typer.Option(help="train or infer.")] = "train", *, settled: Settled, going: Going,
       output: Output) -> None:
    """Run a stack under two names, and count how often it is called faster or slower than itself."""
    design = self_comparison.Plan(rounds, repetitions)
    name = own_stacks.full_name(stack_name.partition("=")[0], definition.read_all(paths.STACKS))
    made = self_comparison.study(name, task, measure, design)
    wishes = Wishes((stack_name,) if own.is_own(stack_name) else ())
    request = settled.request(self_comparison.ID, wishes)._replace(going=going)
    again = job.planned_study(made, request, screen.say, {self_comparison.again(name): name})

    def show(folder: Path) -> None:
        verdict = self_comparison.judge(measured_in(folder), design)
        keep(folder, "aa.json", verdict.record())
        output.rows([verdict.record()], self_comparison.lines(verdict, made.title), verdict.record())

    sys.exit(ran(again._replace(facts={**again.facts, "aa": design._asdict()}), show,
                           enough=lambda measured: frozenset())[1])


@app.command("twice")
def twice(names: SomeStacks = None) -> None:
    """Build each image twice from nothing, and say which files differ; 1 if one does."""
    known = definition.all_images(paths.STACKS)
    client, differing = engine.connect(), 0
    for stack in (known[name] for name in chosen_names(names, known)):
        paths_of_both, differences = reproducible.run(client, stack, screen.say)
        for path, what in differences.items():
            print(f"{stack.name}: {path}: {what}")
        screen.say(f"{stack.name}: {paths_of_both} paths, {len(differences)} differ")
        differing += len(differences)
    sys.exit(1 if differing else 0)


@app.command("pages")
def pages_() -> None:
    """Write the pages and schemas that are made from code and data into docs/."""
    for path in pages.write():
        screen.say(str(path.relative_to(paths.ROOT)))


if __name__ == "__main__":
    try:
        app()
    except BenchError as error:
        screen.say(f"tools: {error}")
        sys.exit(2)
