"""The clock around steps."""
import itertools
import math
import threading
import weakref

import pytest

from tests.clock import FakeClock
from workloads.measuring import watch as watching
from workloads.measuring.watch import ENDS, Beats, Compiling, Over, Watch, WorkersWatch
from workloads.process.errors import NotFinite
from workloads.spec.cell import Cell


class Sent(list):
    def __call__(self, event, **values):
        self.append(dict(event=event, **values))

    def of(self, event):
        return [line for line in self if line["event"] == event]


class Device:
    """A framework whose steps are only done once it is waited for."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds, self.pending, self.syncs = clock, seconds, 0, 0

    def issue(self):
        self.pending += 1

    def sync(self, handle):
        self.clock.advance(self.pending * self.seconds)
        self.pending = 0
        self.syncs += 1


def cell(**values):
    return Cell(stack="s", task="lenet5", measure="train", **values)


def watched(losses, **values):
    clock, sent = FakeClock(step=0.0), Sent()
    device = Device(clock, seconds=0.25)
    watch = Watch(cell(**values), device.sync, lambda handle: handle, sent, clock)
    for loss in losses:
        watch.loading()
        clock.advance(0.125)
        watch.loaded()
        device.issue()
        watch.stepped(loss)
    return sent, device, clock


def test_warm_up_steps_are_sent_apart_and_not_among_the_samples():
    sent, _, _ = watched([3.0, 2.0, 1.0], warmup=1, steps=2)
    assert [{"event": "warm", "seconds": [0.375], "ended": "fixed"}] == sent.of("warm")
    assert [0.375, 0.375] == [s for block in sent.of("steps") for s in block["seconds"]]


def test_a_step_holds_its_loading_which_is_also_told_apart():
    sent, _, _ = watched([1.0, 1.0], warmup=1, steps=1)
    assert {"load": [0.125]} == sent.of("steps")[0]["phases"]


def test_no_time_between_steps_is_lost_when_blocks_are_sent():
    sent, _, clock = watched([1.0] * 12, warmup=2, steps=10)
    samples = [s for line in sent for s in line["seconds"]]
    assert sum(samples) == pytest.approx(clock.now)
    assert len(sent.of("steps")) > 1          # 10 steps of 0.375 s are more than one block


def test_blocks_say_the_first_step_that_they_hold():
    sent, _, _ = watched([1.0] * 12, warmup=2, steps=10)
    firsts = [block["first"] for block in sent.of("steps")]
    counts = [len(block["seconds"]) for block in sent.of("steps")]
    assert firsts == [sum(counts[:i]) for i in range(len(counts))]


def test_sync_at_the_end_gives_one_time_for_all_steps():
    sent, device, _ = watched([1.0] * 10, warmup=4, steps=6, sync="end")
    block, = sent.of("steps")
    assert 1 + 6 == device.syncs              # after the warm-up, and after each part, which is a step here
    assert (6, pytest.approx(6 * 0.375)) == (block["count"], block["seconds"][0])


def test_a_loss_that_is_not_a_number_ends_the_run_and_leaves_valid_json_behind():
    with pytest.raises(NotFinite, match="nan"):
        watched([1.0, math.nan], warmup=1, steps=1)


def test_an_adapter_that_does_not_wait_is_given_away_by_what_reading_a_loss_still_takes():
    clock, sent = FakeClock(step=0.0), Sent()
    device = Device(clock, seconds=0.25)

    def value(handle):
        device.sync(handle)
        return handle

    watch = Watch(cell(warmup=1, steps=4), lambda handle: None, value, sent, clock)
    for _ in range(5):
        device.issue()
        watch.stepped(1.0)
    assert 1.25 == sent.of("steps")[0]["drain_seconds"]


def test_passes_that_are_no_steps_are_told_of_now_and_then_and_in_no_sample():
    clock, sent = FakeClock(step=0.0), Sent()
    watch = Watch(cell(warmup=1, steps=1), lambda handle: None, None, sent, clock)
    watch.stepped(1.0)
    for _ in range(6):
        clock.advance(2.0)
        watch.probed()
    watch.resumed()
    clock.advance(0.25)
    watch.stepped(1.0)
    assert ["warm", "beat", "beat", "steps"] == [line["event"] for line in sent]
    assert [0.25] == sent.of("steps")[0]["seconds"]


@pytest.mark.parametrize("sync", ["each", "end"])
def test_a_watchdog_hears_of_a_long_warm_up_and_of_steps_that_are_timed_together(sync):
    sent, _, _ = watched([1.0] * 120, warmup=60, steps=60, sync=sync)
    told = [line["event"] for line in sent]
    assert told[:told.index("warm")] == ["beat"] * (4 if sync == "each" else 1)
    assert told[told.index("warm") + 1:].count("beat") == (0 if sync == "each" else 3)       # 22.5 s, parts of 1.125 s


def test_phases_that_were_stamped_are_sent_with_the_steps_that_they_are_of():
    clock, sent = FakeClock(step=0.0), Sent()
    watch = Watch(cell(warmup=1, steps=2), lambda handle: None, None, sent, clock)
    for seconds in (5.0, 0.25, 0.5):
        clock.advance(seconds)
        watch.stepped(None, phases={"forward": seconds})
    assert {"forward": [0.25, 0.5]} == sent.of("steps")[0]["phases"]


def test_what_is_done_between_two_steps_on_purpose_belongs_to_none():
    clock, sent = FakeClock(step=0.0), Sent()
    watch = Watch(cell(warmup=0, steps=1), lambda handle: None, None, sent, clock)
    clock.advance(7.0)
    watch.resumed()
    clock.advance(0.5)
    watch.stepped(None)
    assert [0.5] == sent.of("steps")[0]["seconds"]


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


def test_a_coordinator_sends_blocks_as_time_goes():
    sent = coordinated(*[(0, 0.75, 1.0)] * 6, warmup=1, steps=5)
    assert len(sent.of("steps")) > 1
    assert [0.75] * 5 == [s for line in sent.of("steps") for s in line["seconds"]]


def test_a_coordinator_tells_a_watchdog_that_a_long_warm_up_goes_on():
    sent = coordinated(*[(0, 3.0, 1.0)] * 5, warmup=4, steps=1)
    assert "beat" == sent[0]["event"] and [3.0] * 4 == sent.of("warm")[0]["seconds"]
    assert [3.0] == [s for line in sent.of("steps") for s in line["seconds"]]


def test_a_worker_s_loss_that_is_not_finite_ends_the_coordinator_s_run():
    with pytest.raises(NotFinite):
        coordinated((0, 1.0, math.nan), warmup=0, steps=1)


def beats(*cpu_seconds):
    """How many events come while a process' CPU clock shows these, one after the other."""
    sent, clocks = Sent(), iter(cpu_seconds)
    seen = threading.Event()

    def clock():
        value = next(clocks, None)
        if value is None:
            seen.set()
        return cpu_seconds[-1] if value is None else value

    with Beats(sent, every=0.001, clock=clock):
        assert seen.wait(10)
    return len(sent.of("beat"))


