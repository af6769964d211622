"""SavedModels frozen by `migrate freeze`, and their answers compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from click.testing import CliRunner

import runtime
from migrate.cli.freeze import freeze

v1 = tf.compat.v1
#: Initial rows that do not depend on the key, and some that do.
STARTS = {
    "constant": tf.constant_initializer(0.25),
    "uniform": tf.random_uniform_initializer(-0.05, 0.05),
    "normal": tf.random_normal_initializer(0.1, 0.7),
    "truncated": tf.compat.v1.truncated_normal_initializer(0.0, 0.3),
}


def make_table(name: str = "users", start: str = "uniform", dim: int = 5, value_dtype: str = "float32") -> Any:
    """Create a table whose new rows begin as STARTS says."""
    return runtime.create_table(
        key_dtype=tf.int64,
        dim=tf.TensorShape([dim]),
        name=name,
        emb_initializer=STARTS[start],
        device_vocabulary_size=64,
        value_dtype=value_dtype,
    )


def rows(count: int, dim: int = 5) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return keys and rows of `count` ids."""
    random = np.random.RandomState(count)
    return np.arange(count, dtype=np.int64), random.standard_normal([count, dim]).astype(np.float32)


def save_graph(path: Path, inputs: dict[str, Any], outputs: dict[str, Any], *tables: Any) -> None:
    """Save the current graph as a SavedModel, with ten rows in each table."""
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for table in tables:
            session.run(table.import_rows(*rows(10, table.dim)))
        v1.saved_model.simple_save(session, str(path), inputs, outputs)


def frozen(source: Path, *more: str) -> Path:
    """Freeze a SavedModel and return where it is."""
    target = source.with_name(source.name + "_frozen")
    done = CliRunner().invoke(freeze, [str(source), str(target), *more], catch_exceptions=False)
    assert done.exit_code == 0
    return target


def answers(model: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a SavedModel answers in a session."""
    with tf.Graph().as_default(), v1.Session() as session:
        found = v1.saved_model.load(session, ["serve"], str(model)).signature_def["serving_default"]
        feeds = {found.inputs[name].name: value for name, value in given.items()}
        result: dict[str, Any] = session.run({name: one.name for name, one in found.outputs.items()}, feeds)
        return result


def require_equal(wanted: dict[str, Any], found: dict[str, Any]) -> None:
    """Check that two models gave the same bits."""
    assert wanted.keys() == found.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(value, found[name], err_msg=name, strict=True)
