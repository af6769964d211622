"""Opens generated projects in this process, over the façade."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from runtime.compat import mx_rec
from tests.support.paths import ROOT
from tests.support.standins import mx_rec as standin

EXAMPLE = ROOT / "examples" / "mmoe"
SCHEMA = """\
version: 1
model:
  class: MMoELayer
  arguments: {feature_size: 23, expert_num: 2, expert_size: 4, tower_size: 3, gate_num: 2}
input:
  size: 23
  dense: [[0, 3]]
  sparse: [{name: a, start: 3, size: 8}, {name: b, start: 11, size: 7}, {name: c, start: 18, size: 5}]
labels: [income, marital]
tasks: [{name: income, output: 0, label: income}, {name: marital, output: 1, label: marital}]
"""
RATE = 0.1  #: large, so that a wrong row shows in the next loss


def clean(project: Path) -> None:
    """Let Ruff find nothing to say in a project by its settings, and nothing to lay out by its own, too."""
    for command in (["format", "--check"], ["check"], ["format", "--check", "--isolated"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "--no-cache", "."], cwd=project, check=True)


@contextlib.contextmanager
def opened(project: Path) -> Iterator[dict[str, Any]]:
    """Yield the names of a project's main.py; the project is the current folder meanwhile."""
    before = os.getcwd()  # noqa: PTH109
    os.chdir(project)
    sys.path.insert(0, str(project))
    mx_rec.install()
    try:
        yield runpy.run_path(str(project / "main.py"))
    finally:
        mx_rec.uninstall()
        sys.path.remove(str(project))
        os.chdir(before)
        for name in ("config", "metrics", "model", "tables"):
            sys.modules.pop(name, None)


def printed(program: dict[str, Any], **settings: Any) -> str:
    """Train for five steps, each of which tells its loss, and return what is told."""
    mx_rec.install()  # forgets the `init` of the run before
    text = io.StringIO()
    values = {"max_steps": 5, "log_steps": 1, "eval_batch_size": 32, "learning_rate": RATE, **settings}
    with standin.refusing(), tf.Graph().as_default(), contextlib.redirect_stdout(text):
        cfg = program["Config"](**values)
        program["start"](cfg)
        program["train"](cfg)
    return text.getvalue()


def losses(text: str) -> list[float]:
    """Return the losses of the steps, then those of evaluations."""
    return [
        float(loss)
        for kind in ("loss", "test loss")
        for loss in re.findall(rf"^step \d+ {kind} ([-\d.e]+)", text, re.M)
    ]


def trained(program: dict[str, Any], **settings: Any) -> list[float]:
    """Train for five steps and return the losses, the last that of the evaluation."""
    return losses(printed(program, **settings))