def test_a_process_that_computes_gives_signs_of_life_and_one_that_waits_does_not():
    assert 2 == beats(0.0, 1.0, 2.0)
    assert 0 == beats(5.0, 5.0, 5.0)


def test_beats_end_after_their_longest_time_however_many_threads_compute():
    sent, used, gone_by = Sent(), iter((0.0, 16.0, 32.0, 48.0)), iter((0.0, 1.0, 1.9, 2.0))
    beats = Beats(sent, every=0.001, clock=lambda: next(used), longest=2.0, wall=lambda: next(gone_by))
    beats._beat()
    assert 2 == len(sent.of("beat"))


def test_on_a_gpu_and_in_compiled_loops_there_are_beats_until_the_first_steps_and_else_none():
    for device, loop, count in (("gpu", "native", 3), ("cpu", "native", 0), ("cpu", "tuned", 3)):
        sent, clocks, seen = Sent(), iter((0.0, 1.0, 2.0, 3.0)), threading.Event()

        def clock(clocks=clocks, seen=seen):
            value = next(clocks, None)
            if value is None:
                seen.set()
            return 3.0 if value is None else value

        cell = Cell(stack="s", task="lenet5", measure="train", device=device, loop=loop)
        with Compiling(cell, sent, every=0.001, clock=clock) as emit:
            emit("start")
            assert not count or seen.wait(10)
            emit("warm", seconds=[])
            emit("steps", seconds=[])
        assert (count, 1, 1) == tuple(len(sent.of(event)) for event in ("beat", "warm", "steps"))


