"""The command line. Exit codes: 0 done, 1 a run did not end well, 2 the input is wrong, 130 interrupted."""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NamedTuple

import requests
import typer

from runner import (
    aa,
    bench_self,
    check,
    compare,
    curves,
    data_commands,
    doctor,
    doctor_swarm,
    engine,
    every,
    export,
    images,
    job,
    kubernetes,
    listings,
    lock,
    machine,
    manifest,
    rerun,
    sbom,
    screen,
    stack,
    staged,
    store,
    summary,
    twice,
    words,
)
from runner.download import Net
from runner.errors import BenchError, InputError
from runner.launch import Launcher
from runner.plan import Wishes, estimate_seconds
from runner.prepare_wanted import Wanted
from runner.report import writing
from runner.rows import Measurements, measurements
from runner.session import Bench, Stopped
from runner.summary_format import Summary
from runner.swarm import options as swarm_options
from runner.until import CAP, Until
from runner.until import parse as parse_until
from workloads.spec import tasks as known_tasks

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
                  help="Which deep-learning framework is faster here, really?")

StudyName = Annotated[str, typer.Argument(help="A study's id or the path of its file, some of its experiments "
                                          "(krisilias/kri-f3,kri-mem), or all: every published study.",
                                          show_default=False)]
ResultName = Annotated[str, typer.Argument(help="A result's id or folder.", show_default=False)]
StackNames = Annotated[list[str] | None, typer.Option("--stack", help="These stacks instead; repeat, or put commas.")]
Rounds = Annotated[int | None, typer.Option(min=1, max=1000, help="Rounds instead of the study's number.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the order of the runs.")]
Scale = Annotated[str | None, typer.Option(help="One of the study's scales.")]
Baseline = Annotated[str, typer.Option(help="The stack that ratios are taken to.")]
LauncherName = Annotated[str, typer.Option("--launcher", help="docker, venv, or auto: docker where an engine answers. "
                                           "compose: in compose.yaml's runner. swarm: on a Docker Swarm's nodes.")]
SwarmWords = Annotated[list[str] | None, typer.Option(
    "--swarm", help="With --launcher swarm: encrypted, registry=HOST/NAME, engine:NODE=URL; repeat, or put commas.")]
DataArgument = Annotated[str | None, typer.Option("--data", help="NAME=FOLDER, such as cifar10=FOLDER; NAME alone: "
                                                          "what `evenbench data` keeps.")]
Device = Annotated[str | None, typer.Option(help="cpu or gpu instead of the study's; short for --set device=.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of a cell, such as batch=8; repeatable.")]
Results = Annotated[Path, typer.Option("--results", help="The folder of all results.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Resume no unfinished session.")]
Prove = Annotated[bool, typer.Option("--prove", help="First check what no check has shown equal yet.")]
Stall = Annotated[float | None, typer.Option(
    min=1, help="Seconds without a step that end a run; 300 if left out, on many nodes 50.")]
RESULTS = Path("results")


class _How(NamedTuple):
    """How a session is run, whatever its plan is."""

    results: Path
    is_fresh: bool = False
    is_proving: bool = False
    stall: float | None = None
    until: Until | None = None
    is_side_by_side: bool = False


@app.command()
def run(name: StudyName, stacks: StackNames = None, rounds: Rounds = None, seed: Seed = 1, scale: Scale = None,
        baseline: Baseline = "", launcher: LauncherName = "auto", data: DataArgument = None, pairs: Settings = None,
        device: Device = None, swarm: SwarmWords = None, results: Results = RESULTS, fresh: Fresh = False,
        prove: Prove = False, stall: Stall = None, width: Annotated[str | None, typer.Option(
            "--until", help="Add rounds until every ratio's interval is narrower, such as 2%.")] = None,
        cap: Annotated[int, typer.Option(min=1, max=1000, help="Rounds at most, with --until.")] = CAP,
        gpus_in_parallel: Annotated[bool, typer.Option("--gpus-in-parallel", help="Run cells on different GPUs at "
                                                       "once; they share the host, and are marked.")] = False) -> None:
    """Measure a study; the same command resumes an interrupted session."""
    asked = _asked(name, stacks, rounds, seed, scale, baseline, launcher, data, _with(pairs, device), swarm)
    how = _How(results, fresh, prove, stall, parse_until(width, cap) if width else None, gpus_in_parallel)
    is_ok = _every(asked, how) if name == every.NAME else _ran(_named(asked, how), how)
    sys.exit(0 if is_ok else 1)


