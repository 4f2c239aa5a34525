"""A plan as Kubernetes objects: a run is an indexed Job, suspended, with a headless service for its places' names.

Written and held against the published schema; no cluster has run it yet. Jobs are in the order of the rounds and are
to be resumed one by one: two at once would measure each other. evenbench does not read their lines back.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runner.machine.cpu_sets import reporters
from runner.planning.plan import Plan, Planned
from runner.stacks.definition import Stack
from workloads.spec import cluster

NAMES = ("kubernetes",)              # what `evenbench plan --export` knows
RUN, CELL, ROUND = "evenbench.org/run", "evenbench.org/cell", "evenbench.org/round"
DATA_CLAIM = "evenbench-data"        # the volume claim that holds the data set
_USER = 1000                         # of every image: by number, or Kubernetes cannot know that it is not root
_DNS = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}


def text(plan: Plan, stacks: Mapping[str, Stack]) -> str:
    """All objects as one stream of YAML documents."""
    import yaml  # here: for this alone

    return str(yaml.safe_dump_all(objects(plan, stacks), sort_keys=False, explicit_start=True, width=100))


def objects(plan: Plan, stacks: Mapping[str, Stack]) -> Iterator[dict[str, Any]]:
    """Of every run, round by round in the round's order: network policy, service where there are many places, job."""
    for index in range(plan.rounds):
        for planned in plan.order(index):
            places = cluster.places(stacks[planned.cell.stack].framework, planned.cell.parallel, planned.cell.nodes)
            name = f"evenbench-{planned.key}-{index}"
            head = {"name": name, "labels": {"app.kubernetes.io/name": "evenbench", RUN: name, CELL: planned.key,
                                             ROUND: str(index)}}
            yield _policy(head)
            if len(places) > 1:
                yield _service(head)
            yield _job(head, planned, places)


def _selector(head: Mapping[str, Any]) -> dict[str, Any]:
    return {"matchLabels": {RUN: head["name"]}}


def _policy(head: Mapping[str, Any]) -> dict[str, Any]:
    """No way in or out but to each other and to the names."""
    own = {"podSelector": _selector(head)}
    ports = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": dict(head),
            "spec": {**own, "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": [own]}],
                     "egress": [{"to": [own]}, {"to": [_DNS], "ports": ports}]}}


def _service(head: Mapping[str, Any]) -> dict[str, Any]:
    """The names of the places, also before they are ready."""
    return {"apiVersion": "v1", "kind": "Service", "metadata": dict(head),
            "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {RUN: head["name"]}}}


def _job(head: Mapping[str, Any], planned: Planned, places: tuple[cluster.Place, ...]) -> dict[str, Any]:
    spec: dict[str, Any] = {"completions": len(places), "parallelism": len(places), "completionMode": "Indexed",
                            "backoffLimit": 0, "suspend": True}
    if len(reporters(places)) < len(places):       # the others serve until they are stopped (Kubernetes 1.31 and later)
        ends = ",".join(str(rank) for rank, place in enumerate(places) if place.reports)
        spec["successPolicy"] = {"rules": [{"succeededIndexes": ends}]}
    spec["template"] = {"metadata": {"labels": head["labels"]}, "spec": _pod(head, planned, places)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": dict(head), "spec": spec}


def _pod(head: Mapping[str, Any], planned: Planned, places: tuple[cluster.Place, ...]) -> dict[str, Any]:
    return {
        "restartPolicy": "Never", "subdomain": head["name"], "automountServiceAccountToken": False,
        "enableServiceLinks": False, "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsNonRoot": True, "runAsUser": _USER, "runAsGroup": _USER,
                            "seccompProfile": {"type": "RuntimeDefault"}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                                       "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _selector(head)}],
        "containers": [_container(head, planned, places)],
        "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
                    {"name": "data", "persistentVolumeClaim": {"claimName": DATA_CLAIM, "readOnly": True}}],
    }


def _container(head: Mapping[str, Any], planned: Planned, places: tuple[cluster.Place, ...]) -> dict[str, Any]:
    cell = planned.cell
    limits = {"cpu": str(cell.cpus), **({"memory": str(cell.memory_bytes)} if cell.memory_bytes else {}),
              **({"nvidia.com/gpu": str(cell.gpus)} if cell.device == "gpu" else {})}
    return {
        "name": "worker", "image": f"evenbench:{cell.stack}", "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-m", "workloads"], "args": [json.dumps(cell._asdict())],
        "env": _environment(head, places) if len(places) > 1 else [],
        "resources": {"limits": limits, "requests": dict(limits)},      # equal: the class that is evicted last
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                            "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"},
                         {"name": "data", "mountPath": "/data", "readOnly": True}],
    }


def _environment(head: Mapping[str, Any], places: tuple[cluster.Place, ...]) -> list[dict[str, Any]]:
    """What tells a place of the others: an indexed Job names its pods NAME-INDEX, in the service's domain."""
    name = head["name"]
    index = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
    return [{"name": "EVENBENCH_NODES", "value": ",".join(f"{name}-{rank}.{name}" for rank in range(len(places)))},
            {"name": "EVENBENCH_RANK", "valueFrom": index}]
