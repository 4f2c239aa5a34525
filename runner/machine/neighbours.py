"""Who else computes on this machine: the other process that took most of the CPUs since somebody last asked."""

import os
import pwd
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_SHARE = 0.05                  # of a CPU: less disturbs nobody
_TICKS = os.sysconf("SC_CLK_TCK")


class _Process(NamedTuple):
    """A process at a moment."""

    name: str
    session: int
    seconds: float             # of CPU that it took so far
    user: int


class Neighbours:
    """Processes that are none of ours, between two looks."""

    def __init__(self, proc: Path = _PROC, own_session: int | None = None) -> None:
        self._proc, self._own = proc, os.getsid(0) if own_session is None else own_session
        self._seen: dict[int, _Process] = {}
        self._uptime = 0.0

    def busiest(self) -> str:
        """"stress-ng of bob, 80 % of a CPU": who took most since the last look; "" at the first, and where none did."""
        before, began = self._seen, self._uptime
        self._uptime = float((self._proc / "uptime").read_text().split()[0])
        self._seen = {number: process for path in self._proc.iterdir() if path.name.isdecimal()
                      and (process := self._read(path)) for number in [int(path.name)]}
        took = {number: process.seconds - before[number].seconds for number, process in self._seen.items()
                if number in before and process.session != self._own}
        most = max(took, key=took.__getitem__, default=0)
        seconds = self._uptime - began
        if not before or seconds <= 0 or not most or took[most] < _SHARE * seconds:
            return ""
        process = self._seen[most]
        return f"{process.name} of {_user(process.user)}, {100 * took[most] / seconds:.0f} % of a CPU"

    @staticmethod
    def _read(path: Path) -> _Process | None:
        """The process; None of one that went meanwhile."""
        try:
            head, _, rest = (path / "stat").read_text(errors="replace").rpartition(")")
            fields = rest.split()
            return _Process(head.partition("(")[2], int(fields[3]), (int(fields[11]) + int(fields[12])) / _TICKS,
                            path.stat().st_uid)
        except (OSError, IndexError, ValueError):
            return None


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