def _named(asked: job.Asked, how: _How) -> job.Job:
    """The job of a study; what --until asks for is part of it, so that only the same command resumes it."""
    wanted = job.planned(asked, screen.say)
    if how.is_side_by_side:
        job.side_by_side(wanted)                 # refuses before anything is built
        wanted = wanted._replace(facts={"gpus_in_parallel": True})
    if not how.until:
        return wanted
    staged.check(wanted.plan)
    return wanted._replace(facts={**wanted.facts, **how.until.record()})


def _every(asked: job.Asked, how: _How) -> bool:
    """Run every published study in turn, write their pages, and show how each went."""
    turns = every.run(job.STUDIES, how.results, every.command((asked, how.until)), asked.scale, how.is_fresh,
                      lambda name: _ran(_named(asked._replace(study=name), how), how, _show_with_page), screen.say)
    screen.show(screen.list_view([{"study": turn.study, "ended": "ok" if turn.is_ok else "NOT OK",
                                   "": turn.reason} for turn in turns]))
    return all(turn.is_ok for turn in turns)


def _ran(wanted: job.Job, how: _How, show: Callable[[Path], None] | None = None) -> bool:
    """Prepare and run a job, new or resumed, and show its folder; whether every run went well."""
    if not wanted.plan.cells:
        raise InputError(f"nothing can run here: {_reasons(wanted)}")
    for warning in job.warnings(wanted):
        screen.say(warning)
    wanted = job.prepared(wanted, screen.say)
    with job.measuring_alone(job.cache_folder()):
        if how.is_proving:
            _prove(wanted, how.results)
        kept = None if how.is_fresh else store.unfinished(how.results, wanted.command())
        folder = kept.folder if kept else job.new_folder(wanted, how.results)
        if kept:
            screen.say(f"resuming {folder}: {len(kept.finished)} runs are finished")
        return _measured(wanted, folder, kept, how, show or _show)


def _measured(wanted: job.Job, folder: Path, kept: store.Kept | None, how: _How, show: Callable[[Path], None]) -> bool:
    """Run the session, then show what there is, also after an interruption."""
    with store.Store(folder) as opened, screen.progress() as progress, _signals() as is_stopping:
        bench = Bench(wanted.plan, wanted.stacks, wanted.launcher, wanted.data.folder, opened, progress, how.stall,
                      is_stopping=is_stopping, watches=lambda planned: job.gpu_watch(wanted, planned),
                      side_by_side=job.side_by_side(wanted) if how.is_side_by_side else None)
        try:
            is_ok = staged.run(wanted, bench, kept, how.until, screen.progress, screen.say)
        except Stopped:
            show(folder)
            screen.say("interrupted; the same command goes on from here")
            sys.exit(130)
    show(folder)
    return is_ok


@app.command("rerun")
def rerun_(name: ResultName, key: Annotated[str, typer.Option(help="The cell of this key, or its beginning.")] = "",
           number: Annotated[int | None, typer.Option("--cell", help="The cell of this number in the plan.")] = None,
           rounds: Rounds = None, launcher: Annotated[str, typer.Option(help="Another launcher than then.")] = "",
           data: DataArgument = None, swarm: SwarmWords = None, results: Results = RESULTS, fresh: Fresh = False,
           stall: Stall = None) -> None:
    """Repeat a stored session, or one of its cells, from its record, and say what differs now."""
    found = rerun.chosen(rerun.recorded(store.located(name, results)), key, number)
    asked = job.Asked(name, None, launcher, data, Wishes(rounds=rounds), tuple(_split(swarm)))
    is_ok = _ran(rerun.again(found, stack.read_all(job.STACKS), asked, screen.say), _How(results, fresh, stall=stall))
    sys.exit(0 if is_ok else 1)


