"""Installs the rewriter in a process of the program, and says on standard error what came of it."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any


def enter(settings: dict[str, Any]) -> None:
    """Install the rewriter with these settings; TensorFlow has just been imported."""
    log = logging.getLogger("rewriter")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("migrate run: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        import rewriter

        installed = rewriter.install(**settings["install"])
    except Exception as error:
        log.warning("this process trains without tables: %s", error)
        return
    _write(settings, {"entered": True})
    atexit.register(_end, installed, settings, os.getpid())


def _end(installed: Any, settings: dict[str, Any], process: int) -> None:
    if os.getpid() != process:  # a fork that ends by exit(): the process that it is a copy of says it
        return
    log = logging.getLogger("rewriter")
    failed = False
    try:
        installed.finish()
    except Exception as error:
        failed = True
        log.warning("%s", error)
    for line in installed.summary().splitlines():
        log.info("%s", line)
    result = {
        "tables": len(installed.tables),
        "stay": sorted(installed.stay),
        "proofs": [proof.ok for proof in installed.proofs] + [False] * failed,
    }
    _write(settings, result)
    sys.stderr.flush()


def _write(settings: dict[str, Any], result: dict[str, Any]) -> None:
    """Tell the command what this process did; it has gone already if the process outlived it."""
    with contextlib.suppress(OSError):
        Path(settings["parts"], f"{os.getpid()}.json").write_text(json.dumps(result), encoding="utf-8")
