"""For how long each operator ran by the wall, where several run at once and some call others.

Python 3.6 and later, standard library only. Moments are whole nanoseconds of any clock.
"""
import itertools
from typing import NamedTuple

# what a recorder calls the spans of the thread that takes the steps, and of a framework's own work between operators
INPUT, HOST = "input", "host/"
PYTHON, WAITING = HOST + "python", HOST + "waiting"
_WAITS = ("wait", "Wait", "BlockUntilReady")


class Operator(NamedTuple):
    """One call of an operator."""

    thread: object
    name: str
    began: int
    ended: int


def walls(operators):
    """{name: seconds}: each moment belongs to the innermost operator of its thread, or in parts to those of several.

    What a host does counts while no operator runs, and that it waits where nothing else does. So the seconds add up
    to the time in which anything ran.
    """
    pieces = [piece for own in _by_thread(operators) for piece in innermost(own)]
    moments = sorted([(piece.began, 1, piece.name) for piece in pieces]
                     + [(piece.ended, -1, piece.name) for piece in pieces])
    running, spent, before = {}, {}, 0
    for moment, change, name in moments:
        first = min(map(_rank, running)) if running else 0
        counted = {each: times for each, times in running.items() if _rank(each) == first}
        for each, times in counted.items():
            spent[each] = spent.get(each, 0.0) + (moment - before) * times / sum(counted.values())
        running[name] = running.get(name, 0) + change
        if not running[name]:
            del running[name]
        before = moment
    return {name: nanoseconds / 1e9 for name, nanoseconds in spent.items() if nanoseconds}


def _rank(name):
    return (1 + any(word in name for word in _WAITS)) if name.startswith(HOST) else 0


def _is_host(operator):
    return operator.name.startswith(HOST)


def of_operators(found):
    """Those that are a framework's operators."""
    return [each for each in found if each.name != INPUT and not _is_host(each)]


def last_step(found):
    """(names, spans) of what ran since the last wait but one ended: [thread, its name's place, when it began, how long]

    of each, in nanoseconds.
    """
    waits = sorted(each.ended for each in found if each.name == WAITING)
    began = waits[-2] if len(waits) > 1 else min([each.began for each in found] or [0])
    those = sorted((each for each in found if each.began >= began), key=lambda each: each.began)
    names, threads = {}, {}
    spans = [[threads.setdefault(str(each.thread), len(threads)), names.setdefault(each.name, len(names)),
              each.began - began, each.ended - each.began] for each in those]
    return list(names), spans


def innermost(operators):
    """The operators of one thread as pieces that follow one another: what calls others is cut up around them.

    What a host does within an operator is the operator's.
    """
    pieces, open_ones, reached = [], [], 0
    for operator in sorted(operators, key=lambda each: (each.began, -each.ended)) + [None]:
        began = operator.began if operator else float("inf")
        while open_ones and open_ones[-1].ended <= began:
            last = open_ones.pop()
            if last.ended > reached:
                pieces.append(last._replace(began=max(reached, last.began)))
                reached = last.ended
        if operator and _is_host(operator) and not all(map(_is_host, open_ones)):
            continue                                       # the operator's own work, as TensorFlow's ParallelFor
        if operator and open_ones and began > reached:
            pieces.append(open_ones[-1]._replace(began=max(reached, open_ones[-1].began), ended=began))
        if operator:
            reached = max(reached, began)  # type: ignore[assignment]
            open_ones.append(operator)
    return [piece for piece in pieces if piece.ended > piece.began]


def within(beginning, prefix, operators):
    """The operators, with the prefix before the names of those that run while their thread is in another named so."""
    found = []
    for own in _by_thread(operators):
        around = [each for each in own if each.name.startswith(beginning)]
        found += [each._replace(name=prefix + each.name) if any(
            one is not each and one.began <= each.began and each.ended <= one.ended for one in around) else each
            for each in own]
    return found


def _by_thread(operators):
    ordered = sorted(operators, key=lambda each: str(each.thread))
    return [list(own) for _, own in itertools.groupby(ordered, key=lambda each: str(each.thread))]
