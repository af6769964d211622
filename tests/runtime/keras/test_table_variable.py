"""`table_variable` beside `tf.Variable`: the same numbers under a tape, and no silent use of what it does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

N, M, D = 20, 30, 4
OPTIMIZERS = {
    "sgd": lambda: tf.keras.optimizers.SGD(0.1),
    "momentum": lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9),
    "clipped": lambda: tf.keras.optimizers.SGD(0.1, global_clipnorm=0.5),
    "adagrad": lambda: tf.keras.optimizers.Adagrad(0.1),
    "adam": lambda: tf.keras.optimizers.Adam(0.01),
    "adamw": lambda: tf.keras.optimizers.AdamW(0.01),
}


def _rows() -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=shape).astype(np.float32) for shape in ((N, D), (M, D), (M,))]


def _made(rows: Any) -> Any:
    from runtime.keras import table_variable

    variable = table_variable(tf.zeros_initializer(), rows.shape, "rows")
    variable.table.import_rows(np.arange(len(rows)), rows.reshape(len(rows), -1))
    return variable


class Factors(tf.Module):
    """Users, items and the biases of items."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self.users, self.items, self.bias = map(make, _rows())
        self.mean = tf.Variable(0.5)

    def __call__(self, users: Any, items: Any) -> Any:
        rows = tf.nn.embedding_lookup(self.users, users) * tf.gather(self.items, items)
        return tf.reduce_sum(rows, 1) + tf.gather(self.bias, items) + self.mean


def _trained(make: Any, optimizer: Any, compiled: bool) -> tuple[list[float], Factors]:
    model, opt, rng = Factors(make), optimizer(), np.random.default_rng(5)

    def step(users: Any, items: Any, wanted: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(users, items) - wanted) ** 2)
        variables = model.trainable_variables
        opt.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    run, losses = tf.function(step) if compiled else step, []
    for _ in range(5):
        batch = rng.integers(0, N, 16), rng.integers(0, M, 16).astype(np.int32), rng.random(16).astype(np.float32)
        losses.append(float(run(*map(tf.constant, batch))))
    return losses, model


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "function"])
@pytest.mark.one_case
def test_a_tape_and_an_optimizer_train_it_as_the_variable(optimizer: Any, compiled: bool) -> None:
    losses, stock = _trained(tf.Variable, optimizer, compiled)
    found, model = _trained(_made, optimizer, compiled)
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    for name in ("users", "items", "bias"):
        np.testing.assert_allclose(getattr(model, name).matrix, getattr(stock, name).numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.mean.numpy(), stock.mean.numpy(), rtol=1e-5)


def test_other_lookups_and_the_matrix() -> None:
    rows, _, numbers = _rows()
    variable, vector = _made(rows), _made(numbers)
    ids = tf.sparse.from_dense([[3, 0], [5, 3]])
    for lookup in (
        lambda one: tf.nn.embedding_lookup_sparse(one, ids, None, combiner="mean"),
        lambda one: tf.nn.embedding_lookup([one], [[1, 2], [2, 7]]),
        lambda one: tf.gather(one, tf.constant([2], tf.int32)),
    ):
        np.testing.assert_allclose(lookup(variable), lookup(tf.Variable(rows)), rtol=1e-6)
    assert tf.gather(vector, [[4, 2]]).shape == (1, 2)
    assert vector.matrix.shape == (M,) and vector.matrix.ndim == 1
    np.testing.assert_array_equal(vector.matrix.numpy(), numbers)
    np.testing.assert_array_equal(tf.reduce_sum(vector.matrix[2:4]), tf.reduce_sum(numbers[2:4]))
    np.testing.assert_array_equal(variable.matrix, rows)


def test_a_second_table_has_a_name_and_first_rows_of_its_own() -> None:
    from runtime.keras import table_variable

    made = [table_variable(tf.random_normal_initializer(), [N, D], "same") for _ in range(2)]
    assert len({one.table.table_name for one in made}) == 2
    assert not np.array_equal(made[0].matrix, made[1].matrix)


def test_a_checkpoint_keeps_the_rows(tmp_path: Path) -> None:
    model = Factors(_made)
    saved = tf.train.Checkpoint(model=model).save(str(tmp_path / "model"))
    model.users.table.import_rows([2], [[9.0] * D])
    tf.train.Checkpoint(model=model).restore(saved)
    np.testing.assert_array_equal(model.users.matrix, _rows()[0])


WHOLE = {
    "an operator": lambda one: one + 1.0,
    "a slice": lambda one: one[:3],
    "its value": lambda one: one.value(),
    "what it reads": lambda one: one.read_value(),
    "another axis": lambda one: tf.gather(one, [0], axis=1),
    "an array": np.asarray,
    "a tensor": tf.convert_to_tensor,
    "an assignment": lambda one: one.assign(np.zeros([N, D])),
    "a difference": lambda one: one.assign_sub(np.zeros([N, D])),
    "entries": lambda one: tf.gather_nd(one, [[0]]),
    "an op of TensorFlow": tf.reduce_sum,
    "an op with others": lambda one: tf.concat([one, tf.ones([1, D])], 0),
}


@pytest.mark.parametrize("use", WHOLE.values(), ids=WHOLE)
def test_what_needs_the_whole_variable_raises(use: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        use(_made(_rows()[0]))


def test_no_gradient_passes_through_the_matrix() -> None:
    variable = _made(_rows()[0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(variable.matrix * 2.0)
    with pytest.raises(LookupError):
        tape.gradient(loss, variable)


def test_it_is_made_outside_of_functions() -> None:
    from runtime.keras import table_variable

    with pytest.raises(RuntimeError, match="create it once, outside"):
        tf.function(lambda: table_variable(tf.zeros_initializer(), [3, 2]).sparse_read([0]))()
