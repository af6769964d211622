"""A Saver that cannot restore a checkpoint because of tables says so in one sentence, with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import runtime
from tests.support.runtime.tables import make_table

v1 = tf.compat.v1


def _original(path: Path, name: str = "user", dim: int = 4, objects: bool = False) -> str:
    """Return a checkpoint of a program that trains a variable by Adagrad."""
    with tf.Graph().as_default(), v1.Session() as session:
        table = v1.get_variable(name, [30, dim])
        loss = tf.reduce_sum(tf.gather(table, [1, 2]) * v1.get_variable("dense", [dim]))
        v1.train.AdagradOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step())
        session.run(v1.global_variables_initializer())
        if objects:
            return str(tf.train.Checkpoint(user=table).save(str(path / "model.ckpt")))
        return str(v1.train.Saver().save(session, str(path / "model.ckpt"), global_step=7))


def _converted(*names: str, dim: int = 4, **options: Any) -> list[runtime.Table]:
    v1.get_variable("dense", [dim])
    v1.train.get_or_create_global_step()
    return [make_table(name=name, dim=dim, **options) for name in names]


def _restored(path: str) -> None:
    with v1.Session() as session:
        v1.train.Saver().restore(session, path)


def _in_a_monitored_session(path: str) -> None:
    v1.train.MonitoredTrainingSession(checkpoint_dir=str(Path(path).parent))


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("restore", [_restored, _in_a_monitored_session])
def test_a_checkpoint_of_the_program_before_its_conversion(restore: Callable[[str], None], tmp_path: Path) -> None:
    folder = tmp_path / "my runs"
    path = _original(folder, "tower/user")
    _converted("tower_user", "more")
    with pytest.raises(tf.errors.NotFoundError) as raised:
        restore(path)
    assert str(raised.value) == (
        f"{path}: has the variable `tower/user`, and not the table `tower_user` nor 1 more, as the program wrote it "
        f"before its conversion; give an empty folder to begin anew, or the one that "
        f"`migrate checkpoint '{path}' --report convert.json` writes by the report of "
        "`migrate convert`"
    )
    assert raised.value.__context__ is None  # what Python prints last is the sentence


@pytest.mark.usefixtures("graph")
def test_a_checkpoint_of_objects_fills_tables_by_a_call(tmp_path: Path) -> None:
    path = _original(tmp_path, objects=True)
    table = _converted("user")[0]
    words = r"has the variable `user`, .*fill each table with runtime\.checkpoint"
    with v1.Session() as session, pytest.raises(tf.errors.OpError, match=words):
        v1.train.Saver([table.variable]).restore(session, path)


@pytest.mark.usefixtures("graph")
def test_a_checkpoint_of_another_program(tmp_path: Path) -> None:
    path = _original(tmp_path)
    _converted("item")
    words = "has no rows of the table `item`, nor of any other, and no variable of that name; give a checkpoint of this"
    with pytest.raises(tf.errors.NotFoundError, match=words):
        _restored(path)


@pytest.mark.usefixtures("graph")
def test_a_checkpoint_of_fewer_tables(tmp_path: Path) -> None:
    _converted("user")
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        path = v1.train.Saver().save(session, str(tmp_path / "model"))
    make_table(name="more")
    with pytest.raises(tf.errors.NotFoundError, match="of the table `more`, but of user, and no variable of that name"):
        _restored(path)


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    "listed",
    [lambda: None, lambda: [one for one in v1.global_variables() if "user" not in one.op.name]],
    ids=["tables that are not saved", "variables alone"],
)
def test_what_has_another_cause_keeps_the_words_of_tensorflow(listed: Callable[[], Any], tmp_path: Path) -> None:
    path = _original(tmp_path)
    _converted("user", is_save=listed() is not None)
    v1.get_variable("another", [2])
    with v1.Session() as session, pytest.raises(tf.errors.NotFoundError, match=r"(?s)^Restoring .*Key another not"):
        v1.train.Saver(listed()).restore(session, path)
