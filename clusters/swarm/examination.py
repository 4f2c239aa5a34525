"""What measuring on a Docker Swarm needs of every node: engine, image, memory, reach, MTU, clock."""

from collections.abc import Callable, Mapping, Sequence

from clusters.swarm import manager
from clusters.swarm.probe import NodeReport
from runner import formatting
from runner.errors import BenchError
from runner.findings import Finding, judged
from runner.machine import host
from runner.stacks import images
from runner.stacks.definition import PinnedStack
from runner.stacks.engine import DockerClient

_FREE_BYTES = 2 * host.GIB           # a small cell's node
_CLOCK_SECONDS = 0.1                    # by which the times in nodes' records may differ unnoticed
_MTU = 1424                             # of an encrypted network over links of 1,500 bytes


def examine(client: DockerClient, stacks: Mapping[str, PinnedStack],
            tried: Callable[[images.Image], Mapping[str, NodeReport]]) -> list[Finding]:
    """All findings, node by node. tried: brings an image to every node, starts it there, and returns what each says."""
    reports: Mapping[str, NodeReport] = {}
    findings = [_state(node) for node in manager.nodes(client.api.nodes())]
    built = {name: image for name, stack in stacks.items() if (image := images.find(client, stack))}
    if not built:
        return [*findings, Finding("images", "fails", "the manager's engine has no stack's image",
                                   f"evenbench images {next(iter(stacks))}")]
    for name, image in built.items():
        try:
            reports = tried(image)
            findings.append(Finding(f"image {name}", "good", f"on {formatting.count(len(reports), 'node')}"))
        except BenchError as error:
            reason, _, mend = str(error).partition(": ")
            findings.append(Finding(f"image {name}", "note", reason, mend))
    return [*findings, *of_nodes(reports)]


def _state(node: manager.Node) -> Finding:
    told = (f"Docker {node.engine}, {node.cpus} CPUs, {node.memory_bytes / 1e9:.1f} GB, {node.state}, "
            f"{node.availability}")
    return judged(f"{node.name} engine", node.is_usable, told,
                  f"docker node inspect {node.name}; docker node update --availability active NODE")


def of_nodes(reports: Mapping[str, NodeReport]) -> list[Finding]:
    """What the nodes' reports say, in the order of the nodes."""
    return [finding for name in sorted(reports) for finding in _of_node(name, reports[name], sorted(reports))]


def _of_node(name: str, here: NodeReport, names: Sequence[str]) -> list[Finding]:
    free, swap, mtu = (int(here.about[key] or 0) for key in ("free_bytes", "swap_bytes", "mtu"))
    return [
        judged(f"{name} memory", free >= _FREE_BYTES, f"{free / host.GIB:.1f} GiB free", "end other programs there"),
        judged(f"{name} swap", not swap, f"{swap / host.GIB:.1f} GiB: a service cannot be kept from it" if swap
               else "none", "swapoff -a"),
        _reach(name, here, names),
        judged(f"{name} mtu", mtu >= _MTU, f"{mtu} bytes on the run's network",
               "raise the MTU of the link between the nodes"),
        _clock(name, here, names[0]),
        Finding(f"{name} privileges", *(("good", "none can be gained") if here.about["no_new_privileges"]
                                        else ("fails", "a place could gain privileges"))),
    ]


def _reach(name: str, here: NodeReport, names: Sequence[str]) -> Finding:
    lost = ", ".join(f"{peer} ({why})" for peer, why in here.unreached.items())
    others = ", ".join(peer for peer in names if peer != name) or "no other node"
    return judged(f"{name} reach", not lost, f"does not reach {lost}" if lost else others,
                  "let UDP 4789 and TCP and UDP 7946 pass; encrypted: IP protocol 50 too, and a kernel with ESP",
                  "fails")


def _clock(name: str, here: NodeReport, first: str) -> Finding:
    ahead, uncertainty = here.clock_ahead_seconds, here.clock_uncertainty_seconds
    if ahead is None or uncertainty is None:
        return Finding(f"{name} clock", "good" if name == first else "note",
                       "the others are compared with it" if name == first else "could not be compared")
    return judged(f"{name} clock", abs(ahead) - uncertainty <= _CLOCK_SECONDS,
                  f"{1e3 * ahead:+.3f} ms ± {1e3 * uncertainty:.3f} ms against {first}",
                  "let chrony or systemd-timesyncd set it")