@app.command("compare")
def compare_(a: ResultName, b: ResultName, results: Results = RESULTS, as_json: AsJson = False) -> None:
    """Compare two sessions: what differed around them, then the ratio of every cell that both measured."""
    found = compare.compare(*(measurements(store.read(store.located(name, results))) for name in (a, b)))
    if as_json:
        print(json.dumps(found.record(), indent=2, allow_nan=False))
    else:
        screen.show(screen.parts_view(compare.lines(found)))


@app.command("export")
def export_(name: ResultName, parquet: Annotated[Path | None, typer.Option(help="Write a Parquet file.")] = None,
            to_csv: Annotated[Path | None, typer.Option("--csv", help="Write a CSV file.")] = None,
            results: Results = RESULTS) -> None:
    """Write a session's raw samples as one table, a row a sample, for notebooks."""
    if not parquet and not to_csv:
        raise InputError("export: found no file to write, expected --parquet FILE or --csv FILE")
    measured = measurements(store.read(store.located(name, results)))
    for path, write in ((parquet, export.to_parquet), (to_csv, export.to_csv)):
        if path:
            screen.say(f"{path}: {words.count(write(measured, path), 'row')}")


@app.command("aa")
def aa_(stack_name: Annotated[str, typer.Argument(metavar="STACK", show_default=False)],
        task: Annotated[str, typer.Argument(show_default=False)],
        rounds: Annotated[int, typer.Option(min=3, max=100, help="Rounds of each comparison.")] = 5,
        repetitions: Annotated[int, typer.Option(min=1, max=1000, help="Comparisons.")] = 20,
        measure: Annotated[str, typer.Option(help="train or infer.")] = "train", seed: Seed = 1,
        launcher: LauncherName = "auto", data: DataArgument = None, pairs: Settings = None,
        results: Results = RESULTS, fresh: Fresh = False, stall: Stall = None, as_json: AsJson = False) -> None:
    """Compare a stack with itself, and say how often it is called faster or slower."""
    wanted = aa.Plan(rounds, repetitions)
    made = aa.study(stack_name, task, measure, wanted)
    asked = _asked(aa.ID, None, None, seed, None, "", launcher, data, pairs)
    again = job.planned_study(made, asked, screen.say)._replace(facts={"aa": wanted._asdict()})
    is_ok = _ran(again, _How(results, fresh, stall=stall),
                 lambda folder: _show_aa(folder, made.title, wanted, seed, as_json))
    sys.exit(0 if is_ok else 1)


def _show_aa(folder: Path, title: str, wanted: aa.Plan, seed: int, is_json: bool) -> None:
    """Write aa.json beside the events, and print what was found."""
    found = aa.judge(measurements(store.read(folder)), wanted, seed)
    text = json.dumps(found.record(), indent=2, allow_nan=False)
    store.write_beside(folder, "aa.json", text)
    if is_json:
        print(text)
    else:
        screen.show(screen.parts_view(aa.words(found, title)))
        screen.say(f"results: {folder}")


def _prove(wanted: job.Job, results: Path) -> None:
    """Check the tasks and stacks of the plan that no check has shown to compute the same yet."""
    stacks = [wanted.stacks[name] for name in dict.fromkeys(planned.cell.stack for planned in wanted.plan.cells)]
    made_of = {each.name: wanted.launcher.fingerprint(each) for each in stacks}
    known = check.proved(results, made_of)
    tasks = [task for task in dict.fromkeys(planned.cell.task for planned in wanted.plan.cells)
             if any((task, each.name) not in known for each in stacks)]
    if len(stacks) > 1 and tasks:
        _checked(tasks, stacks, "float64", wanted.launcher, results)


