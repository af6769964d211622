"""Functions of static graphs against Paddle's: values, gradients, sums, and which weights are one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

paddle = pytest.importorskip("paddle")

from runtime import nn  # noqa: E402
from runtime.nn.static.lod import LoDTensor  # noqa: E402
from runtime.nn.static.readers import batch_of, fed, samples  # noqa: E402

pytestmark = pytest.mark.paddle
v1 = tf.compat.v1
LENGTHS = [2, 0, 4, 1, 0]
SPLITS = np.cumsum([0, *LENGTHS])
ITEMS = np.array([[1, 5], [3, 5], [0, 2], [4, 1], [4, 7], [2, 2], [6, 6]], np.float32)  # with ties
POOLS = ("sum", "average", "sqrt", "max", "first", "last")


@contextlib.contextmanager
def static_paddle() -> Iterator[Any]:
    """A program of Paddle's, with an executor."""
    paddle.enable_static()
    try:
        programs = paddle.static.program_guard(paddle.static.Program(), paddle.static.Program())
        with programs, paddle.base.unique_name.guard(), paddle.static.scope_guard(paddle.base.Scope()):
            yield paddle.static.Executor()
    finally:
        paddle.disable_static()


def lod(values: Any, lengths: list[int]) -> Any:
    return paddle.base.create_lod_tensor(values, [lengths], paddle.CPUPlace())


