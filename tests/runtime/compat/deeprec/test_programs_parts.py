"""What DeepRec's programs are built of beside variables: queues of files, kept weights, and strategies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf


def _queue(*args: Any, **kwargs: Any) -> Any:
    from tensorflow.python.ops.work_queue import WorkQueue

    return WorkQueue(*args, **kwargs)


def _session(rec: Any, folder: Path, *initializers: Any) -> Any:
    rec.train.get_or_create_global_step()
    scaffold = rec.train.Scaffold(local_init_op=rec.group(rec.local_variables_initializer(), *initializers))
    return rec.train.MonitoredTrainingSession(scaffold=scaffold, checkpoint_dir=str(folder))


def _drained(session: Any, item: Any) -> list[bytes]:
    found = []
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            found.append(session.run(item))
    return found


def test_a_queue_hands_out_each_item_once_an_epoch(rec: Any, tmp_path: Path) -> None:
    queue = _queue([" a", b"b ", "c"], num_epochs=2, prefix="to/")
    assert (len(queue), queue.works, queue.digest) == (3, [b"a", b"b", b"c"], b"a,b,c")
    iterator = tf.compat.v1.data.make_initializable_iterator(queue.input_dataset())
    of_dataset, taken = iterator.get_next(), queue.take()
    other = _queue(["x"], shuffle=False).take()
    queue.add_summary()
    with _session(rec, tmp_path, iterator.initializer) as session:
        first = [session.run(of_dataset), session.run(taken)]
        time.sleep(0.1)  # a thread that reads ahead would take another one
        first.append(session.run(taken))
        assert sorted(first) == [b"to/a", b"to/b", b"to/c"], "epochs do not mix"
        assert sorted(_drained(session._sess._sess._sess._sess, of_dataset)) == [b"to/a", b"to/b", b"to/c"]
        assert session.run(other) == b"x"


def test_a_checkpoint_knows_what_is_left(rec: Any, tmp_path: Path) -> None:
    for works, want in ((["a", "b", "c"], [b"c"]), (["a", "b", "d"], [b"a", b"b", b"d"])):
        with tf.Graph().as_default():
            taken = _queue(["a", "b", "c"], shuffle=False).take()
            saver = rec.train.Saver()
            with rec.Session() as session:
                session.run(rec.local_variables_initializer())
                assert [session.run(taken) for _ in range(2)] == [b"a", b"b"]
                path = saver.save(session, str(tmp_path / "model"))
                session.run(rec.local_variables_initializer())
                assert session.run(taken) == b"c", "it is filled once"
        assert tf.train.load_variable(path, "work_queue_works").tolist() == [b"c"]
        assert tf.train.load_variable(path, "work_queue_digest") == b"a,b,c"
        with tf.Graph().as_default(), rec.Session() as session:
            taken = _queue(works, shuffle=False).take()
            rec.train.Saver().restore(session, path)
            assert _drained(session, taken) == want


def test_what_a_queue_refuses(rec: Any) -> None:
    del rec
    for arguments, said in (
        ({"works": "a"}, "must be a list of strings"),
        ({"works": []}, "must be a list of strings"),
        ({"works": ["a"], "num_epochs": 0}, "num_epochs must be > 0 not 0"),
        ({"works": ["a"], "local_work_mgr": 1}, "`local_work_mgr` of a WorkQueue is not supported"),
    ):
        with pytest.raises(ValueError, match=said):
            _queue(**arguments)


@pytest.mark.parametrize("parts", [None, 2])
def test_weights_are_kept_in_float32_and_read_as_what_a_layer_asks_for(rec: Any, parts: int | None) -> None:
    random = np.random.default_rng(2)
    kernel = random.normal(size=(6, 3)).astype(np.float32)
    batch = random.normal(size=(4, 6)).astype(np.float32)
    start = rec.ones_initializer() if parts else (lambda *_, **__: tf.constant(kernel))
    scope = rec.variable_scope("deep", partitioner=None if parts is None else rec.fixed_size_partitioner(parts))
    with scope.keep_weights(dtype=rec.float32) as opened:
        own = rec.get_variable("kernel", [6, 3], rec.bfloat16, initializer=start)
        with rec.variable_scope("inner"):
            whole = rec.get_variable("whole", [3], rec.float32, initializer=rec.zeros_initializer())
            number = rec.get_variable("number", [], rec.int32, initializer=rec.zeros_initializer(), partitioner=None)
    assert opened.name == "deep" and opened.custom_getter is None
    if parts:  # the value is of all parts
        assert (own.dtype, own.shape) == (rec.bfloat16, [6, 3])
        assert [one.shape.as_list() for one in rec.trainable_variables()][:2] == [[3, 3], [3, 3]]
        return
    assert own.dtype == rec.bfloat16 and whole.dtype == rec.float32 and number.dtype == rec.int32
    (kept,) = [one for one in rec.trainable_variables() if one.op.name == "deep/kernel"]
    assert kept.dtype.base_dtype == rec.float32
    product = rec.cast(rec.matmul(rec.cast(rec.constant(batch), rec.bfloat16), own), rec.float32)
    train = rec.train.GradientDescentOptimizer(1.0).minimize(rec.reduce_sum(product))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        found = session.run(product)
        session.run(train)
        trained = session.run(kept)
    np.testing.assert_allclose(found, batch @ kernel, atol=0.1)
    np.testing.assert_allclose(kernel - trained, np.tile(batch.sum(0)[:, None], 3), atol=0.05)
    assert np.abs(kernel - kernel.astype(tf.bfloat16.as_numpy_dtype)).max() > 0


def test_a_strategy_of_one_process_changes_nothing(rec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorflow.python.distribute.group_embedding_collective_strategy import CollectiveStrategy

    monkeypatch.setenv("COLLECTIVE_STRATEGY", "ps")
    with pytest.raises(ValueError, match="COLLECTIVE_STRATEGY=ps must be one of"):
        CollectiveStrategy()
    monkeypatch.setenv("COLLECTIVE_STRATEGY", "hb")
    strategy = CollectiveStrategy()
    assert (strategy.world_size(), strategy.rank()) == (1, 0)
    stock = rec.train.AdagradOptimizer
    with strategy.scope() as opened, strategy.embedding_scope():
        assert opened is strategy and rec.train.AdagradOptimizer is stock

    def build() -> Any:
        ids = rec.placeholder(rec.int64, [None], name="ids")
        variable = rec.get_embedding_variable("item", 2, initializer=rec.ones_initializer())
        return {"ids": ids}, {"rows": rec.nn.embedding_lookup(variable, ids)}

    with tf.Graph().as_default(), rec.Session() as session:
        inputs, outputs = build()
        session.run([rec.global_variables_initializer()])
        session.run(
            rec.train.GradientDescentOptimizer(0.5).minimize(rec.reduce_sum(outputs["rows"])), {inputs["ids"]: [7]}
        )
        path = rec.train.Saver().save(session, str(tmp_path / "model"))
    folder = str(tmp_path / "saved")
    strategy.export_saved_model(folder, path, lambda: tf.compat.v1.saved_model.predict_signature_def(*build()))
    with tf.Graph().as_default(), rec.Session() as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], folder)
        signature = loaded.signature_def["serving_default"]
        rows = session.run(signature.outputs["rows"].name, {signature.inputs["ids"].name: [7, 8]})
    assert rows.tolist() == [[0.5, 0.5], [1.0, 1.0]]
    with pytest.raises(ValueError, match="export_saved_model got the checkpoint 'none' and the function None"):
        strategy.export_saved_model(folder, "none")
