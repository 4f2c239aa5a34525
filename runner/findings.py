"""What somebody who looks at what measuring needs says of one thing."""

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing, and the command that mends what is lacking."""

    what: str
    grade: str          # good, note: results say so, fails: nothing can be measured
    found: str
    mend: str = ""
