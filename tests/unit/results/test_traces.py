"""What a GPU did: made traces whose sums are worked out by hand, and small records in the profilers' own formats."""

from types import SimpleNamespace as Record
from typing import Any

import pytest

from runner.results.lines import Kernels
from workloads.profiles import traces
from workloads.profiles.traces import Span, Trace


def kernel(began: int, ended: int, name: str = "gemm") -> Span:
    return Span(name, False, began, ended)


def copy(began: int, ended: int) -> Span:
    return Span("Memcpy HtoD", True, began, ended)


def account(*spans: Span, nanoseconds: int = 100, launches: Any = None) -> dict[str, Any]:
    return traces.account(Trace(list(spans), launches, nanoseconds / 1e9, "made"))


def nanoseconds(found: dict[str, Any]) -> tuple[int, ...]:
    """Kernels, copies, both at once, gaps."""
    names = ("kernel_seconds", "copy_seconds", "overlap_seconds", "gap_seconds")
    return tuple(round(found[name] * 1e9) for name in names)


@pytest.mark.parametrize(("intervals", "expected"), [
    ([], 0), ([(2, 5)], 3), ([(0, 4), (6, 9)], 7), ([(0, 4), (4, 9)], 9), ([(0, 6), (2, 9)], 9), ([(0, 9), (2, 3)], 9),
    ([(6, 9), (0, 4), (3, 7)], 9), ([(5, 5)], 0)])
def test_what_runs_at_once_is_covered_once(intervals: list[tuple[int, int]], expected: int) -> None:
    assert expected == traces.covered(intervals)


def test_kernels_copies_and_gaps_add_up_to_the_steps() -> None:
    """Kernels 10-30 and 20-40 on two streams, and 60-70; a copy 35-50: 5 of its 15 beside a kernel; 50 of 100 idle."""
    found = account(kernel(10, 30), kernel(20, 40), kernel(60, 70), copy(35, 50))
    assert (40, 15, 5, 50) == nanoseconds(found)
    read = Kernels.read({"steps": 2, **found})
    assert (0.4, 0.15) == (pytest.approx(read.share(read.kernel_seconds)), pytest.approx(read.share(read.copy_seconds)))


def test_a_copy_behind_kernels_takes_nothing_from_them_and_no_gap_is_negative() -> None:
    assert (100, 20, 20, 0) == nanoseconds(account(kernel(0, 100), copy(40, 60)))
    assert (103, 0, 0, 0) == nanoseconds(account(kernel(0, 103)))          # a device's clock that runs faster


def test_kernels_are_counted_and_the_longest_names_told() -> None:
    found = account(kernel(0, 1, "add"), kernel(1, 3, "add"), kernel(3, 9, "gemm"), copy(9, 20))
    assert (3, [["gemm", 1, 6e-9], ["add", 2, 3e-9]]) == (found["kernels"], found["top"])
    assert traces.TOP == len(account(*(kernel(index, index + 1, str(index)) for index in range(50)))["top"])


def test_launches_that_nobody_told_are_absent_and_none_is_no_time() -> None:
    assert None is account(kernel(0, 1))["launch_seconds"]
    assert 0.0 == account(kernel(0, 1), launches=[])["launch_seconds"]
    assert 7e-9 == account(kernel(0, 1), launches=[(0, 4), (2, 7)])["launch_seconds"]


def kineto(cat: str, name: str, ts: float, dur: float) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": {"stream": 7}}


