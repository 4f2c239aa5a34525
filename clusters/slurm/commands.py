"""Slurm's commands: what they are asked, and what their answers say. For Slurm 20.11 and later."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runner import formatting
from runner.errors import BenchError, InputError
from workloads.spec.cell import Cell

NEEDED = ("sbatch", "srun", "squeue", "scontrol", "sinfo", "scancel")
Answer = tuple[int, str, str]                # exit code, standard output, standard error
Call = Callable[[Sequence[str]], Answer]
_SECONDS = 60.0                              # for one command; a busy controller takes its time
_ARGUMENTS = "partition=, account=, qos=, reservation=, constraint=, nodelist=, time=, shared, apptainer"

_FLAGS = {"shared": "is_shared", "apptainer": "in_images"}       # words without a value, and the fields that they set


class SlurmUnreachable(BenchError):
    """Slurm's controller does not answer."""


class Options(NamedTuple):
    """What the user tells of the jobs; "": as the cluster has it."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    reservation: str = ""
    constraint: str = ""
    nodelist: str = ""
    time: str = ""                           # of one run, as sbatch takes it: minutes, or 1:30:00
    is_shared: bool = False                  # other jobs may be on the nodes
    in_images: bool = False                  # stacks are Apptainer's image files, not virtual environments

    def words(self) -> list[str]:
        """Those of sbatch."""
        return [f"--{name}={value}" for name, value in self._asdict().items() if name not in _FLAGS.values() and value
                ] + ([] if self.is_shared else ["--exclusive"])


def options(arguments: Iterable[str]) -> Options:
    """The Options of the words behind `--launcher slurm:`. Raises InputError."""
    said: dict[str, Any] = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        if argument in _FLAGS:
            said[_FLAGS[argument]] = True
        elif name in Options._fields and name not in _FLAGS.values() and re.fullmatch(r"[\w.,:\-\[\]|&*()@]+", value):
            said[name] = value
        elif re.fullmatch(r"[\w.\-\[\]]+", argument) and "nodelist" in said:
            said["nodelist"] += f",{argument}"           # which commas parted
        else:
            raise InputError(f'--launcher slurm: found "{argument}", expected one of {_ARGUMENTS}')
    return Options(**said)


class Node(NamedTuple):
    """A node as Slurm knows it."""

    name: str
    state: str                               # idle, mixed, allocated, down, drained ...; with *: it does not answer
    cpus: int
    memory_bytes: int
    gpus: int                                # of its generic resources
    partition: str
    is_default: bool                         # of its partition

    @property
    def is_usable(self) -> bool:
        """Whether jobs start there, now or later."""
        return self.state.rstrip("+#~") in ("idle", "mixed", "allocated", "completing", "planned", "reserved")

    @property
    def trouble(self) -> str:
        """Why what runs there cannot be relied on; "" for nothing."""
        if self.state.endswith("*"):
            return f"is on {self.name}, which Slurm cannot reach ({self.state})"
        return f"is on {self.name}, which is {self.state}" if self.state.startswith(("down", "fail")) else ""


NODE_FORMAT = "%N|%T|%c|%m|%G|%P"


def nodes(answer: str) -> tuple[Node, ...]:
    """The nodes of `sinfo -h -N -o NODE_FORMAT`, a row a node and partition, by name."""
    rows = [line.split("|") for line in answer.splitlines() if line.count("|") == 5]
    return tuple(sorted(Node(name, state, _whole(cpus), _whole(megabytes) * 2**20, _gpus(resources),
                             partition.rstrip("*"), partition.endswith("*"))
                        for name, state, cpus, megabytes, resources, partition in rows))


def chosen(nodes: Sequence[Node], said: Options) -> tuple[Node, ...]:
    """The nodes of the partition that jobs go to. Raises InputError where there is none."""
    partitions = sorted({node.partition for node in nodes})
    if said.partition:
        named = tuple(node for node in nodes if node.partition in said.partition.split(","))
        if not named:
            raise InputError(f'--launcher slurm: found "partition={said.partition}", expected one of '
                             f"{', '.join(partitions)}")
        return named
    default = tuple(node for node in nodes if node.is_default)
    if not default:
        raise InputError("--launcher slurm: the cluster has no default partition: choose one with --launcher "
                         f"slurm:partition=, of {', '.join(partitions) or 'none that you may see'}")
    return default


def lacks(cell: Cell, nodes: Sequence[Node]) -> str | None:
    """Why the partition's nodes can never run a cell, or None."""
    name = nodes[0].partition
    able = [node for node in nodes if cell.cpus <= node.cpus and cell.memory_bytes <= node.memory_bytes]
    if cell.nodes > len(nodes):
        return (f"the cell needs {formatting.count(cell.nodes, 'node')}, and partition {name} has {len(nodes)}: choose "
                "another with --launcher slurm:partition=, or measure with --set nodes=")
    if cell.nodes > len(able):
        most = max(nodes, key=lambda node: (node.cpus, node.memory_bytes))
        return (f"{len(able)} nodes of partition {name} have {cell.cpus} CPUs and {cell.memory_bytes / 1e9:.1f} GB, as "
                f"the cell asks, and the largest has {most.cpus} and {most.memory_bytes / 1e9:.1f} GB: measure with "
                "--set cpus=, --set memory_bytes=")
    if cell.device == "gpu" and cell.nodes > sum(node.gpus >= cell.gpus for node in nodes):
        return f"partition {name} has no {cell.nodes} nodes with {cell.gpus} GPUs as generic resources (sinfo -o %N,%G)"
    return None