def _checked(tasks: list[str], stacks: list[stack.Stack], precision: str, how: Launcher, results: Path,
             run: Callable[..., list[check.Verdict]] = check.run) -> list[check.Verdict]:
    """The verdicts of a check, kept in the results and said one by one."""
    here = machine.observe()
    verdicts = run(tasks, stacks, precision, how, job.cache_folder(), (here.cpus, here.limit_bytes), time.monotonic,
                   screen.say)
    check.keep(verdicts, {each.name: how.fingerprint(each) for each in stacks}, results)
    return verdicts


def _read(folder: Path) -> tuple[Summary, Measurements]:
    """What a result's events say, read once."""
    measured = measurements(store.read(folder))
    return summary.summary_of(measured, check.proved(folder.parent, measured.made_of())), measured


def _show(folder: Path) -> None:
    """Write summary.json beside the events, print the summary, and say how to get its page."""
    _show_summary(_read(folder)[0], folder, is_json=False)
    screen.say(f"page: `evenbench report {folder}` writes it")


def _show_with_page(folder: Path) -> None:
    """Write summary.json and the page beside the events, and print the summary."""
    found, measured = _read(folder)
    _show_summary(found, folder, is_json=False)
    _write_page(found, measured, folder / writing.PAGE)


def _write_page(found: Summary, measured: Measurements, to: Path) -> None:
    screen.say(f"page: {writing.write(writing.FORMS['html'](found, measured), to)}")


def _show_summary(found: Summary, folder: Path, is_json: bool) -> None:
    text = json.dumps(summary.to_json(found), indent=2, allow_nan=False)
    store.write_beside(folder, "summary.json", text)
    if is_json:
        print(text)
    else:
        screen.show(screen.summary_view(found))
        screen.say(f"results: {folder}")


@app.command()
def plan(name: StudyName, stacks: StackNames = None, rounds: Rounds = None, seed: Seed = 1, scale: Scale = None,
         baseline: Baseline = "", launcher: LauncherName = "auto", data: DataArgument = None, pairs: Settings = None,
         device: Device = None, swarm: SwarmWords = None, results: Results = RESULTS, as_json: AsJson = False,
         export_to: Annotated[str | None, typer.Option(
             "--export", help="kubernetes: the runs as suspended indexed Jobs, in YAML.")] = None) -> None:
    """Show the cells of a study, the skipped ones with reasons, and about how long it takes; runs nothing."""
    if export_to not in (None, *kubernetes.NAMES):
        raise InputError(f'plan --export: found "{export_to}", expected one of {", ".join(kubernetes.NAMES)}')
    asked = _asked(name, stacks, rounds, seed, scale, baseline, launcher, data, _with(pairs, device), swarm)
    known = store.known_seconds(results)
    if name == every.NAME:
        if export_to:
            raise InputError("plan --export: found all studies, expected one; name it")
        _plan_every(asked, known, as_json)
        return
    wanted = job.planned(asked, screen.say)
    if export_to:
        print(kubernetes.text(wanted.plan, wanted.stacks), end="")
        return
    seconds = estimate_seconds(wanted.plan, known)
    if as_json:
        print(json.dumps({**wanted.plan.record(), "estimate_seconds": seconds}, indent=2))
    else:
        screen.show(screen.plan_view(wanted.plan.record(), seconds))


def _plan_every(asked: job.Asked, known: Mapping[str, float], is_json: bool) -> None:
    """A line a published study."""
    said: set[str] = set()
    plans = {name: job.planned(asked._replace(study=name), lambda text: _say_once(text, said)).plan
             for name in every.published(job.STUDIES, asked.scale)}
    seconds = {name: estimate_seconds(found, known) for name, found in plans.items()}
    _print([{"study": name, "cells": len(found.cells), "runs": len(found.cells) * found.rounds,
             "skipped": len(found.skipped), "estimate_seconds" if is_json else "about":
             seconds[name] if is_json else words.seconds(seconds[name])} for name, found in plans.items()], is_json)
    if not is_json:
        screen.say(f"in all about {words.seconds(sum(seconds.values()))}")


