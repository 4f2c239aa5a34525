"""How workers that train together agree on the number of their steps."""
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest

from tests.clock import FakeClock
from tests.sent import Sent
from tests.stack.places import PORTS, free_port
from workloads.frameworks import contract
from workloads.measuring import measures
from workloads.measuring.turns import TurnsTogether
from workloads.places import agreement, cluster
from workloads.spec.cell import Cell


def clusters(cell):
    """The Cluster of each of three workers of a run on this machine."""
    first = free_port(3 * PORTS)
    nodes = ",".join(f"127.0.0.1:{first + PORTS * rank}" for rank in range(3))
    return [cluster.read(cell._replace(nodes=3), "pytorch", {"EVENBENCH_NODES": nodes, "EVENBENCH_RANK": str(rank)})
            for rank in range(3)]


def together(*jobs):
    """What each job returns, all of them at once."""
    with ThreadPoolExecutor() as pool:
        return [each.result(60) for each in [pool.submit(job) for job in jobs]]


CELL = Cell(stack="s", task="lenet5", measure="train", nodes=3, parallel="allreduce")


def test_all_workers_have_the_numbers_of_the_first_one():
    def saying(place, numbers):
        agreed = agreement.open_for(place)
        try:
            return [agreed.say(number) for number in numbers]
        finally:
            agreed.close()

    first, second, third = clusters(CELL)
    assert [[3, -1, 500]] * 3 == together(
        lambda: saying(first, [3, -1, 500]), lambda: saying(second, [7, 7, 7]), lambda: saying(third, [0, 0, 0]))


def test_a_leader_that_is_gone_ends_the_others():
    with socket.create_server(("127.0.0.1", 0)) as door:
        follower = agreement.Follower(*door.getsockname())
        leaving = threading.Thread(target=lambda: door.accept()[0].close(), daemon=True)
        leaving.start()
        with pytest.raises(OSError, match="went away"):
            follower.say(1)
        leaving.join(60)
        follower.close()


def test_a_leader_that_never_comes_is_given_up():
    follower = agreement.Follower("127.0.0.1", free_port(1), clock=FakeClock(40.0), wait=lambda seconds: None)
    with pytest.raises(OSError):
        follower.say(1)


class Workload(contract.Images):
    """One that only tells the watch, and keeps how many steps it was asked for at a time."""

    def __init__(self):
        self.asked = []

    def train(self, batches, count, watch):
        self.asked.append(count)
        for _ in range(count):
            watch.stepped(1.0)

    def value(self, handle):
        return handle

    def weights(self):
        return {}


def trained(cell, place, *how):
    """(steps asked for, [(event, its steps) that was sent]) of a worker."""
    workload, sent = Workload(), Sent()
    measures.train(cell, None, workload, SimpleNamespace(inputs=((), ()), steps=1), "", sent, place, *how)
    return workload.asked, [(line["event"], len(line["seconds"])) for line in sent if "seconds" in line]


def timed(sent):
    return sum(steps for event, steps in sent if event == "steps")


def test_workers_that_train_together_take_as_many_steps_each_and_a_steady_warm_up_is_as_long_for_all():
    for changes in ({"warmup": 4, "steps": 20, "seconds": 0.01}, {"warmup": 1, "warm": "steady", "steps": 3}):
        cell = CELL._replace(**changes)
        answers = [(asked, timed(sent)) for asked, sent in together(*(
            partial(trained, cell, place) for place in clusters(cell)))]

        assert answers[0] == answers[1] == answers[2]
        asked, steps = answers[0]
        if cell.warm == "steady":
            assert 1 == asked[0] and len(asked) > 2 and 3 == steps
        else:
            assert [4, steps] == asked and steps >= 20


class Runner:
    """Says its words one after the other."""

    def __init__(self, *words):
        self.next = iter(map(str.split, words)).__next__

    def wait(self, at):
        return self.next()


def test_workers_that_take_turns_together_take_as_many_steps_each():
    cell = CELL._replace(warmup=4, seconds=0.01)
    gates = [Runner("go", "turn 0.03 0.001 7", "turn 0 0.001 3", "end") for _ in range(3)]
    answers = together(*(partial(trained, cell, place, partial(TurnsTogether, gate, ()))
                         for place, gate in zip(clusters(cell), gates, strict=True)))

    assert answers[0] == answers[1] == answers[2]
    asked, sent = answers[0]
    assert [1, 3, sent[2][1]] == [*asked[:2], asked[-1]]
    assert ("warm", 4) == sent[0] and sent[1][1] >= 7 and sent[2][1] >= 3


def test_a_fixed_number_of_steps_is_asked_for_at_once_and_nobody_is_asked():
    asked, sent = trained(CELL._replace(warmup=4, steps=20), None)
    assert ([4 + 20], 20) == (asked, timed(sent))
    assert 5 == agreement.open_for(None).say(5)
