"""Checkpoints of EmbeddingVariables hold DeepRec's tensors, and any number of parts reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.checkpoint.bundle import Bundle
from runtime.compat import deeprec

_MATRIX = np.random.default_rng(3).normal(size=(64, 3)).astype(np.float32)
_IDS = [0, 1, 2, 1000, 1001, 1002, 5, -3, -1000, 7, 7]


class _Model:
    """A variable `user` in a graph of its own, trained on what is fed."""

    def __init__(self, rec: Any, parts: int | None, optimizer: Any = None, dim: int = 3, **options: Any) -> None:
        self.rec = rec
        self.graph = tf.Graph()
        with self.graph.as_default():
            init = rec.InitializerOption(initializer=rec.constant_initializer(_MATRIX[:, :dim]), default_value_dim=64)
            self.variable = rec.get_embedding_variable(
                "user",
                dim,
                ev_option=rec.EmbeddingVariableOption(init_option=init, **options),
                partitioner=None if parts is None else rec.fixed_size_partitioner(parts),
            )
            self.parts = [self.variable] if parts is None else list(self.variable)
            self.ids = rec.placeholder(rec.int64, [None])
            self.rows = rec.nn.embedding_lookup(self.variable, self.ids)
            optimizer = optimizer or rec.train.AdagradOptimizer(0.1)
            step = rec.train.get_or_create_global_step()
            self.train = optimizer.minimize(rec.reduce_sum(rec.square(self.rows) + self.rows), step)
            self.saver = rec.train.Saver()
            self.init = rec.global_variables_initializer()
            self.noted = [(part.get_frequency(_IDS), part.get_version(_IDS)) for part in self.parts]
            self.counts = [part.total_count() for part in self.parts]
        self.session = rec.Session(graph=self.graph)

    def trained(self, *batches: Any) -> _Model:
        self.session.run(self.init)
        for batch in batches:
            self.step(batch)
        return self

    def step(self, batch: Any) -> None:
        self.session.run(self.train, {self.ids: batch})

    def read(self, ids: Any = _IDS) -> np.ndarray:
        return self.session.run(self.rows, {self.ids: ids})

    def save(self, path: Path) -> str:
        return self.saver.save(self.session, str(path / "model"))


def _optimizers(rec: Any) -> dict[str, Any]:
    return {
        "sgd": lambda: rec.train.GradientDescentOptimizer(0.1),
        "adagrad": lambda: rec.train.AdagradOptimizer(0.1),
        "adam": lambda: rec.train.AdamOptimizer(0.1),
        "ftrl": lambda: rec.train.FtrlOptimizer(0.1),
    }


def test_the_tensors_are_deeprecs(rec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_RECORD_VERSION", "1")
    model = _Model(rec, None, filter_option=rec.CounterFilter(2)).trained([0, 1, 2, 1000, 1001, 1002] * 2, [9, 1, 1003])
    saved = tf.train.load_checkpoint(model.save(tmp_path))
    found = {name: saved.get_tensor(name) for name in saved.get_variable_to_shape_map()}
    assert found["user-keys"].tolist() == [0, 1000, 1, 1001, 2, 1002]
    offsets = found["user-partition_offset"]
    assert (offsets.dtype, offsets.shape) == (np.int32, (1001,))
    assert offsets[:5].tolist() == [0, 2, 4, 6, 6] and offsets[-1] == 6
    assert found["user-freqs"].tolist() == [2, 2, 3, 2, 2, 2]
    assert found["user-versions"].tolist() == [0, 0, 1, 0, 0, 0]
    assert (found["user-keys_filtered"].tolist(), found["user-freqs_filtered"].tolist()) == ([1003, 9], [1, 1])
    assert found["user-versions_filtered"].tolist() == [1, 1]
    assert found["user-partition_filter_offset"][[0, 3, 4, 9, 10, 1000]].tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_array_equal(found["user-values"], model.read([0, 1000, 1, 1001, 2, 1002]))
    assert found["user/Adagrad-keys"].tolist() == found["user-keys"].tolist()
    assert np.all(found["user/Adagrad-values"] > 0.1)
    assert "user" not in found and "user-slots" not in found


def test_filtered_keys_can_be_left_out(rec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _Model(rec, None, filter_option=rec.CounterFilter(5)).trained([1, 2])
    assert tf.train.load_checkpoint(model.save(tmp_path)).get_tensor("user-keys_filtered").tolist() == [1, 2]
    monkeypatch.setenv("TF_EV_SAVE_FILTERED_FEATURES", "False")
    saved = tf.train.load_checkpoint(
        _Model(rec, None, filter_option=rec.CounterFilter(5)).trained([1, 2]).save(tmp_path)
    )
    assert saved.get_tensor("user-keys_filtered").tolist() == []


@pytest.mark.parametrize(
    ("optimizer", "before", "after"),
    [("sgd", 2, 4), ("adam", 4, 2), ("ftrl", None, 2)]
    + [("adagrad", *parts) for parts in [(None, None), (None, 2), (2, None), (2, 4), (4, 2), (4, 1), (1, 4)]],
)
@pytest.mark.one_case
def test_any_number_of_parts_restores_any_other(
    rec: Any, tmp_path: Path, optimizer: str, before: int | None, after: int | None
) -> None:
    make = _optimizers(rec)[optimizer]
    with tf.Graph().as_default():
        one = _Model(rec, before, make()).trained(_IDS, _IDS[:4])
    path = one.save(tmp_path)
    other = _Model(rec, after, make())
    other.saver.restore(other.session, path)
    np.testing.assert_array_equal(other.read(), one.read())
    assert sum(count[0] for count in other.session.run(other.counts)) == len(set(_IDS))
    for model in (one, other):
        model.step([1, 2, 33, -3])
    np.testing.assert_array_equal(other.read([*_IDS, 33, 34]), one.read([*_IDS, 33, 34]))


def test_what_is_known_of_keys_is_restored(rec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_RECORD_VERSION", "1")
    one = _Model(rec, 2, filter_option=rec.CounterFilter(2)).trained(_IDS, [1, 0])
    other = _Model(rec, 4, filter_option=rec.CounterFilter(2))
    other.saver.restore(other.session, one.save(tmp_path))
    sums = []
    for model in (one, other):
        noted = model.session.run(model.noted)
        sums.append((sum(freq for freq, _ in noted), np.max([version for _, version in noted], axis=0)))
    np.testing.assert_array_equal(sums[0], sums[1])
    assert sums[0][0].max() == 2 and sums[0][0].min() == 1
    for model in (one, other):
        model.step([2])  # which was seen once before
        assert not np.array_equal(model.read([2]), [[0.0] * 3])
    np.testing.assert_array_equal(one.read(), other.read())


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2)])
@pytest.mark.one_case
def test_rows_of_another_width_are_cut_or_filled_up(
    rec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    saved = _Model(rec, None, dim=before).trained(_IDS, [5, 7])
    path, rows, kept = saved.save(tmp_path), saved.read(), min(before, after)
    model = _Model(rec, 2, dim=after)
    with pytest.raises(tf.errors.InvalidArgumentError, match="TF_EV_RESTORE_CUSTOM_DIM"):
        model.saver.restore(model.session, path)
    monkeypatch.setenv("TF_EV_RESTORE_CUSTOM_DIM", "True")
    model = _Model(rec, 2, dim=after)
    model.trained(_IDS).saver.restore(model.session, path)  # rows that are there take no part
    np.testing.assert_array_equal(model.read()[:, :kept], rows[:, :kept])
    np.testing.assert_array_equal(model.read()[:, kept:], _MATRIX[np.mod(_IDS, 64)][:, kept:after])
    if after < before:
        return
    # Slots went with the values, and the new columns start as a new row does.
    fresh = _Model(rec, None, dim=after).trained([5])
    for one in (saved, model):
        one.step([5])
    np.testing.assert_array_equal(model.read([5])[:, :kept], saved.read([5]))
    np.testing.assert_array_equal(model.read([5])[:, kept:], fresh.read([5])[:, kept:])


def test_a_variable_that_a_checkpoint_lacks_is_named_and_no_table(rec: Any, tmp_path: Path) -> None:
    path = _Model(rec, None).trained(_IDS).save(tmp_path)
    model = _Model(rec, None)
    with model.graph.as_default():
        rec.get_variable("bias", [3])
        saver = rec.train.Saver()
    with pytest.raises(tf.errors.NotFoundError, match="bias") as error:
        saver.restore(model.session, path)
    assert "has no rows" not in str(error.value)


def test_an_option_says_which_checkpoint_to_begin_with(rec: Any, tmp_path: Path) -> None:
    saved = _Model(rec, 2).trained(_IDS)
    path, rows = saved.save(tmp_path), saved.read()
    for always in (False, True):
        with tf.Graph().as_default():
            option = rec.CheckpointOption(str(tmp_path), "user", always_load_from_specific_ckpt=always)
            item = rec.get_embedding_variable("item", 3, ev_option=rec.EmbeddingVariableOption(ckpt=option))
            read, saver = rec.nn.embedding_lookup(item, _IDS), rec.train.Saver()
            train = rec.train.AdagradOptimizer(0.1).minimize(rec.reduce_sum(read))
            with rec.Session() as session:
                session.run(rec.global_variables_initializer())
                np.testing.assert_array_equal(session.run(read), rows)
                session.run(train)
                trained = session.run(read)
                other = saver.save(session, str(tmp_path / f"other{always}" / "model"))
                saver.restore(session, other)
                np.testing.assert_array_equal(session.run(read), rows if always else trained)
    assert path and np.all(trained != rows)


def test_a_checkpoint_to_begin_with_that_is_not_there(rec: Any, tmp_path: Path) -> None:
    option = rec.EmbeddingVariableOption(ckpt=rec.CheckpointOption(str(tmp_path / "none")))
    with pytest.raises(ValueError, match="which does not exist"):
        rec.get_embedding_variable("user", 3, ev_option=option)


v1 = tf.compat.v1
_KEYS = np.asarray([1, 2, 3, -7, 2**31 - 1], np.int32)


@pytest.fixture
def facade(graph: tf.Graph) -> Iterator[None]:
    deeprec.install()
    yield
    deeprec.uninstall()


def _model(dtype: tf.DType, filtered: bool) -> tuple[Any, Any, Any, Any]:
    option = deeprec.EmbeddingVariableOption(filter_option=deeprec.CounterFilter(filter_freq=3) if filtered else None)
    start = v1.constant_initializer(0.5)
    variable = deeprec.get_embedding_variable("ev", 2, dtype, initializer=start, ev_option=option)
    ids = v1.placeholder(dtype, [None])
    rows = tf.nn.embedding_lookup(variable, ids)
    return ids, rows, v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.sin(rows))), v1.train.Saver()


def _run(dtype: tf.DType, filtered: bool, path: str, save: str = "") -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        ids, rows, train, saver = _model(dtype, filtered)
        session.run(v1.global_variables_initializer())
        if path:
            saver.restore(session, path)
        for count in (5, 5, 4):  # with a filter, the last key stays outside
            session.run(train, {ids: _KEYS[:count]})
        if save:
            saver.save(session, save)
        return session.run(rows, {ids: _KEYS})


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.one_case
def test_keys_have_the_dtype_of_the_variable_and_either_is_restored(
    facade: None, tmp_path: Path, filtered: bool
) -> None:
    for dtype in (tf.int32, tf.int64):
        _run(dtype, filtered, "", str(tmp_path / dtype.name))
        held = Bundle(tmp_path / dtype.name)
        of_keys = [name for name in held.shapes if name.endswith(("-keys", "-keys_filtered"))]
        assert len(of_keys) == 4 and {held.types[name] for name in of_keys} == {dtype}
        assert not filtered or held.shapes["ev-keys_filtered"] == [1]
    expected = _run(tf.int32, filtered, str(tmp_path / "int32"))
    for dtype, name in ((tf.int32, "int64"), (tf.int64, "int32"), (tf.int64, "int64")):
        np.testing.assert_array_equal(_run(dtype, filtered, str(tmp_path / name)), expected)
