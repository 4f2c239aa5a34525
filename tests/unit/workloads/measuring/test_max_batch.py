"""The largest batch that trains: the search, and how a trial's process ends; trials are small scripts here."""
import subprocess
import sys

import pytest

from tests.lifetimes import eventually, is_gone
from tests.sent import Sent
from workloads.measuring import max_batch
from workloads.spec.cell import Cell

CELL = Cell(stack="s", task="lenet5", measure="max_batch", batch=8, memory_bytes=2 ** 30)


def searched(first, largest):
    """What a search finds where batches up to the largest train, and what it tried."""
    tried = []
    return max_batch.search(first, lambda batch: tried.append(batch) or batch <= largest), tried


@pytest.mark.parametrize(("first", "largest", "found", "tried"), [
    (4, 21, (21, 22), [4, 8, 16, 32, 24, 20, 22, 21]), (8, 3, (3, 4), [8, 4, 2, 3]), (8, 0, (0, 1), [8, 4, 2, 1]),
    (2 ** 15, 2 ** 40, (2 ** 16, None), [2 ** 15, 2 ** 16])])
def test_batches_are_doubled_or_halved_and_then_bisected_to_the_last_one_that_trains(first, largest, found, tried):
    assert (found, tried) == searched(first, largest)


def test_large_batches_are_known_to_one_part_in_thirty_two():
    (largest, smallest), tried = searched(1, 1000)
    assert 1000 - 1000 // 32 <= largest <= 1000 < smallest <= largest + largest // 32
    assert 11 + 5 == len(tried)


def tried(script, is_first=False):
    """A trial whose command runs the script instead of training, and what it sent."""
    sent, begin = [], "import json, os, signal, sys\nbatch = json.loads(sys.argv[1])['batch']\n"
    trial = max_batch.trial(CELL, "/data", lambda event, **values: sent.append((event, values)), is_first,
                            (sys.executable, "-c", begin + script))
    return trial, sent


END = "print(json.dumps({'event': 'end', 'status': %r, 'message': 'so', 'peak_bytes': batch}))"


@pytest.mark.parametrize(("script", "ending", "message"), [
    (END % "ok", "ok", ""),
    (END % "oom", "oom", "so"),
    ("os.kill(os.getpid(), signal.SIGKILL)", "oom", "exit code -9"),
    ("sys.stderr.write('terminate: std::bad_alloc'); sys.stderr.flush(); os.abort()", "oom", "bad_alloc"),
    ("sys.stderr.write('assertion'); sys.stderr.flush(); os.abort()", "error", "exit code -6; last words: assertion"),
    ("sys.exit(3)", "error", "exit code 3")])
def test_a_trial_ends_with_its_own_word_or_with_what_killed_it(script, ending, message):
    trial, _ = tried(script)
    assert (8, ending) == (trial.batch, trial.ending) and message in trial.message
    assert trial.peak_bytes == (8 if "print" in script else None)


def test_of_what_trials_tell_the_first_start_is_passed_on_and_the_rest_as_beats():
    lines = "for name in ('start', 'warm'): print(json.dumps({'event': name, 'facts': {'a': 1}}))"
    assert [("start", {"facts": {"a": 1}}), ("beat", {})] == tried(lines, is_first=True)[1]
    assert [("beat", {}), ("beat", {})] == tried(lines)[1]


def measured(endings, **changes):
    """The ending and the event of a measurement whose trials end so by batch."""
    sent = Sent()
    ending = max_batch.measure(CELL._replace(**changes), "/data", sent, lambda cell, folder, emit, is_first:
                               max_batch.Tried(cell.batch, endings(cell.batch), "why", 1.0, None))
    return ending, sent


def test_every_batch_that_was_tried_and_the_limit_are_told():
    ending, [event] = measured(lambda batch: "ok" if batch <= 8 else "oom")
    assert ("ok", "") == ending
    assert (8, 9, 2 ** 30) == (event["largest"], event["smallest_oom"], event["limit_bytes"])
    assert [(8, "ok"), (16, "oom"), (12, "oom"), (10, "oom"), (9, "oom")] == [
        (each["batch"], each["ending"]) for each in event["tried"]]


@pytest.mark.parametrize(("endings", "changes", "expected"), [
    (lambda batch: "not_finite" if batch <= 8 else "oom", {}, ("ok", "")),                  # it has fitted into memory
    (lambda batch: "ok" if batch < 16 else "unsupported", {}, ("unsupported", "batch 16: why")),
    (lambda batch: "ok", {"memory_bytes": 0}, ("unsupported", "max_batch on a CPU needs a limit: say memory_bytes"))])
def test_what_is_no_matter_of_memory_ends_the_search_and_a_cpu_needs_a_limit(endings, changes, expected):
    assert expected == measured(endings, **changes)[0]


def test_where_nothing_fits_the_run_itself_is_out_of_memory():
    ending, [event] = measured(lambda batch: "oom")
    assert (("oom", "not even one sample trains"), 0) == (ending, event["largest"])


def test_a_trial_ends_with_a_search_that_is_killed(tmp_path):
    pid_file = str(tmp_path / "pid")
    trial = ("import os, time; from pathlib import Path; "
             f"Path({pid_file!r}).write_text(str(os.getpid())); time.sleep(60)")
    search = ("import sys; from workloads.measuring import max_batch; from workloads.spec.cell import Cell; "
              "max_batch.trial(Cell(stack='s', task='lenet5', measure='train'), '/data', print, False, "
              f"(sys.executable, '-c', {trial!r}))")
    process = subprocess.Popen([sys.executable, "-c", search])
    pid = int(eventually(lambda: (tmp_path / "pid").read_text()))
    process.kill()
    process.wait()

    assert is_gone(pid)