def _say_once(text: str, said: set[str]) -> None:
    if text not in said:
        screen.say(text)
    said.add(text)


@app.command("list")
def list_(what: Annotated[str, typer.Argument(help="stacks, tasks, studies, data or results.")] = "stacks",
          results: Results = RESULTS, scale: Scale = None, as_json: AsJson = False) -> None:
    """List stacks, tasks, studies (what is done, stale and missing of each experiment), data sets or results."""
    known = {"stacks": listings.stacks, "tasks": listings.all_tasks,
             "studies": lambda: listings.studies(results, scale, screen.say),
             "data": lambda: data_commands.listing(job.cache_folder()), "results": lambda: store.listing(results)}
    if what not in known:
        raise InputError(f'list: found "{what}", expected one of {", ".join(known)}')
    _print(known[what](), as_json)


def _print(rows: Sequence[Mapping[str, Any]], is_json: bool) -> None:
    """Rows of equal keys on standard output, as a table or for programs."""
    if is_json:
        print(json.dumps(rows, indent=2))
    else:
        screen.show(screen.list_view(rows))


data_app = typer.Typer(no_args_is_help=True, help="Data sets: list, get, verify, prepare.")
app.add_typer(data_app, name="data")
DataName = Annotated[str, typer.Argument(help="A data set, as `evenbench data list` names it.", show_default=False)]


@data_app.command("list")
def data_list(as_json: AsJson = False) -> None:
    """What is here, what is missing, its size, licence and who published its checksum."""
    _print(data_commands.listing(job.cache_folder()), as_json)


@data_app.command("get")
def data_get(name: DataName) -> None:
    """Download, verify and unpack a data set; the same command goes on after an interruption."""
    with screen.transfer() as told, requests.Session() as net:
        data_commands.get(name, job.cache_folder(), Net(net, say=screen.say, told=told))


@data_app.command("verify")
def data_verify(name: DataName, folder: Annotated[Path | None, typer.Option(
        help="Where it lies; the cache if left out.")] = None) -> None:
    """Look whether every file is there and whole, and say which one is not."""
    screen.say(data_commands.verify(name, folder, job.cache_folder()))


@data_app.command("prepare")
def data_prepare(name: DataName,
                 source: Annotated[Path | None, typer.Option(
                     "--from", help="The published data's folder; the cache's if left out.")] = None,
                 image: Annotated[int, typer.Option(min=8, help="ImageNet: pixels of a side.")] = 80,
                 limit: Annotated[int, typer.Option(min=0, help="At most so many samples; 0: all.")] = 0,
                 labels: Annotated[Path | None, typer.Option(
                     help="ImageNet, images in one folder: the publisher's file of their class numbers.")] = None,
                 vocabulary: Annotated[Path | None, typer.Option(
                     help="Text: a file with one token a line (vocab.bpe.32000, BERT's vocab.txt).")] = None) -> None:
    """Write a data set once in the form that every stack reads: equal bytes for all of them."""
    asked = Wanted(image, limit, labels, vocabulary)
    data_commands.prepare(name, source, job.cache_folder(), asked, screen.say)


@app.command("images")
def images_(names: Annotated[list[str] | None, typer.Argument(metavar="[STACK]...")] = None,
            prune: Annotated[bool, typer.Option("--prune", help="Remove images of ours that are out of date.")] = False,
            is_twice: Annotated[bool, typer.Option(
                "--twice", help="Build each twice from nothing, and say which files differ; 1 if one does.")] = False,
            ) -> None:
    """Build the images of stacks and of the runner (if none is named, all that run without a GPU)."""
    known = _pinned()
    client = engine.connect()
    if prune:
        images.prune(client, list(known.values()), screen.say)
        return
    chosen = [known[name] for name in _known_stacks(names, known)]
    if is_twice:
        alike = [_are_alike(twice.run(client, each, screen.say)) for each in chosen]
        sys.exit(0 if all(alike) else 1)
    for each in chosen:
        images.build(client, each, screen.say)


