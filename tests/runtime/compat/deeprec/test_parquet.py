"""Parquet files in batches: numbers, text and lists, from files that are named when the dataset is made or later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

_BAGS = [[1, 2], [], [3]]
_DEEP = [[[1.0], []], [], [[2.0, 3.0], [4.0]]]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A file of three rows in row groups of two."""
    columns = {
        "id": pa.array([1, 2, 3], pa.int64()),
        "word": ["a", "b", "c"],
        "x": pa.array([0.5, 1, 2], pa.float32()),
        "bag": pa.array([[1, 2], None, [3]], pa.list_(pa.int64())),
        "deep": pa.array(_DEEP, pa.list_(pa.large_list(pa.float32()))),
        "pair": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int32(), 2)),
        "tags": [["x"], ["y", "z"], []],
        "gap": [1, None, 2],
        "day": pa.array([0, 1, 2], pa.date32()),
    }
    path = str(tmp_path / "a.parquet")
    parquet.write_table(pa.table(columns), path, row_group_size=2)
    return path


def _module() -> Any:
    from tensorflow.python.data.experimental.ops import parquet_dataset_ops

    return parquet_dataset_ops


def _read(rec: Any, dataset: Any, convert: Any = lambda batch: batch) -> list[Any]:
    made = rec.data.make_initializable_iterator(dataset)
    batch, batches = convert(made.get_next()), []
    with rec.Session() as session:
        session.run(made.initializer)
        with pytest.raises(rec.errors.OutOfRangeError):
            while True:
                batches.append(tf.nest.map_structure(lambda one: one.tolist(), session.run(batch)))
    return batches


def test_columns_of_numbers_and_text(rec: Any, path: str) -> None:
    def read(*settings: Any, **named: Any) -> list[Any]:
        return _read(rec, _module().ParquetDataset(*settings, **named))

    three = {"id": [1, 2, 3], "word": [b"a", b"b", b"c"], "x": [0.5, 1.0, 2.0]}
    assert read([path, path], 4, ["id", "word", "x"], num_parallel_reads=2) == [three, three]
    assert read(path, 2, ["id"], drop_remainder=True) == [{"id": [1, 2]}]
    assert read(path, 4, ["id"], partition_count=2, partition_index=1) == [{"id": [3]}]
    with pytest.raises(rec.errors.OpError, match=r"'gap' .* has missing values"):
        read(path, 2, ["gap"])


def test_lists_become_sparse_tensors(rec: Any, path: str) -> None:
    frame = _module().DataFrame
    fields = [frame.Field("bag", tf.int64, 1), frame.Field("id"), frame.Field("deep", np.float32, 2)]
    (batch,) = _read(rec, _module().ParquetDataset(path, 3, fields), frame.to_sparse)
    assert batch["id"] == [1, 2, 3]
    assert (batch["bag"].indices, batch["bag"].values, batch["bag"].dense_shape) == (
        [[0, 0], [0, 1], [2, 0]],
        [1, 2, 3],
        [3, 2],
    )
    assert batch["deep"].indices == [[0, 0, 0], [2, 0, 0], [2, 0, 1], [2, 1, 0]]
    assert batch["deep"].values == [1.0, 2.0, 3.0, 4.0] and batch["deep"].dense_shape == [3, 2, 2]

    from tensorflow.python.data.experimental.ops import dataframe

    rows = _read(rec, _module().ParquetDataset(path, 1, fields).apply(dataframe.unbatch_and_to_sparse()))
    assert [row["bag"].values for row in rows] == _BAGS
    assert rows[2]["deep"].indices == [[0, 0], [0, 1], [1, 0]]


def test_a_field_with_a_shape_is_dense(rec: Any, path: str) -> None:
    frame = _module().DataFrame
    dataset = _module().ParquetDataset(path, 2, [frame.Field("pair", tf.int32, 0, [2, 1])], drop_remainder=True)
    assert tf.compat.v1.data.get_output_shapes(dataset)["pair"].as_list() == [2, 2, 1]
    assert _read(rec, dataset) == [{"pair": [[[1], [2]], [[3], [4]]]}]


@pytest.mark.parametrize("kind", ["tensor", "scalar", "dataset", "apply"])
def test_files_that_are_named_later(rec: Any, path: str, kind: str) -> None:
    module = _module()
    fields = [module.DataFrame.Field("id", tf.int64, 0), module.DataFrame.Field("bag", tf.int64, 1)]
    names = rec.data.Dataset.from_tensor_slices([path, path])
    made = {
        "tensor": lambda: module.ParquetDataset(rec.constant([path, path]), 2, fields),
        "scalar": lambda: module.ParquetDataset(rec.constant(path), 2, fields).repeat(2),
        "dataset": lambda: module.ParquetDataset(names, 2, fields),
        "apply": lambda: names.apply(module.read_parquet(2, fields, num_parallel_reads=3)),
    }[kind]()
    once = [{"id": [1, 2], "bag": ([1, 2], ([0, 2, 2],))}, {"id": [3], "bag": ([3], ([0, 1],))}]
    assert _read(rec, made.prefetch(2)) == once * 2


def test_what_a_dataset_refuses(rec: Any, path: str) -> None:
    module = _module()
    field = module.DataFrame.Field
    for settings, said in (
        ((path, 2, ["nothing"]), "has no column 'nothing': it has id, word"),
        ((path, 2), "the column 'day' of .* is date32.*: cast it to numbers or text first"),
        ((path, 2, [field("bag", tf.int64, 0)]), "lists of depth 1, but its field has ragged_rank 0"),
        ((path, 2, [field("id", tf.int32)]), "is int64: give its field this dtype, not tf.int32"),
        ((rec.constant([path]), 2), "are not known when it is created: give `fields` as DataFrame.Field"),
        ((rec.constant([path]), 2, ["id"]), "are not known when it is created"),
    ):
        with pytest.raises(ValueError, match=said):
            module.ParquetDataset(*settings)
    with pytest.raises(ValueError, match=r"'pair' has the shape .* give a whole shape"):
        field("pair", tf.int64, 0, [None])
    with pytest.raises(ValueError, match="is no feature of a DataFrame: give a tensor"):
        module.DataFrame.to_sparse(3)
    with pytest.raises(rec.errors.OpError, match="has rows of other than 2 values: drop its shape"):
        _read(rec, module.ParquetDataset(path, 3, [field("bag", tf.int64, 0, [2])]))
