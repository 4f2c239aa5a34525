"""What runs a study on Kubernetes: an Indexed Job, a pod a node, and the service by which they find rank 0. Pure."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from runner.launchers.rank import NAME

JOB = "evenbench"                # the name of the Job, the Service and the Secret
_FOLDER = "/scratch"             # of each pod, for environments, data and results
_RESULTS = "/results"


class Pod(NamedTuple):
    """What each pod gets."""

    image: str = "evenbench:runner"
    cpus: int = 4
    memory: str = "16Gi"
    gpus: int = 0
    claim: str = ""              # a PersistentVolumeClaim for results, which all nodes can mount


def manifests(words: Sequence[str], nodes: int, pod: Pod) -> dict[str, Any]:
    """The List that `kubectl apply` takes. words: after `evenbench run`."""
    service = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"job-name": JOB}}
    job = {"completions": nodes, "parallelism": nodes, "completionMode": "Indexed", "backoffLimit": 0,
           "template": {"spec": _pod(words, nodes, pod)}}
    return {"apiVersion": "v1", "kind": "List", "items": [_named("v1", "Service", service),
                                                          _named("batch/v1", "Job", job)]}


def _named(version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": JOB}, "spec": spec}


def _pod(words: Sequence[str], nodes: int, pod: Pod) -> dict[str, Any]:
    """No two on one machine, no rights, and whole CPUs for the kubelet's static policy."""
    apart = {"labelSelector": {"matchLabels": {"job-name": JOB}}, "topologyKey": "kubernetes.io/hostname"}
    volumes = [{"name": "scratch", "emptyDir": {}},
               *([{"name": "results", "persistentVolumeClaim": {"claimName": pod.claim}}] if pod.claim else [])]
    limits = {"cpu": str(pod.cpus), "memory": pod.memory, **({"nvidia.com/gpu": str(pod.gpus)} if pod.gpus else {})}
    mounts = {"scratch": _FOLDER, **({"results": _RESULTS} if pod.claim else {})}
    container = {
        "name": JOB, "image": pod.image, "workingDir": _FOLDER,
        "args": ["run", *words, "--yes", "--launcher", f"{NAME}:venv", "--nodes", str(nodes),
                 "--head", f"{JOB}-0.{JOB}", "--results", _RESULTS if pod.claim else f"{_FOLDER}/results"],
        "env": [{"name": "XDG_CACHE_HOME", "value": f"{_FOLDER}/cache"},
                {"name": "EVENBENCH_SECRET", "valueFrom": {"secretKeyRef": {"name": JOB, "key": "secret"}}}],
        "resources": {"limits": limits, "requests": limits},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()]}
    return {"subdomain": JOB, "restartPolicy": "Never", "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000,
                                "seccompProfile": {"type": "RuntimeDefault"}},
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
            "containers": [container], "volumes": volumes}