def _are_alike(found: twice.Verdict) -> bool:
    """Say what two builds of a stack showed; whether nothing differs."""
    for each in found.differences:
        print(f"{found.stack}: {each.path}: {each.what}")
    screen.say(f"{found.stack}: {found.paths} paths, {len(found.differences)} differ")
    return not found.differences


@app.command("sbom")
def sbom_(names: Annotated[list[str] | None, typer.Argument(metavar="[STACK]...")] = None,
          out: Annotated[Path | None, typer.Option(help="A folder for a file a stack, NAME.cdx.json.")] = None,
          licences: Annotated[bool, typer.Option("--licences", help="A table of packages and licences.")] = False,
          launcher: LauncherName = "auto") -> None:
    """Say what the images or virtual environments of stacks hold: CycloneDX JSON with versions, hashes and licences."""
    known = stack.read_all(job.STACKS)
    chosen = [known[name] for name in _known_stacks(names, known)]
    if len(chosen) > 1 and not out and not licences:
        raise InputError(f"sbom: found {len(chosen)} stacks, expected one, or --out FOLDER for a file each")
    how = job.chosen_launcher(launcher, screen.say)
    for each in chosen if names else job.buildable(chosen, how, screen.say):
        found = sbom.of(each, how, screen.say)
        if licences:
            _print([{"stack": each.name, **package.row()} for package in found.packages], is_json=False)
        elif out:
            screen.say(f"written: {sbom.write(sbom.cyclonedx(found), out, each.name)}")
        else:
            print(sbom.cyclonedx(found))


def _pinned() -> dict[str, stack.Pinned]:
    """All that has an image: the stacks and the runner."""
    return {**stack.read_all(job.STACKS), stack.RUNNER: stack.read_runner(job.STACKS)}


def _known_stacks(names: list[str] | None, known: Mapping[str, stack.Pinned]) -> list[str]:
    for name in names or []:
        if name not in known:
            raise InputError(f'stack "{name}" is unknown; known: {", ".join(known)}')
    return names or [name for name, each in known.items() if not each.is_gpu_only]


@app.command()
def report(name: Annotated[str, typer.Argument(help="A result's id or folder; the newest if left out.")] = "",
           results: Results = RESULTS, as_json: AsJson = False,
           html: Annotated[bool, typer.Option("--html", help="Only the page.")] = False,
           markdown: Annotated[bool, typer.Option("--markdown", help="The same as Markdown.")] = False,
           csv: Annotated[bool, typer.Option("--csv", help="A line a result.")] = False,
           latex: Annotated[bool, typer.Option("--latex", help="A table a comparison, for booktabs.")] = False,
           out: Annotated[Path | None, typer.Option(help="The file, instead of report.html in the result's folder, "
                                                         "or of standard output for the other forms.")] = None) -> None:
    """Print the summary of a session again and write its page, report.html; or only one form of it."""
    form = writing.chosen({"html": html, "markdown": markdown, "csv": csv, "latex": latex}, out)
    folder = store.located(name, results)
    found, measured = _read(folder)
    if form is None:
        _show_summary(found, folder, as_json)
    if form in (None, "html"):
        _write_page(found, measured, out or folder / writing.PAGE)
        return
    text = writing.FORMS[form](found, measured)
    if out:
        screen.say(f"written: {writing.write(text, out)}")
    else:
        print(text, end="")


@app.command("verify")
def verify_(name: Annotated[str, typer.Argument(help="A result's id or folder; the newest if left out.")] = "",
            results: Results = RESULTS, as_json: AsJson = False) -> None:
    """Say which files of a result are not as its session and reports left them; 1 where any is not."""
    named = (folder for folder in (results / name, Path(name)) if name and (folder / manifest.NAME).is_file())
    folder = next(named, None) or store.located(name, results)        # events that are missing are to be told too
    found = manifest.verify(folder)
    if as_json:
        print(json.dumps(found._asdict()))
    elif not found.is_whole:
        _print(found.rows(), is_json=False)
    else:
        screen.say(f"{folder}: {words.count(found.files, 'file')}, all as {manifest.NAME} says")
    sys.exit(0 if found.is_whole else 1)


