"""What evenbench costs: from workers' events to figures with goals."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.analysis.stats import Interval
from runner.cli.output import Output
from runner.errors import InputError
from tests import fakes
from tests.clock import FakeClock
from tools import overhead
from workloads.spec.cell import Cell

ENDED = b'{"event": "end", "status": "ok", "message": ""}\n'


def blocks(*seconds: tuple[float, float]) -> list[bytes]:
    """The lines of a worker that timed blocks of our loop and of the other one."""
    told = [{"event": "harness", "reported": ours, "wall": ours, "bare": bare, "steps": 2} for ours, bare in seconds]
    return [*(json.dumps(event).encode() + b"\n" for event in told), ENDED]


def launcher(script: Any) -> fakes.FakeLauncher:
    return fakes.FakeLauncher(FakeClock(), script)


def setup(how: fakes.FakeLauncher, turns: int, data: Path = Path("data")) -> overhead.Setup:
    return overhead.Setup(how, data, 2, turns, FakeClock())


def harness(how: fakes.FakeLauncher, turns: int = 3) -> overhead.Cost:
    return overhead.harness(fakes.stack(), setup(how, turns))


def peers(how: fakes.FakeLauncher, framework: str = "pytorch", turns: int = 3) -> list[overhead.Cost]:
    peer = next(peer for peer in overhead.PEERS[framework].items() if "vgg16" in peer[1])
    return list(overhead.peers(*peer, fakes.stack(framework=framework), setup(how, turns)))


def test_the_loop_s_cost_is_the_mean_over_processes_each_of_a_seed_of_its_own_of_the_median_over_blocks() -> None:
    by_seed = {0: blocks((1.0, 1.0), (2.0, 1.0), (9.0, 1.0)), 1: blocks((1.0, 2.0)), 2: blocks((3.0, 3.0))}

    cost = harness(launcher(lambda cell, run: by_seed[cell.seed]))

    assert 1.0 == pytest.approx(cost.value)          # of 2, 1/2 and 1
    assert 3 == cost.turns and "" == cost.problem
    assert cost.interval is not None and cost.interval.low < 1.0 < cost.interval.high


@pytest.mark.parametrize(("lines", "problem"), [
    ([b'{"event": "end", "status": "unsupported", "message": "it has no such net"}\n'],
     "unsupported: it has no such net"), (blocks(), "")])
def test_a_process_that_did_not_end_well_or_told_nothing_is_no_figure(lines: list[bytes], problem: str) -> None:
    cost = harness(launcher(lambda cell, run: lines))
    assert (None, None, False) == (cost.value, cost.interval, cost.is_met) and problem in cost.problem


@pytest.mark.parametrize(("interval", "is_more_better", "is_met"), [
    (Interval(0.9, 1.0), False, True), (Interval(1.0, 1.2), False, True), (Interval(1.1, 1.2), False, False),
    (Interval(1.1, 1.2), True, True), (Interval(0.8, 1.0), True, True), (Interval(0.8, 0.9), True, False),
    (None, False, True)])
def test_a_goal_is_missed_where_the_whole_interval_is_beyond_it_and_json_says_so(
        interval: Interval | None, is_more_better: bool, is_met: bool, capsys: pytest.CaptureFixture[str]) -> None:
    cost = overhead.Cost("x", "torch-x", 1.0, interval, "x", 1.0, 3, is_more_better=is_more_better)
    Output(json="-").rows([cost.record()])
    (said,) = json.loads(capsys.readouterr().out)["rows"]

    assert is_met == cost.is_met
    assert (1.0, is_met) == (said["value"], said["met"])
    assert said["interval"] == (interval and {"low": interval.low, "high": interval.high})


def test_twice_as_fast_as_the_peer_is_two_and_meets_the_goal_and_half_as_fast_misses_it() -> None:
    costs = peers(launcher(lambda cell, run: blocks((0.5, 1.0), (0.5, 1.0))))

    assert ["resnet50 train, ours / torchvision", "resnet50 infer, ours / torchvision"] == [c.what for c in costs[:2]]
    assert [2.0] * 6 == [pytest.approx(cost.value) for cost in costs]
    assert all(cost.is_met and cost.is_more_better for cost in costs)
    seconds = {0: (2.0, 1.0), 1: (2.1, 1.0), 2: (1.9, 1.0)}
    assert not any(cost.is_met for cost in peers(launcher(lambda cell, run: blocks(seconds[cell.seed]))))


def test_a_problem_of_one_comparison_leaves_the_others() -> None:
    def script(cell: Cell, run: str) -> list[bytes]:
        return [b'{"event": "end", "status": "oom", "message": "memory"}\n'] if cell.task == "vgg16" else blocks((1, 1))

    assert ["", "", "oom: memory", "oom: memory", *[""] * 2] == [cost.problem for cost in peers(launcher(script))]


@pytest.mark.parametrize(("framework", "variant"), [("pytorch", "resnet50"), ("tensorflow", "resnet50_v1"),
                                                   ("mxnet", "resnet50_v1")])
def test_a_peer_is_compared_in_its_own_variant_and_in_both_measures(framework: str, variant: str) -> None:
    how = launcher(lambda cell, run: blocks((1.0, 1.0)))
    peers(how, framework, turns=1)
    started = [(cell.task, cell.measure) for cell, _ in how.started]
    assert [(task, measure) for task in (variant, "vgg16", "mobilenetv2")
            for measure in ("harness", "harness_infer")] == started
    assert {(1000, "synthetic", "seeded")} == {(cell.classes, cell.input, cell.init) for cell, _ in how.started}


def test_a_stack_is_compared_with_the_library_that_is_locked_for_it_alone(tmp_path: Path) -> None:
    locked = "# not torchvision==1\nregex==1 \\\ntransformers==5.23.0 \\\n    --hash=sha256:0\n"
    (tmp_path / "peers.txt").write_text(locked)
    found = overhead.peers_of(fakes.stack(folder=tmp_path))
    assert ["torch.nn", "transformers"] == [*found]
    how = launcher(lambda cell, run: blocks((1.0, 1.0)))
    list(overhead.peers("transformers", found["transformers"], fakes.stack(), setup(how, turns=1)))
    started = {(cell.task, cell.preset, cell.classes) for cell, _ in how.started}
    assert {(task, "small", classes) for task, classes in (
        ("bert", 10), ("gpt2", 10), ("llama", 10), ("resnet50", 1000), ("vit_b16", 1000))} == started


def test_a_stack_for_which_no_library_is_locked_is_compared_with_its_frameworks_own_modules(tmp_path: Path) -> None:
    said: list[str] = []
    how = launcher(lambda cell, run: blocks((1.0, 1.0)))

    costs = list(overhead.run_peers([fakes.stack(folder=tmp_path)], setup(how, 3, tmp_path), said.append))
    assert ["lstm train, ours / torch.nn", "lstm infer, ours / torch.nn"] == [cost.what for cost in costs]
    assert ["bench-self: torch-x and torch.nn"] == said


def test_only_the_tasks_that_are_named_are_compared(tmp_path: Path) -> None:
    how, said = launcher(lambda cell, run: blocks((1.0, 1.0))), list[str]()
    stack = fakes.stack(folder=tmp_path)
    with pytest.raises(InputError, match="--peers: found no library with vgg16 for torch-x, expected one of lstm"):
        list(overhead.run_peers([stack], setup(how, 1, tmp_path), said.append, only=["vgg16"]))
    costs = list(overhead.run_peers([stack], setup(how, 1, tmp_path), said.append, only=["vgg16", "lstm"]))
    assert ["lstm", "lstm"] == [cost.what.split()[0] for cost in costs] == [cell.task for cell, _ in how.started]


def test_a_start_is_dearer_by_what_lies_before_the_first_step() -> None:
    clock = FakeClock(step=0.0)
    seconds = iter([3.0, 1.0, 3.0, 1.0])             # our first step, then the bare script's

    def script(cell: Cell, run: str) -> list[Any]:
        wait = next(seconds)
        return [lambda: clock.advance(wait) or b'{"event": "warm", "seconds": [1.0]}\n', ENDED]

    how = fakes.FakeLauncher(clock, script)
    cost = overhead.start(fakes.stack(), overhead.Setup(how, Path("data"), 2, 2, clock))

    assert (2.0, None, "s", False) == (cost.value, cost.interval, cost.unit, cost.is_met)


def test_a_start_whose_first_step_is_never_told_is_no_figure() -> None:
    cost = overhead.start(fakes.stack(), setup(launcher(lambda cell, run: [ENDED]), turns=1))

    assert cost.value is None and cost.problem


def test_on_a_gpu_every_cell_is_for_it_and_peers_are_compared_at_a_gpu_s_sizes() -> None:
    how = launcher(lambda cell, run: blocks((1.0, 1.0)))
    of_gpu = setup(how, 1)._replace(device="gpu")
    overhead.harness(fakes.stack(), of_gpu)
    list(overhead.peers("keras.applications", ["vgg16"], fakes.stack(framework="tensorflow"), of_gpu))
    assert {"gpu"} == {cell.device for cell, _ in how.started}
    assert {(32, 224)} == {(cell.batch, cell.image) for cell, _ in how.started if cell.task == "vgg16"}
