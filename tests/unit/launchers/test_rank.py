"""Which of a cluster's processes this one is, as engines say it."""

import pytest

from runner.errors import InputError
from runner.launchers import rank
from runner.launchers.rank import Asked, Rank
from workloads.places import wire

SLURM = {"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3", "SLURM_STEP_NODELIST": "lab[07-09],other"}


ASKED = Asked("venv", 1, 2, "h:9")


@pytest.mark.parametrize(("asked", "environment", "expected"), [
    *((Asked(), environment, (*expected, wire.PORT)) for environment, expected in (
        (SLURM, (2, 3, "lab07")),
        ({**SLURM, "SLURM_STEP_NODELIST": "gpu-a,gpu-b"}, (2, 3, "gpu-a")),
        # mpirun in a job of Slurm: every process has the job's own rank, which is that of its script
        ({**SLURM, "SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}, (1, 3, "lab07")),
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "MASTER_ADDR": "10.0.0.7"}, (1, 2, "10.0.0.7")),
        ({"SKYPILOT_NODE_RANK": "0", "SKYPILOT_NUM_NODES": "2", "SKYPILOT_NODE_IPS": "10.0.0.1\n10.0.0.2"},
         (0, 2, "10.0.0.1")),
        ({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "head"}, (1, 2, "head")),
        ({"_CONDOR_PROCNO": "1", "_CONDOR_NPROCS": "2", "MASTER_ADDR": "head"}, (1, 2, "head")),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "LSB_HOSTS": "a b b"}, (1, 2, "a")))),
    # the command line goes before the engine, and says how many there are where that does not
    (ASKED, SLURM, (1, 2, "h", 9)), (Asked(head=":9"), SLURM, (2, 3, "lab07", 9)),
    (Asked(nodes=3, head="h"), {"JOB_COMPLETION_INDEX": "1"}, (1, 3, "h", wire.PORT)),
    # an agent that ssh started finds rank 0 where its caller is; with hosts this process is the first
    (Asked(rank=1, nodes=2, head=":5"), {"SSH_CONNECTION": "10.1.2.3 40000 10.1.2.4 22"}, (1, 2, "10.1.2.3", 5)),
    (rank.asked(["hosts=a+me@b"]), SLURM, (0, 3, "", 0))])
def test_the_rank_is_what_the_command_line_or_the_engine_says(
        asked: Asked, environment: dict[str, str], expected: tuple[int, int, str, int]) -> None:
    assert Rank(*expected) == rank.read(asked, environment)


def test_what_was_asked_is_said_in_words_and_read_again() -> None:
    assert ASKED == rank.asked(ASKED.words())


@pytest.mark.parametrize(("asked", "environment", "said"), [
    (Asked(), {}, "found no rank"), (Asked(), {"JOB_COMPLETION_INDEX": "1"}, "rank 1 of an unknown number"),
    (Asked(rank=3, nodes=3, head="h"), {}, "rank 3 of 3"),
    # a job of Grid Engine: its file is on the first node's disk, and ssh was how the user came to the cluster
    (Asked(), {"PMI_RANK": "1", "PMI_SIZE": "2", "PE_HOSTFILE": "/spool/1", "SSH_CONNECTION": "10.9.9.9 1 10.1.2.3 22"},
     "MASTER_ADDR"), (Asked(hosts=("a",), nodes=2), {}, "--hosts")])
def test_what_is_not_said_is_named(asked: Asked, environment: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        rank.read(asked, environment)


@pytest.mark.parametrize("word", ["rank=x", "fly", "hosts=", "hosts=a+-oProxyCommand=x", "head=a;b", "head=a:port"])
def test_a_word_that_says_nothing_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="--launcher inside: found"):
        rank.asked([word])