@app.command("curves")
def curves_(name: Annotated[str, typer.Argument(help="A result's id or folder; the newest if left out.")] = "",
            results: Results = RESULTS, as_json: AsJson = False) -> None:
    """Say how far the loss curves of a session's stacks lie apart; 1 where equal trainings in float64 do not agree."""
    found = curves.compared(measurements(store.read(store.located(name, results))))
    _print([apart._asdict() if as_json else apart.listed() for apart in found], as_json)
    sys.exit(0 if all(apart.does_agree for apart in found if apart.should_agree) else 1)


@app.command("check")
def check_(names: Annotated[list[str] | None, typer.Argument(metavar="[TASK]...", help="lenet5 if none.")] = None,
           stacks: StackNames = None,
           every: Annotated[bool, typer.Option("--all", help="Every task in every stack.")] = False,
           parallel: Annotated[bool, typer.Option(
               "--parallel", help="Three workers' update against one worker's on the whole batch.")] = False,
           table: Annotated[Path | None, typer.Option(help="Write the table to this Markdown file too.")] = None,
           precision: Annotated[str, typer.Option(help="float64 proves; float32 shows rounding.")] = "float64",
           launcher: LauncherName = "auto", swarm: SwarmWords = None, results: Results = RESULTS,
           as_json: AsJson = False) -> None:
    """Prove that stacks compute the same: weights, batch, every activation, gradient and update, compared."""
    known = stack.read_all(job.STACKS)
    chosen = [known[name] for name in _known_stacks(_split(stacks), known)]
    tasks = list(known_tasks.NAMES) if every else names or ["lenet5"]
    for name in tasks:
        if name not in known_tasks.NAMES:
            raise InputError(f'check: task "{name}" is unknown; known: {", ".join(known_tasks.NAMES)}')
    if precision not in check.LIMITS:
        raise InputError(f'--precision: found "{precision}", expected float64 or float32')
    how = job.chosen_launcher(launcher, screen.say, words=_split(swarm))
    chosen = job.buildable(chosen, how, screen.say)
    with job.measuring_alone(job.cache_folder()):
        verdicts = _checked(tasks, chosen, precision, how, results, check.run_parallel if parallel else check.run)
    if table:
        table.write_text(check.markdown(verdicts))
    if not as_json:
        against = "one worker" if parallel else ", ".join(sorted({verdict.reference for verdict in verdicts}))
        screen.say(f"worst relative differences, against {against}:")
    _print([{**verdict._asdict(), "passed": verdict.passed} if as_json else check.listed(verdict)
            for verdict in verdicts], as_json)
    sys.exit(0 if all(verdict.passed for verdict in verdicts) else 1)


@app.command("bench-self")
def bench_self_(stacks: StackNames = None,
                with_peers: Annotated[bool, typer.Option(
                    "--peers", help="Our models against torchvision's, Keras' and Gluon's instead.")] = False,
                only: Annotated[list[str] | None, typer.Option("--task", help="With --peers: these tasks.")] = None,
                turns: Annotated[int, typer.Option(min=1, help="Processes of each kind.")] = 10,
                launcher: LauncherName = "auto", as_json: AsJson = False) -> None:
    """Measure what evenbench itself costs: its training loop and its start against bare ones, by turns."""
    known = stack.read_all(job.STACKS)
    tasks = _split(only)
    for name in tasks:
        if name not in bench_self.SIZES:
            raise InputError(f'--task: found "{name}", expected one of {", ".join(bench_self.SIZES)}')
    if tasks and not with_peers:
        raise InputError("--task: only with --peers; the loop and the start are measured with lenet5")
    how = job.chosen_launcher(launcher, screen.say)
    chosen = job.buildable([known[name] for name in _known_stacks(_split(stacks), known)], how, screen.say)
    with job.measuring_alone(job.cache_folder()):
        setup = bench_self.Setup(how, job.cache_folder(), machine.observe().cpus, turns, time.monotonic)
        bench = (bench_self.run_peers(chosen, setup, screen.say, tasks) if with_peers
                 else bench_self.run(chosen, setup, screen.say))
        costs = [_said(cost) for cost in bench]
    _print([{**cost._asdict(), "met": cost.is_met} if as_json else cost.listed() for cost in costs], as_json)
    sys.exit(0 if all(cost.is_met for cost in costs) else 1)


