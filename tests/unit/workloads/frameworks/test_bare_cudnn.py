"""What the bare cuDNN program calls in a step, compiled against headers that tell it: docker/lstm-cudnn/lstm.cu."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads.frameworks.library import interface

ROOT = Path(__file__).parents[4]
PROGRAM, HEADERS = ROOT / "docker" / "lstm-cudnn", ROOT / "tests" / "fake_cuda"
WAITS = {"cudaDeviceSynchronize", "cudaMemcpy", "cudaMalloc", "cudaMallocHost"}     # the host stands still in these
COPIED = ["cudaEventSynchronize", "cudaMemcpyAsync", "cudaEventRecord"]

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no g++ here")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The program without nvcc: a kernel's launch is a call."""
    folder = tmp_path_factory.mktemp("cuda")
    (folder / "lstm.cpp").write_text(re.sub(r"<<<.*?>>>", "", (PROGRAM / "lstm.cu").read_text()))
    subprocess.run(["g++", "-std=c++14", "-shared", "-fPIC", "-w", f"-I{HEADERS}", f"-I{PROGRAM}",
                    str(folder / "lstm.cpp"), "-o", str(folder / "lstm.so")], check=True)
    made = ctypes.CDLL(str(folder / "lstm.so"))
    made.fake_calls.restype = ctypes.c_char_p
    return made


@pytest.fixture
def layer(library: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[interface.Layer]:
    monkeypatch.setattr(interface, "_library", library)
    made = interface.Layer(4, 4, 2, 3, True, True)
    yield made
    library.lstm_destroy(made._layer)
    made._layer.value = None         # or it would be destroyed again, by no library


def calls(library: Any) -> list[str]:
    told = library.fake_calls().decode().split()
    library.fake_forget()
    return told


def step(layer: interface.Layer, x: np.ndarray) -> None:
    layer.place(x)
    layer.forward()
    layer.loss()
    layer.backward()
    layer.update(0.1, 0.0, 0.9)


def test_a_step_of_a_batch_that_stays_waits_for_nothing_and_copies_nothing(library: Any, layer: Any) -> None:
    x = np.ones((3, 2, 4), np.float32)
    step(layer, x)
    calls(library)

    step(layer, x)
    assert ["cudnnRNNForward", "cudnnRNNBackwardData_v8", "cudnnRNNBackwardWeights_v8"] == calls(library)


def test_another_batch_goes_through_pinned_memory_while_the_host_goes_on(library: Any, layer: Any) -> None:
    batches = [np.full((3, 2, 4), value, np.float32) for value in (1.0, 2.0, 3.0)]
    for x in batches:
        step(layer, x)
    calls(library)

    for x in batches:
        step(layer, x)
        told = calls(library)
        assert COPIED == told[:3] and not WAITS & set(told)


def test_a_wait_is_one_for_all_that_was_issued(library: Any, layer: Any) -> None:
    calls(library)

    layer.wait()
    assert ["cudaDeviceSynchronize"] == calls(library)
