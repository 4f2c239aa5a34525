"""How workers that train together agree on the number of their steps."""
import contextlib
import itertools
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.sent import Sent
from workloads.frameworks import contract
from workloads.measuring import measures
from workloads.measuring.turns import TurnsTogether
from workloads.places import agreement, cluster
from workloads.spec.cell import Cell


def free_port():
    """One below those that the kernel gives to clients, so that none of them takes it meanwhile."""
    for port in range(20000 + os.getpid() % 1000 * 10, 32000):
        with contextlib.suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            return port
    raise OSError("found no free port")


def clusters(cell, count=3):
    """The Cluster of each worker of a run on this machine."""
    first = free_port() - cluster._OFFSETS["agreement"]
    nodes = ",".join(f"127.0.0.1:{first + 10 * rank}" for rank in range(count))
    return [cluster.read(cell._replace(nodes=count), "pytorch", {"EVENBENCH_NODES": nodes, "EVENBENCH_RANK": str(rank)})
            for rank in range(count)]


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
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    door.listen(1)
    follower = agreement.Follower(*door.getsockname())
    leaving = threading.Thread(target=lambda: door.accept()[0].close(), daemon=True)
    leaving.start()
    with pytest.raises(OSError, match="went away"):
        follower.say(1)
    leaving.join(60)
    follower.close()
    door.close()


def test_a_leader_that_never_comes_is_given_up():
    times = itertools.count(0, 40)
    follower = agreement.Follower("127.0.0.1", free_port(), clock=lambda: next(times), wait=lambda seconds: None)
    with pytest.raises(OSError):
        follower.say(1)


class Images:
    """What a worker reads."""

    inputs, steps = (), 1


class Workload(contract.Workload):
    """One that only tells the watch, and keeps how many steps it was asked for at a time."""

    def __init__(self):
        self.asked = []

    def batches(self):
        return iter(())

    def train(self, batches, count, watch):
        self.asked.append(count)
        for _ in range(count):
            watch.stepped(1.0)

    def sync(self, handle):
        """Nothing runs ahead."""

    def value(self, handle):
        return handle

    def weights(self):
        return {}


def trained(cell, place):
    """(steps asked for, timed steps that were sent) of a worker."""
    workload, sent = Workload(), []
    measures.train(cell, None, workload, Images(), "", lambda event, **values: sent.append((event, values)), place)
    return workload.asked, sum(len(values["seconds"]) for event, values in sent if event == "steps")


def test_workers_that_train_together_take_as_many_steps_each_and_a_steady_warm_up_is_as_long_for_all():
    for changes in ({"warmup": 4, "steps": 20, "seconds": 0.01}, {"warmup": 1, "warm": "steady", "steps": 3}):
        cell = CELL._replace(**changes)
        (asked, timed), *others = together(*(partial(trained, cell, place) for place in clusters(cell)))

        assert [(asked, timed)] * 2 == others
        if cell.warm == "steady":
            assert 1 == asked[0] and len(asked) > 2 and 3 == timed
        else:
            assert [4, timed] == asked and timed >= 20


class Runner:
    """Says its words one after the other."""

    def __init__(self, *words):
        self.next = iter(map(str.split, words)).__next__

    def wait(self, at):
        return self.next()


def by_turns(cell, place):
    """What a worker was asked for and what it sent, which takes two turns."""
    workload, sent = Workload(), Sent()
    gate = Runner("go", "turn 0.03 0.001 7", "turn 0 0.001 3", "end")
    measures.train(cell, None, workload, Images(), "", sent, place, partial(TurnsTogether, gate, ()))
    return workload.asked, [(line["event"], len(line["seconds"])) for line in sent if "seconds" in line]


def test_workers_that_take_turns_together_take_as_many_steps_each():
    cell = CELL._replace(warmup=4, seconds=0.01)
    answers = together(*(lambda place=place: by_turns(cell, place) for place in clusters(cell)))

    assert answers[0] == answers[1] == answers[2]
    asked, sent = answers[0]
    assert [1, 3, sent[2][1]] == [*asked[:2], asked[-1]]
    assert ("warm", 4) == sent[0] and sent[1][1] >= 7 and sent[2][1] >= 3


def test_a_fixed_number_of_steps_is_asked_for_at_once_and_nobody_is_asked():
    assert ([4 + 20], 20) == trained(CELL._replace(warmup=4, steps=20), None)
    assert 5 == agreement.open_for(None).say(5)
