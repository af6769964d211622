"""What both sides of an eager program do: they run it as a script, from equal seeds, until it has made its steps."""

from __future__ import annotations

import contextlib
import os
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.verify import program_files
from migrate.verify.program_files import code_of
from migrate.verify.recording import Moment

STAGE = "step"  #: in the report


class Enough(BaseException):
    """The program has made the steps that are compared; no handler of its own catches this."""


def run_script(job: Mapping[str, Any]) -> None:
    """Run the script of a job, until `Enough` is raised or it ends: in a copy of the original's folder, with its data.

    What lies beside the converted program is taken in place of what the original has.

    Raises:
        MigrateError: it ends with an error, or by `sys.exit` with a code other than 0.
    """
    file = Path(job["path"]).resolve()
    root, other = program_files.roots(Path(job["original"]).resolve(), file)
    here = program_files.enter(str(root), str(other) if other != root else None) / file.parent.relative_to(other)
    os.chdir(here)
    random.seed(job["seed"])
    np.random.seed(job["seed"])
    sys.path.insert(0, str(here))
    sys.argv = [str(here / file.name), *job["arguments"]]
    module = ModuleType("__main__")
    module.__dict__.update({"__file__": sys.argv[0], "__builtins__": __builtins__})
    sys.modules["__main__"] = module
    code = compile(code_of(file), str(here / file.name), "exec", dont_inherit=True)
    with contextlib.suppress(Enough):
        try:
            exec(code, module.__dict__)
        except SystemExit as error:
            if error.code not in (None, 0):
                raise MigrateError(f"{job['path']}: it ends by sys.exit({error.code!r}) before its steps") from error


class Steps:
    """The losses that were differentiated, and what each optimizer step did, until there are enough."""

    def __init__(self, wanted: int) -> None:
        """Take how many steps are compared."""
        self.wanted = wanted
        self._losses: list[float] = []  #: since the last step
        self.steps: list[Moment] = []

    def loss(self, value: Any) -> None:
        """Take a tensor's elements whose sum is differentiated."""
        self._losses.append(float(np.asarray(value, np.float64).sum()))

    def step(
        self, gradients: Mapping[str, Any], values: Mapping[str, Any], shared: Mapping[str, Any] | None = None
    ) -> None:
        """Take the gradients that an optimizer applied, and the weights behind it, by name; `shared` as in `Moment`."""
        losses = [np.array(self._losses)]
        self.steps.append(Moment(losses, gradients=dict(gradients), values=dict(values), shared=shared or {}))
        self._losses = []
        if len(self.steps) >= self.wanted:
            raise Enough