class DeviceClock:
    """A device's own clock, which sees when the issued work will be done; it may run at another pace than ours."""

    def __init__(self, device, pace):
        self.device, self.pace, self.marks = device, pace, []

    def mark(self):
        self.marks.append(self.pace * (self.device.clock.now + self.device.pending * self.device.seconds))

    def seconds(self):
        marks, self.marks = self.marks, []
        return [after - before for before, after in itertools.pairwise(marks)]


def seen_by_both(pace=1.0, **values):
    clock, sent = FakeClock(step=0.0), Sent()
    device = Device(clock, seconds=0.25)
    watch = Watch(cell(**values), device.sync, None, sent, clock, DeviceClock(device, pace))
    for _ in range(values["warmup"] + values["steps"]):
        clock.advance(0.125)
        device.issue()
        watch.stepped(None)
    return sent


def test_a_device_s_own_clock_sees_the_same_steps_loading_included():
    blocks = seen_by_both(warmup=2, steps=6).of("steps")
    assert [3, 3] == [len(block["seconds"]) for block in blocks]           # a second and more each
    for block in blocks:
        assert block["seconds"] == block["device_seconds"] == [0.375] * len(block["seconds"])


def test_a_device_that_tells_another_time_is_not_corrected():
    assert [0.75, 0.75] == seen_by_both(pace=2.0, warmup=1, steps=2).of("steps")[0]["device_seconds"]


def test_with_one_sync_at_the_end_a_device_is_not_asked():
    assert "device_seconds" not in seen_by_both(warmup=1, steps=2, sync="end").of("steps")[0]


def test_what_was_done_between_two_steps_on_purpose_is_no_device_time_either():
    clock, sent = FakeClock(step=0.0), Sent()
    device = Device(clock, seconds=0.25)
    watch = Watch(cell(warmup=1, steps=2), device.sync, None, sent, clock, DeviceClock(device, 1.0))
    for pause in (0.0, 0.0, 7.0):
        if pause:
            clock.advance(pause)
            watch.resumed()
        device.issue()
        watch.stepped(None)
    assert [0.25, 0.25] == sent.of("steps")[0]["device_seconds"]


def test_what_a_step_of_inference_gave_is_not_held():
    class Logits:
        """Something that can be referred to weakly."""

    watch = Watch(cell(steps=3, warmup=0), lambda handle: None, None, Sent(), FakeClock())
    logits = Logits()
    seen = weakref.ref(logits)
    watch.stepped(logits)
    del logits
    assert seen() is None


def endless(pass_steps=0, **values):
    """(events, device, steps taken) of an open cell, which is asked for far more steps of 0.25 s than it wants."""
    clock, sent = FakeClock(step=0.0), Sent()
    device = Device(clock, 0.25)
    watch = Watch(cell(**values), device.sync, lambda handle: handle, sent, clock, pass_steps=pass_steps)
    for count in range(1, 10000):
        device.issue()
        try:
            watch.stepped(1.0)
        except Over:
            return sent, device, count
    raise AssertionError("it never ended")


def blocks_of(**values):
    """(events, device) of steps of 1/64 s with sync=blocks."""
    clock, sent = FakeClock(step=0.0), Sent()
    device, asked = Device(clock, 1 / 64), cell(sync="blocks", **values)
    watch = Watch(asked, device.sync, lambda handle: handle, sent, clock)
    for _ in range(asked.warmup + asked.steps):
        device.issue()
        watch.stepped(1.0)
    return sent, device


def test_a_warm_up_that_is_to_be_steady_ends_so_and_says_it():
    sent, _, taken = endless(warm="steady", warmup=0, steps=5)
    assert ["steady"] == [line["ended"] for line in sent.of("warm")]
    assert (10, 15) == (len(sent.of("warm")[0]["seconds"]), taken)


def test_timed_steps_last_as_long_as_the_cell_says():
    sent, _, _ = endless(warmup=1, steps=5, seconds=3.0)
    assert 12 == sum(len(block["seconds"]) for block in sent.of("steps"))       # of 0.25 s


def test_steps_are_never_fewer_than_the_cell_says():
    assert 1 + 20 == endless(warmup=1, steps=20, seconds=3.0)[2]


def test_a_fixed_number_of_steps_ends_without_a_word():
    sent, _, _ = watched([1.0] * 3, warmup=1, steps=2)            # Over would have been raised
    assert 2 == sum(len(block["seconds"]) for block in sent.of("steps"))


