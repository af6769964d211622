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

#: Lookups of the cases below whose ids may move, and those that did.
_rate = {"moved": 0, "may": 0}


@pytest.fixture(scope="module", autouse=True)
def _print_rate() -> Iterator[None]:
    yield
    print(f"\nids moved into datasets: {_rate['moved']} of {_rate['may']} lookups that may move")


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


def _feedable_one_shot(dataset: Any) -> Source:
    source = v1.data.make_one_shot_iterator(dataset)
    handle = v1.placeholder(tf.string, [])
    element = v1.data.Iterator.from_string_handle(handle, *_types(dataset)).get_next()
    return Source(element, [], (handle, source.string_handle()))


def _prefetched(dataset: Any) -> Source:
    return _one_shot(dataset.prefetch(2).map(lambda *one: one[0] if len(one) == 1 else one).prefetch(1))


INPUTS: dict[str, Callable[[Any], Source]] = {
    "initializable": _initializable,
    "shared": _shared,
    "one_shot": _one_shot,
    "reinitializable": _reinitializable,
    "feedable": _feedable,
    "feedable_one_shot": _feedable_one_shot,
    "prefetched": _prefetched,
}


def _columns(count: int = SIZE * BATCHES) -> dict[str, Any]:
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


def _diamond(one: dict[str, Any]) -> Any:
    ids = one["ids"]
    for _ in range(12):
        ids = (ids * 3 + ids) % ROWS
    return ids, one["labels"]


def _checked(one: dict[str, Any]) -> Any:
    with tf.control_dependencies([v1.assert_less(one["ids"], np.int64(ROWS))]):
        return tf.identity(one["ids"]), one["labels"]


def _chosen(one: dict[str, Any]) -> Any:
    few = tf.reduce_sum(one["ids"]) > 300
    return tf.cond(few, lambda: one["ids"] // 2, lambda: one["ids"]), one["labels"]


def _looped(one: dict[str, Any]) -> Any:
    ids = tf.while_loop(lambda ids: tf.reduce_max(ids) >= 10, lambda ids: ids // 2, [one["ids"]])
    return ids[0] if isinstance(ids, (list, tuple)) else ids, one["labels"]


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
    "bare": (lambda: _slices("ids"), lambda one: one["ids"], lambda one: (one + 0, tf.cast(one[:, :1], tf.float32))),
    "sparse": (lambda: _slices("ids"), _with_sparse, lambda one: (tf.sparse.to_dense(one["ids"]), one["labels"])),
    "ragged": (lambda: _slices("ids"), _with_ragged, lambda one: (one["ids"].to_tensor(), one["labels"])),
    "text": (lambda: _slices("text"), None, lambda one: (_numbers(one["text"]), one["labels"])),
    "hashed": (lambda: _slices("words"), None, _hashed),
    "diamond": (lambda: _slices("ids"), None, _diamond),
    "twice": (lambda: _slices("ids"), None, lambda one: ((one["ids"] * one["ids"]) % ROWS, one["labels"])),
    "checked": (lambda: _slices("ids"), None, _checked),
    "chosen": (lambda: _slices("ids"), None, _chosen),
    "looped": (lambda: _slices("ids"), None, _looped),
    "function": (lambda: _slices("ids"), None, _named),
    "more": (lambda: _slices("ids", "text", "words"), None, _plain),
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
    _rate["may"] += 1
    _rate["moved"] += len(moved.pipeline.moved)
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
    assert "calls a function, which an iterator with a shared_name may not run: give it none" in str(staying)


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


def _stays(graph: tf.Graph, ids: Any) -> str:
    """Look `ids` up, move, and return the one line that says why they stay."""
    _model(tf.reshape(ids, [-1, 3]), tf.constant([[1.0]]))
    rewrite()
    before = graph.as_graph_def()
    plan = move_ids()
    assert graph.as_graph_def() == before
    assert not plan.moved
    (staying,) = plan.staying
    assert "ids of 0 of 1 lookup(s)" in plan.summary()
    return str(staying)


def _element() -> Any:
    return v1.data.make_initializable_iterator(_slices("ids").batch(SIZE)).get_next()["ids"]


def _in_a_branch() -> Any:
    v1.disable_control_flow_v2()
    try:
        ids = _element()
        return tf.cond(tf.reduce_sum(ids) > 5, lambda: ids + 1, lambda: ids)
    finally:
        v1.enable_control_flow_v2()


def _offset() -> Any:
    start = v1.zeros_initializer()
    return v1.get_variable("offset", [], tf.int64, initializer=start, use_resource=True)


#: Ids that no dataset can compute, with what is said of them.
STAYING: dict[str, tuple[Callable[[], Any], str]] = {
    "fed": (lambda: _element() + v1.placeholder(tf.int64, [None, 3], "fed"), "`fed` is fed"),
    "random": (
        lambda: _element() + v1.random_uniform([3], maxval=5, dtype=tf.int64),
        "RandomUniformInt `random_uniform` is stateful or random (random_uniform → ",
    ),
    "of a variable": (lambda: _element() + _offset(), "ReadVariableOp"),
    "of Python": (
        lambda: v1.py_func(lambda ids: ids, [_element()], tf.int64, stateful=True),
        "PyFunc `PyFunc` is stateful",
    ),
    "constant": (lambda: tf.constant([[1, 2, 3]], tf.int64), "they are constants and come from no dataset"),
    "of a queue": (lambda: tf.queue.FIFOQueue(2, [tf.int64], [[1, 3]]).dequeue(), "QueueDequeueV2"),
    "of a branch": (_in_a_branch, "is inside a branch or loop of TensorFlow 1"),
}


@pytest.mark.parametrize(("ids", "reason"), STAYING.values(), ids=STAYING)
@pytest.mark.each_case
def test_ids_that_no_dataset_can_compute_stay(graph: tf.Graph, ids: Callable[[], Any], reason: str) -> None:
    assert reason in _stays(graph, ids())


@pytest.mark.parametrize("source", INPUTS)
@pytest.mark.one_case
def test_ids_that_are_elements_pass(source: str) -> None:
    """Elements keep their structure; the dataset de-duplicates ahead."""
    stock, moved = _passing(source, moved=False), _passing(source, moved=True)
    assert np.abs(stock - moved).max() <= 1e-5 * np.abs(stock).max()


def _passing(source: str, moved: bool) -> Any:
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(3)
        given = INPUTS[source](_slices("ids").shuffle(30, seed=5).batch(SIZE))
        loss, step = _model(given.element["ids"], given.element["labels"])
        if moved:
            rewrite()
            plan = move_ids()
            assert len(plan.passing) == 1
            assert not any(inputs.cuts for inputs in plan.extended)
            library = graph.as_graph_def().library.function
            assert any(node.op == "RecPrepareKeys" for function in library for node in function.node_def)
            assert not move_ids().inputs
        found = [one[0] for one in _steps(given, [loss, step])]
        assert len(found) == BATCHES
        return np.array(found)


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
