"""Ids that datasets compute ahead: the same losses and batches as without, over inputs of all kinds; and what stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from rewriter import move_ids, rewrite
from rewriter.checks.invariants import RewriteError
from rewriter.pipeline import PipelinePlan

v1 = tf.compat.v1
ROWS, DIM, SIZE, BATCHES = 50, 4, 8, 12


@dataclass
class Source:
    """An input: its element, what to run before the first step, and what to feed."""

    element: Any
    start: list[Any] = field(default_factory=list)
    handle: tuple[Any, Any] | None = None


def _types(dataset: Any) -> tuple[Any, Any, Any]:
    kinds = (v1.data.get_output_types, v1.data.get_output_shapes, v1.data.get_output_classes)
    types, shapes, classes = (kind(dataset) for kind in kinds)
    return types, shapes, classes


def _initializable(dataset: Any) -> Source:
    iterator = v1.data.make_initializable_iterator(dataset)
    return Source(iterator.get_next(), [iterator.initializer])


def _shared(dataset: Any) -> Source:
    iterator = v1.data.make_initializable_iterator(dataset, shared_name="train_data")
    return Source(iterator.get_next(), [iterator.initializer])


def _one_shot(dataset: Any) -> Source:
    return Source(v1.data.make_one_shot_iterator(dataset).get_next())


def _reinitializable(dataset: Any) -> Source:
    """Two datasets of one structure; the second is iterated."""
    types, shapes, classes = _types(dataset)
    iterator = v1.data.Iterator.from_structure(types, shapes, output_classes=classes)
    iterator.make_initializer(dataset.take(1))
    return Source(iterator.get_next(), [iterator.make_initializer(dataset)])


def _feedable(dataset: Any) -> Source:
    source = v1.data.make_initializable_iterator(dataset)
    v1.data.make_one_shot_iterator(dataset.take(1))
    handle = v1.placeholder(tf.string, [])
    element = v1.data.Iterator.from_string_handle(handle, *_types(dataset)).get_next()
    return Source(element, [source.initializer], (handle, source.string_handle()))


INPUTS: dict[str, Callable[[Any], Source]] = {
    "initializable": _initializable,
    "shared": _shared,
    "one_shot": _one_shot,
    "reinitializable": _reinitializable,
    "feedable": _feedable,
}


def _columns() -> dict[str, Any]:
    count = SIZE * BATCHES
    random = np.random.default_rng(0)
    ids = (ROWS * random.random((count, 3)) ** 2).astype(np.int64)
    return {
        "ids": ids,
        "text": np.array([" ".join(map(str, row)) for row in ids]),
        "words": np.array([f"word{row[0]}" for row in ids]),
        "labels": random.normal(size=(count, 1)).astype(np.float32),
    }


def _slices(*names: str) -> Any:
    columns = _columns()
    return tf.data.Dataset.from_tensor_slices({name: columns[name] for name in (*names, "labels")})


def _numbers(text: Any) -> Any:
    return tf.reshape(tf.strings.to_number(tf.strings.split(text).values, tf.int64), [-1, 3])


def _plain(one: dict[str, Any]) -> Any:
    return (one["ids"] + 1) % ROWS, one["labels"]


def _with_sparse(one: dict[str, Any]) -> Any:
    return {"ids": tf.sparse.from_dense(one["ids"]), "labels": one["labels"]}


def _with_ragged(one: dict[str, Any]) -> Any:
    return {"ids": tf.RaggedTensor.from_tensor(one["ids"]), "labels": one["labels"]}


def _checked(one: dict[str, Any]) -> Any:
    with tf.control_dependencies([v1.assert_less(one["ids"], np.int64(ROWS))]):
        return tf.identity(one["ids"]), one["labels"]


def _chosen(one: dict[str, Any]) -> Any:
    few = tf.reduce_sum(one["ids"]) > 300
    return tf.cond(few, lambda: one["ids"] // 2, lambda: one["ids"]), one["labels"]


def _hashed(one: dict[str, Any]) -> Any:
    return tf.strings.to_hash_bucket_fast(tf.strings.join([one["words"], "x"]), ROWS)[:, None], one["labels"]


def _found(one: dict[str, Any]) -> Any:
    words = tf.constant([f"word{number}" for number in range(ROWS)])
    numbers = tf.lookup.KeyValueTensorInitializer(words, tf.range(ROWS, dtype=tf.int64))
    return tf.lookup.StaticHashTable(numbers, 0).lookup(one["words"])[:, None], one["labels"]


def _named(one: Any) -> Any:
    """A function of TensorFlow 2 called in the graph."""
    return tf.function(lambda ids: (ids + 7) % ROWS)(one["ids"]), one["labels"]


#: By name: the dataset of single examples, what is done to batches in it, and how the graph makes ids of an element.
Element = tuple[Callable[[], Any], Callable[[Any], Any] | None, Callable[[Any], Any]]
ELEMENTS: dict[str, Element] = {
    "dict": (lambda: _slices("ids"), None, _plain),
    "tuple": (lambda: _slices("ids"), lambda one: (one["ids"], one["labels"]), lambda one: (one[0] % 40, one[1])),
    "nested": (
        lambda: _slices("ids"),
        lambda one: ({"a": {"b": one["ids"]}}, (one["labels"],)),
        lambda one: (one[0]["a"]["b"] // 2, one[1][0]),
    ),
    "sparse": (lambda: _slices("ids"), _with_sparse, lambda one: (tf.sparse.to_dense(one["ids"]), one["labels"])),
    "ragged": (lambda: _slices("ids"), _with_ragged, lambda one: (one["ids"].to_tensor(), one["labels"])),
    "text": (lambda: _slices("text"), None, lambda one: (_numbers(one["text"]), one["labels"])),
    "hashed": (lambda: _slices("words"), None, _hashed),
    "checked": (lambda: _slices("ids"), None, _checked),
    "chosen": (lambda: _slices("ids"), None, _chosen),
    "function": (lambda: _slices("ids"), None, _named),
}


def _dataset(name: str) -> Any:
    examples, mapped, _ = ELEMENTS[name]
    batches = examples().shuffle(30, seed=5).batch(SIZE)
    return batches.map(mapped) if mapped else batches


def _model(ids: Any, labels: Any) -> tuple[Any, Any]:
    table = v1.get_variable("user", [ROWS, DIM], initializer=v1.random_normal_initializer(stddev=0.3))
    hidden = tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 1)
    weights = v1.get_variable("head", [DIM, 1], initializer=v1.random_normal_initializer(stddev=0.3))
    loss = tf.reduce_mean(tf.square(hidden @ weights - labels))
    return loss, v1.train.AdagradOptimizer(0.1).minimize(loss)


@dataclass
class Run:
    """What all steps to the end of the input gave."""

    losses: NDArray[np.float32]
    ids: list[NDArray[np.int64]]
    labels: list[NDArray[np.float32]]
    pipeline: PipelinePlan


def _run(source: Callable[[Any], Source], element: str, moved: bool) -> Run:
    """Train to the end of the input, and fetch ids and labels in the steps, through the names the author has."""
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        given = source(_dataset(element))
        ids, labels = ELEMENTS[element][2](given.element)
        loss, step = _model(ids, labels)
        if moved:
            rewrite()
        plan = move_ids() if moved else PipelinePlan()
        steps = list(_steps(given, [loss, step, ids, labels]))
    losses, _, batches, fetched = zip(*steps, strict=True)
    return Run(np.array(losses), list(batches), list(fetched), plan)


def _steps(source: Source, fetches: Any) -> Iterator[Any]:
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        session.run(source.start)
        feed = {source.handle[0]: session.run(source.handle[1])} if source.handle else {}
        while True:
            try:
                yield session.run(fetches, feed)
            except tf.errors.OutOfRangeError:
                return


def _assert_same(source: Callable[[Any], Source], element: str) -> PipelinePlan:
    stock, moved = _run(source, element, moved=False), _run(source, element, moved=True)
    assert len(stock.losses) == len(moved.losses) == BATCHES
    assert np.abs(stock.losses - moved.losses).max() <= 1e-5 * np.abs(stock.losses).max()
    for one, other in zip(stock.ids + stock.labels, moved.ids + moved.labels, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not moved.pipeline.staying, moved.pipeline.summary()
    return moved.pipeline


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("source", INPUTS)
@pytest.mark.one_case
def test_a_dataset_computes_the_ids(source: str, element: str) -> None:
    if (source, element) == ("shared", "function"):
        pytest.skip("such ids stay: see below")
    plan = _assert_same(INPUTS[source], element)
    assert len(plan.moved) == 1


def _nested(one: Any) -> Any:
    few = tf.reduce_sum(one["ids"]) > 300
    return tf.cond(few, lambda: _named(one)[0], lambda: one["ids"]), one["labels"]


@pytest.mark.parametrize("ids_of", [_named, _nested])
def test_an_iterator_with_a_shared_name_runs_no_functions(ids_of: Callable[[Any], Any]) -> None:
    with tf.Graph().as_default():
        given = _shared(_dataset("function"))
        loss, step = _model(*ids_of(given.element))
        rewrite()
        plan = move_ids()
        steps = list(_steps(given, [loss, step]))
    assert len(steps) == BATCHES
    (staying,) = plan.staying
    assert "calls a function, which an iterator with a shared_name may not run: leave shared_name out" in str(staying)


def _hash_table_run(source: Callable[[Any], Source], moved: bool) -> tuple[Any, PipelinePlan]:
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        given = source(_slices("words").batch(SIZE))
        loss, step = _model(*_found(given.element))
        if moved:
            rewrite()
        plan = move_ids() if moved else PipelinePlan()
        return np.array([one[0] for one in _steps(given, [loss, step])]), plan


def test_a_dataset_holds_a_hash_table_of_the_graph() -> None:
    stock, _ = _hash_table_run(_initializable, moved=False)
    moved, plan = _hash_table_run(_initializable, moved=True)
    assert len(plan.moved) == 1
    assert len(stock) == BATCHES
    assert np.abs(stock - moved).max() <= 1e-5 * np.abs(stock).max()


def test_a_one_shot_iterator_leaves_a_hash_table_in_the_graph() -> None:
    stock, _ = _hash_table_run(_one_shot, moved=False)
    moved, plan = _hash_table_run(_one_shot, moved=True)
    assert "one-shot" in plan.summary()
    assert "make the iterator initializable" in plan.summary()
    assert np.abs(stock - moved).max() <= 1e-5 * np.abs(stock).max()


def test_a_failed_check_takes_the_pipeline_back(graph: tf.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    given = _initializable(_slices("ids").batch(SIZE))
    loss, step = _model(given.element["ids"] + 0, given.element["labels"])
    rewrite()
    nodes = {node.name: node for node in graph.as_graph_def().node}

    def refuse(*_: Any) -> None:
        raise RewriteError("as if")

    monkeypatch.setattr("rewriter.pipeline.moving.check", refuse)
    with pytest.raises(RewriteError, match="as if"):
        move_ids()
    after = {node.name: node for node in graph.as_graph_def().node}
    assert all(after[name] == node for name, node in nodes.items())
    assert len(list(_steps(given, [loss, step]))) == BATCHES
