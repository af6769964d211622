"""Incremental checkpoints: a whole checkpoint and its last increment restore what was there."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import native
from runtime.checkpoint.bundle import CheckpointError
from runtime.compat.deeprec.incremental import FOLDER, IncrementalSaver
from tests.support.runtime.kill_points import watched

pytestmark = pytest.mark.one_version

_MATRIX = np.random.default_rng(5).normal(size=(64, 3)).astype(np.float32)
_IDS = [0, 1, 2, 3, 5, 1000, 1001, -3, 7]


class _Model:
    """A variable `user` of some parts and a dense one in a graph of their own."""

    def __init__(
        self, rec: Any, parts: int | None = None, optimizer: Any = None, early: bool = False, **options: Any
    ) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            init = rec.InitializerOption(initializer=rec.constant_initializer(_MATRIX), default_value_dim=64)
            self.user = rec.get_embedding_variable(
                "user",
                3,
                ev_option=rec.EmbeddingVariableOption(init_option=init, **options),
                partitioner=None if parts is None else rec.fixed_size_partitioner(parts),
            )
            dense = rec.get_variable("dense", [3], initializer=rec.ones_initializer())
            self.ids = rec.placeholder(rec.int64, [None])
            self.rows = rec.nn.embedding_lookup(self.user, self.ids)
            self.step = rec.train.get_or_create_global_step()
            loss = rec.reduce_sum(rec.square(self.rows * dense) + self.rows)
            if early:
                self._make_savers(rec)
            self.train = (optimizer or rec.train.AdagradOptimizer(0.1)).minimize(loss, self.step)
            if not early:
                self._make_savers(rec)
            self.init = rec.global_variables_initializer()
            all_parts = [self.user] if parts is None else list(self.user)
            self.noted = [(part.get_frequency(_IDS), part.get_version(_IDS), part.total_count()) for part in all_parts]
            self.dense, self.slots = dense, all_parts[0].table.slots
        self.session = rec.Session(graph=self.graph)

    def _make_savers(self, rec: Any) -> None:
        self.saver = rec.train.Saver(incremental_save_restore=True)
        found = importlib.import_module("tensorflow.python.training.incremental_saver")
        self.increments = found._get_incremental_saver(True, self.saver)

    def trained(self, *batches: Any) -> _Model:
        for batch in batches:
            self.session.run(self.train, {self.ids: batch})
        return self

    def state(self) -> list[Any]:
        """Return rows, dense variable, step, and of all parts frequencies, versions and number of keys."""
        frequencies, versions, counts = (np.stack(one) for one in zip(*self.session.run(self.noted), strict=True))
        noted = [frequencies.sum(0), versions.max(0), counts[:, 0].sum()]
        return [*self.session.run([self.rows, self.dense, self.step], {self.ids: _IDS}), *noted]

    def then(self) -> list[Any]:
        """Return the state after two more steps, which slots have a say in."""
        return self.trained([0, 1, 1, 5], [2, 7, -3]).state()


def _row(model: _Model, key: int) -> Any:
    return model.session.run(model.rows, {model.ids: [key]})


def _equal(one: list[Any], other: list[Any]) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def _tensors(path: str) -> dict[str, Any]:
    reader = tf.train.load_checkpoint(path)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def test_rows_that_went_since_are_gone(rec: Any, tmp_path: Path) -> None:
    model = _Model(rec)
    model.session.run(model.init)
    model.trained([0, 1, 2, 3]).saver.save(model.session, str(tmp_path / "model"), model.step)
    with model.graph.as_default():
        gone = native.ops().rec_table_remove(model.user.table.handle, tf.constant([1, 3], tf.int64))
    model.session.run(gone)
    folder = str(tmp_path / FOLDER / "incr-model")
    path = model.trained([2]).increments.incremental_save(model.session, folder, model.step)
    assert _tensors(path)["user-sparse_incr_removed"].tolist() == [1, 3]
    model.increments.recover_incr_checkpoints(model.session, tmp_path)
    assert model.session.run(model.noted)[0][2].tolist() == [2, 3]
    np.testing.assert_array_equal(_tensors(path)["user-sparse_incr_values"], _row(model, 2))


def test_an_increment_that_was_not_finished_leaves_the_one_before(rec: Any, tmp_path: Path) -> None:
    model, folder = _Model(rec), str(tmp_path / FOLDER / "incr-model")
    model.session.run(model.init)
    model.trained([0, 1]).saver.save(model.session, str(tmp_path / "model"), model.step)
    first = model.trained([1]).increments.incremental_save(model.session, folder, model.step)
    there = _row(model, 1)
    last = model.trained([1]).increments.incremental_save(model.session, folder, model.step)
    Path(f"{last}.index").unlink()  # which is written last
    assert model.increments.recover_incr_checkpoints(model.session, tmp_path) == first
    np.testing.assert_array_equal(_row(model, 1), there)


def test_an_increment_is_never_applied_to_another_checkpoint(rec: Any, tmp_path: Path) -> None:
    model, folder = _Model(rec), str(tmp_path / FOLDER / "incr-model")
    model.session.run(model.init)
    first = model.trained([0, 1]).saver.save(model.session, str(tmp_path / "model"), model.step)
    path = model.trained([1]).increments.incremental_save(model.session, folder, 9)
    # A later run of the same folder that went another way.
    other = _Model(rec)
    other.session.run(other.init)
    second = other.trained([5], [5], [5]).saver.save(other.session, str(tmp_path / "model"), other.step)
    assert tf.train.latest_checkpoint(str(tmp_path)) == second
    assert other.increments.recover_incr_checkpoints(other.session, tmp_path) is None
    with pytest.raises(CheckpointError, match="builds on another checkpoint"):
        other.increments.incremental_restore(other.session, second, path)
    other.increments.incremental_restore(other.session, first, path)
    _equal(other.state()[:2], model.state()[:2])


def test_savers_made_before_the_optimizer_have_its_slots(rec: Any, tmp_path: Path) -> None:
    model, folder = _Model(rec, early=True), str(tmp_path / FOLDER / "incr-model")
    model.session.run(model.init)
    whole = model.trained([0, 1]).saver.save(model.session, str(tmp_path / "model"), model.step)
    path = model.trained([1]).increments.incremental_save(model.session, folder, model.step)
    assert "user/Adagrad-keys" in _tensors(whole)
    assert _tensors(path)["user/Adagrad-sparse_incr_keys"].tolist() == [1]
    restored = _Model(rec, early=True)
    restored.session.run(restored.init)
    assert restored.increments.recover_incr_checkpoints(restored.session, tmp_path) == path
    _equal(restored.then(), model.then())


def test_a_saver_made_before_the_optimizer_restores_its_slots(rec: Any, tmp_path: Path) -> None:
    model = _Model(rec, early=True)
    model.session.run(model.init)
    whole = model.trained([0, 1], [1, 5]).saver.save(model.session, str(tmp_path / "model"), model.step)
    restored = _Model(rec, early=True)
    restored.session.run(restored.init)
    restored.saver.restore(restored.session, whole)
    first, second = (one.trained([0, 1, 1, 5]).state()[0] for one in (model, restored))
    np.testing.assert_array_equal(second, first)


def test_savers_made_before_the_optimizer_cannot_save_once_the_graph_is_final(rec: Any, tmp_path: Path) -> None:
    model = _Model(rec, early=True)
    model.session.run(model.init)
    model.graph.finalize()
    with pytest.raises(RuntimeError, match="create the Saver after minimize"):
        model.saver.save(model.session, str(tmp_path / "model"))
    with pytest.raises(RuntimeError, match="create the Saver after minimize"):
        model.increments.incremental_save(model.session, str(tmp_path / "incr"), 1)


def test_rows_that_always_come_from_one_checkpoint_come_from_it_with_increments(rec: Any, tmp_path: Path) -> None:
    source = _Model(rec)
    source.session.run(source.init)
    given = source.trained([0, 1, 2]).saver.save(source.session, str(tmp_path / "source"))
    rows = source.state()[0]
    option = rec.CheckpointOption(given, "user", always_load_from_specific_ckpt=True)
    model = _Model(rec, ckpt=option)
    model.session.run(model.init)
    whole = model.trained([0]).saver.save(model.session, str(tmp_path / "model"))
    path = model.trained([0, 5]).increments.incremental_save(model.session, str(tmp_path / "incr"), 2)
    assert np.any(model.state()[0] != rows)
    model.increments.incremental_restore(model.session, whole, path)
    np.testing.assert_array_equal(model.state()[0], rows)


def test_a_saver_of_tensorflow_is_refused(rec: Any) -> None:
    saver_of_before = rec.train.Saver.__base__([rec.get_variable("a", [1])])
    with pytest.raises(TypeError, match="after install"):
        IncrementalSaver(saver_of_before)


def _monitored(rec: Any, folder: Path, batches: list[list[int]], whole_at_end: bool, given: bool = False) -> list[Any]:
    """Train in a MonitoredTrainingSession with an increment after every step; return the rows before and after."""
    with tf.Graph().as_default():
        init = rec.InitializerOption(initializer=rec.constant_initializer(_MATRIX), default_value_dim=64)
        user = rec.get_embedding_variable("user", 3, ev_option=rec.EmbeddingVariableOption(init_option=init))
        ids = rec.placeholder(rec.int64, [None])
        rows = rec.nn.embedding_lookup(user, ids)
        step = rec.train.get_or_create_global_step()
        train = rec.train.AdagradOptimizer(0.1).minimize(rec.reduce_sum(rec.square(rows)), step)
        scaffold = rec.train.Scaffold(saver=rec.train.Saver(max_to_keep=3)) if given else None
        session = rec.train.MonitoredTrainingSession(
            checkpoint_dir=str(folder),
            save_checkpoint_steps=1000,
            scaffold=scaffold,
            save_incremental_checkpoint_secs=0,
            save_summaries_steps=None,
            log_step_count_steps=None,
        )
        seen = [session.run([rows, step], {ids: _IDS})]
        for batch in batches:
            session.run(train, {ids: batch})
        seen.append(session.run([rows, step], {ids: _IDS}))
        if whole_at_end:
            session.close()
        return seen


def test_a_monitored_session_goes_on_from_the_last_increment(rec: Any, tmp_path: Path) -> None:
    before = _monitored(rec, tmp_path, [[0, 1], [1, 5]], whole_at_end=False)  # as if it was killed
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-0")
    after = _monitored(rec, tmp_path, [[5, 7]], whole_at_end=True, given=True)
    np.testing.assert_array_equal(after[0][0], before[1][0])
    assert (after[0][1], after[1][1]) == (2, 3)
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-3")


def test_a_checkpoint_saver_hook_takes_the_seconds(rec: Any, tmp_path: Path) -> None:
    user = rec.get_embedding_variable("user", 3)
    step = rec.train.get_or_create_global_step()
    train = rec.train.AdagradOptimizer(0.1).minimize(rec.reduce_sum(rec.nn.embedding_lookup(user, [1, 2])), step)
    scaffold = rec.train.Scaffold(
        saver=rec.train.Saver(sharded=True, incremental_save_restore=True), incremental_save_restore=True
    )
    hook = rec.train.CheckpointSaverHook(str(tmp_path), save_steps=1000, scaffold=scaffold, incremental_save_secs=3600)
    with rec.train.MonitoredSession(rec.train.ChiefSessionCreator(scaffold), hooks=[hook]) as session:
        session.run(train)
        assert not (tmp_path / FOLDER).exists()
        hook._increments._last = time.time() - 4000
        session.run(train)
        assert tf.train.latest_checkpoint(str(tmp_path / FOLDER)).endswith("incr-model.ckpt-2")


def test_an_increment_whose_name_is_used_again_is_never_lost(rec: Any, tmp_path: Path) -> None:
    model, folder = _Model(rec), tmp_path / FOLDER
    model.session.run(model.init)
    model.trained([0, 1]).saver.save(model.session, str(tmp_path / "model"), 0)
    for step in (1, 2):
        model.trained([step]).increments.incremental_save(model.session, str(folder / "incr"), step)
    before = model.state()
    with watched(folder) as points:
        model.trained([7]).increments.incremental_save(model.session, str(folder / "incr"), 2)
    after, seen = model.state(), []
    assert sorted(one.name for one in folder.glob("*.index")) == ["incr-1.index", "incr-2.index"]
    for files in points.states:
        points.put_back(files)
        path = model.increments.recover_incr_checkpoints(model.session, str(tmp_path))
        assert path == tf.train.latest_checkpoint(str(folder))
        seen.append(int(model.state()[2]))
        _equal(model.state(), before if seen[-1] == before[2] else after)
    assert sorted({*seen}) == [3, 4]


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.one_case
def test_a_saver_by_its_definition_as_deeprecs_own_tests_make_it(rec: Any, tmp_path: Path, parts: int) -> None:
    inner = importlib.import_module("tensorflow.python.training.saver")
    module = importlib.import_module("tensorflow.python.training.incremental_saver")
    ids, ones = rec.placeholder(rec.int64, []), rec.ones_initializer(rec.float32)
    with rec.variable_scope("", partitioner=rec.fixed_size_partitioner(parts) if parts > 1 else None):
        members = [rec.get_embedding_variable("ev", 4, initializer=ones), rec.get_variable("v", [30, 4], None, ones)]
    rows = rec.add_n([rec.nn.embedding_lookup(one, ids) for one in members])
    train = rec.train.AdagradOptimizer(0.1, initial_accumulator_value=1).minimize(rec.reduce_sum(rows * 2.0))
    saver = inner.Saver(sharded=True, incremental_save_restore=True)
    increments = module.IncrementalSaver(sharded=True, saver_def=saver.saver_def, defer_build=True)
    increments.build(saver._builder.filename_tensor)
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        session.run(train, {ids: 1})
        whole = saver.save(session, str(tmp_path / "model.ckpt"), 12345)
        for key in (2, 3, 4):
            session.run(train, {ids: key})
        path = increments.incremental_save(session, str(tmp_path / ".incr/model.ckpt"), 12345)
    with rec.Session() as session:
        saver.restore(session, whole)
        increments.incremental_restore(session, whole, path)
        # Each variable has moved by 0.1 times 2 by the root of 1 and 4.
        expected = {key: 1.8211145 if key < 5 else 2.0 for key in range(1, 6)}
        for key, value in expected.items():
            np.testing.assert_allclose(session.run(rows, {ids: key}), [value] * 4, rtol=1e-6)
    with pytest.raises(TypeError, match=r"incremental checkpoints need tf\.train\.Saver"):
        module.IncrementalSaver(saver_def=rec.train.SaverDef())
