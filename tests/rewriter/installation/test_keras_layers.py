"""Programs of Keras that know nothing of tables compute with `rewriter.install()` what they compute without."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import rewriter
import runtime
from tests.support import installation_keras as support
from tests.support.installation.setting import equal

#: Programs that run with `make soak` alone, as others have most of what they do.
SELDOM = (
    "fit_with_adamw",
    "averages_and_accumulation",
    "first_rows_given",
    "frozen_and_thawed",
    "saved_as_keras",
    "subclass_with_its_own_call",
    "saved_model_served",
    "optimizers_of_earlier_kinds",
    "optimizers_without_a_native_form",
)
#: Programs whose layers all stay.
STAY = ("layers_that_stay", "strategy_and_half_precision")


def outcome(name: str, folder: Path) -> Any:
    """Return what a program computes."""
    folder.mkdir()
    tf.keras.backend.clear_session()
    tf.keras.utils.set_random_seed(1)
    return tf.nest.map_structure(np.asarray, support.PROGRAMS[name](folder))


def check(name: str, folder: Path) -> None:
    stock = outcome(name, folder / "stock")
    installed = rewriter.install()
    try:
        moved = outcome(name, folder / "moved")
    finally:
        installed.remove()
    assert equal(stock, moved), (stock, moved)
    assert bool(installed.tables) == (name not in STAY)
    assert bool(installed.stay) == (name in STAY)


@pytest.mark.parametrize("name", [one for one in support.PROGRAMS if one not in SELDOM])
@pytest.mark.one_case
def test_a_program_computes_what_it_did(name: str, tmp_path: Path) -> None:
    if name == "saved_as_h5" and support.THIRD:
        pytest.skip("Keras 3 cannot load a model with a mask from .h5")
    check(name, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("name", SELDOM)
def test_a_further_program_computes_what_it_did(name: str, tmp_path: Path) -> None:
    check(name, tmp_path)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.one_case
def test_a_variable_of_a_layer_of_your_own_that_is_looked_up_stays_and_is_said(compiled: bool) -> None:
    installed = rewriter.install()
    try:
        rows, other = tf.Variable(tf.ones([20, 4]), name="rows"), tf.Variable(tf.ones([4, 4]), name="kernel")
        found = tf.keras.layers.Embedding(20, 4, name="of_keras")

        def scores(ids: Any) -> Any:
            return tf.nn.embedding_lookup(rows, ids) @ other + found(ids)

        (tf.function(scores) if compiled else scores)(tf.constant([1, 2]))
    finally:
        installed.remove()
    assert set(installed.stay) == {"rows"}
    assert "let `keras.layers.Embedding` hold it" in installed.stay["rows"].reason
    assert len(installed.tables) == 1


@pytest.mark.skipif(not support.THIRD, reason="optimizers of Keras 2 let no gradients wait")
def test_gradients_wait_in_fit() -> None:
    def trained() -> Any:
        tf.keras.utils.set_random_seed(1)
        layers = [tf.keras.Input((2,), dtype="int32"), tf.keras.layers.Embedding(20, 4), tf.keras.layers.Flatten()]
        one = tf.keras.Sequential([*layers, tf.keras.layers.Dense(1)])
        one.compile(tf.keras.optimizers.Adam(0.01, gradient_accumulation_steps=2), "mse")
        one.fit(np.arange(16).reshape(8, 2), np.ones([8, 1]), batch_size=2, epochs=2, shuffle=False, verbose=0)
        return one.get_weights()

    stock, installed = trained(), rewriter.install()
    try:
        assert equal(stock, trained()) and len(installed.tables) == 1
    finally:
        installed.remove()


def test_a_function_that_reads_tables_has_no_constants() -> None:
    installed = rewriter.install()
    try:
        found = tf.keras.layers.Embedding(20, 4)
        body = tf.function(lambda ids: found(ids)).get_concrete_function(tf.TensorSpec([None], tf.int32))
        with pytest.raises(ValueError, match="looks up rows of tables, which cannot become constants: save the model"):
            convert_variables_to_constants_v2(body)
    finally:
        installed.remove()


@pytest.mark.parametrize("writes", [False, True])
def test_files_go_to_and_fro(writes: bool, tmp_path: Path) -> None:
    """A file of the original is read by the moved program, and one that this writes by the original."""

    def trained(install: bool, steps: Any) -> Any:
        tf.keras.utils.set_random_seed(1)
        installed = rewriter.install() if install else None
        try:
            one, optimizer = support.model(), tf.keras.optimizers.Adam(0.01)
            return steps(one, tf.train.Checkpoint(model=one, optimizer=optimizer))
        finally:
            if installed is not None:
                assert len(installed.tables) == 2
                installed.remove()

    files = [str(tmp_path / "a.weights.h5")] + ([] if support.THIRD else [str(tmp_path / "a.h5")])

    def write(one: Any, kept: Any) -> Any:
        support.stepped(one, kept.optimizer, 2)
        for file in files:
            one.save_weights(file)
        kept.save(str(tmp_path / "ckpt"))
        support.stepped(one, kept.optimizer, 2)
        return one.get_weights()

    def read(one: Any, kept: Any) -> Any:
        kept.restore(tf.train.latest_checkpoint(str(tmp_path)))
        support.stepped(one, kept.optimizer, 2)
        found = one.get_weights()
        weights = []
        for file in files:
            one.load_weights(file)
            weights.append(one.get_weights())
        return found, weights

    expected = trained(writes, write)
    found, weights = trained(not writes, read)
    assert equal(expected, found)
    assert equal(trained(writes, read)[1], weights)


def test_names_dry_run_and_what_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rewriter")
    early = tf.keras.layers.Embedding(5, 2, name="early")
    early(np.array([1]))
    installed = rewriter.install(tables=["user/embeddings", "later"])
    try:
        early(np.array([2]))
        for name in ("user", "later", "other"):
            tf.keras.layers.Embedding(5, 2, name=name)(np.array([1]))
        assert sorted(installed.tables) == ["later/embeddings", "user/embeddings"] and not installed.stay
        rewriter.install()
        unit = tf.keras.layers.Embedding(5, 2, name="unit", embeddings_constraint="unit_norm")
        unit(np.array([1]))
        assert "`embeddings_constraint`" in installed.stay["unit/embeddings"].reason
        rewriter.install(dry_run=True)
        count = len(runtime.tables())
        tf.keras.layers.Embedding(5, 2, name="dry")(np.array([1]))
        assert len(runtime.tables()) == count
        assert "would move: `dry/embeddings` [5, 2] becomes a table" in caplog.text
        lines = installed.summary().splitlines()
        assert lines[0] == "3 tables, 1 variable that stayed"
        assert lines[1].startswith("  user/embeddings [5, 2]: 5 rows of 5 declared")
    finally:
        installed.remove()
    count = len(runtime.tables())
    tf.keras.layers.Embedding(5, 2)(np.array([1]))
    assert len(runtime.tables()) == count


def test_ids_beyond_the_matrix_have_rows_and_are_saved(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.weights.h5", *([] if support.THIRD else ["b.h5"]))]
    installed = rewriter.install()
    try:
        one = tf.keras.Sequential([tf.keras.Input((2,), dtype="int64"), tf.keras.layers.Embedding(5, 2)])
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(one(np.array([[3, 700]])))
        optimizer = tf.keras.optimizers.SGD(1.0)
        values = one.trainable_variables
        first = one(np.array([[3, 700]])).numpy()
        optimizer.apply_gradients(zip(tape.gradient(loss, values), values, strict=True))
        trained = one(np.array([[3, 700]])).numpy()
        assert np.allclose(trained, first - 1) and one.get_weights()[0].shape == (5, 2)
        for file in files:
            one.save_weights(file)
        for file in files:
            other = tf.keras.Sequential([tf.keras.Input((2,), dtype="int64"), tf.keras.layers.Embedding(5, 2)])
            other.load_weights(file)
            assert np.array_equal(other(np.array([[3, 700]])), trained)
    finally:
        installed.remove()
