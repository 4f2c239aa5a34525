"""Manifests: every pod finds its rank and rank 0 by what Kubernetes sets, and has what was asked for it."""

from runner.application.kubernetes import Pod, manifests
from runner.launchers import rank
from runner.launchers.rank import Rank


def test_pods_find_their_rank_and_the_first_of_them_by_what_the_manifests_say() -> None:
    service, job = manifests(["quick", "--stack", "jax-0.10-cpu"], 3, Pod())["items"]
    pod = job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    words = container["args"]
    assert ("Indexed", 3, 3) == tuple(job["spec"][key] for key in ("completionMode", "completions", "parallelism"))
    # an Indexed Job's pods are hosts JOB-INDEX, which a headless service of their subdomain resolves
    head = f"{job['metadata']['name']}-0.{pod['subdomain']}"
    assert "None" == service["spec"]["clusterIP"] and pod["subdomain"] == service["metadata"]["name"]
    assert {"job-name": job["metadata"]["name"]} == service["spec"]["selector"]
    assert ["run", "quick", "--stack", "jax-0.10-cpu"] == words[:4]
    said = rank.asked([f"nodes={words[words.index('--nodes') + 1]}", f"head={words[words.index('--head') + 1]}"])
    assert Rank(2, 3, head, 22219) == rank.read(said, {"JOB_COMPLETION_INDEX": "2"})


def test_a_pod_has_its_limits_a_secret_that_no_manifest_holds_and_a_claim_for_results() -> None:
    _, job = manifests(["gpu"], 2, Pod(cpus=8, memory="64Gi", gpus=1, claim="shared"))["items"]
    pod = job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    limits = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}
    assert {"limits": limits, "requests": limits} == container["resources"]
    secret = next(each for each in container["env"] if each["name"] == "EVENBENCH_SECRET")
    assert {"secretKeyRef"} == set(secret["valueFrom"]) and "value" not in secret
    assert "/results" == container["args"][-1] == container["volumeMounts"][-1]["mountPath"]
    assert {"claimName": "shared"} == pod["volumes"][-1]["persistentVolumeClaim"]
