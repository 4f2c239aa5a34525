"""What an image or a virtual environment holds, as a bill of materials: CycloneDX JSON.

Only this module imports cyclonedx.
Names, versions and licences are what the packages installed there say of themselves; a hash is the lock's, under which
the package was installed. Licences are the packagers' words: an SPDX expression where there is one, else classifiers.
"""

from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, NamedTuple

from runner.errors import BenchError, InputError, lacking
from runner.stacks import definition
from runner.stacks.definition import PinnedStack, Stack
from runner.stacks.own import OwnStack, answer_in
from runner.stacks.package_sources import normal, pins

_LONGEST_LICENCE = 100          # characters; some packages put the whole text there
_UNKNOWN = "UNKNOWN"            # what old setuptools wrote for nothing


class Package(NamedTuple):
    """An installed package of Python."""

    name: str                    # as package indexes compare it
    version: str
    licences: tuple[str, ...]    # one SPDX expression, or names; empty where the package says none
    sha256: tuple[str, ...]      # of what was installed, from the lock; empty for what no lock names

    def row(self) -> dict[str, str]:
        """As a line of a table."""
        return {"package": self.name, "version": self.version, "licence": "; ".join(self.licences) or "not said",
                "locked": "yes" if self.sha256 else "no"}


class Environment(NamedTuple):
    """All that a stack's image or virtual environment holds."""

    stack: Stack
    isolation: str
    python: str
    packages: tuple[Package, ...]
    system: tuple[tuple[str, str], ...]      # Debian's packages and their versions; of an image alone
    is_image: bool = False


def read(answer: bytes, stack: Stack, isolation: str, is_image: bool = False) -> Environment:
    """The Environment in what workloads.process.inventory printed. Raises BenchError."""
    try:
        content: Any = answer_in(answer)
        hashes = (pins("\n".join(lock.read_text(encoding="utf-8") for lock in stack.locks))
                  if isinstance(stack, PinnedStack) else kept(content["installed"]))
        packages = tuple(_package(HeaderParser().parsestr(header), hashes) for header in content["packages"])
        system = tuple((str(name), str(version)) for name, version in content["system"])
        return Environment(stack, isolation, str(content["python"]), packages, system, is_image)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BenchError(f"{stack.name}: its environment did not tell what it holds: {error}") from error


def kept(installed: Mapping[str, str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """The hashes of each (package, version) that an environment of a user's kept of what it was installed from."""
    entries = {name: entry.partition(" ") for name, entry in installed.items()}
    return {(normal(name), version): (digest.removeprefix("sha256:"),)
            for name, (version, _, digest) in entries.items() if digest.startswith("sha256:")}


def _package(header: Message, hashes: Mapping[tuple[str, str], tuple[str, ...]]) -> Package:
    name, version = normal(str(header["Name"])), str(header["Version"])
    return Package(name, version, tuple(_licences(header)), hashes.get((name, version), ()))


def _licences(header: Message) -> Iterator[str]:
    expression, text = (" ".join(str(header[key] or "").split()) for key in ("License-Expression", "License"))
    classified = [str(line).rpartition(" :: ")[2] for line in header.get_all("Classifier", [])
                  if str(line).startswith("License :: ")]
    if expression:
        yield expression
    elif text and text != _UNKNOWN and len(text) <= _LONGEST_LICENCE:
        yield text
    else:
        yield from sorted(set(classified) - {"OSI Approved"})


def cyclonedx(environment: Environment) -> str:
    """The environment as CycloneDX 1.6. Raises InputError without the library."""
    try:
        from cyclonedx.contrib.license.factories import LicenseFactory
        from cyclonedx.model import HashAlgorithm, HashType, Property
        from cyclonedx.model.bom import Bom, BomMetaData
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.output.json import JsonV1Dot6
        from packageurl import PackageURL
    except ImportError as error:
        raise lacking("sbom", "cyclonedx-python-lib") from error
    stack, licence = environment.stack, LicenseFactory()
    held = [
        *(Component(name=name, version=version, purl=PackageURL("pypi", None, name, version),
                    # one SPDX expression, or else names: a component may not have both
                    licenses=[licence.make_from_string(each) if len(licences) == 1 else licence.make_with_name(each)
                              for each in licences],
                    hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in sha256])
          for name, version, licences, sha256 in environment.packages),
        *(Component(name=name, version=version, purl=PackageURL("deb", "debian", name, version))
          for name, version in environment.system)]
    facts = {"isolation": environment.isolation, "base": _base(stack), "python": environment.python,
             "fingerprint": definition.fingerprint(stack)}
    whole = Component(
        name=stack.name, version=stack.version, description=stack.title,
        type=ComponentType.CONTAINER if environment.is_image else ComponentType.APPLICATION,
        properties=[Property(name=f"evenbench:{name}", value=value) for name, value in facts.items()])
    bom = Bom(components=held, metadata=BomMetaData(component=whole))
    bom.register_dependency(whole, held)
    return str(JsonV1Dot6(bom).output_as_string(indent=2))


def _base(stack: Stack) -> str:
    """What lies below the packages: a pinned image, or what the user named."""
    if isinstance(stack, PinnedStack):
        return stack.base.image
    return str(stack.asked) if isinstance(stack, OwnStack) else ""


def write(text: str, folder: Path, name: str) -> Path:
    """The file of a stack in a folder, once it is there. Raises InputError."""
    path = folder / f"{name}.cdx.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; choose another folder with --out") from error
    return path
