"""Enters a process of the program: seeds what it does not seed, keeps its checkpoints apart, and watches its steps."""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import random
import sys
from typing import Any

from .noted import Noted
from .settings import Settings

#: What TensorFlow takes as the graph's seed where an op alone has one: an op with a seed draws as without ours.
_SEED = 87654321


def enter(settings: dict[str, Any]) -> None:
    """Prepare this process; TensorFlow has just been imported."""
    keras_steps = importlib.import_module("_recmigrate_trace.keras_steps")
    tape_steps = importlib.import_module("_recmigrate_trace.tape_steps")
    from .own_paths import OwnPaths
    from .watched import Watched

    own = Settings(**settings["trial"])
    noted = Noted(own)
    _seed_what_is_not()
    if settings["install"] is not None:
        _log_to(noted)
        try:
            import rewriter

            noted.installed = rewriter.install(**settings["install"])
        except Exception as error:
            noted.faults.append(f"the rewriter cannot be installed: {error}")
    watched = Watched(own, noted)
    OwnPaths(own.folder, lambda: watched.steps.count > 0).install()
    watched.install()
    keras_steps.install(watched)
    tape_steps.TapeSteps(watched).install()
    process = os.getpid()

    def end() -> None:
        if os.getpid() == process:  # else a fork that ends by exit()
            noted.finish()

    atexit.register(end)
    sys.excepthook = noted.failing(sys.excepthook)


def _seed_what_is_not() -> None:
    """Let both sides draw the same where the program does not set a seed; one that sets seeds is not affected."""
    import numpy as np
    from tensorflow.python.eager import context
    from tensorflow.python.framework import ops

    random.seed(0)
    np.random.seed(0)
    np.random.bit_generator.randbits = random.Random(0).getrandbits  # type: ignore[attr-defined]
    context.set_global_seed(_SEED)
    before: Any = ops.Graph.seed
    # Estimators set None on their graphs.
    ops.Graph.seed = property(lambda graph: _SEED if before.fget(graph) is None else before.fget(graph), before.fset)


def _log_to(noted: Noted) -> None:
    """Keep what the rewriter warns of, apart from the variables that stay, which it also returns."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: noted.warned.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("rewriter")
    log.addHandler(handler)
    log.propagate = False
