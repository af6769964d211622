"""Warm starts from variables of stock TensorFlow, by scopes and patterns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.training import warm_starting_util

import runtime
from runtime import checkpoint
from runtime.checkpoint import warm_start_variables
from runtime.checkpoint.bundle import Bundle, write_bundle
from runtime.checkpoint.variable_names import find_slots
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table, rows_of, session

v1 = tf.compat.v1
_ROWS, _DIM = 23, 4
_IDS = [1, 5, 5, 22]


def _stock(directory: Path, optimizer: Any) -> str:
    """Train a stock variable `user` and save it with its slots."""
    with tf.Graph().as_default(), v1.Session() as opened:
        user = v1.get_variable("user", [_ROWS, _DIM], initializer=v1.random_normal_initializer(seed=1))
        train = optimizer.minimize(tf.reduce_sum(tf.sin(tf.nn.embedding_lookup(user, _IDS))))
        opened.run(v1.global_variables_initializer())
        opened.run(train)
        return str(v1.train.Saver().save(opened, str(directory / "stock")))


def _table_rows(opened: Any, table: runtime.Table) -> tuple[np.ndarray, ...]:
    keys, values, slots, meta = opened.run(table.snapshot())
    order = np.argsort(keys)
    return keys[order], values[order], slots[order], meta


@pytest.fixture(params=[1 << 16, 5])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that hold the whole variable, and chunks of 5 rows with a rest."""
    monkeypatch.setattr(warm_start_variables, "_CHUNK", request.param)


_OPTIMIZERS: dict[str, tuple[Callable[[], Any], dict[str, str]]] = {
    "adagrad": (lambda: v1.train.AdagradOptimizer(0.1), {"accumulator": "user/Adagrad"}),
    "lazy_adam": (lambda: v1.train.AdamOptimizer(0.1), {"m": "user/Adam", "v": "user/Adam_1"}),
}


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("kind", _OPTIMIZERS)
def test_values_and_slots_of_v1_optimizers(graph: tf.Graph, tmp_path: Path, kind: str) -> None:
    make, names = _OPTIMIZERS[kind]
    path = _stock(tmp_path, make())
    table = make_table()
    op = checkpoint.warm_start(table, path, optimizer=kind, key_offset=1000)
    with session() as opened:
        opened.run(op)
        keys, values, slots, _ = _table_rows(opened, table)
    stock = Bundle(path)
    np.testing.assert_array_equal(keys, np.arange(1000, 1000 + _ROWS))
    np.testing.assert_array_equal(values, stock.read("user"))
    np.testing.assert_array_equal(slots, np.concatenate([stock.read(name) for name in names.values()], axis=1))


def test_training_goes_on_as_stock_training_would(graph: tf.Graph, tmp_path: Path) -> None:
    path = _stock(tmp_path, v1.train.AdagradOptimizer(0.1))
    table, stock = make_table(), v1.get_variable("stock", [_ROWS, _DIM])
    ours = tf.reduce_sum(tf.sin(runtime.sparse_lookup(table, _IDS)))
    theirs = tf.reduce_sum(tf.sin(tf.nn.embedding_lookup(stock, _IDS)))
    optimizer = v1.train.AdagradOptimizer(0.1)
    train = [adagrad.create_hash_optimizer(0.1, 0.1).minimize(ours), optimizer.minimize(theirs, var_list=[stock])]
    fill = checkpoint.warm_start(table, path, "user:0")  # the optimizer is that of the graph
    slot = optimizer.get_slot(stock, "accumulator")
    restore = v1.train.Saver({"user": stock, "user/Adagrad": slot})
    with session() as opened:
        restore.restore(opened, path)
        opened.run(fill)
        for _ in range(3):
            opened.run(train)
        _, values, slots, _ = _table_rows(opened, table)
        np.testing.assert_allclose(values, opened.run(stock), rtol=1e-6)
        np.testing.assert_allclose(slots, opened.run(slot), rtol=1e-6)


def test_several_variables_go_into_one_table_beside_the_rows_it_has(graph: tf.Graph, tmp_path: Path) -> None:
    write_bundle(tmp_path / "two", {"a": np.ones([2, 4], np.float64), "b": np.full([3, 4], 2, np.float16)})
    table = make_table()
    more = table.import_rows([-5], np.full([1, 4], 7.0))
    fill = [checkpoint.warm_start(table, tmp_path / "two", name, key_offset=at) for name, at in (("a", 0), ("b", 2))]
    with session() as opened:
        opened.run(more)
        opened.run(fill)
        keys, values, _, _ = _table_rows(opened, table)
    assert keys.tolist() == [-5, 0, 1, 2, 3, 4]
    assert values[:, 0].tolist() == [7, 1, 1, 2, 2, 2]


