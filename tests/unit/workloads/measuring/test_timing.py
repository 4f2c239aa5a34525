"""The clock around steps."""
import contextlib
import itertools
import math
import threading
import weakref

import pytest

from tests.clock import FakeClock
from tests.sent import Sent
from workloads.measuring import watch as watching
from workloads.measuring.watch import ENDS, Beats, Compiling, Over, Recorded, Watch, WorkersWatch
from workloads.process.errors import NotFinite
from workloads.spec.cell import Cell


class Device:
    """A framework whose steps are only done once it is waited for.

    Its own clock sees when the issued work will be done; it may run at another pace than ours.
    """

    def __init__(self, clock, step, pace):
        self.clock, self.step, self.pace, self.marks, self.pending, self.syncs = clock, step, pace, [], 0, 0

    def issue(self):
        self.pending += 1

    def sync(self, handle):
        self.clock.advance(self.pending * self.step)
        self.pending = 0
        self.syncs += 1

    def mark(self):
        self.marks.append(self.pace * (self.clock.now + self.pending * self.step))

    def seconds(self):
        marks, self.marks = self.marks, []
        return [after - before for before, after in itertools.pairwise(marks)]


cell = Cell(stack="s", task="lenet5", measure="train")._replace


class Worker:
    """One whose steps take so many seconds, and what its watch sends."""

    def __init__(self, step=0.25, pace=0.0, pass_steps=0, programs=None, value=None, **values):
        """step: its seconds; pace: of the device's own clock, if it has one."""
        self.clock, self.sent = FakeClock(step=0.0), Sent()
        self.device = Device(self.clock, step, pace)
        self.watch = Watch(cell(**values), self.device.sync, value or (lambda handle: handle), self.sent, self.clock,
                           self.device if pace else None, pass_steps, programs or (lambda: 0))

    def take(self, steps):
        """So many steps with a loss of 1, or those with these losses."""
        for loss in [1.0] * steps if isinstance(steps, int) else steps:
            self.device.issue()
            self.watch.stepped(loss)
        return self

    def timed(self):
        """How many timed steps were sent."""
        return sum(block.get("count", len(block["seconds"])) for block in self.sent.of("steps"))


def watched(losses, **values):
    """A worker of steps of 0.375 s, a third of which is loading."""
    made = Worker(**values)
    for loss in losses:
        made.watch.loading()
        made.clock.advance(0.125)
        made.watch.loaded()
        made.take([loss])
    return made


def test_warm_up_steps_are_sent_apart_and_loading_is_told_apart_within_a_step():
    sent = watched([3.0, 2.0, 1.0], warmup=1, steps=2).sent
    assert [{"event": "warm", "seconds": [0.375], "ended": "fixed"}] == sent.of("warm")
    assert ([0.375, 0.375], {"load": [0.125, 0.125]}) == (sent.values("seconds"), sent.of("steps")[0]["phases"])


def test_blocks_follow_one_another_and_no_time_between_steps_is_lost():
    made = watched([1.0] * 12, warmup=2, steps=10)
    assert sum(s for line in made.sent for s in line["seconds"]) == pytest.approx(made.clock.now)
    firsts, counts = zip(*((block["first"], len(block["seconds"])) for block in made.sent.of("steps")), strict=True)
    assert len(firsts) > 1 and list(firsts) == [sum(counts[:i]) for i in range(len(counts))]


def test_a_loss_that_is_not_a_number_ends_the_run_and_a_coordinator_s():
    with pytest.raises(NotFinite, match="nan"):
        watched([1.0, math.nan], warmup=1, steps=1)
    with pytest.raises(NotFinite):
        coordinated((0, 1.0, math.nan), warmup=0, steps=1)


def test_an_adapter_that_does_not_wait_is_given_away_by_what_reading_a_loss_still_takes():
    made = Worker(warmup=1, steps=4)
    made.watch = Watch(cell(warmup=1, steps=4), lambda handle: None, lambda loss: made.device.sync(loss) or loss,
                       made.sent, made.clock)
    assert 1.25 == made.take(5).sent.of("steps")[0]["drain_seconds"]


def test_what_is_done_between_two_steps_on_purpose_is_in_no_sample_and_a_watchdog_hears_of_it():
    made = Worker(pace=1.0, warmup=1, steps=2).take(1)
    for _ in range(6):
        made.clock.advance(2.0)
        made.watch.probed()
    made.watch.resumed()
    made.take(2)
    assert ["warm", "beat", "beat", "steps"] == [line["event"] for line in made.sent]
    assert [0.25, 0.25] == made.sent.values("seconds") == made.sent.values("device_seconds")


