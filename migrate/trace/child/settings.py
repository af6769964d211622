"""What the command tells the processes of the program."""

from __future__ import annotations

from typing import Any, NamedTuple


class Settings(NamedTuple):
    """Where the program lies, and how long it runs."""

    root: str  #: files below this directory are the program
    steps: int  #: training steps after which the program is ended; 0: never
    header: dict[str, Any]  #: format and version of a record