def _said(cost: bench_self.Cost) -> bench_self.Cost:
    """The figure, told as soon as it is found: an interrupted bench was not in vain."""
    screen.say(" ".join(filter(None, cost.listed().values())))
    return cost


@app.command("doctor")
def doctor_(launcher: Annotated[str, typer.Option(help="swarm: look at every node of a Docker Swarm.")] = "auto",
            swarm: SwarmWords = None, as_json: AsJson = False) -> None:
    """Look at what measuring needs: engine, interpreters, disk, load; each lack with the command that mends it."""
    known = stack.read_all(job.STACKS)
    if launcher not in ("auto", "swarm"):
        raise InputError(f'doctor --launcher: found "{launcher}", expected swarm, or nothing for this machine')
    if launcher == "swarm":
        findings = doctor_swarm.examine(engine.connect(), known, swarm_options(_split(swarm)))
    else:
        findings = doctor.examine(known, job.cache_folder())
    _print([finding._asdict() for finding in findings], as_json)
    sys.exit(1 if any(finding.grade == "fails" for finding in findings) else 0)


@app.command("lock")
def lock_(names: Annotated[list[str] | None, typer.Argument(metavar="[STACK]...")] = None) -> None:
    """Make the locks of stacks and of the runner (requirements.txt) anew from their requirements.in."""
    known = _pinned()
    for name in _known_stacks(names, known):
        known[name].lock.write_text(lock.relock(known[name]))
        screen.say(f"{name}: wrote {known[name].lock}")


def _asked(name: str, stacks: list[str] | None, rounds: int | None, seed: int, scale: str | None, baseline: str,
           launcher: str, data: str | None, pairs: list[str] | None, swarm: list[str] | None = None) -> job.Asked:
    wishes = Wishes(tuple(_split(stacks)), rounds, seed, baseline, job.settings(pairs or []))
    return job.Asked(name, scale, launcher, data, wishes, tuple(_split(swarm)))


def _with(pairs: list[str] | None, device: str | None) -> list[str]:
    """The KEY=VALUE words with the device's."""
    return [*(pairs or []), *([f"device={device}"] if device else [])]


def _split(words: list[str] | None) -> list[str]:
    """The names in options that may hold several, put apart by commas."""
    return [name for word in words or [] for name in word.split(",") if name]


def _reasons(wanted: job.Job) -> str:
    if not wanted.found.gpus and all(s.cell.device == "gpu" for s in wanted.plan.skipped) and wanted.plan.skipped:
        return (f"{wanted.asked.study} needs an NVIDIA GPU, and this machine has none ({wanted.found.problem}); "
                f"`evenbench plan {wanted.asked.study}` shows what would run")
    reasons = dict.fromkeys(f"{s.cell.stack}: {s.reason}" for s in wanted.plan.skipped)
    return "; ".join(reasons) or "the study has no cells"


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM came: the session looks between two lines, so that no container is half started.

    A second one ends the session at once.
    """
    seen: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise Stopped

    earlier = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def main() -> None:
    """Run the command; what the user can mend is one line on standard error and exit code 2."""
    try:
        app(standalone_mode=True)
    except BenchError as error:
        screen.say(f"evenbench: {error}")
        sys.exit(2)
    except Stopped:
        sys.exit(130)


if __name__ == "__main__":
    main()
