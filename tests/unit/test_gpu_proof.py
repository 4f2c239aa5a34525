"""The GPU proof's own arithmetic and verdicts, without a framework; tests/stack runs the proof itself."""

import ctypes
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from runner.machine import nvml
from runner.measuring import equality
from tests import fake_nvml
from tests.fake_nvml import H100
from tests.gpu import __main__ as proof
from tests.gpu import checks, environment, management, reference, verdicts
from tests.gpu.checks import cells
from tests.gpu.environment import Environment
from tests.gpu.inside import facts
from tests.gpu.management import Reading
from tests.gpu.verdicts import Failed, Line, NotHere, NotRun
from workloads.spec import tasks
from workloads.spec.cell import parse

CPU = Environment("here", "python", "torch", "cpu", 0.0, {"versions": {}, "version": "2.0", "python": "3.11"})
GPU = CPU._replace(device="gpu", facts={"capability": [9, 0]})


def test_the_proof_judges_by_the_limits_of_the_check() -> None:
    assert all(reference.LIMITS[precision] == equality.LIMITS[precision] for precision in reference.LIMITS)


@pytest.mark.parametrize("task", checks.equality.CHECKED)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_proof_checks_the_cells_of_the_check(task: str, precision: str) -> None:
    cell = parse({"stack": "here", **checks.equality._check_cell(task, precision)})

    assert equality.check_cell(task, "here", precision, 1, 0) == cell


@pytest.mark.parametrize("env", [CPU, GPU], ids=["cpu", "gpu"])
def test_every_cell_beside_a_bare_loop_can_be_read(env: Environment) -> None:
    for _, values in (*checks.beside.BESIDE, *checks.beside.SMALL):
        parse({"stack": "here", "device": env.device, **cells.sized(env, **values)})


def test_a_difference_is_relative_to_the_longer_array_and_nan_within_no_limit() -> None:
    ours, theirs = ({"loss": {"loss": np.array([0.0, length])}} for length in (5.0, 4.0))

    assert {"loss": 0.0} == reference.differences(ours, ours, "float64")
    assert reference.differences(ours, theirs, "float64") == {"loss": pytest.approx(0.2)}
    another = reference.differences(ours, {"loss": {"other": np.zeros(2)}}, "float64")          # of another name
    assert verdicts.NOT_OK == checks.equality._differing("x", another, "float64").verdict
    assert verdicts.NOT_OK == verdicts.between("ratio", float("nan"), 0.0, 2.0).verdict


@pytest.mark.parametrize(("text", "expected"), [
    ("mine=/a/python", ("mine", "/a/python", "")), ("mine=/a#jax", ("mine", "/a", "jax")), ("/a", ("here", "/a", ""))])
def test_an_environment_is_named_as_in_a_run(text: str, expected: tuple[str, str, str]) -> None:
    assert expected == environment.named(text)


def test_blocks_and_single_steps_give_the_seconds_of_a_step() -> None:
    events = [{"event": "steps", "seconds": [1.0, 3.0]}, {"event": "steps", "seconds": [8.0], "count": 4}]

    assert cells.step_seconds(events) == 2.0          # 12 s over 6 steps


@pytest.mark.parametrize(("joules", "verdict", "figure"), [
    ((1000.0, 1100.0, 1200.0), "ok", "1.000 (200 J, 200 J in 2.0 s)"), ((0.0, 200.0, 400.0), "NOT OK", "0.500"),
    ((None, None, None), "n/a", "no energy counter")])
def test_power_at_100_watts_for_two_seconds_is_the_200_joules_counted(
        joules: tuple[float | None, ...], verdict: str, figure: str) -> None:
    readings = [(float(second), Reading(each, 100.0, 1500.0, None, None, None)) for second, each in enumerate(joules)]

    line, = checks.energy._energy_lines(readings)

    assert verdict == line.verdict and figure in line.figure


@pytest.mark.parametrize(("kernels", "is_ok"), [(100, True), (90, False)])
def test_kernels_copies_and_gaps_must_add_up(kernels: int, is_ok: bool) -> None:
    told = {"kernels": kernels, "kernel_seconds": 0.9, "copy_seconds": 0.02, "overlap_seconds": 0.01,
            "gap_seconds": 0.09}
    own = {"kernels": 100, "kernel_seconds": 0.91, "copies": 3, "copy_seconds": 0.02, "seconds": 1.0}

    assert is_ok == ({verdicts.OK} == {line.verdict for line in checks.profile._kernel_lines(told, own)})


