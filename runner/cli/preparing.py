"""Commands that prepare, and that tell what there is: list, images, data, doctor, sbom, lock."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import requests
import typer

from runner import paths, screen
from runner.cli import listings
from runner.cli.options import (
    RESULTS,
    AsJson,
    LauncherName,
    Results,
    Scale,
    SomeStacks,
    SwarmWords,
    print_rows,
    split,
)
from runner.datasets import library
from runner.datasets.download import Net
from runner.datasets.prepare_wanted import Wanted
from runner.doctor import host
from runner.doctor import swarm as doctor_swarm
from runner.errors import InputError
from runner.launchers.by_stack import ByStack
from runner.launchers.docker import DockerLauncher
from runner.launchers.swarm_manager import options as swarm_options
from runner.launchers.venv import VenvLauncher
from runner.launchers.watchdog import Launcher
from runner.machine import gpus
from runner.measuring import job, own_stacks
from runner.results import history
from runner.screen.progress import transfer
from runner.stacks import definition, engine, images, locking, sbom
from runner.stacks.definition import chosen_names

app = typer.Typer()
data_app = typer.Typer(no_args_is_help=True, help="Data sets: list, get, verify, prepare.")
app.add_typer(data_app, name="data")

DataName = Annotated[str, typer.Argument(metavar="NAME", show_default=False,
                                         help="A data set, as `evenbench data list` names it.")]


@app.command("list")
def list_(what: Annotated[str, typer.Argument(metavar="WHAT",
                                              help="stacks, tasks, studies, data or results.")] = "stacks",
          results: Results = RESULTS, scale: Scale = None, as_json: AsJson = False) -> None:
    """List stacks, tasks, studies (what is done, stale and missing of each experiment), data sets or results."""
    known = {"stacks": listings.stacks, "tasks": listings.all_tasks,
             "studies": lambda: listings.studies(results, scale, screen.say),
             "data": lambda: library.listing(paths.cache_folder()), "results": lambda: history.listing(results)}
    if what not in known:
        raise InputError(f'list: found "{what}", expected one of {", ".join(known)}')
    print_rows(known[what](), as_json)


@app.command("images")
def images_(names: SomeStacks = None,
            prune: Annotated[bool, typer.Option("--prune", help="Remove images of ours that are out of date.")] = False,
            ) -> None:
    """Build the images of stacks and of the runner (if none is named, all that run without a GPU)."""
    known = definition.all_images(paths.STACKS)
    client = engine.connect()
    if prune:
        images.prune(client, list(known.values()), screen.say)
        return
    for name in chosen_names(names, known):
        images.build(client, known[name], screen.say)


@data_app.command("list")
def data_list(as_json: AsJson = False) -> None:
    """What is here, what is missing, its size, licence and who published its checksum."""
    print_rows(library.listing(paths.cache_folder()), as_json)


@data_app.command("get")
def data_get(name: DataName) -> None:
    """Download, verify and unpack a data set; the same command goes on after an interruption."""
    with transfer() as told, requests.Session() as net:
        library.get(name, paths.cache_folder(), Net(net, say=screen.say, told=told))


@data_app.command("verify")
def data_verify(name: DataName, folder: Annotated[Path | None, typer.Option(
        help="Where it lies; the cache if left out.")] = None) -> None:
    """Look whether every file is there and whole, and say which one is not."""
    screen.say(library.verify(name, folder, paths.cache_folder()))


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
    library.prepare(name, source, paths.cache_folder(), asked, screen.say)


@app.command("doctor")
def doctor_(launcher: Annotated[str, typer.Option(help="swarm: look at every node of a Docker Swarm.")] = "auto",
            swarm: SwarmWords = None, as_json: AsJson = False) -> None:
    """Look at what measuring needs: engine, interpreters, disk, load; each lack with the command that mends it."""
    known = definition.read_all(paths.STACKS)
    if launcher not in ("auto", "swarm"):
        raise InputError(f'doctor --launcher: found "{launcher}", expected swarm, or nothing for this machine')
    if launcher == "swarm":
        findings = doctor_swarm.examine(engine.connect(), known, swarm_options(split(swarm)))
    else:
        findings = host.examine(known, paths.cache_folder())
    print_rows([finding._asdict() for finding in findings], as_json)
    sys.exit(1 if any(finding.grade == "fails" for finding in findings) else 0)


@app.command("sbom")
def sbom_(names: SomeStacks = None,
          out: Annotated[Path | None, typer.Option(help="A folder for a file a stack, NAME.cdx.json.")] = None,
          licences: Annotated[bool, typer.Option("--licences", help="A table of packages and licences.")] = False,
          launcher: LauncherName = "auto") -> None:
    """Say what the images or virtual environments of stacks hold: CycloneDX JSON with versions, hashes and licences."""
    here = own_stacks.chosen(split(names), definition.read_all(paths.STACKS), paths.ROOT, gpus.NONE)
    chosen = [here.stacks[name] for name in chosen_names(here.names, here.stacks)]
    if len(chosen) > 1 and not out and not licences:
        raise InputError(f"sbom: found {len(chosen)} stacks, expected one, or --out FOLDER for a file each")
    how = job.launcher_for(launcher, screen.say, gpus.NONE, (), here)
    for each in chosen if names else job.buildable(chosen, how, screen.say):
        found = held(each, how, screen.say)
        if licences:
            print_rows([{"stack": each.name, **package.row()} for package in found.packages], is_json=False)
        elif out:
            screen.say(f"written: {sbom.write(sbom.cyclonedx(found), out, each.name)}")
        else:
            print(sbom.cyclonedx(found))


def held(stack: definition.Stack, launcher: Launcher, say: Callable[[str], None]) -> sbom.Environment:
    """What a stack's image or virtual environment holds, built first if it is not there. Raises BenchError."""
    if not isinstance(launcher, DockerLauncher | VenvLauncher | ByStack):
        raise InputError(f'--launcher: found "{launcher.name}", expected docker or venv')
    launcher.prepare([stack], say)
    runs_it = launcher.of(stack) if isinstance(launcher, ByStack) else launcher
    return sbom.read(runs_it.said(stack, "workloads.process.inventory"), stack, runs_it.name)


@app.command("lock")
def lock_(names: SomeStacks = None) -> None:
    """Make the locks of stacks and of the runner (requirements.txt) anew from their requirements.in."""
    known = definition.all_images(paths.STACKS)
    for name in chosen_names(names, known):
        known[name].lock.write_text(locking.relock(known[name]))
        screen.say(f"{name}: wrote {known[name].lock}")
