"""Every GPU stack's lock and capability table agree with what is known of the binaries, copied here as data."""

from pathlib import Path
from typing import NamedTuple

import pytest

from runner.stacks.definition import CAPABILITIES, Stack, read_all

STACKS = read_all(Path(__file__).parents[3] / "docker")
GPU_STACKS = [stack for stack in STACKS.values() if "gpu" in stack.devices]
# the oldest driver of a CUDA release, for Linux on x86-64 (NVIDIA's table); 12.x by compatibility of minor versions
DRIVERS = {"10.0": "410.48", "10.1": "418.39", "10.2": "440.33", "11.2": "460.32.03", "12.6": "525.60.13",
           "12.4": "525.60.13", "11.7": "450.80.02", "11.8": "450.80.02",        # 11.x by compatibility, too
           "12.1": "530.30.02", "13.0": "580.65.06", "13.5": "580.65.06"}          # 13.x by compatibility, too

# the driver that came with a CUDA of such a series, which alone takes its intermediate code
COMPILING_DRIVERS = {"12.6": "560.28.03", "11.8": "520.61.05"}


class Fact(NamedTuple):
    """What was read out of a wheel, or stands in a maker's records."""

    wheel: str                            # "" where the base has the framework
    cuda: str
    sass: tuple[str, ...]                 # machine code by compute capability
    ptx: str                              # the newest intermediate code, "" for none
    libraries: str                        # the newest capability that the CUDA libraries run on


PASCAL_TO_VOLTA = ("6.0", "6.1", "7.0")
FACTS = {
    "tf-1.15-gpu": Fact("tensorflow-gpu==1.15.2", "10.0", PASCAL_TO_VOLTA, "7.0", "7.5"),
    "tf-2.1-gpu": Fact("tensorflow==2.1.0", "10.1", PASCAL_TO_VOLTA, "7.0", "7.5"),
    "tf-2.5-gpu": Fact("tensorflow==2.5.0", "11.2", ("6.0", "7.0", "7.5", "8.0"), "8.0", "12.0"),
    "tf-2.21-gpu": Fact(                  # code for 9.0 is in 249 of its 1398 parts: the others are compiled
        "tensorflow==2.21.0", "12.6", ("6.0", "7.0", "8.0", "8.9"), "9.0", "12.0"),
    "tf-2.12-gpu": Fact(                  # code for 8.0 is in 265 of its 2513 parts: the others are compiled
        "tensorflow==2.12.0", "11.8", ("6.0", "7.0", "7.5"), "8.0", "9.0"),
    "torch-2.0": Fact("torch==2.0.1", "11.7", ("6.0", "7.0", "7.5", "8.0", "8.6"), "", "8.9"),
    "torch-1.4": Fact("torch==1.4.0", "10.1", ("6.0", "6.1", "7.0", "7.5"), "", "7.5"),
    "torch-1.7": Fact("torch==1.7.0", "10.2", ("6.0", "7.0", "7.5"), "", "7.5"),
    "torch-2.13-gpu": Fact(               # by PyTorch's RELEASE.md; its PTX, if the wheel has any, is newer than all
        "torch==2.13.0", "13.0", ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0"), "", "12.0"),
    "mxnet-1.7-gpu": Fact("mxnet-cu101==1.7.0.post1", "10.1", ("6.0", "6.1", "7.0", "7.5"), "7.5", "7.5"),
    "lstm-cudnn": Fact(                   # a program of ours for every major generation, and cuDNN 9.1
        "numpy==2.2.6", "12.4", ("6.0", "7.0", "8.0", "9.0"), "9.0", "9.0"),
    "jax-0.10-gpu": Fact(                      # what XLA's plugin brings; XLA compiles the rest
        "jax-cuda13-pjrt==0.10.2", "13.5", ("7.5", "8.0", "9.0", "10.0", "12.0"), "12.0", "12.0"),
    "tf-1.15-nv": Fact("", "12.1", ("6.0", "7.0", "7.5", "8.0", "8.6", "9.0"), "", "9.0"),
}


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def way(fact: Fact, capability: str) -> str:
    """CUDA's rule: machine code runs on the same major and no lower minor; else the newest PTX below is compiled."""
    major, minor = version(capability)
    if version(capability) > version(fact.libraries):
        return "unsupported"
    if any(version(code)[0] == major and version(code)[1] <= minor for code in fact.sass):
        return "native"
    return "jit" if fact.ptx and version(fact.ptx) <= version(capability) else "unsupported"


def test_the_facts_cover_every_gpu_stack() -> None:
    assert set(FACTS) == {stack.name for stack in GPU_STACKS}


@pytest.mark.parametrize("stack", GPU_STACKS, ids=lambda stack: stack.name)
def test_table_lock_and_driver_are_what_the_binaries_code_allows_and_what_is_on_record(stack: Stack) -> None:
    fact, code = FACTS[stack.name], stack.gpu
    assert code is not None
    for kind in ("native", "jit", "unsupported"):
        assert [each for each in CAPABILITIES if way(fact, each) == kind] == list(getattr(code, kind))

    assert (f"\n{fact.wheel} \\" if fact.wheel else "# Nothing is installed") in stack.lock.read_text()
    assert not stack.base.verified
    assert (fact.cuda, DRIVERS[fact.cuda]) == (code.cuda, code.driver)
    assert COMPILING_DRIVERS.get(fact.cuda) == code.jit_driver


@pytest.mark.parametrize(("name", "cpu"), [("tf-1.15-gpu", "tf-1.15"), ("tf-2.1-gpu", "tf-2.1"),
                                           ("tf-2.5-gpu", "tf-2.5"), ("mxnet-1.7-gpu", "mxnet-1.7"),
                                           ("tf-2.21-gpu", "tf-2.21"), ("jax-0.10-gpu", "jax-0.10-cpu")])
def test_a_gpu_stack_has_its_cpu_stack_s_packages_but_for_the_framework_and_cuda(name: str, cpu: str) -> None:
    different = set(STACKS[name].lock.read_text().splitlines()[1:]) ^ set(STACKS[cpu].lock.read_text().splitlines()[1:])

    packages = {line.split("==")[0] for line in different if "==" in line}
    assert packages
    assert all(package.startswith(("tensorflow", "mxnet", "jax-cuda", "nvidia-")) for package in packages)
