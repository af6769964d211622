"""`micro_batch_num`: a step takes several batches and adds their gradients, as DeepRec's copies of the graph do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

_SIZE, _STEPS = 4, 3
_ROWS = np.random.default_rng(3).normal(size=(10, 2)).astype(np.float32)
_DATA = np.random.default_rng(4)
_IDS = _DATA.integers(0, 10, size=(24, 3))
_LABELS = _DATA.normal(size=24).astype(np.float32)


def _config(rec: Any, number: int) -> Any:
    config = rec.ConfigProto()
    config.graph_options.optimizer_options.micro_batch_num = number
    return config


def _batches(rec: Any, size: int) -> Any:
    data = rec.data.Dataset.from_tensor_slices((_IDS.astype(np.int64), _LABELS)).batch(size)
    return rec.data.make_one_shot_iterator(data)


def _trained(rec: Any, optimizer: str, size: int, config: Any, ev: bool) -> list[Any]:
    """Train a model whose loss is a sum; return the variables and the loss of each step."""
    ids, labels = _batches(rec, size).get_next()
    init = rec.constant_initializer(_ROWS)
    if ev:
        option = rec.EmbeddingVariableOption(init_option=rec.InitializerOption(init, 10))
        matrix = rec.get_embedding_variable("ids", 2, ev_option=option)
    else:
        matrix = rec.get_variable("ids", [10, 2], initializer=init)
    weight = rec.get_variable("weight", [2, 1], initializer=rec.ones_initializer(rec.float32))
    scale = rec.get_variable("scale", [], initializer=rec.ones_initializer(rec.float32))
    rows = rec.reduce_sum(rec.nn.embedding_lookup(matrix, ids), 1)
    hidden = rec.while_loop(lambda i, _: i < 2, lambda i, x: [i + 1, rec.tanh(x * scale)], [0, rows])[1]
    hidden = rec.transpose(rec.map_fn(lambda column: rec.tanh(column + scale), rec.transpose(hidden)))
    loss = rec.reduce_sum(rec.square(rec.squeeze(rec.matmul(hidden, weight), 1) - labels))
    step = rec.train.get_or_create_global_step()
    train = getattr(rec.train, optimizer)(0.05).minimize(loss, step)
    known = rec.nn.embedding_lookup(matrix, np.arange(10, dtype=np.int64))
    with rec.Session(config=config) as session:
        session.run(rec.global_variables_initializer())
        losses = [session.run([loss, train])[0] for _ in range(_STEPS)]
        with pytest.raises(rec.errors.OutOfRangeError):
            for _ in range(8):
                session.run(train)
        return [*session.run([known, weight, scale]), *losses]


@pytest.mark.parametrize("control_flow", ["v1", "v2"])
@pytest.mark.parametrize("optimizer", ["GradientDescentOptimizer", "AdagradOptimizer", "AdamOptimizer"])
@pytest.mark.parametrize("ev", [False, True])
@pytest.mark.one_case
def test_two_batches_are_one_that_is_twice_as_long(rec: Any, control_flow: str, optimizer: str, ev: bool) -> None:
    enable = {"v1": rec.disable_control_flow_v2, "v2": rec.enable_control_flow_v2}
    enable[control_flow]()
    try:
        with rec.Graph().as_default():
            expected = _trained(rec, optimizer, 2 * _SIZE, None, ev)
        with rec.Graph().as_default():
            found = _trained(rec, optimizer, _SIZE, _config(rec, 2), ev)
    finally:
        rec.enable_control_flow_v2()
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    assert all(ours < theirs for ours, theirs in zip(found[3:], expected[3:], strict=True)), "of the first batch"


def _trained_by_two(rec: Any, size: int, config: Any) -> list[Any]:
    """Train a loop's variables by an optimizer each; return them after each step of an epoch."""
    batches = rec.data.Dataset.from_tensor_slices(_LABELS).batch(size)
    inputs = rec.data.make_one_shot_iterator(batches).get_next()
    first, second = (rec.get_variable(name, [], initializer=rec.ones_initializer(rec.float32)) for name in "ab")
    hidden = rec.while_loop(lambda i, _: i < 2, lambda i, x: [i + 1, rec.tanh(x * second)], [0, inputs * first])[1]
    loss = rec.reduce_sum(rec.square(hidden - 0.5))
    trained = [rec.train.GradientDescentOptimizer(0.05).minimize(loss, var_list=[first])]
    trained += [rec.train.GradientDescentOptimizer(0.0).minimize(loss, var_list=[second])]  # else both race
    found = []
    with rec.Session(config=config) as session:
        session.run(rec.global_variables_initializer())
        with pytest.raises(rec.errors.OutOfRangeError):
            for _ in range(len(_LABELS)):
                session.run(trained)
                found += session.run([first, second])
    return found


@pytest.mark.parametrize("control_flow", ["v1", "v2"])
@pytest.mark.one_case
def test_two_optimizers_have_the_same_batches(rec: Any, control_flow: str) -> None:
    enable = {"v1": rec.disable_control_flow_v2, "v2": rec.enable_control_flow_v2}
    enable[control_flow]()
    try:
        with rec.Graph().as_default():
            expected = _trained_by_two(rec, 2 * _SIZE, None)
        with rec.Graph().as_default():
            found = _trained_by_two(rec, _SIZE, _config(rec, 2))
    finally:
        rec.enable_control_flow_v2()
    assert len(found) == len(expected) == len(_LABELS) // _SIZE  # two variables, and half as many steps
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_occurrences_of_all_batches_count(rec: Any) -> None:
    config = _config(rec, 3)
    option = rec.EmbeddingVariableOption(filter_option=rec.CounterFilter(2))
    variable = rec.get_embedding_variable("user", 2, ev_option=option)
    numbers = rec.data.make_one_shot_iterator(rec.data.Dataset.range(6)).get_next()
    rows = rec.nn.embedding_lookup(variable, [numbers % 2])
    train = rec.train.AdagradOptimizer(0.1).minimize(rec.reduce_sum(rec.square(rows)))
    with rec.Session(config=config) as session:
        session.run(rec.global_variables_initializer())
        session.run(train)
        assert session.run(variable.get_frequency([0, 1])).tolist() == [2, 1]


def test_what_no_batch_changes_is_added_as_often(rec: Any) -> None:
    config = _config(rec, 3)
    fed, weight = rec.placeholder(rec.float32, []), rec.get_variable("weight", initializer=1.0)
    train = rec.train.GradientDescentOptimizer(1.0).minimize(fed * weight)
    with rec.train.MonitoredTrainingSession(config=config) as session:
        session.run(train, {fed: 2.0})
        assert session.run(weight) == 1.0 - 3 * 2.0


def test_the_number_comes_before_the_optimizer(rec: Any) -> None:
    weight = rec.get_variable("weight", initializer=1.0)
    rec.train.GradientDescentOptimizer(1.0).minimize(weight * weight)
    config = _config(rec, 2)
    with pytest.raises(
        ValueError,
        match=r"micro_batch_num is 2, but .* for 1 micro-batches: set micro_batch_num in tf\.ConfigProto befor",
    ):
        rec.Session(config=config)
    with rec.Session(config=_config(rec, 1)) as session:
        session.run(rec.global_variables_initializer())
    with pytest.raises(ValueError, match=r"micro_batch_num -1 of tf\.ConfigProto must be an int of 0 or more"):
        _config(rec, -1)