@pytest.mark.parametrize(("error", "lines", "expected"), [
    (Failed("out of luck"), 1, ["ok", "NOT OK"]), (NotRun("no GPU"), 0, ["not run"]),
    (NotHere("a CPU has none"), 0, ["n/a"])])
def test_a_crash_is_not_ok_and_a_refusal_is_not_run(error, lines, expected, monkeypatch, capsys) -> None:
    def run(env: Environment) -> Iterator[Line]:
        yield from [verdicts.seen("first", "1")] * lines
        raise error

    monkeypatch.setitem(checks.CHECKS, "1", checks.Check("Made up", run, 5.0))

    assert expected == [line.verdict for line in proof._run("1", CPU, float("inf"))[3]]
    assert "Made up" in capsys.readouterr().out


@pytest.mark.parametrize(("ends", "verdict"), [(30.0, "not run"), (300.0, "NOT OK")])
def test_what_the_end_of_all_checks_cuts_off_is_not_run_and_what_overruns_its_own_is_not_ok(
        ends: float, verdict: str, monkeypatch, capsys) -> None:
    def run(env: Environment) -> Iterator[Line]:
        raise NotRun(environment.CUT) if env.is_shared_end else Failed("killed at the end of its time")
        yield

    monkeypatch.setitem(checks.CHECKS, "1", checks.Check("Made up", run, 60.0))

    assert [verdict] == [line.verdict for line in proof._run("1", GPU, time.monotonic() + ends)[3]]
    line, = proof._run("4", GPU, 0.0)[3]                                    # begun after the end of all
    assert (line.verdict, line.figure) == ("not run", "the time of all checks is over: run it by itself, --only 4")
    past, future = time.monotonic() - 1, time.monotonic() + 60
    assert [True, False, False] == [GPU._replace(deadline=deadline, is_shared_end=shared).was_cut
                                    for deadline, shared in ((past, True), (past, False), (future, True))]


def test_a_compiler_checks_fewer_models_and_compiles_each_precision_once_where_numpy_has_the_model() -> None:
    jax = GPU._replace(package="jax")
    runs = [(task, *run) for task in checks.equality.checked_tasks(jax) for precision in ("float64", "float32")
            for run in checks.equality.compared_with(jax, checks.equality._check_cell(task, precision))]

    assert ("resnet18", "float64", "cpu") in runs and ("resnet18", "float32", "cpu") not in runs
    assert ("bert", "float32", "cpu") in runs                    # of which numpy has nothing
    assert len(runs) == len(set(runs)) == 16
    assert "resnet50" in checks.equality.checked_tasks(GPU)


def test_each_cell_of_the_check_is_run_once_on_a_gpu_and_compared_with_the_cpu() -> None:
    cell = checks.equality._check_cell("resnet50", "float32")

    assert [("float32", "gpu"), ("float32", "cpu"), ("tf32", "gpu")] == list(checks.equality.compared_with(GPU, cell))
    volta = GPU._replace(facts={"capability": [7, 0]})
    assert [("float32", "gpu"), ("float32", "cpu")] == list(checks.equality.compared_with(volta, cell))
    assert [("float32", "cpu")] == list(checks.equality.compared_with(CPU, cell))


@pytest.mark.parametrize(("env", "changes", "event", "rates", "expected"), [
    (CPU, {}, {"event": "steps", "rate": 5e12}, (1e13, 1e12), ["ok"]),
    (CPU, {}, {"event": "steps", "rate": 5e12}, (1e12, 1e12), ["NOT OK"]),                   # above the product's
    (CPU, {"precision": "amp"}, {"event": "unsupported", "message": "no amp"}, (1e12, 1e12), ["n/a"]),
    *[(GPU, {**cells.SETTINGS, "task": "resnet50", "batch": 256, "precision": "amp"},
       {"event": "steps", "seconds": slower * 256 / 4002}, (705e12, 3018e9), ["ok", near])   # docs/gpu-proof-h100.md
      for slower, near in ((1, "ok"), (2, "NOT OK"))]])
def test_a_rate_is_below_the_product_s_and_resnet50_near_one_of_the_device_s_limits(
        env: Environment, changes: dict, event: dict, rates: tuple[float, float], expected: list[str]) -> None:
    cell = {"task": "lenet5", "measure": "train", "batch": 10, "precision": "float32", **changes}
    if "rate" in event:
        event = {**event, "seconds": tasks.step_flops(parse({"stack": "s", **cell})) / event["rate"]}

    lines = checks.limits._shares(env, cell, [event], "", checks.limits.Rates(*rates))

    assert expected == [line.verdict for line in lines]


