"""Checkpoints of tables with a base: they say how ids divide, and each way to read one compares that with the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import Buckets, checkpoint, native
from runtime.checkpoint.bundle import Bundle, write_bundle
from runtime.checkpoint.meta_layout import divided, layout_of
from runtime.optimizers import adagrad
from runtime.ranks import checkpoint as of_ranks
from tests.support.ranks import thread_ranks
from tests.support.runtime.tables import make_table, read, step

v1 = tf.compat.v1
MATRIX = np.random.default_rng(7).normal(size=[8, 4]).astype(np.float32)
#: How the saved table divides ids, and how the one that reads; with what a message says of both.
LAYOUTS = {
    "count": (Buckets(8), Buckets(3), "base_buckets=8", "base_buckets=3"),
    "first": (Buckets(3, 5), Buckets(8), r"base_buckets=Buckets\(3, 5, 5\)", "base_buckets=8"),
    "beyond": (Buckets(3, 1, 8), Buckets(3, 5), r"base_buckets=Buckets\(3, 1, 8\)", r"base_buckets=Buckets\(3, 5, 5\)"),
    "none": (Buckets(8), None, "base_buckets=8", "no base_buckets"),
}
IDS = np.array([0, 2, 7, 100, 103, -5])


def freed(buckets: Any, **options: Any) -> Any:
    """Return an eager table with a base, some ids with rows of their own, and slots of Adagrad."""
    table = make_table(base_buckets=buckets, **options)
    runtime.set_base(table, MATRIX)
    step(table, adagrad.create_hash_optimizer(0.1), IDS[3:])
    return table


def _eager(table: Any, folder: Path) -> Callable[[Any], None]:
    path = tf.train.Checkpoint(table=table).write(str(folder / "eager"))
    return lambda other: tf.train.Checkpoint(table=other).read(path)


def _table_alone(table: Any, folder: Path) -> Callable[[Any], None]:
    path = tf.train.Checkpoint(table=table).write(str(folder / "alone"))
    return lambda other: checkpoint.restore_table(other, path)


def _one_of_ranks(table: Any, folder: Path) -> Callable[[Any], None]:
    path = tf.train.Checkpoint(table=table).write(str(folder / "alone"))
    return lambda other: checkpoint.restore_table(other, path, rank=0, ranks=1)


def _increments(table: Any, folder: Path) -> Callable[[Any], None]:
    saver = checkpoint.IncrementalCheckpoint(tf.train.Checkpoint(table=table), [table], folder / "part")
    saver.save(0)
    runtime.sparse_lookup(table, [1000])
    path = saver.save(1)

    def restore(other: Any) -> None:
        whole = tf.train.Checkpoint(table=other)
        checkpoint.IncrementalCheckpoint(whole, [other], folder / "other").restore(path)

    return restore


def _of_ranks(table: Any, folder: Path) -> Callable[[Any], None]:
    of_ranks.save(tf.train.Checkpoint(table=table), str(folder / "ranks"))
    return lambda other: of_ranks.restore(tf.train.Checkpoint(table=other), str(folder / "ranks"))


def _by_name(table: Any, folder: Path) -> Callable[[Any], None]:
    of_ranks.save_tables(str(folder), table)
    return lambda other: of_ranks.restore_tables(str(folder), other)


def _numpy(table: Any, folder: Path) -> Callable[[Any], None]:
    (path,) = checkpoint.export_numpy(table, folder)

    def restore(other: Any) -> None:
        rows = checkpoint.read_numpy(path)
        native.ops().rec_table_import(other.handle, rows.keys, rows.values, rows.slots, rows.meta)

    return restore


WAYS = {
    "a checkpoint": _eager,
    "a table alone": _table_alone,
    "a rank": _one_of_ranks,
    "increments": _increments,
    "ranks": _of_ranks,
    "tables by name": _by_name,
    "numpy": _numpy,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_another_division_is_refused_by_a_sentence_and_changes_nothing(layout: str, way: str, tmp_path: Path) -> None:
    saved, other, said, has = LAYOUTS[layout]
    table = freed(saved)
    restore = WAYS[way](table, tmp_path)
    reader = make_table(base_buckets=other)
    runtime.sparse_lookup(reader, IDS)
    before = read(reader, IDS)
    with pytest.raises((tf.errors.InvalidArgumentError, checkpoint.CheckpointError)) as error:
        restore(reader)
    assert error.match(f"saved with {said}, and table 'user' has {has}, so ids would begin as rows of others: create")
    np.testing.assert_array_equal(read(reader, IDS), before)
    same = make_table(base_buckets=saved)
    restore(same)
    np.testing.assert_array_equal(read(same, IDS), read(table, IDS))


@pytest.mark.parametrize("way", [way for way in WAYS if way != "increments"])
def test_rows_of_before_ids_gave_up_their_buckets_are_the_base(way: str, tmp_path: Path) -> None:
    """The program was converted with buckets, trained, and then made to look wide ids up."""
    bucketed = make_table()
    step(bucketed, adagrad.create_hash_optimizer(0.1), np.arange(8))
    restore = WAYS[way](bucketed, tmp_path)
    free, plain = make_table(base_buckets=8), make_table()
    restore(free)
    np.testing.assert_array_equal(read(free, IDS), read(bucketed, IDS % 8))
    assert int(free.size()) == 0
    restore(plain)
    np.testing.assert_array_equal(read(plain, IDS), read(bucketed, IDS))


def test_each_of_several_ranks_has_the_base_of_a_table_with_buckets(tmp_path: Path) -> None:
    bucketed, path = make_table(), str(tmp_path / "bucketed")
    bucketed.import_rows(np.arange(8), MATRIX)
    of_ranks.save_tables(str(tmp_path / "named"), bucketed)
    of_ranks.save(tf.train.Checkpoint(table=bucketed), path)
    alone = tf.train.Checkpoint(table=bucketed).write(str(tmp_path / "alone"))

    def restored() -> Any:
        table, other, named = (make_table(name, base_buckets=8) for name in ("table", "other", "user"))
        of_ranks.restore(tf.train.Checkpoint(table=table), path)
        checkpoint.restore_table(other, alone, "user", rank=runtime.ranks.rank(), ranks=3)
        of_ranks.restore_tables(str(tmp_path / "named"), named)
        return [read(one, IDS) for one in (table, other, named)]

    for every in thread_ranks.run(3, restored)[0]:
        for rows in every:
            np.testing.assert_array_equal(rows, MATRIX[IDS % 8])


@pytest.mark.parametrize("version", [2, 3, 5])
def test_checkpoints_of_older_formats_are_read(version: int) -> None:
    stored = tf.bfloat16 if version == 5 else tf.float32
    table = freed(8, value_dtype=stored)
    rows = [np.asarray(part) for part in table.snapshot()]
    rows[3] = _older(rows[3], version)
    assert layout_of(rows[3]).buckets is None and rows[3][0] == version
    again, bucketless = make_table(base_buckets=8, value_dtype=stored), make_table()
    native.ops().rec_table_import(again.handle, *rows)
    np.testing.assert_array_equal(read(again, IDS), read(table, IDS))
    native.ops().rec_table_import(bucketless.handle, *rows)  # it does not say that these are rows of buckets
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 3 buckets: create it with the base_buckets that"):
        native.ops().rec_table_import(make_table(base_buckets=3).handle, *rows)


def _older(meta: np.ndarray, version: int) -> np.ndarray:
    """Return metadata as engines wrote it that did not know how ids divide."""
    head, rest = meta[: 5 + meta[3]].copy(), meta[5 + meta[3] + 3 :]
    head[0] = version
    return np.concatenate([head, {2: rest[4:], 3: rest[2:3], 5: rest}[version]])


def test_damaged_base_files_are_refused(tmp_path: Path) -> None:
    """Each byte of the values is of some row; cut or changed, no row of it is read."""
    table = freed(8)
    path = tf.train.Checkpoint(table=table).write(str(tmp_path / "saved"))
    data = Path(f"{path}.data-00000-of-00001")
    whole = data.read_bytes()
    at = whole.index(MATRIX[3].tobytes())  # a row of the base
    for damaged in (whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], whole[: at + 2]):
        data.write_bytes(damaged)
        reader = make_table(base_buckets=8)
        before = read(reader, IDS)
        with pytest.raises((tf.errors.OpError, IndexError)):
            tf.train.Checkpoint(table=reader).read(path)
        with pytest.raises(checkpoint.CheckpointError, match="saved"):
            checkpoint.load_rows(path, "user")
        np.testing.assert_array_equal(read(reader, IDS), before)


def _repeated(keys: Any) -> Any:
    return np.concatenate([keys[:-1], keys[-2:-1]])


def _far(keys: Any) -> Any:
    return np.concatenate([keys[:-1], keys[-1:] + 1])


@pytest.mark.parametrize(
    ("damage", "message"), [(_repeated, "hold the row of a bucket twice"), (_far, "one for bucket 8")]
)
def test_keys_that_are_no_base_are_refused(damage: Any, message: str) -> None:
    table = freed(8)
    keys, values, slots, meta = (np.asarray(part) for part in table.snapshot())
    before = read(table, IDS)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        native.ops().rec_table_import(table.handle, damage(keys), values, slots, meta)
    np.testing.assert_array_equal(read(table, IDS), before)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("forgotten", [True, False], ids=["forgotten", "never set"])
def test_ids_without_buckets_are_not_those_of_a_table_with_buckets(forgotten: bool, way: str, tmp_path: Path) -> None:
    """Whether a base is saved or not: a bucketed program would look none of them up, and train from nothing."""
    table = freed(8) if forgotten else make_table(base_buckets=8)
    if forgotten:
        runtime.forget_base(table)
    runtime.sparse_lookup(table, IDS)
    restore = WAYS[way](table, tmp_path)
    plain = make_table()
    with pytest.raises((tf.errors.InvalidArgumentError, checkpoint.CheckpointError)) as error:
        restore(plain)
    assert error.match("saved with base_buckets=8, and table 'user' has no base_buckets, so ids would begin as rows of")
    assert int(plain.size()) == 0
    same = make_table(base_buckets=8)
    restore(same)
    np.testing.assert_array_equal(read(same, IDS), read(table, IDS))


def test_a_table_without_a_row_is_restored_with_any_buckets(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(table=make_table(base_buckets=8)).write(str(tmp_path / "saved"))
    plain = make_table()
    runtime.sparse_lookup(plain, IDS)
    tf.train.Checkpoint(table=plain).read(path)
    assert int(plain.size()) == 0


def _in_graph(buckets: Any, name: str = "user") -> Any:
    table = make_table(name, base_buckets=buckets)
    return table, runtime.sparse_lookup(table, IDS, is_train=False)


@pytest.mark.parametrize("slots", [True, False])
def test_savers_and_warm_starts_compare(slots: bool, tmp_path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as opened:
        table, rows = _in_graph(Buckets(3, 5))
        begun = runtime.set_base(table, MATRIX)
        saver = v1.train.Saver()
        opened.run(v1.global_variables_initializer())
        opened.run(begun)
        want, path = opened.run(rows), saver.save(opened, str(tmp_path / "saved"))
    for buckets in (Buckets(3, 5), Buckets(8)):
        with tf.Graph().as_default(), v1.Session() as opened:
            table, rows = _in_graph(buckets)
            table.variable.with_slots = slots
            v1.train.init_from_checkpoint(path, {"user": table.variable})
            saver, starts = v1.train.Saver(), v1.global_variables_initializer()
            for begin in (opened.run, saver.restore):
                arguments = [starts] if begin == opened.run else [opened, path]
                if buckets.start:
                    begin(*arguments)
                    np.testing.assert_array_equal(opened.run(rows), want)
                else:
                    with pytest.raises(tf.errors.InvalidArgumentError, match="and table 'user' has base_buckets=8"):
                        begin(*arguments)


def test_the_variable_of_a_checkpoint_warms_the_buckets(tmp_path: Path) -> None:
    path = str(tmp_path / "stock")
    write_bundle(path, {"user": MATRIX})
    table = make_table(base_buckets=8)
    checkpoint.warm_start(table, path)
    np.testing.assert_array_equal(read(table, [8, 100, -3]), MATRIX[[0, 4, 5]])
    assert int(table.size()) == 0


def test_a_moved_checkpoint_says_how_ids_divide(tmp_path: Path) -> None:
    write_bundle(str(tmp_path / "old"), {"user": MATRIX})
    move = checkpoint.Move("user", "user", as_base=True, buckets=Buckets(3, 5))
    checkpoint.move_variables(tmp_path / "old", tmp_path / "new", [move])
    meta = Bundle(tmp_path / "new").read("user-meta")
    assert layout_of(meta).buckets == Buckets(3, 5) and layout_of(meta).counters_at == len(meta)
    assert layout_of(np.array(divided([2, 0, 4, 0, 0], Buckets(8)))).left == 1
    move = checkpoint.Move("user", "user", as_base=True)
    checkpoint.move_variables(tmp_path / "old", tmp_path / "like", [move], like=tmp_path / "new")
    assert layout_of(Bundle(tmp_path / "like").read("user-meta")).buckets == Buckets(3, 5)
    with pytest.raises(
        checkpoint.CheckpointError, match="`user` with base_buckets=9 divides ids into 9: create the table"
    ):
        move = checkpoint.Move("user", "user", as_base=True, buckets=Buckets(9))
        checkpoint.move_variables(tmp_path / "old", tmp_path / "wrong", [move])


def test_parts_of_several_ranks_divide_alike(tmp_path: Path) -> None:
    paths = []
    for number, buckets in enumerate((Buckets(8), Buckets(3, 5))):
        paths.append(tf.train.Checkpoint(table=freed(buckets)).write(str(tmp_path / str(number))))
    with pytest.raises(checkpoint.CheckpointError, match="with different seeds, optimizers or buckets"):
        checkpoint.restore_table(make_table(base_buckets=8), paths)


@pytest.mark.parametrize("sizes", [(1, 2, 3), (3, 1, 2)])
def test_each_number_of_ranks_reads_what_another_wrote(sizes: tuple[int, ...], tmp_path: Path) -> None:
    whole = freed(8)
    path, every = str(tmp_path / "whole"), np.arange(-20, 120)
    of_ranks.save(tf.train.Checkpoint(table=whole), path)
    want = read(whole, every)

    def handed_on(source: str, target: str) -> Any:
        def body() -> Any:
            table = make_table(base_buckets=8)
            of_ranks.restore(tf.train.Checkpoint(table=table), source)
            of_ranks.save(tf.train.Checkpoint(table=table), target)
            return read(table, every)

        return body

    for size in sizes:
        target = str(tmp_path / f"of-{size}")
        for rows in thread_ranks.run(size, handed_on(path, target))[0]:
            np.testing.assert_array_equal(rows, want)
        path = target
