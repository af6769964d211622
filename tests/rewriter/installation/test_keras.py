"""Programs of Keras that `rewriter.install` moves: layers, and what takes their resources."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
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


@pytest.mark.parametrize("name", support.PROGRAMS)
@pytest.mark.one_case
def test_a_program_computes_what_it_did(name: str, tmp_path: Path) -> None:
    if name == "saved_as_h5" and support.THIRD:
        pytest.skip("Keras 3 cannot load a model with a mask from .h5")
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
    assert "use a `keras.layers.Embedding` in its place" in installed.stay["rows"].reason
    assert len(installed.tables) == 1


def test_a_function_that_reads_tables_has_no_constants() -> None:
    installed = rewriter.install()
    try:
        found = tf.keras.layers.Embedding(20, 4)
        body = tf.function(lambda ids: found(ids)).get_concrete_function(tf.TensorSpec([None], tf.int32))
        with pytest.raises(ValueError, match="looks up rows of tables, which cannot become constants: save the model"):
            convert_variables_to_constants_v2(body)
    finally:
        installed.remove()


def _optimizers() -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {"Adam": lambda: tf.keras.optimizers.Adam(0.01)}
    if not support.THIRD:
        legacy = tf.keras.optimizers.legacy
        made |= {
            "legacy Adam": lambda: legacy.Adam(0.01),
            "legacy Adagrad": lambda: legacy.Adagrad(0.1),
            "legacy SGD": lambda: legacy.SGD(0.1, momentum=0.9),
            "legacy RMSprop": lambda: legacy.RMSprop(0.01),
        }
    return made


_OPTIMIZERS = _optimizers()


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("optimizer_name", _OPTIMIZERS)
def test_files_go_to_and_fro(optimizer_name: str, writes: bool, tmp_path: Path) -> None:
    """A file of the original is read by the moved program, and one that this writes by the original."""

    def trained(install: bool, steps: Any) -> Any:
        tf.keras.utils.set_random_seed(1)
        installed = rewriter.install() if install else None
        try:
            one, optimizer = support.model(), _OPTIMIZERS[optimizer_name]()
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
        assert "`dry/embeddings` stays" not in caplog.text
        assert installed.summary().splitlines()[0] == "3 variables would become tables, 1 would stay"
        rewriter.install()
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


@pytest.fixture
def variable() -> Iterator[Any]:
    installed = rewriter.install()
    layer = tf.keras.layers.Embedding(5, 2, embeddings_initializer="ones", name="rows")
    layer(np.array([0, 1]))
    assert list(installed.tables) == ["rows/embeddings"]
    yield getattr(layer.embeddings, "_value", layer.embeddings)
    installed.remove()


RAW: dict[str, Callable[[tf.Tensor], Any]] = {
    "read": lambda handle: tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32),
    "gather": lambda handle: tf.raw_ops.ResourceGather(resource=handle, indices=[0], dtype=tf.float32),
    "assign": lambda handle: tf.raw_ops.AssignVariableOp(resource=handle, value=tf.ones([5, 2])),
    "add": lambda handle: tf.raw_ops.AssignAddVariableOp(resource=handle, value=tf.ones([5, 2])),
    "scatter": lambda handle: tf.raw_ops.ResourceScatterAdd(resource=handle, indices=[0], updates=tf.ones([1, 2])),
    "train": lambda handle: tf.raw_ops.ResourceApplyGradientDescent(var=handle, alpha=0.1, delta=tf.ones([5, 2])),
    "train rows": lambda handle: tf.raw_ops.ResourceSparseApplyAdagrad(
        var=handle, accum=tf.Variable(tf.ones([5, 2])).handle, lr=0.1, grad=tf.ones([1, 2]), indices=[0]
    ),
}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", RAW)
def test_ops_that_take_the_resource_fail_and_say_why(name: str, traced: bool, variable: Any) -> None:
    def use() -> Any:
        given = RAW[name](variable.handle)
        return None if isinstance(given, tf.Operation) else given  # a function returns no op

    if name == "train rows" and traced:
        pytest.skip("a function makes no variable")
    used = tf.function(use) if traced else use
    with pytest.raises(tf.errors.OpError, match=r"`rows/embeddings`, whose rows are in a table: read it by tf\.gather"):
        used()
    assert tf.reduce_sum(variable) == 10


@pytest.mark.parametrize("name", ["gather", "train"])
def test_functions_that_are_given_the_resource_fail_and_say_why(name: str, variable: Any) -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def use(handle: tf.Tensor) -> Any:
        given = RAW[name](handle)
        return None if isinstance(given, tf.Operation) else given

    plain = tf.Variable(tf.ones([5, 2]))
    use(plain.handle)
    assert np.allclose(plain, 1.0 if name == "gather" else 0.9)
    with pytest.raises(tf.errors.OpError, match=r"`rows/embeddings`, whose rows are in a table: read it by tf\.gather"):
        use(variable.handle)
    assert tf.reduce_sum(variable) == 10


def test_an_optimizer_in_a_function_trains_other_variables_that_it_captures(variable: Any) -> None:
    dense, optimizer = tf.Variable([1.0, 2.0]), tf.compat.v1.train.GradientDescentOptimizer(0.5)

    @tf.function  # type: ignore[untyped-decorator]
    def step() -> None:
        optimizer.apply_gradients([(tf.ones(2), dense)])

    step()
    assert np.array_equal(dense, [0.5, 1.5])


def test_a_function_takes_the_variable_as_an_argument(variable: Any) -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def gradient_of(given: list[Any], ids: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(given[0], ids) ** 2)
        return tf.convert_to_tensor(tape.gradient(loss, given)[0])

    for ids in ([1, 1], [1, 1, 1]):
        found = gradient_of([variable], tf.constant(ids))
        assert np.array_equal(found, [[0, 0], [2 * len(ids)] * 2, [0, 0], [0, 0], [0, 0]])


def test_functions_that_xla_would_compile_run_without_it(variable: Any, caplog: pytest.LogCaptureFixture) -> None:
    @tf.function(jit_compile=True)  # type: ignore[untyped-decorator]
    def gradient_of(ids: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(variable, ids) ** 2) + 0.0 * tf.reduce_sum(variable)
        return tf.convert_to_tensor(tape.gradient(loss, variable))

    for _ in range(2):
        assert np.array_equal(gradient_of(tf.constant([1, 1])), [[0, 0], [4, 4], [0, 0], [0, 0], [0, 0]])
    assert gradient_of.get_concrete_function(tf.constant([1, 2, 3]))(tf.constant([1, 2, 3])).shape == [5, 2]
    assert (
        caplog.text.count(
            "`gradient_of` is not compiled by XLA, which does not support tables: jit_compile=True has no effect"
        )
        == 1
    )


def test_only_functions_that_have_a_table_leave_xla(variable: Any) -> None:
    """Also one that has it by another function, which was traced before; gradients are compiled with their function."""
    dense = tf.Variable(2.0)

    @tf.function(jit_compile=True)  # type: ignore[untyped-decorator]
    def plain(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = dense * x
        return tape.gradient(loss, dense)

    @tf.function  # type: ignore[untyped-decorator]
    def inner(ids: tf.Tensor) -> Any:
        return tf.reduce_sum(tf.gather(variable, ids)) * plain(tf.constant(3.0))

    @tf.function(jit_compile=True)  # type: ignore[untyped-decorator]
    def outer(ids: tf.Tensor) -> Any:
        return tf.cond(ids[0] > 0, lambda: inner(ids), lambda: 0.0)

    ids = tf.constant([1, 2])
    assert inner(ids) == outer(ids) == 12.0 and plain(tf.constant(5.0)) == 5.0
    compiled = {
        one: one.get_concrete_function(given).function_def.attr["_XlaMustCompile"].b
        for one, given in ((plain, tf.constant(1.0)), (outer, ids))
    }
    assert compiled == {plain: True, outer: False}
