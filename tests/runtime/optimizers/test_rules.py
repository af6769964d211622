"""What the table optimizers accept, refuse and leave alone."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import (
    adadelta,
    adagrad,
    adagrad_decay,
    adamw,
    ftrl,
    gradient_descent,
    lazy_adam,
    momentum,
    proximal_adagrad,
    rmsprop,
)
from tests.support.runtime.tables import make_table, rows_of, session

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("module", "settings", "message"),
    [
        (adagrad, {"learning_rate": "1"}, "`learning_rate` is not float"),
        (adagrad, {"learning_rate": -0.1}, "is less than 0"),
        (adagrad, {"learning_rate": 10.1}, "is bigger than 10"),
        (adagrad, {"initial_accumulator_value": -0.1}, "is less than 0"),
        (adagrad, {"initial_accumulator_value": 1.1}, "is bigger than 1"),
        (adagrad, {"epsilon": -1.0}, "is less than 0"),
        (adagrad, {"initial_accumulator_value": 0.0}, "a gradient of 0 would make a row NaN: .* above 0"),
        (adagrad, {"initial_accumulator_value": 0, "epsilon": 1e-60}, "a gradient of 0 would make a row NaN"),
        (adagrad, {"use_locking": 1}, "Invalid parameter type of para `use_locking`"),
        (adagrad, {"name": ""}, "length is less than 1"),
        (adagrad, {"name": "n" * 201}, "length is bigger than 200"),
        (gradient_descent, {"learning_rate": None}, "`learning_rate` is not float"),
        (gradient_descent, {"learning_rate": 0.1, "weight_decay": 1.0}, "is bigger than 0.01"),
        (gradient_descent, {"learning_rate": 0.1, "nonfinite": "drop"}, "must be one of"),
        (lazy_adam, {"beta1": -0.1}, "`beta1` is less than"),
        (lazy_adam, {"beta1": 1.0}, "`beta1` is bigger than"),
        (lazy_adam, {"beta1": "a"}, "`beta1` is not float"),
        (lazy_adam, {"beta2": 1.1}, "`beta2` is bigger than 1"),
        (lazy_adam, {"epsilon": 0.0}, "`epsilon` is less than"),
        (lazy_adam, {"epsilon": 1.5}, "`epsilon` is bigger than 1"),
        (adamw, {"weight_decay": 1.5}, "`weight_decay` is bigger than 1"),
        (adamw, {"beta1": 1.0}, "`beta1` is bigger than"),
        (momentum, {"learning_rate": 0.1, "momentum": 1.5}, "`momentum` is bigger than 1"),
        (momentum, {"learning_rate": 0.1, "use_nesterov": 1}, "type of para `use_nesterov`"),
        (rmsprop, {"learning_rate": 0.1, "decay": -0.1}, "`decay` is less than 0"),
        (rmsprop, {"learning_rate": 0.1, "centered": None}, "type of para `centered`"),
        (adadelta, {"rho": 2.0}, "`rho` is bigger than 1"),
        (proximal_adagrad, {"learning_rate": 0.1, "l1_regularization_strength": -1.0}, "is less than 0"),
        (adagrad_decay, {"learning_rate": 0.1, "global_step": 5}, "`global_step` must be an integer scalar"),
        (ftrl, {"learning_rate": 0.0}, "`learning_rate` is less than or equal to 0: .* FTRL divides by it"),
        (ftrl, {"learning_rate": 0.1, "learning_rate_power": 0.1}, "`learning_rate_power` is bigger than 0"),
        (ftrl, {"learning_rate": 0.1, "initial_accumulator_value": 0.0}, "is less than or equal to 0"),
        (ftrl, {"learning_rate": 0.1, "l1_regularization_strength": -1.0}, "is less than 0"),
        (ftrl, {"learning_rate": 0.1, "l2_shrinkage_regularization_strength": 10001.0}, "is bigger than 10000"),
        (momentum, {"learning_rate": 0.1, "nonfinite": "ignore"}, "`nonfinite` must be one of"),
    ],
)
def test_refuses(module: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        module.create_hash_optimizer(**settings)


@pytest.mark.parametrize("value", [lambda: tf.constant([0.1, 0.2]), lambda: tf.constant("0.1"), lambda: True])
def test_a_learning_rate_that_is_no_real_scalar_is_refused_while_the_graph_is_built(value: Any) -> None:
    loss = tf.reduce_sum(runtime.sparse_lookup(make_table(), [1]))
    for rate in (value, value()):
        with pytest.raises(ValueError, match="`learning_rate`"):
            gradient_descent.create_hash_optimizer(rate).minimize(loss)


@pytest.mark.parametrize("name", ["GradientDescent", "Adagrad", "Adam", "Momentum", "RMSProp", "Ftrl"])
def test_stock_optimizers_refuse_a_table_at_construction(name: str) -> None:
    table = make_table()
    loss = tf.reduce_sum(runtime.sparse_lookup(table, [1]))
    settings = {"momentum": 0.9} if name == "Momentum" else {}
    stock = getattr(tf.compat.v1.train, name + "Optimizer")(learning_rate=0.1, **settings)
    with pytest.raises(TypeError, match=r"stock optimizer cannot update the table `user`: .*create_hash_optimizer"):
        stock.minimize(loss, var_list=[table.variable])


def test_a_dense_variable_is_refused_by_name() -> None:
    dense = tf.compat.v1.get_variable("dense", [2])
    loss = tf.reduce_sum(runtime.sparse_lookup(make_table(), [1])) + tf.reduce_sum(dense)
    with pytest.raises(ValueError, match="`dense:0` is not one: apply its gradient with the dense optimizer"):
        adagrad.create_hash_optimizer().minimize(loss, var_list=[dense])


def test_a_dense_gradient_is_refused() -> None:
    table = make_table()
    with pytest.raises(ValueError, match=r"`user` is no longer tf.IndexedSlices"):
        adagrad.create_hash_optimizer().apply_gradients([(tf.zeros([0, 4]), table.variable)])


def test_nothing_to_train_is_an_error() -> None:
    with pytest.raises(ValueError, match="the graph has no trainable table"):
        adagrad.create_hash_optimizer().minimize(tf.constant(1.0))
    make_table()
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        adagrad.create_hash_optimizer().minimize(tf.constant(1.0))


def test_a_loss_without_a_gradient_is_an_error_of_both_halves() -> None:
    """The dense optimizer is given all pairs, as converted programs do; it names the table, too."""
    tf.compat.v1.get_variable("dense", [2])
    make_table()
    variables, tables = runtime.get_dense_and_sparse_variable()
    pairs = tf.compat.v1.train.AdagradOptimizer(0.1).compute_gradients(tf.constant(1.0), variables + tables)
    with pytest.raises(ValueError, match=r"No gradients provided for any variable: .*'dense:0'.*user"):
        tf.compat.v1.train.AdagradOptimizer(0.1).apply_gradients(pairs)
    with pytest.raises(ValueError, match=r"No gradients provided for any variable: \['user'\]"):
        adagrad.create_hash_optimizer().apply_gradients(pairs[1:])


@pytest.mark.parametrize("module", [gradient_descent, adagrad, lazy_adam])
def test_minimize_trains_every_table_and_only_tables(module: Any) -> None:
    tables = [make_table("user"), make_table("item", dim=3), make_table("unused")]
    dense = tf.compat.v1.get_variable("dense", initializer=[2.0, 3.0])
    loss = sum(tf.reduce_sum(runtime.sparse_lookup(table, [1, 1])) for table in tables[:2]) * tf.reduce_sum(dense)
    train = module.create_hash_optimizer(learning_rate=1).minimize(loss)
    assert isinstance(train, tf.Operation)
    assert tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.TRAIN_OP) == [train]
    with session() as opened:
        before = [rows_of(opened, table, [1]) for table in tables]
        opened.run(train)
        after = [rows_of(opened, table, [1]) for table in tables]
        assert [bool((new < old).all()) for old, new in zip(before, after, strict=True)] == [True, True, False]
        assert opened.run(dense).tolist() == [2.0, 3.0]


def test_a_second_optimizer_does_not_rename_the_beta_powers() -> None:
    loss = tf.reduce_sum(runtime.sparse_lookup(make_table(), [1]) * tf.compat.v1.get_variable("dense", [4]))
    tf.compat.v1.train.AdamOptimizer().minimize(loss)
    optimizer = lazy_adam.create_hash_optimizer()
    optimizer.minimize(loss)
    assert [variable.name for variable in optimizer.variables()] == ["LazyAdam/beta1_power:0", "LazyAdam/beta2_power:0"]
