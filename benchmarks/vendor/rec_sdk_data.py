"""Small data in the formats that Rec SDK's examples read: TFRecords as of Criteo, census-income and Ali-CCP."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

__all__ = ["LINES", "write_data"]

#: Lines side by side in an Example of dlrm, which has 1024 of them.
LINES = 64
_Columns = Mapping[str, Any]
_ONE_HOT = ("101", "121", "122", "124", "125", "126", "127", "128", "129", "205", "206", "207", "216", "508", "509")
_LENGTHS = {"210": 5, "853": 6, "109_14": 50, "110_14": 50, "127_14": 50, "150_14": 50}
_IDS = 40


def write_data(kind: str, folder: Path) -> None:
    """Write "criteo_lines" (dlrm), "census" (mmoe), "criteo" or "aliccp" (the model zoo) into a folder."""
    random = np.random.default_rng(7)
    if kind in ("criteo_lines", "census"):
        make, sizes = (_lines, (96, 16)) if kind == "criteo_lines" else (_person, (640, 320))
        for part, size in zip(("train", "test"), sizes, strict=True):
            _write(folder / part / "a.tfrecord", (make(random) for _ in range(size)))
    elif kind == "criteo":
        for part, size in (("tr", 2048), ("va", 512), ("te", 512)):
            _write(folder / f"{part}0.tfrecords", (_impression(random) for _ in range(size)))
    else:
        _write_aliccp(folder, random)


def _write(path: Path, rows: Iterable[_Columns]) -> None:
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in rows:
            features = {name: _feature(np.ravel(values)) for name, values in row.items()}
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    path.chmod(0o644)  # the programs refuse files that others may write


def _feature(values: Any) -> Any:
    if values.dtype.kind == "f":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values.tolist()))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values.tolist()))


def _label(random: np.random.Generator) -> Any:
    return np.float32(random.integers(0, 2))


def _lines(random: np.random.Generator) -> _Columns:
    ids = random.integers(0, 500, [LINES, 26]) + 500 * np.arange(26)
    return {"label": random.integers(0, 2, LINES), "sparse_feature": ids, "dense_feature": random.random([LINES, 13])}


def _person(random: np.random.Generator) -> _Columns:
    ids = random.integers(0, 17, 29) + 17 * np.arange(29)
    return {"label": random.integers(0, 2, 2), "sparse_feature": ids, "dense_feature": random.random(11)}


def _impression(random: np.random.Generator) -> _Columns:
    return {"label": _label(random), "ids": random.integers(0, 1000, 39), "values": random.random(39)}


def _write_aliccp(folder: Path, random: np.random.Generator) -> None:
    one_hot = [*_ONE_HOT, "702", "301"]
    sizes = {"train": 1024, "val": 256, "test": 256}
    spec: dict[str, Any] = {f"{part}_max_length": _LENGTHS for part in sizes}
    spec |= {"one_hot_fields": one_hot, "multi_hot_fields": list(_LENGTHS)[2:], "special_fields": ["210", "853"]}
    spec |= {"vocab_length": dict.fromkeys([*one_hot, *_LENGTHS], _IDS), "dataset_size": sizes}
    (folder / "spec.json").write_text(json.dumps(spec))
    for part, size in sizes.items():
        rows = (_session(random, len(one_hot)) for _ in range(size))
        _write(folder / part / f"data_{part}.csv.tfrecord.0", rows)


def _session(random: np.random.Generator, fields: int) -> _Columns:
    row: dict[str, Any] = {"y": _label(random), "z": _label(random), "one_hot_fields": random.integers(0, _IDS, fields)}
    for name, length in _LENGTHS.items():
        ids = random.integers(0, _IDS, length)
        ids[random.integers(1, length) :] = -1
        row[name] = ids
    return row
