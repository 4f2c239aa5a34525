"""Virtual environments with made frameworks: folders that can be asked what they hold, without a framework's weight."""

import subprocess
import sys
from pathlib import Path


def made(home: Path, **packages: str) -> Path:
    """A virtual environment at home of this test's interpreter that holds packages of these versions, and no pip."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    for name, version in packages.items():
        install(home, name, version)
    return home


def install(home: Path, name: str, version: str) -> None:
    """Put a package into the environment as pip does, in place of the one that is there."""
    (site,) = home.glob("lib/python3*/site-packages")
    for old in site.glob(f"{name}-*.dist-info"):
        (old / "METADATA").unlink()
        (old / "RECORD").unlink()
        old.rmdir()
    (site / name).mkdir(exist_ok=True)
    (site / name / "__init__.py").write_text(f'__version__ = "{version}"\n')
    about = site / f"{name}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nA description.\n")
    (about / "RECORD").write_text(f"{name}/__init__.py,sha256=of-{version},20\n{about.name}/METADATA,sha256=m,60\n"
                                  f"../../../bin/{name},sha256=of-{home.name},20\n{name}/__pycache__/x.pyc,,\n")
