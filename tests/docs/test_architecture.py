"""The walk of a conversion in ARCHITECTURE.md: which file makes which value."""

from __future__ import annotations

import importlib
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from migrate.cli.main import cli
from tests.support.paths import ROOT

PROGRAM = """\
import tensorflow.compat.v1 as tf

ids = tf.placeholder(tf.int64, [None])
labels = tf.placeholder(tf.float32, [None])
table = tf.get_variable("users", [100, 8], initializer=tf.zeros_initializer())
rows = tf.nn.embedding_lookup(table, ids)
loss = tf.reduce_mean((tf.reduce_sum(rows, 1) - labels) ** 2)
step = tf.train.AdagradOptimizer(0.1).minimize(loss)
"""
#: Where the classes of the values are.
MODULES = {
    "report.model": ("Finding", "Report", "TableRecord"),
    "source.driver.process_pool": ("Task",),
    "source.driver.run": ("Converted",),
    "source.files.conversion_result": ("SourceResult",),
    "source.files.edits": ("Edit",),
    "source.project.discovery": ("Input",),
    "source.syntax.tree": ("Tree",),
    "source.tensorflow.base.model": ("Creation", "Initializer", "Lookup", "Table"),
    "source.tensorflow.base.rule_kinds": ("File",),
    "source.tensorflow.checks.judgement": ("Judgement",),
    "source.tensorflow.edits.edit_buffer": ("Plan",),
    "source.tensorflow.facts.optimizers.optimizers": ("OptimizerCall", "Optimizer"),
    "source.tensorflow.facts.optimizers.training_model": ("Step", "Training"),
}


def test_the_walk_names_the_file_that_makes_each_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, set[str]] = defaultdict(set)
    for module, names in MODULES.items():
        for name in names:
            cls = getattr(importlib.import_module(f"migrate.{module}"), name)
            monkeypatch.setattr(cls, "__init__", _noted(cls.__init__, made[name]))
    (tmp_path / "model.py").write_text(PROGRAM)
    arguments = ["convert", str(tmp_path / "model.py"), "-o", str(tmp_path / "out"), "--no-cache", "--jobs", "1"]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert "sparse_lookup(table, ids)" in (tmp_path / "out" / "model.py").read_text()
    assert made == _table()
    assert len(set().union(*made.values())) <= 20


def _noted(init: Callable[..., None], files: set[str]) -> Callable[..., None]:
    """Return a constructor that also notes the file of this package that calls it, by way of the library or not."""

    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        frame = sys._getframe(1)
        while not frame.f_code.co_filename.startswith(str(ROOT / "migrate")):
            assert frame.f_back is not None
            frame = frame.f_back
        files.add(Path(frame.f_code.co_filename).relative_to(ROOT).as_posix())
        init(self, *args, **kwargs)

    return noting


def _table() -> dict[str, set[str]]:
    """Return value -> files, as the table in ARCHITECTURE.md has them."""
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("**Who makes what.**")[2].partition("\n\n**")[0]
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")]
    written = [(re.findall(r"`(\w+)`", names), re.findall(r"`([\w/.]+)`", files)) for names, _, files in rows]
    return {
        name: {file if file.startswith("migrate/") else f"migrate/source/{file}" for file in files}
        for names, files in written
        for name in names
    }