def _keras_model(optimizer: Any) -> tuple[Any, Any]:
    embedding = tf.keras.layers.Embedding(_ROWS, _DIM, name="user")
    model = tf.keras.Sequential([embedding, tf.keras.layers.GlobalAveragePooling1D(), tf.keras.layers.Dense(1)])
    model.compile(optimizer, "mse")
    model.fit(np.array([_IDS]), np.ones([1, 1]), verbose=0)
    return model, embedding


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(("name", "kind", "slots"), [("Adam", "lazy_adam", "mv"), ("Adagrad", "adagrad", "a")])
def test_keras_checkpoints(tmp_path: Path, name: str, kind: str, slots: str, legacy: bool) -> None:
    try:
        optimizer = getattr(tf.keras.optimizers.legacy if legacy else tf.keras.optimizers, name)(0.1)
    except ImportError:
        pytest.skip("Keras 3 has no legacy optimizers")
    model, embedding = _keras_model(optimizer)
    path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(str(tmp_path / "keras"))
    variable = embedding.embeddings
    wanted = [np.asarray(v) for v in _variables(optimizer) if tuple(v.shape) == (_ROWS, _DIM)]
    assert len(wanted) == len(slots)
    with tf.Graph().as_default():
        table = make_table()
        fill = checkpoint.warm_start(table, path, getattr(variable, "path", variable.name), optimizer=kind)
        with session() as opened:
            opened.run(fill)
            _, values, got, _ = _table_rows(opened, table)
    np.testing.assert_array_equal(values, variable.numpy())
    np.testing.assert_array_equal(got, np.concatenate(wanted, axis=1))


def _variables(optimizer: Any) -> Any:
    return optimizer.variables() if callable(optimizer.variables) else optimizer.variables


def test_slots_of_every_v1_optimizer_are_found(tmp_path: Path) -> None:
    made = {
        "momentum": v1.train.MomentumOptimizer(0.1, 0.9),
        "rmsprop": v1.train.RMSPropOptimizer(0.1, momentum=0.5),
        "rmsprop_centered": v1.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
        "ftrl": v1.train.FtrlOptimizer(0.1),
        "adadelta": v1.train.AdadeltaOptimizer(0.1),
    }
    ours = {"rms": "rms", "mg": "mg", "accumulator": "accum"}
    for kind, optimizer in made.items():
        with tf.Graph().as_default(), v1.Session() as opened:
            user = v1.get_variable("user", [_ROWS, _DIM], initializer=v1.random_normal_initializer(seed=1))
            train = optimizer.minimize(tf.reduce_sum(tf.sin(tf.nn.embedding_lookup(user, _IDS))))
            opened.run(v1.global_variables_initializer())
            opened.run(train)
            path = v1.train.Saver().save(opened, str(tmp_path / kind))
            names = checkpoint.rows.optimizer_slots(kind)
            bundle = Bundle(path)
            for slot, tensor in find_slots(bundle, "user", kind, names).items():
                stock = [ours.get(slot, slot)] if kind == "ftrl" else [slot]
                (name,) = [name for name in stock if name in optimizer.get_slot_names()]
                np.testing.assert_array_equal(bundle.read(tensor), opened.run(optimizer.get_slot(user, name)))


