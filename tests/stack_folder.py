"""A small repository with one stack, for tests of what reads or builds stacks."""

from pathlib import Path

from runner.stacks.definition import Stack, read
from tests.made_files import files

DIGEST = "0123456789abcdef" * 4

STACK_TOML = f"""
[stack]
name = "torch-9"
framework = "pytorch"
version = "9.0"
python = "3.11"
studies = ["quick"]
devices = ["cpu"]
title = "PyTorch 9"

[base]
image = "debian:bookworm-slim@sha256:{DIGEST}"
verified = false

[size]
wheels_bytes = 1_000_000
"""


def study_toml(stack: str) -> str:
    """The file of a study of one cell in that stack."""
    return f"""[study]
id = "mine"
title = "Mine"
[[experiment]]
id = "e"
measure = "infer"
task = "lenet5"
stacks = ["{stack}"]
"""


def repository(root: Path, stack_toml: str = STACK_TOML) -> Path:
    """The folder of stack torch-9 in a repository at root."""
    return files(root, {
        "docker/torch-9/stack.toml": stack_toml,
        "docker/Dockerfile": "ARG BASE\nFROM ${BASE}\n",
        "docker/torch-9/requirements.in": "torch==9.0\n",
        "docker/torch-9/requirements.txt": f"torch==9.0 \\\n    --hash=sha256:{DIGEST}\n",
        "docker/pip/3.11.txt": f"pip==99.0 \\\n    --hash=sha256:{DIGEST}\n",
        "docker/system.sh": "true\n",
        "docker/other-1/requirements.txt": "other==1.0\n",
        "workloads/__main__.py": "print('worker')\n",
        "workloads/spec/cell.py": "",
        "runner/__main__.py": "",
    }) / "docker" / "torch-9"


def small_stack(root: Path) -> Stack:
    """Stack torch-9 of a repository made at root."""
    return read(repository(root))