@pytest.mark.parametrize("sync", ["each", "end"])
def test_a_watchdog_hears_of_a_long_warm_up_and_of_steps_that_are_timed_together(sync):
    told = [line["event"] for line in watched([1.0] * 120, warmup=60, steps=60, sync=sync).sent]
    assert told[:told.index("warm")] == ["beat"] * (4 if sync == "each" else 1)
    assert told[told.index("warm") + 1:].count("beat") == (0 if sync == "each" else 3)       # 22.5 s, parts of 1.125 s


def test_phases_that_were_stamped_are_sent_with_the_steps_that_they_are_of():
    made = Worker(warmup=1, steps=2)
    for seconds in (5.0, 0.25, 0.5):
        made.watch.stepped(1.0, phases={"forward": seconds})
    assert {"forward": [0.25, 0.5]} == made.sent.of("steps")[0]["phases"]


def coordinated(*steps, **values):
    clock, sent = FakeClock(step=0.0), Sent()
    watch = WorkersWatch(cell(**values), sent, clock)
    for worker, seconds, loss in steps:
        clock.advance(seconds)
        watch.told(worker, seconds, loss, {"forward": seconds / 2})
    watch.close()
    return sent


def test_a_coordinator_s_workers_have_their_own_warm_up_and_steps():
    sent = coordinated((0, 3.0, 9.0), (1, 4.0, 9.0), (0, 0.25, 2.0), (0, 0.25, 1.0), (1, 0.5, 3.0), warmup=1, steps=2)
    assert [(0, [3.0]), (1, [4.0])] == [(line["worker"], line["seconds"]) for line in sent.of("warm")]
    assert [(0, 0, [0.25, 0.25], [2.0, 1.0]), (1, 0, [0.5], [3.0])] == [
        (line["worker"], line["first"], line["seconds"], line["loss"]) for line in sent.of("steps")]
    assert {"forward": [0.125, 0.125]} == sent.of("steps")[0]["phases"]


def test_a_coordinator_sends_blocks_as_time_goes_and_beats_in_a_long_warm_up():
    sent = coordinated(*[(0, 3.0, 1.0)] * 4, *[(0, 0.75, 1.0)] * 5, warmup=4, steps=5)
    assert "beat" == sent[0]["event"] and [3.0] * 4 == sent.values("seconds", "warm")
    assert len(sent.of("steps")) > 1 and [0.75] * 5 == sent.values("seconds")


def ticking(*values):
    """(a clock that shows these, the last for ever; an event that is set once it does)."""
    left, seen = iter(values), threading.Event()

    def clock():
        value = next(left, None)
        if value is None:
            seen.set()
        return values[-1] if value is None else value

    return clock, seen


@pytest.mark.parametrize(("cpu_seconds", "count"), [((0.0, 1.0, 2.0), 2), ((5.0, 5.0, 5.0), 0)])
def test_a_process_that_computes_gives_signs_of_life_and_one_that_waits_does_not(cpu_seconds, count):
    sent, (clock, seen) = Sent(), ticking(*cpu_seconds)
    with Beats(sent, every=0.001, clock=clock):
        assert seen.wait(60)
    assert count == len(sent.of("beat"))


def test_beats_end_after_their_longest_time_however_many_threads_compute():
    sent, used, gone_by = Sent(), iter((0.0, 16.0, 32.0, 48.0)), iter((0.0, 1.0, 1.9, 2.0))
    beats = Beats(sent, every=0.001, clock=lambda: next(used), longest=2.0, wall=lambda: next(gone_by))
    beats._beat()
    assert 2 == len(sent.of("beat"))


@pytest.mark.parametrize(("device", "loop", "count"), [("gpu", "native", 3), ("cpu", "native", 0), ("cpu", "tuned", 3)])
def test_on_a_gpu_and_in_compiled_loops_there_are_beats_until_the_first_steps_and_else_none(device, loop, count):
    sent, (clock, seen) = Sent(), ticking(0.0, 1.0, 2.0, 3.0)
    with Compiling(cell(device=device, loop=loop), sent, every=0.001, clock=clock) as emit:
        emit("compiled", programs=1, seconds=0.5)
        assert not count or seen.wait(60)
        emit("warm", seconds=[])
        emit("steps", seconds=[])
    assert (count, 1, 1) == tuple(len(sent.of(event)) for event in ("beat", "warm", "steps"))


def test_a_device_s_own_clock_sees_the_same_steps_and_is_not_corrected():
    blocks = Worker(pace=1.0, warmup=2, steps=10).take(12).sent.of("steps")
    assert [5, 5] == [len(block["seconds"]) for block in blocks]           # a second and more each
    assert all(block["seconds"] == block["device_seconds"] == [0.25] * 5 for block in blocks)
    assert [0.5, 0.5] == Worker(pace=2.0, warmup=1, steps=2).take(3).sent.values("device_seconds")


