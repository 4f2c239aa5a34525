"""How an image of the manager's engine comes to a Swarm's other nodes: through a registry, or copied engine to engine.

A service cannot do it: it would need the engine's socket, which no container of ours gets. Where the user names
neither way the image must be on every node already, and a node that lacks it says so when a place starts there.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from clusters.swarm.manager import Node, Options
from runner.errors import BuildFailed, EngineUnreachable, InputError
from runner.processes import Say
from runner.stacks import engine, images
from runner.stacks.engine import DockerClient, DockerException


class Delivered(NamedTuple):
    """An image that nodes can have."""

    built: images.Image
    reference: str               # by which every node finds the same bytes: its id, or a registry's digest of it


def deliver(client: DockerClient, built: images.Image, asked: Options, nodes: Sequence[Node], say: Say) -> Delivered:
    """The image on every node that the user gave a way to. Raises BenchError."""
    unknown = sorted(asked.engines.keys() - {node.name for node in nodes})
    if unknown:
        raise InputError(f"--launcher swarm:engine:{unknown[0]}: no such node is ready; known: "
                         f"{', '.join(node.name for node in nodes)}")
    if asked.registry:
        return Delivered(built, pushed(client, built, asked.registry, say))
    for name, url in asked.engines.items():
        _copy(client, built, name, url, say)
    return Delivered(built, built.id)


def pushed(client: DockerClient, built: images.Image, registry: str, say: Say) -> str:
    """The image's name by a registry's digest, pushed there. Raises BuildFailed with the registry's own words."""
    tag = built.tag.rpartition(":")[2]
    say(f"{tag}: sending its image to {registry}")
    client.images.get(built.tag).tag(registry, tag=tag)
    said: list[dict[str, Any]] = list(client.images.push(registry, tag=tag, stream=True, decode=True))
    problem = next((line["error"] for line in said if "error" in line), None)
    digest = next((line["aux"]["Digest"] for line in said if "Digest" in line.get("aux", ())), None)
    if problem or not digest:
        raise BuildFailed(f"{tag}: the registry {registry} did not take the image: {problem or 'it named no digest'}")
    return f"{registry}@{digest}"


def _copy(client: DockerClient, built: images.Image, node: str, url: str, say: Say) -> None:
    """Give a node's engine the image, if it lacks it."""
    try:
        target = engine.connect({"DOCKER_HOST": url})
    except EngineUnreachable as error:
        raise EngineUnreachable(f"--launcher swarm:engine:{node}={url}: no engine answers there") from error
    try:
        if engine.tagged(target, built.id) is None:
            say(f"{built.tag}: copying it to {node}")
            engine.copy_image(client, built.tag, target)
        if engine.tagged(target, built.id) is None:
            raise BuildFailed(f"{built.tag}: copied to {node}, which knows it by another id: use a registry, for the "
                              "engines keep images in different ways")
    except (DockerException, OSError) as error:
        raise BuildFailed(f"{built.tag}: not copied to {node}: {engine.explained(error)}") from error
    finally:
        target.close()
