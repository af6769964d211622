"""What an optimizer counts survives a restore and a save before its first step."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import optimizers
from tests.support.runtime.tables import make_table

_RATE = 0.1
_SCHEDULE = tf.keras.optimizers.schedules.PiecewiseConstantDecay([1, 3], [0.4, 0.2, 0.1])
_FACTORS = tf.constant([[1.0, -3.0]])


def _modules() -> list[str]:
    modules = {name: importlib.import_module(f"{optimizers.__name__}.{name}") for _, name, _ in _listed()}
    names = [name for name, module in modules.items() if hasattr(module, "create_hash_optimizer")]
    return sorted(names, key=lambda name: (name not in ("lazy_adam", "keras_adamw"), name))


def _listed() -> list[Any]:
    """Return all but those by address: they are of graphs, in which the update makes the counters before a session."""
    return [one for one in pkgutil.iter_modules(optimizers.__path__) if not one.name.endswith("_by_addr")]


def _job(module: str, rate: Any) -> tuple[Any, Any, tf.train.Checkpoint]:
    table = make_table(dim=2)
    given = {"global_step": tf.Variable(0, dtype=tf.int64)} if module == "adagrad_decay" else {}
    optimizer = importlib.import_module(f"{optimizers.__name__}.{module}").create_hash_optimizer(rate, **given)
    return table, optimizer, tf.train.Checkpoint(table=table, optimizer=optimizer, **given)


def _step(table: Any, optimizer: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(runtime.sparse_lookup(table, [7]) * _FACTORS)
    optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
    return np.asarray(runtime.sparse_lookup(table, [7], is_train=False))


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("module", _modules())
def test_a_job_that_only_restores_and_saves_loses_no_step(module: str, scheduled: bool, tmp_path: Path) -> None:
    rate = _SCHEDULE if scheduled else _RATE
    table, optimizer, checkpoint = _job(module, rate)
    for _ in range(3):
        _step(table, optimizer)
    path = checkpoint.write(str(tmp_path / "first"))
    expected = [_step(table, optimizer) for _ in range(2)]
    for name in ("second", "third"):
        table, optimizer, checkpoint = _job(module, rate)
        checkpoint.read(path).assert_consumed()
        path = checkpoint.write(str(tmp_path / name))
    np.testing.assert_array_equal([_step(table, optimizer) for _ in range(2)], expected)


def test_adam_counts_as_kerass_own_does(tmp_path: Path) -> None:
    variable, stock = tf.Variable([[0.5, 0.5]]), tf.keras.optimizers.Adam(_RATE)
    table, optimizer, checkpoint = _job("keras_adam", _RATE)
    table.import_rows([7], variable.numpy())
    for step in range(5):
        if step == 3:
            path = checkpoint.write(str(tmp_path / "first"))
            for name in ("second", "third"):
                table, optimizer, checkpoint = _job("keras_adam", _RATE)
                checkpoint.read(path)
                path = checkpoint.write(str(tmp_path / name))
        _step(table, optimizer)
        stock.apply_gradients([(_FACTORS, variable)])
    np.testing.assert_allclose(runtime.sparse_lookup(table, [7], is_train=False), variable, atol=1e-6)
