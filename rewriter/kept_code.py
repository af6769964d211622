"""Keeps the code that builds ops from being freed.

`migrate` loads this file by its path into processes of programs, so it needs Python's library alone.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

#: Code that ran by `exec`, `eval` or an import, the last of it.
_code: deque[Any] = deque(maxlen=1 << 16)


def keep_code() -> None:
    """Keep the code that runs now, and what is executed from now on.

    TensorFlow reads the code objects of an op's stack when it is asked for it, and does not hold them: those of `eval`
    and of a module are gone by then, and the process dies.
    """
    if not _code:
        sys.addaudithook(lambda event, arguments: _code.append(arguments[0]) if event == "exec" else None)
    frame: Any = sys._getframe()
    while frame is not None:
        _code.append(frame.f_code)
        frame = frame.f_back
