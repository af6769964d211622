"""Tables in Rec SDK's directory layout: written and read by the Saver, and read as Rec SDK writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.checkpoint import CheckpointError
from runtime.compat import mx_rec

v1 = tf.compat.v1
IDS = [[3, 1], [7, 7], [1, 9]]


@pytest.fixture
def sdk() -> Iterator[Any]:
    """Rec SDK, installed and begun."""
    mx_rec.install()
    try:
        from mx_rec.core import embedding  # type: ignore[import-not-found]
        from mx_rec.optimizers import lazy_adam  # type: ignore[import-not-found]
        from mx_rec.saver import sparse  # type: ignore[import-not-found]
        from mx_rec.util import initialize  # type: ignore[import-not-found]

        initialize.init(use_dynamic=True)
        yield SimpleNamespace(**vars(embedding), optimizer=lazy_adam.create_hash_optimizer, export=sparse.export)
    finally:
        mx_rec.uninstall()


def model(sdk: Any) -> SimpleNamespace:
    """Return a model of two tables, one of which is not saved, in a graph of its own."""
    graph = tf.Graph()
    with graph.as_default():
        ids = v1.placeholder(tf.int64, [None])
        user = sdk.create_table(tf.int64, 2, "user", v1.constant_initializer(0.5), 100)
        other = sdk.create_table(tf.int64, 2, "other", v1.constant_initializer(0.5), 100, is_save=False)
        rows = [sdk.sparse_lookup(table, ids, modify_graph=True) for table in (user, other)]
        weight = v1.get_variable("weight", [2, 1], initializer=v1.ones_initializer())
        loss = tf.reduce_sum((tf.matmul(rows[0] + rows[1], weight) - 3.0) ** 2)
        step = v1.train.get_or_create_global_step()
        dense = v1.train.GradientDescentOptimizer(0.01).minimize(loss, step, var_list=[weight])
        sparse = sdk.optimizer(0.1)
        train = sparse.apply_gradients([(tf.gradients(loss, user.variable)[0], user.variable)])
        saver = v1.train.Saver(max_to_keep=2)
        assert sdk.create_table and type(saver).__module__.startswith("runtime.compat.mx_rec")
        initial = v1.global_variables_initializer()
    return SimpleNamespace(
        ids=ids, user=user, loss=loss, train=[dense, train], saver=saver, initial=initial, graph=graph
    )


def run(session: Any, one: SimpleNamespace, batches: list[list[int]]) -> list[float]:
    return [float(session.run([one.loss, *one.train], {one.ids: ids})[0]) for ids in batches]


def test_a_checkpoint_in_the_layout_of_rec_sdk(sdk: Any, tmp_path: Path) -> None:
    one = model(sdk)
    with v1.Session(graph=one.graph) as session:
        session.run(one.initial)
        run(session, one, IDS)
        path = one.saver.save(session, str(tmp_path / "saved" / "model"), global_step=100)
        after = run(session, one, IDS)
        rows = session.run(one.user.snapshot())
        for step in (101, 102):
            one.saver.save(session, str(tmp_path / "saved" / "model"), global_step=step)
        for wrong in ({"save_path": ""}, {"save_path": "m", "global_step": -1}, {"save_path": 5}):
            with pytest.raises(ValueError):
                one.saver.save(session, **wrong)
    assert path == str(tmp_path / "saved" / "model-100")
    assert not (tmp_path / "saved" / "sparse-model-100").exists()  # two are kept
    folder = tmp_path / "saved" / "sparse-model-102" / "user"
    assert {item.name for item in folder.parent.iterdir()} == {"user"}
    items = {item.name for item in folder.iterdir()}
    assert items == {"key", "embedding", "LazyAdam_momentum", "LazyAdam_velocity", "recmigrate_meta"}
    assert np.fromfile(folder / "key" / "slice.attribute", np.int64).tolist() == [4, 8]
    assert np.fromfile(folder / "embedding" / "slice.attribute", np.int64).tolist() == [4, 2, 4]
    assert np.fromfile(folder / "key" / "slice.data", np.int64).tolist() == rows[0].tolist()
    for item, held in (("embedding", rows[1]), ("LazyAdam_velocity", rows[2][:, 2:])):
        np.testing.assert_array_equal(np.fromfile(folder / item / "slice.data", np.float32).reshape(4, 2), held)
    assert not any("user" in name for name, _ in tf.train.list_variables(str(tmp_path / "saved" / "model-102")))
    sdk.export(["user", "no_such"])
    pairs = np.load(folder / "key-emb.npy", allow_pickle=True).item()
    assert {key: row.tolist() for key, row in pairs.items()} == dict(
        zip(rows[0].tolist(), rows[1].tolist(), strict=True)
    )
    for names in ([], "user", [5]):
        with pytest.raises(ValueError):
            sdk.export(names)
    assert len(set(after)) == 3


def test_training_goes_on_as_without_interruption(sdk: Any, tmp_path: Path) -> None:
    one = model(sdk)
    with v1.Session(graph=one.graph) as session:
        session.run(one.initial)
        run(session, one, IDS)
        path = one.saver.save(session, str(tmp_path / "model"))
        want = run(session, one, IDS)
    folder = tmp_path / "sparse-model" / "user"
    for foreign in (False, True):
        if foreign:  # as Rec SDK writes it
            for part in (folder / "recmigrate_meta").iterdir():
                part.unlink()
            (folder / "recmigrate_meta").rmdir()
        again = model(sdk)
        with v1.Session(graph=again.graph) as session:
            again.saver.restore(session, path)
            session.run(again.graph.get_operation_by_name("other/Assign"))  # it is not saved
            assert again.user.size() == 4
            np.testing.assert_allclose(run(session, again, IDS), want, rtol=1e-6)
    with v1.Session(graph=again.graph) as session:
        data = folder / "LazyAdam_velocity" / "slice.data"
        data.write_bytes(data.read_bytes()[:-4])
        with pytest.raises(CheckpointError, match="LazyAdam_velocity is damaged"):
            again.saver.restore(session, path)
        (folder / "key" / "slice.attribute").unlink()
        with pytest.raises(CheckpointError, match="key is missing"):
            again.saver.restore(session, path)
        folder.parent.rename(tmp_path / "elsewhere")
        with pytest.raises(FileExistsError, match="sparse-model"):
            again.saver.restore(session, path)