def test_sequence_pool_computes_what_paddle_does() -> None:
    weights = np.random.RandomState(0).standard_normal([5, 2]).astype(np.float32)
    with static_paddle() as executor:
        x = paddle.static.data("x", [None, 2], "float32", lod_level=1)
        x.stop_gradient = False
        pooled = [paddle.static.nn.sequence_pool(x, kind, pad_value=0.5) for kind in POOLS]
        slopes = [paddle.static.gradients(paddle.sum(one * paddle.assign(weights)), [x])[0] for one in pooled]
        wanted = executor.run(feed={"x": lod(ITEMS, LENGTHS)}, fetch_list=[*pooled, *slopes], return_numpy=False)
    with tf.Graph().as_default(), v1.Session() as session:
        x = LoDTensor(tf.constant(ITEMS), tf.constant(SPLITS))
        mine = [nn.static.nn.sequence_pool(x, kind.upper(), pad_value=0.5) for kind in POOLS]
        moves = [tf.gradients(tf.reduce_sum(one * weights), x.values)[0] for one in mine]
        found = session.run([*mine, *map(tf.convert_to_tensor, moves)])
    for name, one, other in zip([*POOLS, *(f"slope of {kind}" for kind in POOLS)], found, wanted, strict=True):
        np.testing.assert_allclose(one, np.array(other), rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("use_cvm", [True, False])
def test_continuous_value_model_has_paddles_values_and_gradients(use_cvm: bool) -> None:
    rows = np.array([[3, 1, 0.5, 0.2], [10, 2, 0.1, -0.2], [0, 0, 1, 2]], np.float32)
    counts = np.array([[7, 8], [9, 10], [1, 0]], np.float32)
    weights = np.arange(12, dtype=np.float32).reshape(3, 4)[:, : 4 if use_cvm else 2]
    with static_paddle() as executor:
        x, cvm = (paddle.static.data(name, [None, size], "float32") for name, size in (("x", 4), ("cvm", 2)))
        x.stop_gradient = False
        y = paddle.static.nn.continuous_value_model(x, cvm, use_cvm)
        slope = paddle.static.gradients(paddle.sum(y * paddle.assign(weights)), [x])
        wanted = executor.run(feed={"x": rows, "cvm": counts}, fetch_list=[y, *slope])
    with tf.Graph().as_default(), v1.Session() as session:
        x = tf.constant(rows)
        y = nn.static.nn.continuous_value_model(x, tf.constant(counts), use_cvm)
        found = session.run([y, *tf.gradients(tf.reduce_sum(y * weights), x)])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_data_norm_has_paddles_values_and_keeps_what_its_servers_keep() -> None:
    rows = np.array([[3, 1, 0.5], [10, 2, 0.1], [0, 0, 1]], np.float32)
    starts = {"batch_size": 3.0, "batch_sum": 1.0, "batch_square": 5.0, "scale_w": 2.0, "bias": 0.5}
    named = {"epsilon": 1e-3, "summary_decay_rate": 0.9, "enable_scale_and_shift": True, "param_attr": starts}
    sums = ("batch_size", "batch_sum", "batch_square_sum")
    with static_paddle() as executor:
        x = paddle.static.data("x", [None, 3], "float32")
        x.stop_gradient = False
        y = paddle.static.nn.data_norm(x, **named)
        program = paddle.static.default_main_program()
        parameters = {one.name: one for one in program.all_parameters()}
        names = ["dn.scale_w", "dn.bias", *(f"dn.{name}" for name in sums)]
        slopes = paddle.static.gradients(paddle.sum(y * y), [x, *(parameters[name] for name in names)])
        executor.run(paddle.static.default_startup_program())
        wanted = executor.run(feed={"x": rows}, fetch_list=[y, *slopes])
    with tf.Graph().as_default(), v1.Session() as session:
        x = tf.constant(rows)
        with nn.static.Program() as program:
            y = nn.static.nn.data_norm(x, **named)
        variables = {name: weight.variable for name, weight in program.weights.items()}
        slopes = tf.gradients(tf.reduce_sum(y * y), [x, *(variables[name] for name in names[:2])])
        session.run(v1.global_variables_initializer())
        before = session.run({name: variables[f"dn.{name}"] for name in sums})
        found = session.run([y, *slopes, v1.get_collection(v1.GraphKeys.UPDATE_OPS)])
        after = session.run({name: variables[f"dn.{name}"] for name in sums})
    for one, other in zip(found[:4], wanted, strict=False):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    for name, more in zip(sums, wanted[4:], strict=True):  # Paddle's gradients of the sums are those of the batch
        np.testing.assert_allclose(after[name], before[name] * 0.9 + more, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("steps", [0, 2])
def test_metrics_count_batches_as_paddle_does(steps: int) -> None:
    random = np.random.RandomState(steps)
    batches = [
        (random.uniform(0, 1, [9, 1]).astype(np.float32), random.randint(0, 2, [9, 1]).astype(np.int64))
        for _ in range(4)
    ]
    with static_paddle() as executor:
        p, y = paddle.static.data("p", [None, 1], "float32"), paddle.static.data("y", [None, 1], "int64")
        area, last, stats = paddle.static.auc(paddle.concat([1 - p, p], 1), y, num_thresholds=50, slide_steps=steps)
        bundle = paddle.static.ctr_metric_bundle(p, paddle.cast(y, "float32"))
        executor.run(paddle.static.default_startup_program())
        fetched = [area, last, *stats[2:], *bundle]
        wanted = [executor.run(feed={"p": p, "y": y}, fetch_list=fetched) for p, y in batches]
    with tf.Graph().as_default(), v1.Session() as session:
        p, y = nn.static.data("p", [None, 1], "float32"), nn.static.data("y", [-1, 1], "int64")
        area, last, stats = nn.static.auc(tf.concat([1 - p, p], 1), y, num_thresholds=50, slide_steps=steps)
        fetched = [area, last, *stats[2:], *nn.static.ctr_metric_bundle(p, tf.cast(y, tf.float32))]
        session.run(v1.local_variables_initializer())
        found = [session.run(fetched, {p: first, y: second}) for first, second in batches]
    for mine, theirs in zip(found, wanted, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(np.reshape(one, -1), np.reshape(other, -1), rtol=1e-5)


def test_accuracy_is_that_of_paddle() -> None:
    random = np.random.RandomState(1)
    scores, labels = random.uniform(0, 1, [20, 4]).astype(np.float32), random.randint(0, 4, [20, 1])
    with static_paddle() as executor:
        x, y = paddle.static.data("x", [None, 4], "float32"), paddle.static.data("y", [None, 1], "int64")
        shares = [paddle.static.accuracy(x, y), paddle.metric.accuracy(x, y, k=2)]
        wanted = executor.run(feed={"x": scores, "y": labels}, fetch_list=shares)
    with tf.Graph().as_default(), v1.Session() as session:
        found = session.run([nn.static.accuracy(scores, labels), nn.static.accuracy(scores, labels, k=2)])
    np.testing.assert_allclose(found, np.reshape(wanted, -1), rtol=1e-6)


@pytest.mark.parametrize("activation", [None, "softmax"])
def test_fc_is_that_of_paddle(activation: str | None) -> None:
    rows = np.random.RandomState(1).standard_normal([2, 3, 4]).astype(np.float32)
    matrix = np.random.RandomState(2).standard_normal([4, 5]).astype(np.float32)
    settings: dict[str, Any] = {"num_flatten_dims": 2, "activation": activation}
    with static_paddle() as executor:
        x = paddle.static.data("x", [None, 3, 4], "float32")
        x.stop_gradient = False
        attrs = [paddle.nn.initializer.Assign(matrix), paddle.nn.initializer.Constant(0.5)]
        y = paddle.static.nn.fc(x, 5, weight_attr=attrs[0], bias_attr=attrs[1], **settings)
        named = [one.name for one in paddle.static.default_main_program().all_parameters()]
        slopes = paddle.static.gradients(paddle.sum(y * y), [x])
        executor.run(paddle.static.default_startup_program())
        wanted = executor.run(feed={"x": rows}, fetch_list=[y, *slopes])
    with tf.Graph().as_default(), v1.Session() as session:
        x = nn.static.data("x", [None, 3, 4])
        start, bias = nn.initializer.Assign(matrix), nn.initializer.Constant(0.5)
        with nn.static.Program() as program:
            y = nn.static.nn.fc(x, 5, weight_attr=start, bias_attr=bias, **settings)
            flat = nn.static.nn.fc(x, 2, bias_attr=False)
        assert list(program.weights)[:2] == named == ["fc_0.w_0", "fc_0.b_0"]
        assert (y.shape.as_list(), flat.shape.as_list()) == ([None, 3, 5], [None, 2])
        session.run(v1.global_variables_initializer())
        found = session.run([y, *tf.gradients(tf.reduce_sum(y * y), x)], {x: rows})
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_tables_of_a_name_are_one_and_their_evaluation_inserts_nothing() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        ids = [nn.static.data(name, [None, 1], "int64", lod_level=1) for name in ("2", "3")]
        named = nn.ParamAttr(name="embedding", initializer=nn.initializer.Constant(0.5))

        def net() -> Any:
            rows = [nn.static.nn.sparse_embedding(one, [100, 3], padding_idx=0, param_attr=named) for one in ids]
            return nn.Linear(3, 1)(tf.concat([nn.static.nn.sequence_pool(row, "sum") for row in rows], 0))

        with nn.static.Program() as program:
            loss = tf.reduce_sum(net())
            step = nn.optimizer.SGD(1.0).minimize(loss)
        with nn.static.Program(training=False) as evaluation:
            evaluated = net()
        assert list(program.weights) == list(evaluation.weights) == ["embedding", "linear_0.weight", "linear_0.bias"]
        assert len(v1.global_variables()) == 3  # those of the layer, and the anchor of the table
        session.run(v1.global_variables_initializer())
        feed: dict[Any, Any] = {}
        for one, values, splits in zip(ids, ([7, 0, 2**62], [7]), ([0, 1, 1, 3], [0, 0, 1, 1]), strict=True):
            feed |= {one.values: np.reshape(values, [-1, 1]), one.row_splits: splits}
        before = session.run(evaluated, feed)
        table = program.weights["embedding"].table
        assert session.run(table.size()) == 1  # the row of the padding id is there from the start
        session.run(step, feed)
        assert session.run(table.size()) == 3
        assert not np.allclose(session.run(evaluated, feed), before)


def test_ids_are_admitted_at_the_nth_occurrence() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        ids = nn.static.data("ids", [None, 1], "int64")
        entry = nn.static.CountFilterEntry(3)
        start = nn.ParamAttr(initializer=nn.initializer.Constant(2.0))
        with nn.static.Program() as program:
            rows = nn.static.nn.sparse_embedding(ids, [10, 1], entry=entry, param_attr=start)
        assert list(program.weights) == ["sparse_embedding_0.w_0"]
        session.run(v1.global_variables_initializer())
        found = [session.run(rows, {ids: [[1], [2]]})[:, 0].tolist() for _ in range(3)]
        assert found == [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]


def test_ids_are_admitted_with_a_probability() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        ids = nn.static.data("ids", [None, 1], "int64")
        start = nn.ParamAttr(initializer=nn.initializer.Constant(2.0))
        with nn.static.Program():
            rows = nn.static.nn.sparse_embedding(ids, [10, 1], entry=nn.static.ProbabilityEntry(0.5), param_attr=start)
        session.run(v1.global_variables_initializer())
        shares = [session.run(rows, {ids: np.arange(1000)[:, None]}).mean() / 2 for _ in range(3)]
        np.testing.assert_allclose(shares, [0.5, 0.75, 0.875], atol=0.06)


def test_batches_of_slots_have_the_bits_of_unsigned_ids() -> None:
    with tf.Graph().as_default():
        feeds = [
            nn.static.data("click", [None, 1], "int64"),
            nn.static.data("ids", [None, 1], "int64", lod_level=1),
            nn.static.data("dense", [None, 2], "float32"),
        ]
        samples = [
            [("click", [1]), ("ids", [2**64 - 1, 5]), ("dense", [0.5, 1])],
            [("click", ["0"]), ("ids", ["7"]), ("dense", ["2", "3.5"])],
        ]
        click, ids, splits, dense = batch_of(samples, feeds)
        assert (click.tolist(), ids.tolist(), splits.tolist()) == ([[1], [0]], [[-1], [5], [7]], [0, 2, 3])
        assert dense.tolist() == [[0.5, 1], [2, 3.5]] and dense.dtype == np.float32
        with pytest.raises(ValueError, match="2 slots, and the program is fed with 3"):
            next(batch_of([sample[:2] for sample in samples], feeds))


def test_samples_of_arrays_have_the_shapes_of_the_feeds() -> None:
    rows = [(np.array([i]), i + 0.5, np.array([i, i], np.int32)) for i in range(5)]
    with tf.Graph().as_default(), v1.Session() as session:
        shapes: list[Any] = [("a", [None, 1], "int64", 1), ("b", [None, 1], "float32"), ("c", [-1, 2], "int64")]
        feeds = [nn.static.data(*shape) for shape in shapes]
        a, b, c = fed(v1.data.make_one_shot_iterator(samples(rows, feeds, 2)).get_next(), feeds)
        assert (a.shape.as_list(), b.shape.as_list(), c.dtype) == ([None, 1], [None, 1], tf.int64)
        found = [session.run([a.values, a.row_splits, b, c]) for _ in range(2)]
        assert [one.tolist() for one in found[1]] == [[[2], [3]], [0, 1, 2], [[2.5], [3.5]], [[2, 2], [3, 3]]]
        with pytest.raises(ValueError, match="3 arrays, and the program is fed with 1"):
            samples(rows, feeds[:1], 2)
