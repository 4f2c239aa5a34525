"""A Slurm that tests script: what its commands answer, and which were given."""

from collections.abc import Sequence
from pathlib import Path

SINFO = """slurm1|idle|4|16000|gpu:a100:2(S:0-1)|lab*
slurm2|mixed|4|16000|gpu:a100:2|lab*
slurm3|idle|2|7000|(null)|lab*
big1|allocated|64|256000|(null)|big
"""


def shown(state: str, nodes: str = "slurm[1-3]", name: str = "bash", exit: str = "0:0", reason: str = "None") -> str:
    """A line of `scontrol show job -o`, as Slurm 22.05 says it."""
    return (f"JobId=7 JobName={name} UserId=root(0) JobState={state} Reason={reason} Requeue=0 ExitCode={exit} "
            f"RunTime=00:00:01 Partition=lab ReqNodeList=(null) NodeList={nodes} BatchHost=slurm1 NumNodes=3\n")


class FakeSlurm:
    """Called as clusters.slurm.commands calls commands."""

    def __init__(self, sinfo: str = SINFO) -> None:
        self.sinfo = sinfo
        self.answers = True                        # whether the controller does
        self.refusal = ""                          # of sbatch
        self.jobs: dict[str, str] = {}             # what scontrol shows, by id
        self.accounted: dict[str, str] = {}        # what sacct says, by id
        self.given: list[list[str]] = []
        self.next_state = "RUNNING"

    def __call__(self, words: Sequence[str]) -> tuple[int, str, str]:
        self.given.append(list(words))
        if not self.answers:
            return 1, "", f"{words[0]}: error: Unable to contact slurm controller (connect failure)"
        return getattr(self, f"_{words[0]}")(list(words))  # type: ignore[no-any-return]

    def _sinfo(self, words: list[str]) -> tuple[int, str, str]:
        if words == ["sinfo", "--version"]:
            return 0, "slurm-wlm 22.05.8\n", ""
        if "-n" in words:
            names = self._hostnames(words[words.index("-n") + 1])
            return 0, "".join(line for line in self.sinfo.splitlines(True) if line.split("|")[0] in names), ""
        return 0, self.sinfo, ""

    def _hostnames(self, where: str) -> list[str]:
        return [f"slurm{number}" for number in (1, 2, 3)] if where == "slurm[1-3]" else where.split(",")

    def _scontrol(self, words: list[str]) -> tuple[int, str, str]:
        if words[1:3] == ["show", "hostnames"]:
            return 0, "\n".join(self._hostnames(words[3])) + "\n", ""
        if words[1:3] == ["show", "config"]:
            return 0, "AccountingStorageType   = accounting_storage/none\nProctrackType = proctrack/linuxproc\n", ""
        if words[4] in self.jobs:
            return 0, self.jobs[words[4]], ""
        return 1, "", "slurm_load_jobs error: Invalid job id specified"

    def _sacct(self, words: list[str]) -> tuple[int, str, str]:
        id = words[words.index("-j") + 1]
        if id in self.accounted:
            return 0, self.accounted[id], ""
        return 1, "", "Slurm accounting storage is disabled"

    def _sbatch(self, words: list[str]) -> tuple[int, str, str]:
        if self.refusal:
            return 1, "", self.refusal
        id = str(7 + len(self.jobs))
        name = next(word.partition("=")[2] for word in words if word.startswith("--job-name="))
        self.jobs[id] = shown(self.next_state, name=name)
        return 0, f"{id};cluster\n", ""

    def _scancel(self, words: list[str]) -> tuple[int, str, str]:
        for id in set(words) & self.jobs.keys():
            self.jobs[id] = self.jobs[id].replace("JobState=RUNNING", "JobState=CANCELLED").replace(
                "JobState=PENDING", "JobState=CANCELLED")
        return 0, "", ""

    def of(self, command: str) -> list[list[str]]:
        """The words of every such command that was given."""
        return [words for words in self.given if words[0] == command]


def wrote(folder: Path, place: str, lines: bytes, exit: str = '{"code": 0, "last_words": ""}') -> None:
    """What a place's node leaves in a run's folder."""
    (folder / f"{place}.node").write_text('{"host": "slurm1", "memory_limited_by": "group"}')
    (folder / f"{place}.lines").write_bytes(lines)
    if exit:
        (folder / f"{place}.exit").write_text(exit)
