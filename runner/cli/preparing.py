"""Commands that prepare, and that tell what there is: init, images, manifests, data, doctor, lock."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from runner import paths
from runner.application import kubernetes, prepare
from runner.application.kubernetes import Pod
from runner.cli.options import Commands, Folders, SomeStacks, StudyName
from runner.cli.output import Output
from runner.datasets import choice, published
from runner.doctor import host
from runner.errors import InputError
from runner.launchers import choose, table
from runner.machine import nvml
from runner.stacks import definition

app = Commands()


@app.command("images")
def images_(names: SomeStacks = None,
            prune: Annotated[bool, typer.Option("--prune", help="Remove images of ours that are out of date.")] = False,
            is_sif: Annotated[bool, typer.Option("--sif", help="Apptainer's image files of stacks.")] = False,
            source: Annotated[str, typer.Option("--from", help="With --sif and one stack: docker://NAME@sha256:DIGEST "
                                                "or docker-archive:FILE instead of this machine's engine.")] = "",
            *, folders: Folders) -> None:
    """Build the images of stacks and of the runner (if none is named, all that run without a GPU)."""
    if prune and names:
        raise InputError(f"images: found --prune and {names[0]}, expected one of them; it removes all that are out of "
                         "date")
    if source and not (is_sif and len(names or ()) == 1):
        raise InputError("--from: expected --sif and one stack, as in `evenbench images --sif torch-1.7 --from ...`")
    if is_sif:
        prepare.image_files(names, folders.places, prune, source)
    else:
        prepare.build(names, folders.places, prune)


@app.command()
def manifests(study: StudyName, more: Annotated[list[str] | None, typer.Argument(
                  metavar="-- OPTIONS", help="Of `evenbench run`.")] = None, *,
              nodes: Annotated[int, typer.Option(min=1, help="Pods, each on a machine of its own.")],
              image: Annotated[str, typer.Option(help="The runner's image, where the cluster finds it.")] = Pod().image,
              cpus: Annotated[int, typer.Option(min=1, help="Of each pod.")] = Pod().cpus,
              memory: Annotated[str, typer.Option(help="Of each pod.")] = Pod().memory,
              gpus: Annotated[int, typer.Option(min=0, help="Of each pod.")] = 0,
              claim: Annotated[str, typer.Option(help="A PersistentVolumeClaim for results, which all nodes can "
                                                 "mount.")] = "") -> None:
    """Write what runs a study on Kubernetes, for `kubectl apply -f -`."""
    print(json.dumps(kubernetes.manifests([study, *(more or ())], nodes, Pod(image, cpus, memory, gpus, claim)),
                     indent=2))


@app.command("data")
def data_(output: Output) -> None:
    """List data sets: what is here, what is missing, its size and licence, and the command that prepares one."""
    rows = published.listing(paths.cache_folder())
    output.rows(rows, [published.for_people(rows), "", f"to download and prepare one: {choice.command('NAME')}"])


@app.command("doctor")
def doctor_(launcher: Annotated[str, typer.Option(help="inside: look at every node, started once on each, or with "
                                                  "inside:hosts=HOST+HOST.")] = table.AUTO, *,
            folders: Folders, output: Output) -> None:
    """Look at what measuring needs: engine, interpreters, disk, load; each lack with the command that mends it."""
    stacks = definition.read_all(folders.places.stacks)
    findings = host.examine(stacks, paths.cache_folder())
    if launcher != table.AUTO:
        findings = choose.examined(launcher, findings, nvml.observe())
    rows = [finding._asdict() for finding in findings]
    output.rows(rows, [                                # a command in a narrow column could not be copied
        [{name: value for name, value in row.items() if name != "mend"} for row in rows],
        *(f"{each.what}: {each.mend}" for each in findings if each.mend)])
    sys.exit(1 if any(finding.grade == "fails" for finding in findings) else 0)


@app.command("init")
def init_(kind: Annotated[str, typer.Argument(metavar="KIND", help="torch, jax or keras.", show_default=False)],
          file: Annotated[Path, typer.Argument(metavar="FILE", help="Where it is written.")] = Path("model.py")
          ) -> None:
    """Write a model's file to begin with, in PyTorch, JAX or Keras: model.py."""
    prepare.begin_model(kind, file)


@app.command("lock")
def lock_(names: SomeStacks = None, *, folders: Folders) -> None:
    """Make the locks of stacks and of the runner (requirements.txt) anew from their requirements.in."""
    prepare.lock(names, folders.places)
