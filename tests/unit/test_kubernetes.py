"""The export to Kubernetes: objects that its published schema takes, in the plan's order, with nothing to spare."""

from typing import Any

import kubernetes_validate
import pytest
import yaml

from runner.planning import kubernetes
from runner.planning.plan import Plan, Wishes, plan
from runner.study.file import parse
from tests.fakes import MACHINE, stack

STACKS = {"torch-x": stack("torch-x"), "tf-x": stack("tf-x", framework="tensorflow")}
STUDY = b"""
[study]
id = "s"
title = "S"
rounds = 2
[[experiment]]
id = "one"
measure = "train"
task = "lenet5"
stacks = ["torch-x"]
batch = 8
[[experiment]]
id = "many"
measure = "train"
task = "lenet5"
stacks = ["tf-x"]
nodes = 3
grid = { parallel = ["allreduce", "ps-async"] }
"""


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(parse(STUDY, "s.toml"), STACKS, MACHINE, Wishes(), lambda stack: None)


@pytest.fixture(scope="module")
def written(planned: Plan) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(kubernetes.text(planned, STACKS)))


def job(written: list[dict[str, Any]], parallel: str) -> dict[str, Any]:
    return next(each for each in written if each["kind"] == "Job"
                and f'"parallel": "{parallel}"' in each["spec"]["template"]["spec"]["containers"][0]["args"][0])


def test_every_object_is_what_the_published_schema_says(written: list[dict[str, Any]]) -> None:
    for each in written:
        kubernetes_validate.validate(each, "1.33", strict=True)
    assert {"NetworkPolicy", "Service", "Job"} == {each["kind"] for each in written}


def test_the_schema_refuses_what_is_wrong(written: list[dict[str, Any]]) -> None:
    wrong = job(written, "none")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**wrong, "spec": {**wrong["spec"], "completion": 3}}, "1.33", strict=True)


def test_runs_stand_in_the_order_of_their_rounds_and_wait_to_be_resumed(
        planned: Plan, written: list[dict[str, Any]]) -> None:
    jobs = [each for each in written if each["kind"] == "Job"]
    expected = [f"evenbench-{each.key}-{index}" for index in (0, 1) for each in planned.order(index)]
    assert expected == [each["metadata"]["name"] for each in jobs]
    assert all(each["spec"]["suspend"] for each in jobs)


def test_each_place_learns_its_rank_and_the_names_of_all(written: list[dict[str, Any]]) -> None:
    found = job(written, "allreduce")
    name, pod = found["metadata"]["name"], found["spec"]["template"]["spec"]
    nodes, rank = pod["containers"][0]["env"]
    assert ("Indexed", 3, 3) == tuple(found["spec"][key] for key in ("completionMode", "completions", "parallelism"))
    assert name == pod["subdomain"] and f"{name}-0.{name},{name}-1.{name},{name}-2.{name}" == nodes["value"]
    assert "job-completion-index" in rank["valueFrom"]["fieldRef"]["fieldPath"]
    service = next(each for each in written if each["kind"] == "Service" and each["metadata"]["name"] == name)
    assert "None" == service["spec"]["clusterIP"]


def test_a_job_ends_when_those_end_that_report(written: list[dict[str, Any]]) -> None:
    found = job(written, "ps-async")["spec"]
    assert (4, "3") == (found["completions"], found["successPolicy"]["rules"][0]["succeededIndexes"])
    assert "successPolicy" not in job(written, "allreduce")["spec"]


def test_a_node_alone_has_no_service_and_no_others(written: list[dict[str, Any]]) -> None:
    found = job(written, "none")
    name = found["metadata"]["name"]
    assert [] == found["spec"]["template"]["spec"]["containers"][0]["env"]
    assert ["NetworkPolicy", "Job"] == [each["kind"] for each in written if each["metadata"]["name"] == name]


def test_a_pod_may_do_no_more_than_a_container_of_the_docker_launcher(written: list[dict[str, Any]]) -> None:
    pod = job(written, "none")["spec"]["template"]["spec"]
    own = pod["containers"][0]["securityContext"]
    assert not own["allowPrivilegeEscalation"] and own["readOnlyRootFilesystem"]
    assert {"drop": ["ALL"]} == own["capabilities"]
    assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
    assert "RuntimeDefault" == pod["securityContext"]["seccompProfile"]["type"]
    assert all(each["readOnly"] for each in pod["containers"][0]["volumeMounts"] if each["name"] == "data")


def test_requests_are_the_limits(written: list[dict[str, Any]]) -> None:
    resources = job(written, "none")["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert {"cpu": "2", "memory": str(6 * 2**30)} == resources["limits"] == resources["requests"]