def test_kineto_s_kernels_copies_and_launches_are_told_from_what_the_host_does() -> None:
    events = [{"ph": "M", "name": "process_name", "ts": 0.0, "pid": 0, "tid": 0, "args": {"name": "python"}},
              kineto("cpu_op", "aten::mm", 4428923436395.851, 40.0),
              kineto("cuda_runtime", "cudaLaunchKernel", 4428923436396.5, 3.25),
              kineto("cuda_driver", "cuLaunchKernelEx", 4428923436400.0, 1.0),
              kineto("cuda_runtime", "cudaMemcpyAsync", 4428923436401.0, 9.0),
              kineto("kernel", "ampere_sgemm_128x64_tn", 4428923436410.125, 20.5),
              kineto("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 4428923436411.0, 2.0),
              kineto("gpu_memset", "Memset (Device)", 4428923436440.0, 1.0),
              {"ph": "s", "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 4428923436410.125, "id": 1}]
    spans, launches = traces.of_kineto(events)

    assert [("ampere_sgemm_128x64_tn", False, 20500), ("Memcpy HtoD (Pinned -> Device)", True, 2000),
            ("Memset (Device)", True, 1000)] == [(each.name, each.is_copy, each.ended - each.began) for each in spans]
    assert [3250, 1000] == [ended - began for began, ended in launches]


def test_kineto_before_1_13_writes_other_categories() -> None:
    spans, launches = traces.of_kineto([kineto("Kernel", "gemm", 1.0, 2.0), kineto("Memcpy", "Memcpy DtoH", 5.0, 1.0),
                                        kineto("Runtime", "cudaLaunchKernel", 0.5, 0.25)])
    assert ([Span("gemm", False, 1000, 3000), Span("Memcpy DtoH", True, 5000, 6000)], [(500, 750)]) == (spans, launches)


def operator(name: str, *children: Any, interval: tuple[float, float] | None = None) -> Any:
    """A FunctionEvent of PyTorch 1.4 to 1.7: times in microseconds."""
    own = [] if interval is None else [Record(name=name, device=0, interval=Record(start=interval[0], end=interval[1]))]
    return Record(name=name, kernels=own, cpu_children=list(children))


def test_of_nested_operators_the_one_that_calls_no_other_is_the_span() -> None:
    inner = operator("cudnn_convolution", interval=(11.0, 19.0))
    outer = operator("conv2d", operator("size"), inner, interval=(10.0, 20.0))
    assert [Span("cudnn_convolution", False, 11000, 19000)] == traces.of_operators([outer, inner, operator("size")])


def stats(device: str, *nodes: tuple[str, str, int, int]) -> Any:
    return Record(device=device, node_stats=[
        Record(node_name=name, timeline_label=label, all_start_micros=start, op_start_rel_micros=0,
               op_end_rel_micros=micros) for name, label, start, micros in nodes])


def test_tensorflow_1_tells_each_kernel_twice_and_it_counts_once() -> None:
    gemm = ("dense/MatMul", "volta_sgemm_64x32 regs:57 shm:8192", 1000, 40)
    given = Record(dev_stats=[
        stats("/job:localhost/replica:0/task:0/device:GPU:0", ("dense/MatMul", "MatMul(x, w)", 990, 5)),
        stats("/device:GPU:0/stream:14", gemm), stats("/device:GPU:0/stream:all", gemm, ("unknown", "", 1050, 3)),
        stats("/device:GPU:0/memcpy", ("feed:MEMCPYHtoD", "MEMCPYHtoD 64 bytes", 900, 7))])

    assert [Span("volta_sgemm_64x32", False, 1000000, 1040000), Span("unknown", False, 1050000, 1053000),
            Span("MEMCPYHtoD", True, 900000, 907000)] == traces.of_step_stats(given)


def plane(name: str, **lines: list[tuple[str, int, int]]) -> Any:
    """An XPlane: events are (name, picoseconds after the line's begin, picoseconds)."""
    names = list(dict.fromkeys(event[0] for events in lines.values() for event in events))
    return Record(name=name, event_metadata={key: Record(name=each) for key, each in enumerate(names)}, lines=[
        Record(name=line.replace("_", " "), timestamp_ns=1_700_000_000_000_000_000, events=[
            Record(metadata_id=names.index(each), offset_ps=offset, duration_ps=duration)
            for each, offset, duration in events]) for line, events in lines.items()])


def test_of_tensorflow_2_s_planes_the_gpu_s_streams_count_and_no_line_that_sums_them_up() -> None:
    spans, launches = traces.of_planes([
        plane("/device:GPU:0", **{"Stream #14(Kernel)": [("gemm", 2_000_000, 30_000_000)],
                                  "Stream #15(MemcpyH2D)": [("MemcpyH2D", 0, 4_000_000)],
                                  "TensorFlow Ops": [("MatMul", 0, 50_000_000)]}),
        plane("/host:CUPTI", **{"thread/10": [("cuLaunchKernel", 1_000_000, 500_000), ("cuMemcpyAsync", 0, 100_000)]}),
        plane("/host:CPU", **{"tf_Compute/1": [("dense/MatMul:MatMul", 0, 90_000_000)]})])

    base = 1_700_000_000_000_000_000
    assert [Span("gemm", False, base + 2000, base + 32000), Span("MemcpyH2D", True, base, base + 4000)] == spans
    assert [(base + 1000, base + 1500)] == launches


def test_of_jax_s_profile_the_gpu_s_streams_and_the_host_s_launches_count() -> None:
    def events(*each: tuple[str, float, float]) -> Any:
        return [Record(name=name, start_ns=start, duration_ns=duration) for name, start, duration in each]

    spans, launches = traces.of_profile_data([
        Record(name="/device:GPU:0", lines=[
            Record(name="Stream #14(Compute)", events=events(("fusion_3", 2000.0, 30000.5))),
            Record(name="XLA Ops", events=events(("fusion.3", 2000.0, 30000.0)))]),
        Record(name="/host:CPU", lines=[
            Record(name="python3", events=events(("cuLaunchKernel", 1000.0, 500.0), ("jit_step", 0.0, 9000.0)))])])

    assert [Span("fusion_3", False, 2000, 32000)] == spans
    assert [(1000, 1500)] == launches


def mxnet(name: str, phase: str, ts: int, pid: int = 4) -> dict[str, Any]:
    return {"name": name, "cat": "operator", "ph": phase, "ts": ts, "pid": pid, "tid": 3012514125142075067}


def test_of_mxnet_s_operators_those_of_gpus_count_and_no_bookkeeping() -> None:
    found = traces.of_mxnet([
        {"ph": "M", "args": {"name": "cpu/0"}, "pid": 0, "name": "process_name"},
        {"ph": "M", "args": {"name": "gpu/0"}, "pid": 4, "name": "process_name"},
        mxnet("late", "E", 5), mxnet("Convolution", "B", 10), mxnet("Convolution", "E", 30),
        mxnet("WaitForVar", "B", 30), mxnet("WaitForVar", "E", 90), mxnet("CopyCPU2GPU", "B", 91),
        mxnet("CopyCPU2GPU", "E", 92), mxnet("sum", "B", 10, pid=0), mxnet("sum", "E", 20, pid=0)])
    assert [Span("Convolution", False, 10000, 30000), Span("CopyCPU2GPU", True, 91000, 92000)] == found
