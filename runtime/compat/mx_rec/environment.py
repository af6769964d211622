"""Rec SDK's environment variables, checked at install as its import does; most have no effect here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from runtime._validation import MAX_INT32

_NUMBERS: Mapping[str, tuple[int, int]] = {
    "USE_COMBINE_FAAE": (0, 1),
    "HD_CHANNEL_SIZE": (2, 8192),
    "KEY_PROCESS_THREAD_NUM": (1, 10),
    "MAX_UNIQUE_THREAD_NUM": (1, 8),
    "FAST_UNIQUE": (0, 1),
    "HOT_EMB_UPDATE_STEP": (1, 1000),
    "RECORD_KEY_COUNT": (0, 1),
    "SSD_SAVE_COMPACT_LEVEL": (0, 2),
    "USE_SHM_SWAP": (0, 1),
    "HUGE_TLB_ENABLE": (0, 1),
    "AclTimeout": (-1, MAX_INT32),
    "GLOG_stderrthreshold": (-2, 2),
}
_NAMES: Mapping[str, tuple[str, ...]] = {
    "TF_DEVICE": ("NPU", "GPU", "CPU", "NONE"),
    "MXREC_LOG_LEVEL": ("DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL"),
}


def check() -> None:
    """Check the variables that are set.

    Raises:
        ValueError: one has a value that Rec SDK does not accept.
    """
    for name, (low, high) in _NUMBERS.items():
        text = os.environ.get(name)
        if text is not None and not (text.lstrip("-").isdecimal() and low <= int(text) <= high):
            raise ValueError(f"the environment variable {name} must be an integer from {low} to {high}: got {text!r}")
    for name, allowed in _NAMES.items():
        if os.environ.get(name, allowed[0]) not in allowed:
            raise ValueError(
                f"the environment variable {name} must be one of {', '.join(allowed)}: got {os.environ[name]!r}"
            )


def log_level() -> str:
    """Return the level of `mx_rec.util.log.logger`."""
    return os.environ.get("MXREC_LOG_LEVEL", "INFO")


def combines_counters() -> bool:
    """Whether tables that admit ids by count share one count per id."""
    return os.environ.get("USE_COMBINE_FAAE") == "1"
