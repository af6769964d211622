"""What the native engine has to say besides errors: warnings of the logger `runtime`, from the thread of the op."""

from __future__ import annotations

import atexit
import ctypes
import logging
from pathlib import Path

__all__ = ["listen"]

_log = logging.getLogger("runtime")


def _tell(text: bytes) -> None:
    _log.warning("%s", text.decode(errors="replace"))


#: As the library calls it; kept, since the library has but its address.
_listener = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(_tell)


def listen(library: Path) -> None:
    """Log what the loaded `library` has to say, until Python ends: its threads may outlive that."""
    tell = ctypes.CDLL(str(library)).recmigrate_listen
    tell.restype, tell.argtypes = None, [ctypes.c_void_p]
    tell(ctypes.cast(_listener, ctypes.c_void_p))
    atexit.register(tell, None)
