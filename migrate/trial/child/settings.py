"""What the command tells the processes of a program of one side, as JSON."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """How this side of the trial runs."""

    folder: str  #: of the trial; what lies in it is thrown away
    side: str  #: the folder of this side, which its processes write to
    steps: int  #: training steps after which the program is ended
    block: int  #: steps of a turn; 0: there are no turns
    counts_ids: bool  #: whether this side looks at ids before they are hashed
