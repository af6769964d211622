"""Runs a whole script before and after its conversion: everything that it shows must be the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tensorflow

from tests.support.source.converting import converted

tf = tensorflow.compat.v1
HEAD = "import numpy as np\nimport tensorflow.compat.v1 as tf\n"
#: A table and a dense variable with fixed initial values, and ids that repeat.
MADE = """ids = tf.constant([1, 2, 1], tf.int64)
W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5))
b = tf.get_variable("b", [4], initializer=tf.constant_initializer(0.25))
"""
TRAIN = """
train = tf.train.AdagradOptimizer(0.1).minimize(loss)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for _ in range(3):
        show(s.run(loss))
        s.run(train)
"""


def shown(text: str, folder: Path | None = None) -> list[Any]:
    """Run a script in a graph of its own; return what it gave to `show`. `folder` is its variable `DIR`."""
    found: list[Any] = []
    with tf.Graph().as_default():
        space: dict[str, Any] = {"__name__": "__main__", "show": found.append, "DIR": str(folder)}
        exec(compile(text, "script.py", "exec"), space)
    return found


def compare(text: str, folder: Path | None = None, *, assume: bool = False, tables: int = 1) -> list[Any]:
    """Convert a script and run both; return what the original showed.

    With a `folder`, each side gets a directory of its own there, whose name is `DIR`.
    """
    result = converted(text, assume=assume)
    applied = [table.name for table in result.tables if table.verdict.value == "applied"]
    assert len(applied) == tables, [(table.name, table.reasons) for table in result.tables]
    sides = []
    for side, code in (("before", text), ("after", result.converted)):
        place = folder / side if folder is not None else None
        if place is not None:
            place.mkdir()
        sides.append(shown(code, place))
    before, after = sides
    assert before, "the script shows nothing"
    assert len(before) == len(after)
    for want, got in zip(before, after, strict=True):
        if isinstance(want, str):
            assert got == want
        else:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    return before