def test_blocks_wait_for_the_device_once_a_tenth_of_a_second():
    sent, device, _ = watched([1.0] * 6, warmup=2, steps=4, sync="blocks")
    assert [[1], [1], [1], [1]] == [[count] for block in sent.of("steps") for count in block["counts"]]
    assert 6 == device.syncs                                      # steps of 0.375 s are blocks themselves


def test_a_block_has_as_many_short_steps_as_last_a_tenth_of_a_second():
    sent, device = blocks_of(warmup=4, steps=21)
    assert [7, 7, 7] == [count for block in sent.of("steps") for count in block["counts"]]      # 7 / 64 s = 0.109 s
    assert [7 / 64] * 3 == [each for block in sent.of("steps") for each in block["seconds"]]
    assert 4 + 3 == device.syncs


def test_the_last_block_is_cut_where_the_steps_end():
    sent, _ = blocks_of(warmup=4, steps=10)
    assert [7, 3] == [count for block in sent.of("steps") for count in block["counts"]]
    assert [10] == [block["count"] for block in sent.of("steps")]


def test_blocks_grow_where_steps_that_nobody_waits_for_are_shorter_than_those_of_the_warm_up():
    clock, sent = FakeClock(step=0.0), Sent()
    device = Device(clock, 1 / 8)                                 # a step is a block
    watch = Watch(cell(warmup=2, steps=9, sync="blocks"), device.sync, None, sent, clock)
    for count in range(11):
        device.seconds = 1 / 8 if count < 2 else 1 / 32
        device.issue()
        watch.stepped(None)
    # 1 / 32 s is less than 0.1 s: 1 * 0.1 * 32 = 3.2, so four steps from then on
    assert [1, 4, 4] == [count for block in sent.of("steps") for count in block["counts"]]


def test_one_sync_at_the_end_sends_the_times_of_its_parts():
    sent, device, _ = watched([1.0] * 104, warmup=4, steps=100, sync="end")
    block, = sent.of("steps")
    assert [5] * 20 == block["blocks"]["counts"]
    assert sum(block["blocks"]["seconds"]) == pytest.approx(block["seconds"][0]) and 1 == len(block["seconds"])
    assert 1 + 20 == device.syncs                                 # the warm-up's, and one a part


def test_parts_that_the_device_s_clock_times_are_not_waited_for():
    clock, sent = FakeClock(step=0.0), Sent()
    device = Device(clock, seconds=0.25)
    watch = Watch(cell(warmup=1, steps=40, sync="end"), device.sync, None, sent, clock, device=DeviceClock(device, 1.0))
    for _ in range(41):
        device.issue()
        watch.stepped(None)
    assert 2 == device.syncs and [2] * 20 == sent.of("steps")[0]["blocks"]["counts"]


def test_a_part_that_is_not_full_when_the_steps_end_is_a_part_too():
    sent, _, _ = watched([1.0] * 45, warmup=2, steps=43, sync="end")
    assert [2] * 21 + [1] == sent.of("steps")[0]["blocks"]["counts"]


def test_the_parts_of_one_sync_at_the_end_have_the_device_s_seconds_too():
    sent = seen_by_both(warmup=1, steps=2, sync="end")
    blocks = sent.of("steps")[0]["blocks"]
    assert [1, 1] == blocks["counts"] and 2 == len(blocks["device_seconds"])


def test_a_warm_up_that_is_to_be_steady_is_waited_for_step_by_step_even_with_one_sync_at_the_end():
    sent, device, _ = endless(warm="steady", warmup=0, steps=4, sync="end")
    assert 10 + 4 == device.syncs and "steady" == sent.of("warm")[0]["ended"]       # the four are parts


def timed(sent):
    """The timed steps that were sent."""
    return sum(block.get("count", len(block["seconds"])) for block in sent.of("steps"))


@pytest.mark.parametrize("sync", ["each", "end", "blocks"])
def test_timed_steps_over_unequal_batches_are_whole_passes_wherever_the_warm_up_ended(sync):
    # two seconds are eight steps of 0.25 s; a pass has ten
    assert [10, 10] == [timed(endless(10, warmup=warmup, steps=5, seconds=2.0, sync=sync)[0]) for warmup in (1, 4)]
    assert [12, 20] == [timed(endless(count, warmup=1, steps=5, seconds=2.6, sync=sync)[0]) for count in (12, 10)]