@pytest.mark.parametrize(("largest", "smallest", "verdict"), [
    (945, 974, "ok"), (945, 1200, "NOT OK"), (945, None, "NOT OK"), (0, 1, "NOT OK")])
def test_a_batch_a_little_larger_than_the_largest_must_not_fit(
        largest: int, smallest: int | None, verdict: str) -> None:
    assert verdict == checks.memory._does_not_fit({"largest": largest, "smallest_oom": smallest}).verdict


def test_the_document_has_every_line_and_no_bar_breaks_its_table() -> None:
    lines = [verdicts.judged("a|b", "1", "2", True)]

    text = verdicts.markdown({"GPU": "made up"}, [("1", "Title", 3.0, lines)])

    assert "* GPU: made up" in text
    assert "| a\\|b | 1 | 2 | ok |" in text


@pytest.mark.parametrize(("words", "expected"), [
    (["ok", "n/a"], (0, "every check is ok")),
    (["ok", "not run"], (3, "every check that ran is ok; not run, whole or in part: check 4 of here (torch)")),
    (["not run", "NOT OK"], (1, "NOT OK: see above; not run, whole or in part: check 4 of here (torch)"))])
def test_what_was_not_run_is_named_and_has_an_exit_code(words: list[str], expected: tuple[int, str]) -> None:
    lines = [Line("", "", "", word) for word in words]

    assert expected == proof._summary([(GPU, "4", lines), (GPU, "5", [Line("", "", "", "ok")])])


def test_each_environment_has_an_end_of_its_own(monkeypatch, capsys) -> None:
    ends = []
    monkeypatch.setattr(proof.environment, "opened", lambda name, *_: [GPU._replace(name=name)])
    monkeypatch.setattr(proof, "_facts", lambda env: {})
    monkeypatch.setattr(proof, "time", SimpleNamespace(monotonic=iter((0.0, 100.0)).__next__))
    monkeypatch.setattr(proof, "_run", lambda number, env, end: ends.append(end) or (number, "", 0.0, []))

    assert proof.main(["--only", "1", "--stack", "a=x", "--stack", "b=y", "--minutes", "2"]) == 0
    assert ends == [120.0, 220.0]


def test_every_framework_of_a_python_is_proved_but_one_that_sees_no_gpu(monkeypatch, capsys) -> None:
    told = [{"package": "torch"}, {"package": "jax", "problem": "jax sees no GPU here"}]
    monkeypatch.setattr(Environment, "script", lambda *_: told)

    assert [env.package for env in environment.opened("here", "python", "", "gpu")] == ["torch"]
    assert capsys.readouterr().err == "python: jax sees no GPU here: it is left out\n"
    del told[1]["problem"]
    assert [env.package for env in environment.opened("here", "python", "", "gpu")] == ["torch", "jax"]


def test_a_check_and_a_python_that_are_not_there_are_told_in_a_line(capsys, tmp_path: Path) -> None:
    assert 2 == proof.main(["--only", "1,77"]) == proof.main(["--device", "cpu", "--stack", f"m={tmp_path / 'python'}"])
    assert capsys.readouterr().err == (f"--only: found 77, expected numbers from 1 to 9\n"
                                       f"{tmp_path / 'python'}: No such file or directory\n")