def test_refusals(graph: tf.Graph, tmp_path: Path) -> None:
    path = _stock(tmp_path, v1.train.AdamOptimizer(0.1))
    table = make_table()
    with pytest.raises(checkpoint.CheckpointError, match=r"no variable `users`: similar names: user"):
        checkpoint.warm_start(table, path, "users")
    with pytest.raises(
        checkpoint.CheckpointError, match=r"shape \[23, 4\], but the table `wide` has rows of 5: no tensor"
    ):
        checkpoint.warm_start(make_table("wide", dim=5), path, "user")
    with pytest.raises(checkpoint.CheckpointError, match=r"shape \[\],.* tensors of that width: user, user/Adam"):
        checkpoint.warm_start(table, path, "beta1_power")
    with pytest.raises(ValueError, match=r"`slots` of the table `user` are \['m'\]; its optimizer lazy_adam has"):
        checkpoint.warm_start(table, path, slots={"m": "user/Adam"}, optimizer="lazy_adam")
    with pytest.raises(ValueError, match="none in this graph: give `optimizer`"):
        checkpoint.warm_start(table, path, slots={"m": "user/Adam"})
    with pytest.raises(ValueError, match="`optimizer` must be one of none, sgd, adagrad"):
        checkpoint.warm_start(table, path, optimizer="adam2")
    with pytest.raises(
        checkpoint.CheckpointError, match=r"`beta1_power` of .* is not a slot of `user`: it has another shape"
    ):
        slots = {"m": "user/Adam", "v": "beta1_power"}
        checkpoint.warm_start(table, path, slots=slots, optimizer="lazy_adam")


def test_half_of_the_slots_is_refused(graph: tf.Graph, tmp_path: Path) -> None:
    rows = np.zeros([3, 4], np.float32)
    write_bundle(tmp_path / "half", {"user": rows, "user/Adam": rows})
    with pytest.raises(checkpoint.CheckpointError, match="holds the slots m of `user` but not v: name the tensors"):
        checkpoint.warm_start(make_table(), tmp_path / "half", optimizer="lazy_adam")
    write_bundle(tmp_path / "two", {"user": rows, "user/Adagrad": rows, "user/Adagrad_side": rows})
    assert find_slots(Bundle(tmp_path / "two"), "user", "adagrad", ("accumulator",)) == {"accumulator": "user/Adagrad"}


_ROWS_SCOPES = np.arange(8.0, dtype=np.float32).reshape(2, 4)


def _build() -> tuple[Any, Any]:
    with v1.variable_scope("tower"):
        return make_table(), v1.get_variable("weight", [2])


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """Save a table of two rows and a variable."""
    with tf.Graph().as_default():
        table, weight = _build()
        fill = [table.import_rows([1, 2], _ROWS_SCOPES), weight.assign([7.0, 8.0])]
        with session() as opened:
            opened.run(fill)
            return str(v1.train.Saver().save(opened, str(tmp_path / "model")))


def _check_filled(table: Any, weight: Any) -> None:
    with session() as opened:
        np.testing.assert_array_equal(rows_of(opened, table, [1, 2]), _ROWS_SCOPES)
        np.testing.assert_array_equal(opened.run(weight), [7, 8])


@pytest.mark.parametrize("mapped", [{"/": "/"}, {"tower/": "tower/"}, {"user": "user", "tower/weight": "tower/weight"}])
def test_scopes_and_names_fill_tables(graph: tf.Graph, saved: str, mapped: dict[str, str]) -> None:
    table, weight = _build()
    v1.train.init_from_checkpoint(saved, mapped)
    _check_filled(table, weight)


def test_a_stock_variable_of_the_name_is_no_table(graph: tf.Graph, tmp_path: Path) -> None:
    _build()
    path = str(tmp_path / "stock")
    write_bundle(path, {"user": _ROWS_SCOPES, "tower/weight": np.float32([7, 8])})
    with pytest.warns(RuntimeWarning, match="leaves out the table `user`"):
        v1.train.init_from_checkpoint(path, {"/": "/"})
    with pytest.raises(checkpoint.CheckpointError, match="fill the table `user` with"):
        warm_starting_util.warm_start(path, vars_to_warm_start=".*")


def test_a_vocabulary_says_which_rows_keys_get(graph: tf.Graph, saved: str, tmp_path: Path) -> None:
    """Keys 1 and 2 of the checkpoint have rows, the old word of key 0 has none, and `new` is in no old vocabulary."""
    for name, words in (("old", ["none", "one", "two"]), ("new", ["two", "new", "none", "one"])):
        (tmp_path / name).write_text("\n".join(words) + "\n")
    table, _ = _build()
    known = warm_starting_util.VocabInfo(str(tmp_path / "new"), 4, 1, str(tmp_path / "old"))
    warm_starting_util.warm_start(saved, "user", {"user": known})
    with session() as opened:
        zeros = np.zeros(4, np.float32)
        np.testing.assert_array_equal(
            rows_of(opened, table, [0, 1, 2, 3, 4]), [_ROWS_SCOPES[1], zeros, zeros, _ROWS_SCOPES[0], zeros]
        )
