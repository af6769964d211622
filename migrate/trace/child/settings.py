"""What the command tells the processes of the program, as JSON in an environment variable."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

#: The variable that has the settings; a Python process without it is not traced.
VARIABLE = "RECMIGRATE_TRACE"
#: The name of this package in the processes of the program.
NAME = "_recmigrate_tracer"


class Settings(NamedTuple):
    """Where the program lies, how long it runs, and where to write."""

    root: str  #: files below this directory are the program
    parts: str  #: the directory that each process writes its part of the record to
    steps: int  #: training steps after which the program is ended; 0: never
    header: dict[str, Any]  #: format and version of a record

    def text(self) -> str:
        """Return the value of the environment variable."""
        return json.dumps(self._asdict(), sort_keys=True)


def given_settings() -> Settings | None:
    """Return what the environment says; None if this process is not to be traced."""
    text = os.environ.get(VARIABLE)
    return Settings(**json.loads(text)) if text else None