def test_what_a_step_of_inference_gave_is_not_held():
    watch = Watch(cell(steps=3, warmup=0), lambda handle: None, None, Sent(), FakeClock())
    logits = {"something", "that can be referred to weakly"}
    seen = weakref.ref(logits)
    watch.stepped(logits)
    del logits
    assert seen() is None


def endless(pass_steps=0, **values):
    """An open cell's worker, which is asked for far more steps than it wants."""
    made = Worker(pass_steps=pass_steps, **values)
    with pytest.raises(Over):
        made.take(10_000)
    return made


@pytest.mark.parametrize("sync", ["each", "end"])
def test_a_warm_up_that_is_to_be_steady_ends_so_says_it_and_is_waited_for_step_by_step(sync):
    made = endless(warm="steady", warmup=0, steps=4, sync=sync)
    assert [("steady", 10)] == [(line["ended"], len(line["seconds"])) for line in made.sent.of("warm")]
    assert (4, 10 + 4) == (made.timed(), made.device.syncs)                   # with one sync at the end four are parts


@pytest.mark.parametrize(("steps", "timed"), [(5, 12), (20, 20)])
def test_timed_steps_last_as_long_as_the_cell_says_and_are_never_fewer(steps, timed):
    assert timed == endless(warmup=1, steps=steps, seconds=3.0).timed()       # of 0.25 s


@pytest.mark.parametrize(("seconds", "steps", "counts"), [
    (0.375, 4, [1] * 4), (1 / 64, 21, [7, 7, 7]), (1 / 64, 10, [7, 3])])            # 7 / 64 s = 0.109 s
def test_blocks_wait_for_the_device_once_a_tenth_of_a_second(seconds, steps, counts):
    made = Worker(seconds, warmup=4, steps=steps, sync="blocks").take(4 + steps)
    assert counts == made.sent.values("counts") and steps == made.timed()
    assert [each * seconds for each in counts] == made.sent.values("seconds")
    assert 4 + len(counts) == made.device.syncs


def test_blocks_grow_where_steps_that_nobody_waits_for_are_shorter_than_those_of_the_warm_up():
    made = Worker(1 / 8, warmup=2, steps=9, sync="blocks").take(2)                  # a step is a block
    made.device.step = 1 / 32
    # 1 / 32 s is less than 0.1 s: 1 * 0.1 * 32 = 3.2, so four steps from then on
    assert [1, 4, 4] == made.take(9).sent.values("counts")


@pytest.mark.parametrize(("steps", "counts"), [(6, [1] * 6), (100, [5] * 20), (43, [2] * 21 + [1])])
def test_one_sync_at_the_end_gives_one_time_for_all_steps_and_those_of_its_parts(steps, counts):
    made = watched([1.0] * (2 + steps), warmup=2, steps=steps, sync="end")
    block, = made.sent.of("steps")
    assert (steps, [pytest.approx(steps * 0.375)], counts) == (block["count"], block["seconds"],
                                                               block["blocks"]["counts"])
    assert sum(block["blocks"]["seconds"]) == pytest.approx(steps * 0.375)
    assert 1 + len(counts) == made.device.syncs                             # the warm-up's, and one a part


def test_parts_that_the_device_s_clock_times_are_not_waited_for():
    made = Worker(pace=1.0, warmup=1, steps=40, sync="end").take(41)
    block, = made.sent.of("steps")
    assert 2 == made.device.syncs and "device_seconds" not in block
    assert ([2] * 20, 20) == (block["blocks"]["counts"], len(block["blocks"]["device_seconds"]))


@pytest.mark.parametrize("sync", ["each", "end", "blocks"])
def test_timed_steps_over_unequal_batches_are_whole_passes_wherever_the_warm_up_ended(sync):
    # two seconds are eight steps of 0.25 s; a pass has ten
    made = [endless(10, warmup=warmup, steps=5, seconds=2.0, sync=sync) for warmup in (1, 4)]
    assert [10, 10] == [each.timed() for each in made]
    assert not any("is_part_of_pass" in block for each in made for block in each.sent)
    assert [12, 20] == [endless(count, warmup=1, steps=5, seconds=2.6, sync=sync).timed() for count in (12, 10)]


def test_a_pass_that_would_take_too_long_is_cut_and_the_record_says_so():
    made = endless(1000, warmup=1, steps=5, seconds=2.0)
    assert 240 == made.timed()                                      # a minute
    assert [True] == [block["is_part_of_pass"] for block in made.sent if "is_part_of_pass" in block]
    assert made.sent[-1]["is_part_of_pass"]


def test_programs_that_are_compiled_within_timed_steps_are_told_with_those_steps():
    made = [1]

    def value(loss):
        made[0] += 1                     # a program that reads a loss is of no step
        return loss

    worker = Worker(warmup=2, steps=10, value=value, programs=lambda: made[0])
    for step in range(12):
        made[0] += step in (0, 1, 8)     # shapes: two are met in warm-up, one in the second block of five steps
        worker.take(1)

    assert [(5, None), (5, 1)] == [(len(block["seconds"]), block.get("compiled")) for block in worker.sent.of("steps")]


