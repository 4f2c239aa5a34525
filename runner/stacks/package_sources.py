"""How this machine reaches packages: pip's settings, folders of wheels, certificates, proxies, the system's mirror."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_PIP_SETTINGS = ("index-url", "extra-index-url", "find-links", "trusted-host", "timeout", "retries")
_CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")


def pip_settings() -> dict[str, str]:
    """What pip is told on this machine about where packages come from, its environment before its files."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    return settings_of(subprocess.run(command, capture_output=True, text=True, check=False).stdout, os.environ)


def settings_of(listed: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in the output of `pip config list` and in PIP_* variables, which win; an empty one unsets."""
    settings = {}
    for line in listed.splitlines():
        setting = re.match(r"global\.([a-z-]+)=(.+)$", line)
        if setting and setting[1] in _PIP_SETTINGS:
            settings[setting[1]] = str(ast.literal_eval(setting[2]))
    for name in _PIP_SETTINGS:
        variable = "PIP_" + name.upper().replace("-", "_")
        if variable in environment:
            settings[name] = environment[variable]
    return {name: value for name, value in settings.items() if value.strip()}


def wheel_folders(settings: Mapping[str, str]) -> list[Path]:
    """The folders on this machine among pip's find-links."""
    folders = [Path(folder.removeprefix("file://")) for folder in settings.get("find-links", "").split()]
    return [folder for folder in folders if folder.is_dir()]


def pip_configuration(settings: Mapping[str, str]) -> str:
    """A pip.conf with those settings that hold in a container too: none that is a path here."""
    lines = ["[global]"]
    for name, value in settings.items():
        values = value.split()
        if name.endswith(("url", "links")):
            values = [word for word in values if word.startswith(("http://", "https://"))]
        if values:
            lines.append(f"{name} = " + "\n    ".join(values))
    return "\n".join(lines) + "\n"


def certificates() -> Path | None:
    """The bundle of certificates that this machine trusts, None where there is no such file."""
    named = [Path(os.environ[name]) for name in _CERTIFICATES if os.environ.get(name)]
    return next((path for path in (*named, _SYSTEM_CERTIFICATES) if path.is_file()), None)


def proxies() -> dict[str, str]:
    """The proxy variables that are set, in small letters."""
    values = {name: os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES}
    return {name: value for name, value in values.items() if value}


def system_release() -> str:
    """The code name of this machine's system ("bookworm"), "" where it has none."""
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return ""
    match = re.search(r"^VERSION_CODENAME=\"?([a-z]+)", text, re.MULTILINE)
    return match[1] if match else ""


def system_sources(folder: Path = Path("/etc/apt")) -> list[str]:
    """The texts in which apt's sources stand."""
    paths = [folder / "sources.list", *sorted(folder.glob("sources.list.d/*.list")),
             *sorted(folder.glob("sources.list.d/*.sources"))]
    return [path.read_text(encoding="utf-8") for path in paths if path.is_file()]


def package_mirror(sources: Iterable[str], release: str) -> str | None:
    """The first address from which apt takes a release, in either of its two formats."""
    for text in sources:
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        for line in lines:
            match = re.match(r"deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)", line)
            if match and match[2] == release:
                return match[1]
        for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
            fields = {name: value.split() for name, _, value in (line.partition(":") for line in stanza.splitlines())}
            if release in fields.get("Suites", ()) and "deb" in fields.get("Types", ()) and fields.get("URIs"):
                return fields["URIs"][0]
    return None