def test_a_pass_that_would_take_too_long_is_cut_and_the_record_says_so():
    sent, _, _ = endless(1000, warmup=1, steps=5, seconds=2.0)
    assert 240 == timed(sent)                                      # a minute
    assert [True] == [block["is_part_of_pass"] for block in sent.of("steps") if "is_part_of_pass" in block]
    assert sent[-1]["is_part_of_pass"]


def test_programs_that_are_compiled_within_timed_steps_are_told_with_those_steps():
    clock, sent, made = FakeClock(step=0.0), Sent(), [1]
    device = Device(clock, seconds=0.25)

    def value(loss):
        made[0] += 1                     # a program that reads a loss is of no step
        return loss

    watch = Watch(cell(warmup=2, steps=10), device.sync, value, sent, clock, programs=lambda: made[0])
    for step in range(12):
        made[0] += step in (0, 1, 8)     # shapes: two are met in warm-up, one in the second block of five steps
        device.issue()
        watch.stepped(1.0)

    assert [None, 1] == [block.get("compiled") for block in sent.of("steps")]
    assert [5, 5] == [len(block["seconds"]) for block in sent.of("steps")]


def test_whole_passes_and_a_fixed_number_of_steps_are_no_part_of_a_pass():
    assert not any("is_part_of_pass" in block for block in endless(10, warmup=1, steps=5, seconds=2.0)[0])
    assert not any("is_part_of_pass" in block for block in watched([1.0] * 4, warmup=1, steps=3)[0])


def test_losses_and_phases_of_very_many_steps_are_sent_ahead_in_parts(monkeypatch):
    monkeypatch.setattr(watching, "MOST_VALUES", 3)
    sent, _, _ = watched([float(count) for count in range(1, 9)], warmup=1, steps=7, sync="end")
    assert [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0], [8.0]] == [line["loss"] for line in sent.of("values")]
    assert [[0.125] * 3, [0.125] * 3, [0.125]] == [line["phases"]["load"] for line in sent.of("values")]
    block, = sent.of("steps")
    assert 7 == block["count"] and not {"loss", "phases"} & set(block)


def led(taken, **values):
    """(watch, events) of a worker of many, which has taken so many steps of 0.25 s."""
    clock, sent = FakeClock(step=0.0), Sent()
    device = Device(clock, 0.25)
    watch = Watch(cell(nodes=3, parallel="sync", **values), device.sync, lambda handle: handle, sent, clock)
    take(watch, device, taken)
    return watch, sent, device


def take(watch, device, steps):
    for _ in range(steps):
        device.issue()
        watch.stepped(1.0)


def test_a_worker_of_many_ends_its_warm_up_when_it_is_told_and_says_when_it_would():
    watch, sent, device = led(1, warm="steady", warmup=0, steps=5)
    assert 9 == watch.left()
    take(watch, device, 9)
    assert ("steady", 5, []) == (ENDS[-watch.left()], watch.timed_steps(), sent.of("warm"))
    take(watch, device, 2)
    watch.begin("limit", 3)
    assert [("limit", 12)] == [(line["ended"], len(line["seconds"])) for line in sent.of("warm")]


def test_a_worker_of_many_times_the_agreed_steps_and_is_not_torn_out_of_its_loop():
    watch, sent, device = led(2, warmup=2, seconds=2.0, steps=5)
    assert (0, 8) == (watch.left(), watch.timed_steps())    # "fixed" is over, and eight steps are two seconds
    watch.begin("fixed", 6)
    take(watch, device, 6)                                         # Over would have been raised
    assert 6 == timed(sent)


def test_workers_whose_cell_has_no_warm_up_take_a_step_to_agree_by():
    watch, _, _ = led(1, warmup=0, seconds=2.0, steps=5)
    assert (0, 8) == (watch.left(), watch.timed_steps())


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


def test_a_very_long_warm_up_is_sent_in_parts_of_which_the_last_says_why_it_ended(monkeypatch):
    monkeypatch.setattr(watching, "MOST_VALUES", 3)
    told = [(len(line["seconds"]), line.get("ended")) for line in watched([1.0] * 8, warmup=7, steps=1)[0].of("warm")]
    assert [(3, None), (3, None), (1, "fixed")] == told
    told = [(len(line["seconds"]), line.get("ended")) for line in watched([1.0] * 7, warmup=6, steps=1)[0].of("warm")]
    assert [(3, None), (3, "fixed")] == told
