"""What measuring on a Slurm cluster needs: its commands, nodes, limits, accounts, a folder that nodes share."""

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from clusters.slurm import commands
from clusters.slurm.commands import Node, Slurm
from runner.errors import BenchError
from runner.findings import Finding, judged
from runner.stacks import environments
from runner.stacks.definition import PinnedStack


def examine(slurm: Slurm, stacks: Mapping[str, PinnedStack], words: Sequence[str], cache: Path) -> list[Finding]:
    """All findings. Starts a short step on a free node of the partition.

    words: the launcher's options. Raises InputError, and SlurmUnreachable where the controller does not answer.
    """
    said = commands.options(words)
    nodes, settings = commands.chosen(slurm.nodes(), said), slurm.settings()
    return [Finding("slurm", "good", f"{slurm.version()}, cluster {settings.get('ClusterName', '')}"),
            *_nodes(nodes), *limits(settings), _accounts(settings), _folder(slurm, said, cache),
            _environments(stacks, cache)]


def _nodes(nodes: Sequence[Node]) -> list[Finding]:
    """The partition's nodes, and what they are of."""
    name, able = nodes[0].partition, [node for node in nodes if node.is_usable]
    kinds = Counter((node.cpus, node.memory_bytes, node.gpus) for node in nodes)
    told = ", ".join(f"{count} of {cpus} CPUs, {memory / 1e9:.1f} GB" + (f", {gpus} GPUs" if gpus else "")
                     for (cpus, memory, gpus), count in sorted(kinds.items()))
    states = ", ".join(f"{node.name} {node.state}" for node in nodes if not node.is_usable)
    return [judged(f"partition {name}", len(able) == len(nodes), f"{len(able)} of {len(nodes)} nodes are usable"
                   + (f"; {states}" if states else ""), "sinfo -R says why", "note" if able else "fails"),
            judged("nodes", len(kinds) == 1, told, "choose alike ones with --launcher slurm:constraint= or nodelist=")]


def limits(settings: Mapping[str, str]) -> list[Finding]:
    """Whether jobs are kept to their CPUs and memory, by the cluster's settings."""
    by_group = "task/cgroup" in settings.get("TaskPlugin", "")
    memory = by_group and settings.get("ConstrainRAMSpace") == "yes"
    bound = "task/affinity" in settings.get("TaskPlugin", "") or (
        by_group and settings.get("ConstrainCores") == "yes")
    swap = memory and settings.get("ConstrainSwapSpace") == "yes"
    return [judged("cpus", bound, "jobs are bound to theirs" if bound else "jobs are not bound",
                   "ask for TaskPlugin=task/cgroup,task/affinity; workers bind themselves"),
            judged("memory", memory, "limited by control groups" if memory else
                   "not limited by control groups: each process's private memory is instead",
                   "ask for TaskPlugin=task/cgroup and ConstrainRAMSpace=yes"),
            judged("swap", swap or not memory, "limited" if swap else "not limited by Slurm",
                   "ask for ConstrainSwapSpace=yes, or see that the nodes have none")]


def _accounts(settings: Mapping[str, str]) -> Finding:
    kind = settings.get("AccountingStorageType", "accounting_storage/none")
    if not kind.endswith("/none"):
        return Finding("accounts", "good", kind)
    return Finding("accounts", "note", f"none: how a job ended is known for {settings.get('MinJobAge', '300 sec')}",
                   "resume an interrupted session sooner, or ask for slurmdbd")


def _folder(slurm: Slurm, said: commands.Options, cache: Path) -> Finding:
    """Whether a node sees what this machine writes to the cache."""
    word = secrets.token_hex(8)
    probe = cache.resolve() / "slurm" / f"probe-{word}"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_text(word)
        heard = slurm.answer(said, ["cat", str(probe)])
    except (OSError, BenchError) as error:
        return Finding("shared folder", "note", f"no node was asked: {error}", "squeue; sinfo")
    finally:
        probe.unlink(missing_ok=True)
    is_shared = heard.strip() == word
    return judged("shared folder", is_shared, f"{probe.parent} is {'seen by' if is_shared else 'not on'} a node",
                  "put the cache on a file system that all nodes share: XDG_CACHE_HOME=FOLDER", "fails")


def _environments(stacks: Mapping[str, PinnedStack], cache: Path) -> Finding:
    """How many of the stacks have their virtual environment already."""
    plain = [stack for stack in stacks.values() if not stack.is_gpu_only and not stack.base.has_framework]
    there = sum((environments.folder(stack, cache) / "bin" / "python").exists() for stack in plain)
    return Finding("environments", "good", f"{there} of {len(plain)} stacks have theirs; a run makes those it needs")
