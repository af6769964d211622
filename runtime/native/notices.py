"""Logs notices of the native engine as warnings of the logger `runtime`, from the thread of the op."""

from __future__ import annotations

import atexit
import ctypes
import logging
from pathlib import Path

__all__ = ["listen"]

_log = logging.getLogger("runtime")


def _tell(text: bytes) -> None:
    _log.warning("%s", text.decode(errors="replace"))


#: The callback that the library calls; referenced here because the library only has its address.
_listener = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(_tell)


def listen(library: Path) -> None:
    """Log the notices of the loaded `library` until Python ends; its threads may live longer."""
    tell = ctypes.CDLL(str(library)).recmigrate_listen
    tell.restype, tell.argtypes = None, [ctypes.c_void_p]
    tell(ctypes.cast(_listener, ctypes.c_void_p))
    atexit.register(tell, None)
