"""A run on a Docker Swarm: its services and their network, seen through the manager's engine alone."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from clusters.swarm import manager
from runner import leftovers
from runner.errors import BenchError, ImageMissing
from runner.launchers.docker import run_name
from runner.launchers.line_queue import lines_of_chunks
from runner.launchers.protocol import Exit, Running, Worker
from runner.results.error_output import ErrorOutput, Written
from runner.stacks.engine import DockerClient, DockerException, NotFound, service_output
from workloads.spec import cluster

_ERROR_LINES, _LAST_LINES = 2000, 20        # of standard error that are asked for, at all and for an ending
_LOOK_SECONDS = 0.5                 # between two looks at the tasks
_START_SECONDS = 40.0               # for all tasks to run; a node that is cut off never takes its own
_GONE_SECONDS = 15.0                # for the containers to be gone


def remove_service(client: DockerClient, service: str) -> None:
    """Remove a service, if it is there and the manager answers."""
    with suppress(DockerException, OSError):     # it is gone, or the manager is: then the next sweep takes it
        client.api.remove_service(service)


def remove_network(client: DockerClient, network: str) -> bool:
    """Remove a network; whether it is gone."""
    try:
        client.api.remove_network(network)
    except NotFound:
        return True
    except (DockerException, OSError):
        return False      # a task that is being removed still holds it: the next sweep takes it
    return True


class SwarmRunning(Running):
    """The services of a run, and their network."""

    def __init__(self, client: DockerClient, places: tuple[cluster.Place, ...], record: dict[str, Any]) -> None:
        super().__init__(record, places)
        self._client = client
        self._network = ""
        self._nodes: dict[str, manager.Node] = {}          # of the places
        self._changed = threading.Condition()
        self._is_stopped = False
        self._watch = threading.Thread(target=self._look, daemon=True)

    def create(self, run: str, specs: list[manager.ServiceSpec], is_encrypted: bool) -> None:
        """Make network and services. Raises DockerException; what was made is stop's to remove."""
        name = f"{run_name(run)}-{secrets.token_hex(2)}"        # process ids are only unique on one host
        labels = {manager.OWNER: leftovers.mine(), manager.RUN: run}
        network = self._client.networks.create(
            name, driver="overlay", scope="swarm", internal=True, attachable=True, labels=labels,
            options={"encrypted": "true"} if is_encrypted else None)
        self._network = str(network.id)
        for spec in specs:
            self._nodes[spec.name] = spec.node
            answer = self._client.api.create_service(
                manager.template(spec, self._network, labels), name=f"{name}-{spec.name}", labels=labels,
                endpoint_spec={"Mode": "dnsrr"})         # a name is its place's own address, not a balancer's
            self._workers[spec.name] = _Service(self._client, answer["ID"], self._await)
        self._watch.start()
        for place, service in self._workers.items():
            self._pipe.add(place, lines_of_chunks(service.output()))

    def _look(self) -> None:
        """Ask the manager for the tasks until the run is stopped, also after it did not answer."""
        ids = [service.id for service in self._workers.values()]
        while not self._is_stopped:
            tasks: dict[str, manager.Task] = {}
            with suppress(DockerException, OSError):
                tasks = manager.tasks(self._client.api.tasks({"service": ids}))
            with self._changed:
                for service in self._workers.values():
                    service.task = tasks.get(service.id, service.task)
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._is_stopped, _LOOK_SECONDS)
            for service in self._workers.values():
                if service.task.is_over:
                    service.end_follow()

    def _await(self, is_so: Callable[[], bool], seconds: float) -> None:
        """Wait until that is true of the tasks, at most these seconds."""
        with self._changed:
            self._changed.wait_for(lambda: is_so() or self._is_stopped, seconds)

    def await_start(self) -> None:
        """Wait until every task runs or has run. Raises BenchError with the first reason why one does not."""
        self._await(lambda: all(service.task.is_over or service.task.state == manager.RUNNING
                                for service in self._workers.values()), _START_SECONDS)
        for name, service in self._workers.items():
            if service.task.state != manager.RUNNING and service.task.code is None:
                raise _refused(self._nodes[name], service.task)

    def trouble(self) -> dict[str, str]:
        """As protocol.Running, from what the manager knows of the nodes."""
        try:
            known = {node.id: node for node in manager.nodes(self._client.api.nodes())}
        except (DockerException, OSError):
            return dict.fromkeys(self._workers, "cannot be seen: the Swarm's manager does not answer")
        return {name: f"is on {node.name}, which is cut off from the Swarm or gone"
                for name, node in self._nodes.items() if node.id not in known or known[node.id].state != "ready"}

    def stop(self) -> None:
        """Remove the services, wait until their containers are gone where that can be seen, remove the network."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        super().stop()
        deadline = time.monotonic() + _GONE_SECONDS
        lost = {self._nodes[name].id for name in self.trouble()}
        while time.monotonic() < deadline and self._stand(lost):
            time.sleep(0.1)
        while self._network and not remove_network(self._client, self._network) and time.monotonic() < deadline:
            time.sleep(0.1)

    def _stand(self, lost: set[str]) -> bool:
        """Whether a task of ours is still there on a node that is not lost; its service is gone, its labels are not."""
        with suppress(DockerException, OSError):
            tasks = self._client.api.tasks({"label": f"{manager.OWNER}={leftovers.mine()}"})
            return any(task.get("NodeID") not in lost for task in tasks)
        return False


def _refused(node: manager.Node, task: manager.Task) -> BenchError:
    """What keeps a place from starting on a node, and what mends it."""
    if "No such image" in task.message:
        return ImageMissing(f"{node.name} lacks the image {task.message.rpartition(' ')[2]}: let evenbench copy it "
                            f"(`--launcher swarm:engine:{node.name}=URL`) or send it through a registry (`--launcher "
                            "swarm:registry=HOST/NAME`), or run `docker save IMAGE | ssh NODE docker load`")
    if "bind source path does not exist" in task.message:
        return BenchError(f"{node.name} lacks the data: {task.message.rpartition(': ')[2]} must be there as it is "
                          "here: copy it to the same path on every node")
    return BenchError(f"{node.name} did not start a place in {_START_SECONDS:g} s: {task.state}: {task.message}: look "
                      "at `docker node ls`")


class _Service(Worker):
    """A place's service."""

    def __init__(self, client: DockerClient, id: str, wait: Callable[[Callable[[], bool], float], None]) -> None:
        """wait: until that is true of the tasks, at most these seconds."""
        self.id = id
        self.task = manager.Task()
        self._client, self._wait = client, wait
        self._stream: Any = None
        self._is_ending = threading.Event()
        self._lock = threading.Lock()

    def exit(self, seconds: float) -> Exit:
        self._wait(lambda: self.task.is_over, seconds)
        last_words = self._errors_from(_LAST_LINES).last_words() if self.task.is_over else ""
        return Exit(self.task.code, last_words=last_words).told_of_memory()

    def errors(self) -> Written | None:
        """As protocol.Worker, once its task is over."""
        return self._errors_from(_ERROR_LINES).written() if self.task.is_over else None

    def _errors_from(self, lines: int) -> ErrorOutput:
        """The last lines of standard error, bounded; nothing where it cannot be had."""
        output = ErrorOutput()
        with suppress(DockerException, OSError):
            for chunk in service_output(self._client, self.id, is_error=True, is_following=False, tail=lines):
                output.add(chunk)
        return output

    def stop(self) -> None:
        self.end_follow()
        remove_service(self._client, self.id)

    def output(self) -> Iterator[bytes]:
        """Standard output: as it comes, and once the task is over what was not yet passed on.

        A manager that ends the stream under a running task, as for a node that it lost, is asked again.
        """
        passed = 0
        while not self._is_ending.is_set():
            for chunk in self._after(passed, is_following=True):
                passed += len(chunk)
                yield chunk
            self._is_ending.wait(_LOOK_SECONDS)
        if self.task.is_over:
            yield from self._after(passed, is_following=False)

    def _after(self, passed: int, is_following: bool) -> Iterator[bytes]:
        """The chunks of standard output after the first `passed` bytes."""
        stream: Any = None
        try:
            with self._lock:
                if is_following and self._is_ending.is_set():
                    return
                self._stream = stream = service_output(self._client, self.id, is_following=is_following)
            for chunk in stream:
                if passed < len(chunk):
                    yield chunk[passed:]
                passed = max(0, passed - len(chunk))
        except (DockerException, OSError):
            return
        finally:
            if stream is not None:
                stream._response.close()      # by its reader: under it, a close would break its read

    def end_follow(self) -> None:
        """Wait for no more lines. Safe to repeat."""
        with self._lock:
            if self._is_ending.is_set():
                return
            self._is_ending.set()
            with suppress(OSError):       # the manager closed it first
                if self._stream is not None:
                    self._stream.close()