def _whole(text: str) -> int:
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else 0


def _gpus(resources: str) -> int:
    """How many GPUs the generic resources count: "gpu:a100:4(S:0-1),gpu:2"."""
    return sum(int(count) for count in re.findall(r"\bgpu(?::[^:,(]+)?:(\d+)", resources))


# states of a job from which it goes no further
WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "RESV_DEL_HOLD"})
ALIVE = WAITING | {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
OUT_OF_MEMORY = "OUT_OF_MEMORY"


class Job(NamedTuple):
    """A job as Slurm knows it."""

    state: str = "PENDING"
    reason: str = ""
    nodes: str = ""                          # as Slurm shortens them: slurm[1-3]
    exit: str = ""
    name: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come of it."""
        return self.state not in ALIVE


GONE = Job("GONE", "Slurm knows no such job any more")


def shown(answer: str) -> Job:
    """The job of `scontrol show job -o`."""
    facts = dict(re.findall(r"(?:^|\s)([A-Za-z]+)=(\S*)", answer))
    return Job(facts.get("JobState", "PENDING"), facts.get("Reason", ""), _some(facts.get("NodeList", "")),
               facts.get("ExitCode", ""), facts.get("JobName", ""))


def accounted(answer: str) -> Job | None:
    """The job of `sacct -X -n -P -o State,ExitCode,NodeList,JobName`; None where there is none."""
    for line in answer.splitlines():
        state, code, where, name = (*line.split("|"), "", "", "", "")[:4]
        if state:
            return Job(state.split()[0], state, _some(where), code, name)       # "CANCELLED by 0"
    return None


def _some(text: str) -> str:
    return "" if text in ("(null)", "None assigned") else text


class Submission(NamedTuple):
    """A job to be made."""

    folder: Path                             # the run's, on the file system that all nodes share; it names the job
    root: Path                               # what the workers' modules are imported from
    python: Sequence[str]                    # the words that start the stack's
    cell: Cell
    nodelist: str = ""                       # where the session's other jobs were


def submission(order: Submission, said: Options) -> list[str]:
    """The words of sbatch, as anyone could type them."""
    own = said._replace(nodelist=said.nodelist or order.nodelist)
    return ["sbatch", "--parsable", f"--job-name={order.folder.name}", *_resources(order), "--no-requeue",
            "--export=PATH,LANG,LD_LIBRARY_PATH,SLURM_CONF",
            f"--chdir={order.root}", "--input=/dev/null", f"--output={order.folder / 'job.out'}",
            *own.words(), str(order.folder / "job.sh")]


def script(order: Submission) -> str:
    """The job's own script: one step, with one task a node.

    The step names its CPUs, which it does not take over from the job from Slurm 22.05 on; a task that ends badly leaves
    the others to the runner, which looks for the cause first.
    """
    command = ["srun", *_resources(order), f"--ntasks={order.cell.nodes}", "--exact", "--cpu-bind=cores",
               "--export=ALL", "--kill-on-bad-exit=0", "--wait=0", "--input=none", *order.python, "-m",
               "workloads.places.slurm_node", str(order.folder / "order.json")]
    return (f"#!/bin/sh\n# {order.folder.name}: a run of evenbench\n"
            'hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | tr "\\n" ,)\n'
            f"exec {shlex.join(command)} \"$hosts\"\n")


def _resources(order: Submission) -> list[str]:
    """What a job asks for, and its step anew."""
    cell = order.cell
    return [f"--nodes={cell.nodes}", "--ntasks-per-node=1", f"--cpus-per-task={cell.cpus}",
            f"--mem={-(-cell.memory_bytes // 2**20)}M", *([f"--gres=gpu:{cell.gpus}"] if cell.device == "gpu" else [])]


class Slurm:
    """The commands of a cluster, as the user at hand may give them."""

    def __init__(self, call: Call | None = None) -> None:
        """Raises InputError where the commands are not here."""
        self._call = call or _called
        missing = [name for name in NEEDED if not shutil.which(name)] if call is None else []
        if missing:
            raise InputError(f"--launcher slurm: found no {', '.join(missing)} on PATH, expected Slurm's commands: run "
                             "it on a login node of the cluster")

    def nodes(self) -> tuple[Node, ...]:
        """All nodes. Raises SlurmUnreachable."""
        return nodes(self._asked(["sinfo", "-h", "-N", "-o", NODE_FORMAT]))

    def states(self, where: str) -> dict[str, Node]:
        """The nodes of a shortened list, by name; {} where the controller does not answer."""
        try:
            answer = self._asked(["sinfo", "-h", "-N", "-n", where, "-o", NODE_FORMAT]) if where else ""
        except SlurmUnreachable:
            return {}
        return {node.name: node for node in nodes(answer)}

    def hostnames(self, where: str) -> list[str]:
        """The nodes of a shortened list, in order."""
        code, answer, _ = self._call(["scontrol", "show", "hostnames", where]) if where else (1, "", "")
        return answer.split() if code == 0 else []

    def version(self) -> str:
        """Of the commands: "22.05.8"."""
        return self._call(["sinfo", "--version"])[1].rpartition(" ")[2].strip()

    def settings(self) -> dict[str, str]:
        """Those of the cluster, as `scontrol show config` has them. Raises SlurmUnreachable."""
        answer = self._asked(["scontrol", "show", "config"])
        return dict(re.findall(r"^(\w+)\s*= (.*?)\s*$", answer, flags=re.MULTILINE))

    def submit(self, command: Sequence[str]) -> str:
        """The id of a new job. Raises BenchError with Slurm's own reason."""
        code, answer, errors = self._call(command)
        id = re.match(r"\d+", answer.strip())
        if code or not id:
            raise BenchError(f"Slurm did not take the job: {_reason(errors)}")
        return id[0]

    def answer(self, said: Options, command: Sequence[str]) -> str:
        """What a command prints on a free node; "" where it fails there. Raises BenchError where no node is free."""
        own = said._replace(is_shared=True, time="1").words()
        code, answer, errors = self._call(["srun", "--immediate=20", "--nodes=1", "--ntasks=1",
                                           "--job-name=evenbench-doctor", *own, *command])
        if code and "slurmstepd" not in errors and "exit code" not in errors.lower():
            raise BenchError(_reason(errors))
        return "" if code else answer

    def job(self, id: str) -> Job | None:
        """What is known of a job; None where nobody answers now."""
        code, answer, errors = self._call(["scontrol", "show", "job", "-o", id])
        if code == 0 and answer.strip():
            return shown(answer)
        if "Invalid job id" not in errors:
            return None
        code, answer, _ = self._call(["sacct", "-X", "-n", "-P", "-j", id, "-o", "State,ExitCode,NodeList,JobName"])
        return (accounted(answer) if code == 0 else None) or GONE

    def cancel(self, *words: str) -> bool:
        """End a job by its id, or by --name=; whether Slurm heard it."""
        return self._call(["scancel", *words])[0] == 0

    def _asked(self, words: Sequence[str]) -> str:
        code, answer, errors = self._call(words)
        if code:
            raise SlurmUnreachable(f"Slurm does not answer ({_reason(errors)}): look at `scontrol ping`")
        return answer


def _reason(errors: str) -> str:
    """The last thing that Slurm complained of, without its own name."""
    lines = [line.partition(": error: ")[2] or line for line in errors.strip().splitlines() if line.strip()]
    return lines[-1].removeprefix("Batch job submission failed: ").strip() if lines else "no reason given"


def _called(words: Sequence[str]) -> Answer:
    try:
        ended: Any = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                    timeout=_SECONDS, check=False, env=_environment())
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, "", f"{words[0]}: {error}"
    return ended.returncode, ended.stdout, ended.stderr


def _environment() -> dict[str, str]:
    """Ours, without what a job around us or its user's shell would tell sbatch beside our words."""
    kept = {name: value for name, value in os.environ.items()
            if name == "SLURM_CONF" or not name.startswith(("SLURM_", "SBATCH_", "SQUEUE_", "SINFO_", "SCONTROL_"))}
    return {**kept, "SLURM_TIME_FORMAT": "standard"}
