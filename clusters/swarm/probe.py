"""What a Swarm's nodes say of themselves and of each other: memory, MTU, data, reach, clock.

workloads/places/probe.py runs on them and says it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from runner.errors import BenchError
from runner.launchers.protocol import Running

_PATIENCE_SECONDS = 60.0        # workloads/places/probe.py gives up earlier on each peer


class NodeReport(NamedTuple):
    """What a probe on a node reported. Clocks are compared with the first node's."""

    about: dict[str, Any]
    unreached: dict[str, str]                    # node -> why
    clock_ahead_seconds: float | None            # of the first node's; None for itself, or where nobody could ask
    clock_uncertainty_seconds: float | None

    def record(self) -> dict[str, Any]:
        """What a run's record keeps."""
        return {"cpu": self.about["cpu"], "kernel": self.about["kernel"], "mtu": self.about["mtu"],
                "swap_bytes": self.about["swap_bytes"], "clock_ahead_seconds": self.clock_ahead_seconds,
                "clock_uncertainty_seconds": self.clock_uncertainty_seconds}


def lines(running: Running, clock: Callable[[], float]) -> dict[str, dict[str, Any]]:
    """The line of each place's probe. Raises BenchError where a probe is silent, or writes something else."""
    parsed: dict[str, dict[str, Any]] = {}
    deadline = clock() + _PATIENCE_SECONDS
    while len(parsed) < len(running.reporters):
        line = running.next_line(1.0)
        if line and line[1] == b"":
            raise BenchError(f"the probe of {line[0]} ended: {running.exit(line[0], 1.0).last_words}")
        if line:
            try:
                parsed[line[0]] = dict(json.loads(line[1]))
            except ValueError as error:
                raise BenchError(f"the probe of {line[0]} wrote a line that is not JSON: {line[1][:60]!a}") from error
        elif clock() > deadline:
            silent = [name for name in running.reporters if name not in parsed]
            trouble = running.trouble()
            raise BenchError(f"the probe of {', '.join(silent)} said nothing in {_PATIENCE_SECONDS:g} s"
                             + "".join(f"; {name} {what}" for name, what in trouble.items()))
    return parsed


def reports(lines: Mapping[str, Mapping[str, Any]], nodes: Mapping[str, str]) -> dict[str, NodeReport]:
    """The reports by node, from each place's line and the nodes of the places."""
    first = next(iter(nodes))
    by_node = {}
    for place, about in lines.items():
        asked = lines[first]["reached"].get(place, {})       # how far this one is ahead of the first
        unreached = {nodes[peer]: answer["error"] for peer, answer in about["reached"].items() if "error" in answer}
        by_node[nodes[place]] = NodeReport(dict(about), unreached, asked.get("ahead_seconds"),
                                           asked.get("uncertainty_seconds"))
    return by_node


def check(reports: Mapping[str, NodeReport], names: Sequence[str], data: str) -> None:
    """Raise BenchError where nodes of these names do not reach each other, or have other data than the first."""
    for name in names:
        for peer, why in reports[name].unreached.items():
            if peer in names:
                raise BenchError(f"{name} does not reach {peer} on the run's network ({why}): let UDP 4789 and TCP and "
                                 "UDP 7946 pass between the nodes; an encrypted network needs ESP (IP protocol 50) and "
                                 "a kernel with it")
        if reports[name].about["data"] != reports[names[0]].about["data"]:
            raise BenchError(f"{data}: {name} has other files there than {names[0]}: copy the same to every node")
