"""What every container of ours may not have, as the engine's own record and the kernel inside of it tell."""

from typing import Any

ALLOWED_VARIABLES = {"EVENBENCH_ENDS", "EVENBENCH_NODES", "EVENBENCH_RANK"}          # beyond the image's own


def excess(container: Any) -> list[str]:
    """What of a running container's rights goes beyond the least; empty for one as it should be."""
    container.reload()
    return [*_of_the_host(container.attrs["HostConfig"]), *_of_the_network(container), *_of_the_mounts(container),
            *_of_the_environment(container), *_inside(container)]


def _of_the_host(host: dict[str, Any]) -> list[str]:
    expected = {"Privileged": (False,), "CapDrop": (["ALL"],), "CapAdd": (None, []), "ReadonlyRootfs": (True,),
                "SecurityOpt": (["no-new-privileges"],),             # so seccomp's filter is the engine's default one
                "PidMode": ("",), "IpcMode": ("private",), "UTSMode": ("",), "UsernsMode": ("",), "CgroupParent": ("",),
                "Devices": (None, []), "DeviceCgroupRules": (None, []), "PortBindings": (None, {}),
                "PublishAllPorts": (False,), "VolumesFrom": (None, []), "GroupAdd": (None, []), "Links": (None, []),
                "PidsLimit": (4096,), "Sysctls": (None, {})}
    return [f"{name}: {host.get(name)!r}" for name, allowed in expected.items() if host.get(name) not in allowed]


def _of_the_network(container: Any) -> list[str]:
    mode = container.attrs["HostConfig"]["NetworkMode"]
    if mode == "none":
        return []
    network = container.client.networks.get(mode)
    return [] if network.attrs["Internal"] and "org.evenbench.owner" in network.attrs["Labels"] else [f"network {mode}"]


def _of_the_mounts(container: Any) -> list[str]:
    return [f"mount: {mount}" for mount in container.attrs["Mounts"] if (mount["Destination"], mount["RW"]) != (
        "/data", False) or "docker.sock" in mount["Source"]]


def _of_the_environment(container: Any) -> list[str]:
    own = {variable.partition("=")[0] for variable in container.image.attrs["Config"]["Env"]}
    names = {variable.partition("=")[0] for variable in container.attrs["Config"]["Env"]}
    return [f"variable {name}" for name in names - own - ALLOWED_VARIABLES]


def _inside(container: Any) -> list[str]:
    """By the kernel: a process of the container's has no capability, no way to one, a filter, and is not root."""
    status = container.exec_run(["cat", "/proc/self/status"]).output.decode()
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    none = "0" * 16
    expected = {"CapEff": none, "CapPrm": none, "CapBnd": none, "CapAmb": none, "NoNewPrivs": "1", "Seccomp": "2",
                "Uid": "\t".join(["1000"] * 4), "Gid": "\t".join(["1000"] * 4)}
    wrong = [f"{name}: {found.get(name)}" for name, value in expected.items() if found.get(name) != value]
    write = container.exec_run(["python", "-c", "open('/opt/evenbench/x', 'w')"])
    return [*wrong, *(["it can write to its own root"] if write.exit_code == 0 else [])]