def test_losses_and_phases_of_very_many_steps_are_sent_ahead_in_parts(monkeypatch):
    monkeypatch.setattr(watching, "MOST_VALUES", 3)
    sent = watched([float(count) for count in range(1, 9)], warmup=1, steps=7, sync="end").sent
    assert [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0], [8.0]] == [line["loss"] for line in sent.of("values")]
    assert [[0.125] * 3, [0.125] * 3, [0.125]] == [line["phases"]["load"] for line in sent.of("values")]
    block, = sent.of("steps")
    assert 7 == block["count"] and not {"loss", "phases"} & set(block)


def test_a_worker_of_many_ends_its_warm_up_when_it_is_told_and_says_when_it_would():
    made = Worker(nodes=3, parallel="sync", warm="steady", warmup=0, steps=5).take(1)
    assert 9 == made.watch.left()
    made.take(9)
    assert ("steady", 5, []) == (ENDS[-made.watch.left()], made.watch.timed_steps(), made.sent.of("warm"))
    made.take(2)
    made.watch.begin("limit", 3)
    assert [("limit", 12)] == [(line["ended"], len(line["seconds"])) for line in made.sent.of("warm")]


@pytest.mark.parametrize("warmup", [2, 0])
def test_a_worker_of_many_times_the_agreed_steps_and_is_not_torn_out_of_its_loop(warmup):
    made = Worker(nodes=3, parallel="sync", warmup=warmup, seconds=2.0, steps=5)
    made.take(warmup or 1)                                           # without a warm-up it takes a step to agree by
    assert (0, 8) == (made.watch.left(), made.watch.timed_steps())   # "fixed" is over; eight are two seconds
    made.watch.begin("fixed", 6)
    assert 6 == made.take(6).timed()                                      # Over would have been raised


def test_a_coordinator_s_open_warm_up_ends_for_all_workers_when_it_is_told():
    clock, sent = FakeClock(step=0.0), Sent()
    watch = WorkersWatch(cell(nodes=2, parallel="async", warm="steady", warmup=0, steps=5, seconds=2.0), sent, clock)
    for worker, seconds in [(0, 0.25), (1, 0.5)] * 10:
        clock.advance(seconds)
        watch.told(worker, seconds, 1.0)
    assert ("steady", 8) == (ENDS[-watch.left()], watch.timed_steps())
    assert not sent.of("warm") and not sent.of("steps")
    watch.begin("steady", 2)
    for worker in (0, 1, 1):
        watch.told(worker, 0.125, 2.0)
    watch.close()
    assert [(0, 10, "steady"), (1, 10, "steady")] == [
        (line["worker"], len(line["seconds"]), line["ended"]) for line in sent.of("warm")]
    assert [(0, 0, [0.125]), (1, 0, [0.125] * 2)] == [
        (line["worker"], line["first"], line["seconds"]) for line in sent.of("steps")]


@pytest.mark.parametrize(("warmup", "parts"), [(7, [(3, None), (3, None), (1, "fixed")]),
                                               (6, [(3, None), (3, "fixed")])])
def test_a_very_long_warm_up_is_sent_in_parts_of_which_the_last_says_why_it_ended(monkeypatch, warmup, parts):
    monkeypatch.setattr(watching, "MOST_VALUES", 3)
    sent = watched([1.0] * (warmup + 1), warmup=warmup, steps=1).sent
    assert parts == [(len(line["seconds"]), line.get("ended")) for line in sent.of("warm")]


class Recorder:
    """Says what a profiler would: of each span its name and how long it lasted."""

    def __init__(self, clock):
        self.clock, self.spans = clock, []

    def start(self):
        self.clock.advance(5.0)

    @contextlib.contextmanager
    def span(self, name):
        began = self.clock()
        yield
        self.spans.append((name, self.clock() - began))

    def stop(self):
        return self.spans


def test_profiled_steps_are_spans_of_loading_calling_and_waiting_that_add_up_to_them():
    clock = FakeClock(step=0.0)
    recorder = Recorder(clock)
    watch = Recorded(cell(warmup=2, steps=3), recorder, lambda handle: clock.advance(0.5), clock)
    with pytest.raises(Over):
        while True:
            watch.loading()
            clock.advance(0.125)
            watch.loaded()
            clock.advance(0.25)
            watch.stepped(None)

    sums = {name: sum(each for one, each in watch.operators if one == name) for name, _ in watch.operators}
    assert {"host/python": 0.75, "input": 0.375, "host/waiting": 1.5} == sums
    assert (2.625, 0.375) == (watch.seconds, watch.input_seconds)
