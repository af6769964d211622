"""Programs in which something of a table travels: the same model, with another part of it put in from afar."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from tests.support.source.projects import convert, reasons, train, verdicts, write
from tests.support.source.ways import Way

HEAD = (
    "import tensorflow.compat.v1 as tf\n"
    "import collections, contextlib, dataclasses, functools, itertools, operator, types\n"
    "flag = True\n"
)
DEFINED = (
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
)
END = (
    "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - label) ** 2)\n"
    "    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
    '    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}\n'
)


def model(
    lines: str, initializer: str = "tf.constant_initializer(0.25)", lookup: str = "tf.nn.embedding_lookup"
) -> str:
    """Return a model that makes and reads a table so, after those lines."""
    table = f'    item = tf.get_variable("item", [8, 4], initializer={initializer})\n    rows = {lookup}(item, ids)\n'
    return f"{HEAD}{DEFINED}{textwrap.indent(lines, '    ')}\n{table}{END}"


def with_initializer(way: Way) -> str:
    """Return a model in which the initializer of the table travels."""
    one = way.given("tf.constant_initializer(0.25)")
    return model(one.definitions + one.binding, initializer=one.read)


def is_kept(root: Path, text: str) -> str:
    """Check that the table of a program stays, if not under an assumption; return what is said."""
    results = convert(write(root, {"main.py": text}))
    assert set(verdicts(results).values()) <= {"unsupported", "suggested"}, results["main.py"].converted
    assert "create_table" not in results["main.py"].converted
    return reasons(results)


def trains_from_the_start_as_before(root: Path, files: dict[str, str]) -> str:
    """Check that a project converts, and begins and trains with the original's numbers; return the main file then.

    Its initial values must be constants, because random rows are other ones of the same law.
    """
    results = convert(write(root, files))
    assert set(verdicts(results).values()) == {"applied"}, reasons(results)
    new = write(root.parent / f"{root.name}_new", {name: one.converted for name, one in results.items()})
    losses, rows, _ = train(root, None)
    losses_after, rows_after, _ = train(new, None)
    assert len(set(np.round(losses, 5))) == len(losses), "the losses must move, or the comparison says nothing"
    np.testing.assert_allclose(losses_after, losses, rtol=1e-5)
    np.testing.assert_allclose(rows_after, rows, rtol=1e-4, atol=1e-6)
    return results["main.py"].converted
