"""Every GPU stack's lock, base and capability table agree with what is known of the binaries, copied here as data."""

from pathlib import Path
from typing import NamedTuple

import pytest

from runner.errors import InputError
from runner.stacks.definition import CAPABILITIES, GpuCode, Stack, read, read_all
from tests.stack_folder import STACK_TOML, repository

STACKS = read_all(Path(__file__).parents[3] / "docker")
GPU_STACKS = [stack for stack in STACKS.values() if "gpu" in stack.devices]
UBUNTU = "152dc042452c496007f07ca9127571cb9c29697f42acbfad72324b2bb2e43c98"
DEBIAN = "96e378d7e6531ac9a15ad505478fcc2e69f371b10f5cdf87857c4b8188404716"
# the oldest driver of a CUDA release, for Linux on x86-64 (NVIDIA's table); 12.x by compatibility of minor versions
DRIVERS = {"10.0": "410.48", "10.1": "418.39", "10.2": "440.33", "11.2": "460.32.03", "12.6": "525.60.13",
           "12.4": "525.60.13", "11.7": "450.80.02", "11.8": "450.80.02",        # 11.x by compatibility, too
           "12.1": "530.30.02", "13.0": "580.65.06", "13.5": "580.65.06"}          # 13.x by compatibility, too

# the driver that came with a CUDA of such a series, which alone takes its intermediate code
COMPILING_DRIVERS = {"12.6": "560.28.03", "11.8": "520.61.05"}


class Fact(NamedTuple):
    """What was read out of a wheel, or stands in a maker's records."""

    wheel: tuple[str, str]                # its name and SHA-256; ("", "") where the base has the framework
    base: str                             # the digest; "" where no record has it
    cuda: str
    sass: tuple[str, ...]                 # machine code by compute capability
    ptx: str                              # the newest intermediate code, "" for none
    libraries: str                        # the newest capability that the CUDA libraries run on