class FakeNvml:
    """NVML's functions on made-up numbers; those that are not here are gone from the driver."""

    def __getattr__(self, name: str):
        values = {"nvmlDeviceGetTotalEnergyConsumption": 5000, "nvmlDeviceGetPowerUsage": 100_000,
                  "nvmlDeviceGetCurrentClocksThrottleReasons": 0x4, "nvmlDeviceGetEnforcedPowerLimit": 700_000}
        if name == "nvmlDeviceGetClockInfo":
            return lambda gpu, kind, value: _put(value, 1980)
        if name in values:
            return lambda gpu, value: _put(value, values[name])
        if name in ("nvmlInit_v2", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetHandleByIndex_v2"):
            return lambda *_: 0
        if name == "nvmlDeviceGetMemoryInfo":
            return lambda *_: 3                # not supported
        raise AttributeError(name)


def _put(reference_: ctypes._SimpleCData, number: int) -> int:
    reference_._obj.value = number
    return 0


def test_the_management_library_is_read_in_joules_watts_and_names() -> None:
    found = management.Management("GPU-1", FakeNvml()).reading()

    assert Reading(5.0, 100.0, 1980.0, 1980.0, ("sw_power_cap",), None) == found


@pytest.mark.parametrize(("uuid", "count", "is_taken"), [
    ("GPU-1", 2, True), ("", 1, True), ("GPU-2", 1, True), ("", 2, False), ("GPU-2", 2, False)])
def test_of_several_gpus_only_the_framework_s_own_is_read(uuid: str, count: int, is_taken: bool) -> None:
    library = FakeNvml()
    library.nvmlDeviceGetCount_v2 = lambda value: _put(value, count)
    library.nvmlDeviceGetHandleByUUID = lambda name, gpu: int(name != b"GPU-1")
    if is_taken:
        management.Management(uuid, library)
    else:
        with pytest.raises(OSError, match="NVML knows 2 GPUs"):
            management.Management(uuid, library)


@pytest.mark.parametrize(("failing", "expected"), [
    ("", "00010203-0405-0607-0809-0a0b0c0d0e0f"), ("cuInit", ""), ("cuDeviceGetUuid", "")])
def test_a_framework_that_tells_no_uuid_has_the_driver_s_of_the_gpu_it_sees_first(failing: str, expected: str) -> None:
    def device_uuid(told: ctypes.Array, device: ctypes.c_int) -> int:
        told[:] = range(16)
        return int(failing == "cuDeviceGetUuid" or device.value != 7)

    driver = SimpleNamespace(cuInit=lambda flags: int(failing == "cuInit"), cuDeviceGetUuid=device_uuid,
                             cuDeviceGet=lambda device, ordinal: _put(device, 7 + ordinal))

    assert expected == facts.first_uuid(driver)


@pytest.mark.parametrize(("architectures", "runs", "verdict"), [
    (["sm_80", "sm_90"], True, "ok"), (["sm_90"], False, "NOT OK"), (["sm_80", "compute_80"], False, "ok"),
    (["sm_80", "compute_80"], True, "NOT OK")])
def test_code_that_is_said_to_be_native_runs_without_compiling_ptx(
        architectures: list[str], runs: bool, verdict: str, monkeypatch) -> None:
    def sent(env: Environment, cell: dict) -> None:
        assert ("CUDA_DISABLE_PTX_JIT", "1") in env.variables
        if not runs:
            raise Failed("no kernel image")

    monkeypatch.setattr(checks.equality, "_sent", sent)
    env = GPU._replace(facts={**GPU.facts, "architectures": architectures})

    assert verdict == checks.equality._native(env).verdict


@pytest.mark.parametrize(("word", "verdict"), [("ok", "ok"), ("unsupported", "NOT OK")])
def test_a_cell_of_the_study_that_is_unsupported_is_not_ok(word: str, verdict: str, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(f'{{"event": "ending", "ending": "ok"}}\n'
                                           f'{{"event": "ending", "ending": "{word}"}}\n')

    assert verdict == checks.study._endings(tmp_path).verdict


@pytest.mark.parametrize(("millijoules", "milliwatts", "expected"), [
    (7_000_000, 700_000, ["ok", "ok"]), (6_500_000, 700_000, ["NOT OK", "ok"]), (7_000_000, 500_000, ["ok", "NOT OK"]),
    (None, None, ["NOT OK", "NOT OK"])])
def test_the_runner_s_reader_must_say_the_energy_and_power_that_the_proof_s_own_says(
        millijoules: int | None, milliwatts: int | None, expected: list[str]) -> None:
    gpu = H100._replace(millijoules=0 if millijoules else None, milliwatts=650_000, instant_milliwatts=milliwatts)
    library = fake_nvml.FakeNvml(gpu)
    reader = nvml.Reader(["GPU-h"], library)
    first, = reader()
    library.gpus[0] = gpu._replace(millijoules=millijoules, milliwatts=None if milliwatts is None else 650_000)
    last, = reader()
    ours = [Reading(joules, 700.0, None, None, None, None) for joules in (0.0, 7000.0)]

    lines = list(checks.energy._reader_lines(ours, [first, last]))

    assert [*expected, "ok"] == [line.verdict for line in lines]
    assert "temperature" not in lines[-1].figure.split(", ") and "memory_temperature" in lines[-1].figure
