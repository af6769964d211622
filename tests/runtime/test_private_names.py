"""Fails loudly when a TensorFlow lacks the private names, or the behaviour, that runtime/_tf_private.py relies on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from runtime import _tf_private, _tf_private_savers, _tf_private_tapes
from tests.support.runtime.tables import make_table

pytestmark = pytest.mark.usefixtures("graph")


def test_control_inputs_can_be_added_to_an_operation() -> None:
    first, second = tf.no_op(), tf.no_op()
    _tf_private.add_control_inputs(second, [first])
    assert second.control_inputs == [first]


def test_statefulness_of_operations() -> None:
    assert _tf_private.stateful_types(tf.random.uniform([1]).op) == {"RandomUniform"}
    assert not _tf_private.stateful_types(tf.zeros([1]).op)
    assert not _tf_private.in_control_flow(tf.zeros([1]).op)


def test_savers_ask_first_whether_an_item_is_a_saveable_object() -> None:
    anchor = make_table().variable
    saver = tf.compat.v1.train.Saver([anchor])
    assert isinstance(anchor, _tf_private.SaveableObject)
    names = (
        tf.compat.v1.get_default_graph().get_operation_by_name("save/SaveV2/tensor_names").get_attr("value").string_val
    )
    assert list(names) == [b"user", b"user-keys", b"user-values", b"user-slots", b"user-meta"]
    assert saver.saver_def.restore_op_name == "save/restore_all"


def test_a_worker_that_is_not_there_does_not_answer() -> None:
    assert not _tf_private.worker_answers(0, 0.1)


def test_xla_is_seen_while_tracing() -> None:
    seen = []

    def note() -> tf.Tensor:
        seen.append(_tf_private.compiled_by_xla())
        return tf.constant(1.0)

    with tf.Graph().as_default():
        for compiled in (True, False):
            tf.function(note, jit_compile=compiled).get_concrete_function()
    assert seen == [True, False]


def test_savers_take_what_they_restore_from_one_place(tmp_path: Path) -> None:
    anchor = make_table().variable
    other = tf.compat.v1.get_variable("other", [2], use_resource=True)
    seen: list[str] = []

    def read(prefix: tf.Tensor, there: tf.Tensor) -> list[tf.Tensor]:
        seen.append(there.dtype.name)
        types = [spec.dtype for spec in anchor.specs[1:]]
        names = [spec.name for spec in anchor.specs[1:]]
        parts = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * 4, dtypes=types)
        return [tf.zeros([0, 4]), *parts]

    anchor.reader = read
    saver = tf.compat.v1.train.Saver([anchor, other])
    assert seen == ["bool"]
    with tf.compat.v1.Session() as session:
        session.run(tf.compat.v1.global_variables_initializer())
        before = session.run(other)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(other.assign([7.0, 7.0]))
        saver.restore(session, path)
        assert session.run(other).tolist() == before.tolist()


def test_savers_say_why_they_cannot_restore(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    saver = tf.compat.v1.train.Saver
    monkeypatch.setattr(saver, "restore", saver.restore)
    known = tf.compat.v1.get_variable("known", [2])
    with tf.compat.v1.Session() as session:
        session.run(known.initializer)
        path = saver([known]).save(session, str(tmp_path / "model"))
        _tf_private_savers.explain_restores(
            lambda _, items, path, message: (
                f"{[one.op.name for one in items]} of {path}" if "Key other not found" in message else None
            )
        )
        with pytest.raises(tf.errors.NotFoundError) as raised:
            saver({"other": known}).restore(session, path)
        assert str(raised.value) == f"['known'] of {path}" and raised.value.__context__ is None
        tf.compat.v1.get_variable("other", [2])
        with pytest.raises(tf.errors.NotFoundError, match=r"^\['known', 'other'\] of"):
            saver().restore(session, path)
        with pytest.raises(tf.errors.NotFoundError, match=r"^Restoring"):
            saver({"another": known}).restore(session, path)


def test_another_op_can_be_the_initializer() -> None:
    anchor = make_table().variable
    op = tf.no_op()
    anchor.start_by(op)
    assert anchor.initializer is op


def test_hooks_that_save_ask_another_timer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tf.compat.v1.train.get_or_create_global_step()
    saver, timer, within = tf.compat.v1.train.Saver(), tf.compat.v1.train.SecondOrStepTimer(every_steps=7), []

    @contextlib.contextmanager
    def saving(*given: Any) -> Iterator[None]:
        within.append(given)
        yield

    _tf_private_savers.time_checkpoints(monkeypatch.setattr, lambda steps: timer, saving)
    hook = tf.compat.v1.train.CheckpointSaverHook(str(tmp_path), save_steps=1, saver=saver)
    with tf.compat.v1.Session() as session:
        hook.begin()
        session.run(tf.compat.v1.global_variables_initializer())
        hook.after_create_session(session, None)
    assert within == [(saver, timer)]
    assert (timer.last_triggered_step(), len(list(tmp_path.glob("model.ckpt-0.*")))) == (0, 3)


def test_tapes_tell_when_they_begin_and_end_to_record() -> None:
    tape = tf.GradientTape(persistent=True)
    assert _tf_private_tapes.around_loops() is None and hasattr(tf.GradientTape._push_tape, "__wrapped__")
    with tape, tape.stop_recording():
        assert not _tf_private_tapes._recording.tapes
    assert not _tf_private_tapes._recording.tapes


def test_a_v1_optimizer_updates_one_variable() -> None:
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(1.0)
    variable = tf.Variable([1.0, 1.0])
    optimizer._prepare()
    step = _tf_private.updated_by_v1(optimizer, variable, tf.constant([1.0, 0.0]))
    with tf.compat.v1.Session() as session:
        session.run(variable.initializer)
        session.run(step)
        assert session.run(variable).tolist() == [0.0, 1.0]