PASCAL_TO_VOLTA = ("6.0", "6.1", "7.0")
FACTS = {
    "tf-1.15-gpu": Fact(
        ("tensorflow-gpu==1.15.2", "f91bf31e79ae4502522c3b14ccba85aec027e35b8eee96121737299afd3d5b2a"),
        "da7b6c8a63bdafa77864e7e874664acfe939fdc140cb99940610c34b8c461cd0", "10.0", PASCAL_TO_VOLTA, "7.0", "7.5"),
    "tf-2.1-gpu": Fact(
        ("tensorflow==2.1.0", "33e4b16e8f8905ee088bf8f413dcce2820b777fdf7f799009b3a47f354ebb23f"),
        "1010e051dde4a9b62532a80f4a9a619013eafc78491542d5ef5da796cc2697ae", "10.1", PASCAL_TO_VOLTA, "7.0", "7.5"),
    "tf-2.5-gpu": Fact(
        ("tensorflow==2.5.0", "31a3ea994c336fc5a6ba0e6d61f131262b2c6dbff97e2b7473ff6da0cf9383f7"),
        "0cb24474909c8ef0a3772c64a0fd1cf4e5ff2b806d39fd36abf716d6ea7eefb3", "11.2",
        ("6.0", "7.0", "7.5", "8.0"), "8.0", "12.0"),
    "tf-2.21-gpu": Fact(                  # code for 9.0 is in 249 of its 1398 parts: the others are compiled
        ("tensorflow==2.21.0", "9056fbc9ba04235810b71ae6cbd958a196e8804fb53bbcffbf3e23b56155f124"),
        DEBIAN, "12.6", ("6.0", "7.0", "8.0", "8.9"), "9.0", "12.0"),
    "tf-2.12-gpu": Fact(                  # code for 8.0 is in 265 of its 2513 parts: the others are compiled
        ("tensorflow==2.12.0", "6ec4a2934ea19e92f27a9668ece43025ed5efe14b5d19be53b07692bc8a4189d"),
        DEBIAN, "11.8", ("6.0", "7.0", "7.5"), "8.0", "9.0"),
    "torch-2.0": Fact(
        ("torch==2.0.1", "e617b1d0abaf6ced02dbb9486803abfef0d581609b09641b34fa315c9c40766d"),
        DEBIAN, "11.7", ("6.0", "7.0", "7.5", "8.0", "8.6"), "", "8.9"),
    "torch-1.4": Fact(
        ("torch==1.4.0", "8856f334aa9ecb742c1504bd2563d0ffb8dceb97149c8d72a04afa357f667dbc"),
        UBUNTU, "10.1", ("6.0", "6.1", "7.0", "7.5"), "", "7.5"),
    "torch-1.7": Fact(
        ("torch==1.7.0", "6b0c9b56cb56afe3ecbac79351d21c6f7172dffc7b7daa8c365f660541baf1a5"),
        UBUNTU, "10.2", ("6.0", "7.0", "7.5"), "", "7.5"),
    "torch-2.13-gpu": Fact(               # by PyTorch's RELEASE.md; its PTX, if the wheel has any, is newer than all
        ("torch==2.13.0", "60fcdcb2f3876e21146cb4524ef06397d727ca9ad5f020818547e25075fe3cb7"),
        DEBIAN, "13.0", ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0"), "", "12.0"),
    "mxnet-1.7-gpu": Fact(
        ("mxnet-cu101==1.7.0.post1", "c89a94cf1cc2e3f294e6d053c5eeba67e4d1df85d116ec12c3edd10dc9d368ef"),
        "1010e051dde4a9b62532a80f4a9a619013eafc78491542d5ef5da796cc2697ae", "10.1",
        ("6.0", "6.1", "7.0", "7.5"), "7.5", "7.5"),
    "lstm-cudnn": Fact(                   # a program of ours for every major generation, and cuDNN 9.1
        ("numpy==2.2.6", "ba10f8411898fc418a521833e014a77d3ca01c15b0c6cdcce6a0d2897e6dbbdf"),
        "622e78a1d02c0f90ed900e3985d6c975d8e2dc9ee5e61643aed587dcf9129f42", "12.4", ("6.0", "7.0", "8.0", "9.0"), "9.0",
        "9.0"),
    "jax-0.10-gpu": Fact(                      # what XLA's plugin brings; XLA compiles the rest
        ("jax-cuda13-pjrt==0.10.2", "a97e9cabe0e21d8dbcc70bd909ca1c34cd546d3ce2d94b4cd907a8d4f6179f6a"),
        DEBIAN, "13.5", ("7.5", "8.0", "9.0", "10.0", "12.0"), "12.0", "12.0"),
    "tf-1.15-nv": Fact(("", ""), "", "12.1", ("6.0", "7.0", "7.5", "8.0", "8.6", "9.0"), "", "9.0"),
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
def test_table_lock_base_and_driver_are_what_the_binaries_code_allows_and_what_is_on_record(stack: Stack) -> None:
    fact, code = FACTS[stack.name], stack.gpu
    assert code is not None
    for kind in ("native", "jit", "unsupported"):
        assert [each for each in CAPABILITIES if way(fact, each) == kind] == list(getattr(code, kind))

    name, digest = fact.wheel
    assert (f"{name} \\\n    --hash=sha256:{digest}\n" if name else "# Nothing is installed") in stack.lock.read_text()
    assert (fact.base, fact.base == "", False) == (stack.base.image.partition("@sha256:")[2], stack.base.digest_unknown,
                                                   stack.base.verified)
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


@pytest.mark.parametrize(("old", "new", "message"), [
    ('jit = ["8.0"]', "jit = []", r"\[gpu\]: native, jit and unsupported must hold each of 6.0, .* once"),
    ('jit = ["8.0"]', "jit = false", r'\[gpu\]: key "jit": found false'),
    ('why = "no code"', "", r'\[gpu\]: key "why": missing'),
    ('cuda = "10.0"', 'cuda = "ten"', r'\[gpu\]: key "cuda": found .ten'),
    ('cuda = "10.0"', 'cuda = "10.0"\ncudnm = "7"', r'\[gpu\]: key "cudnm" is unknown; did you mean "cudnn"'),
    ('devices = ["gpu"]', 'devices = ["cpu"]', "devices has gpu where there is a table gpu"),
])
def test_a_wrong_table_is_refused_with_file_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    table = ('[gpu]\ncuda = "10.0"\ndriver = "410.48"\nnative = ["6.0", "6.1", "7.0", "7.5"]\njit = ["8.0"]\n'
             'unsupported = ["8.6", "8.9", "9.0", "10.0", "12.0"]\nwhy = "no code"\nverified = false\n')
    whole = STACK_TOML.replace('devices = ["cpu"]', 'devices = ["gpu"]') + table
    assert isinstance(read(repository(tmp_path, whole)).gpu, GpuCode)

    with pytest.raises(InputError, match=f"stack.toml: {message}"):
        read(repository(tmp_path, whole.replace(old, new)))
