"""Installs the rewriter in a process of the program, and says on standard error what came of it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from multiprocessing import util
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
    _write(settings, {"entered": True})
    try:
        import rewriter

        installed = rewriter.install(**settings["install"])
    except Exception as error:
        log.warning("this process trains without tables: %s", error)
        _write(settings, {"entered": True, "failed": str(error)})
        return
    ending = _Ending(installed, settings)
    os.register_at_fork(after_in_child=ending.begin)
    util.register_after_fork(ending, _Ending.begin)  # those of multiprocessing forget what was begun before


class _Ending:
    """Ends a process: `atexit` calls it, and multiprocessing, whose children leave `atexit` out."""

    def __init__(self, installed: Any, settings: dict[str, Any]) -> None:
        self._installed, self._settings, self._process = installed, settings, os.getpid()
        self.begin()

    def begin(self) -> None:
        """Begin a process, maybe a copy of another one."""
        self._known = self._moved()
        util.Finalize(None, self.end, exitpriority=-1)

    def end(self) -> None:
        """End it; a copy that moved nothing by itself has nothing to say."""
        if os.getpid() != self._process and self._moved() == self._known:
            return
        log, installed, failed = logging.getLogger("rewriter"), self._installed, False
        try:
            installed.finish()
        except Exception as error:
            failed = True
            log.warning("%s", error)
        if self._moved() != (0, 0) or not _others(self._settings):
            for line in installed.summary().splitlines():
                log.info("%s", line)
        proofs = [proof.ok for proof in installed.proofs] + [False] * failed
        known = {"tables": sorted(installed.tables), "stay": sorted(installed.stay)}
        _write(self._settings, known | {"proofs": proofs})
        sys.stderr.flush()

    def _moved(self) -> tuple[int, int]:
        return len(self._installed.plans), len(self._installed.layers.tables)


def _others(settings: dict[str, Any]) -> bool:
    """Return whether a process has ended before this one, which may only have started it."""
    with contextlib.suppress(OSError):
        return any(Path(settings["parts"]).iterdir())
    return False


def _write(settings: dict[str, Any], result: dict[str, Any]) -> None:
    """Tell the command what this process did; it has gone already if the process outlived it."""
    with contextlib.suppress(OSError):
        Path(settings["parts"], f"{os.getpid()}.json").write_text(json.dumps(result), encoding="utf-8")
