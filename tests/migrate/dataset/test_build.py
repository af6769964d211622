"""`migrate dataset build` beside a plain loop over `csv` rows; the same bytes whatever the blocks and processes."""

from __future__ import annotations

import csv
import datetime
import gzip
import json
import math
import random
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tensorflow as tf

from migrate.dataset.build import BuildOptions, BuildResult, build_dataset
from migrate.errors import MigrateError

SCHEMA = """
version: 1
data:
  missing: ["", "NA"]
  labels: [{name: bought, column: outcome, positive: "yes", negative: "no"}]
  dense:
    - {name: price, missing: 1.5, normalize: zscore}
    - {name: price_log, column: price, missing: 0, normalize: log}
    - {names: [age, clicks], normalize: minmax}
  sparse:
    - {name: city, min_count: 20}
    - {name: city_top, column: city, max_ids: 2, order: value}
    - {name: device, ids: hash, size: 1000}
    - {name: user, ids: raw}
    - {name: age_group, column: age, ids: buckets, buckets: [18, 30.5, 65]}
    - {name: tags, separator: "|", max_values: 2}
    - {name: seen, separator: "|", ids: raw}
  timestamp: {column: at, format: "%Y-%m-%d %H:%M:%S"}
labels: [bought, stars]
"""
NAMES = ["user", "outcome", "stars", "price", "age", "clicks", "city", "device", "tags", "seen", "at", "unused"]
CITIES = ["Oslo", " Rome ", "", "NA", "São Paulo", "a, b", 'say "x"', "rare"]
ROWS = 400


def rows() -> list[list[str]]:
    """Rows of text with what files have: quotes, blanks, gaps, repeated and empty pieces."""
    rng = random.Random(11)
    made = []
    for _ in range(ROWS):
        city = rng.choices(CITIES, [9, 5, 3, 3, 4, 4, 2, 0.2])[0]
        when = datetime.datetime(1969, 1, 1) + datetime.timedelta(seconds=rng.randrange(10**9))
        numbers = [rng.choice(["", "NA", " 2.5", "-1e3", "0.1", str(rng.random() * 100)]), str(rng.randint(1, 90))]
        tags = "|".join(rng.choices(["x", "yy", "", " z ", "NA", "q" * 70], k=rng.randint(0, 4)))
        seen = "|".join(str(rng.randint(-(10**12), 10**12)) for _ in range(rng.randint(0, 3)))
        user, clicks = str(rng.randint(-(2**63), 2**63 - 1)), "7"
        device = rng.choice(["phone", "tablet of some unusual length", "NA", "pc"])
        first = [user, rng.choice(["yes", "no"]), str(rng.randint(-2, 5))]
        made.append([*first, *numbers, clicks, city, device, tags, seen, str(when), "?"])
    return made


def _hash(texts: list[str]) -> list[int]:
    ids: list[int] = tf.strings.to_hash_bucket_fast(texts, 1000).numpy().tolist()
    return ids


def _ranked(values: list[str]) -> list[str]:
    return [value for value, _ in sorted(Counter(values).items(), key=lambda item: (-item[1], item[0].encode()))]


def expected(table: list[list[str]]) -> list[dict[str, list[Any]]]:
    """The samples by a plain loop."""
    row = [{name: "" if v.strip() == "NA" else v.strip() for name, v in zip(NAMES, r, strict=True)} for r in table]
    prices = [float(r["price"]) for r in row if r["price"]]
    mean, std = statistics.fmean(prices), statistics.pstdev(prices)
    low, high = min(float(r["age"]) for r in row), max(float(r["age"]) for r in row)
    cities = [r["city"] for r in row]
    common = [city for city in _ranked(cities) if cities.count(city) >= 20]
    top = sorted(_ranked(cities)[:2])
    pieces = [[tag.strip() for tag in r["tags"].split("|") if tag.strip() not in ("", "NA")][:2] for r in row]
    tags = _ranked([tag for piece in pieces for tag in piece])
    devices = _hash([r["device"] for r in row])
    made = []
    for r, piece, device in zip(row, pieces, devices, strict=True):
        price, age = float(r["price"] or 0), float(r["age"])
        when = datetime.datetime.fromisoformat(r["at"]).replace(tzinfo=datetime.timezone.utc).timestamp()
        log = math.copysign(math.log1p(abs(price)), price)
        scaled = (float(r["price"] or 1.5) - mean) / std
        known = [one.index(r["city"]) if r["city"] in one else len(one) for one in (common, top)]
        ids = [*known, device, int(r["user"]), sum(age >= bound for bound in (18, 30.5, 65))]
        made.append(
            {
                "label": [int(r["outcome"] == "yes"), int(r["stars"])],
                "dense_feature": [scaled, log, (age - low) / (high - low), 0.0],
                "sparse_feature": ids,
                "tags": [tags.index(tag) for tag in piece],
                "seen": [int(x) for x in r["seen"].split("|") if x],
                "timestamp": [int(when)],
            }
        )
    return made


def read(folder: Path) -> list[dict[str, list[Any]]]:
    """Read all shards with TensorFlow's own reader and parser."""
    paths = sorted(str(path) for path in folder.glob("part-*.tfrecord.gz"))
    raw = list(tf.data.TFRecordDataset(paths, compression_type="GZIP").as_numpy_iterator())
    fixed = {"label": (2, tf.int64), "dense_feature": (4, tf.float32), "sparse_feature": (5, tf.int64)}
    features: dict[str, Any] = {name: tf.io.FixedLenFeature([n], kind) for name, (n, kind) in fixed.items()}
    features["timestamp"] = tf.io.FixedLenFeature([1], tf.int64)
    features |= {name: tf.io.RaggedFeature(tf.int64) for name in ("tags", "seen")}
    found = {
        name: value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()
        for name, value in tf.io.parse_example(raw, features).items()
    }
    return [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]


def write(path: Path, table: list[list[str]], **how: Any) -> Path:
    """Write rows with a header."""
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, **how).writerows([NAMES, *table])
    return path


def build(folder: Path, *inputs: Path, schema: str = SCHEMA, out: str = "out", **how: Any) -> BuildResult:
    """Build into folder/out, in this process unless `jobs` says otherwise."""
    (folder / "schema.yaml").write_text(schema, encoding="utf-8")
    options = BuildOptions(str(folder / "schema.yaml"), inputs, folder / out, **how)
    return build_dataset(options, lambda results, count, text: results)


def content(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data.csv and its build in `out`."""
    folder = tmp_path_factory.mktemp("built")
    build(folder, write(folder / "data.csv", rows()), shard_rows=150)
    return folder


def test_samples_are_those_of_a_plain_loop(built: Path) -> None:
    found, wanted = read(built / "out"), expected(rows())
    assert len(list((built / "out").glob("part-*-of-00003.tfrecord.gz"))) == 3
    for name in wanted[0]:
        mine, loop = [row[name] for row in found], [row[name] for row in wanted]
        if name == "dense_feature":
            np.testing.assert_allclose(mine, loop, rtol=2e-6, atol=1e-7)
        else:
            assert mine == loop, name


def test_blocks_processes_and_packing_do_not_change_a_byte(built: Path, tmp_path: Path) -> None:
    wanted = content(built / "out")
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress((built / "data.csv").read_bytes()))
    build(tmp_path, built / "data.csv", out="small", block_bytes=3000, shard_rows=150)
    build(tmp_path, tmp_path / "data.csv.gz", out="two", block_bytes=9000, jobs=2, shard_rows=150)
    assert content(tmp_path / "small") == wanted
    assert content(tmp_path / "two") == wanted
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv.gz", "schema.yaml", "small", "two"]


def test_other_formats_give_the_same_samples(built: Path, tmp_path: Path) -> None:
    wanted, table = content(built / "out"), rows()
    with (tmp_path / "data").open("wb") as out:  # tabs, no header, Windows' line ends, a mark and blank lines
        out.write(b"\xef\xbb\xbf" + b"\r\n\r\n".join("\t".join(r).encode() for r in table))
    plain = SCHEMA.replace("data:\n", f'data:\n  format: tsv\n  quote: ""\n  columns: [{", ".join(NAMES)}]\n')
    build(tmp_path, tmp_path / "data", schema=plain, out="tsv", shard_rows=150, block_bytes=5000)
    assert content(tmp_path / "tsv") == wanted
    columns: dict[str, Any] = {}
    for name, values in zip(NAMES, zip(*table, strict=True), strict=True):
        clean = [None if v.strip() in ("", "NA") else v.strip() for v in values]
        columns[name] = clean
        if name in ("user", "stars", "clicks", "age"):
            columns[name] = [None if v is None else int(v) for v in clean]
        elif name == "price":
            columns[name] = [math.nan if v is None else float(v) for v in clean]  # as pandas writes gaps
        elif name in ("tags", "seen"):
            pieces = [[piece.strip() for piece in v.split("|")] for v in values]
            columns[name] = pieces if name == "tags" else [[int(x) for x in piece if x] for piece in pieces]
        elif name == "at":
            columns[name] = [datetime.datetime.fromisoformat(v) for v in values]
    pq.write_table(pa.table(columns), tmp_path / "data.parquet", row_group_size=130)
    build(tmp_path, tmp_path / "data.parquet", out="parquet", shard_rows=150)
    assert content(tmp_path / "parquet") == wanted


def test_a_feature_map_serves_other_data(built: Path, tmp_path: Path) -> None:
    other = [list(row) for row in rows()[:50]]
    other[0][NAMES.index("city")] = "Atlantis"
    given = built / "out" / "feature_map.json"
    build(tmp_path, write(tmp_path / "eval.csv", other), feature_map=given)
    found, before = read(tmp_path / "out"), read(built / "out")[:50]
    size = json.loads(given.read_text())["sparse"]["city"]["size"]
    assert found[0]["sparse_feature"][0] == size - 1, "the id of unseen values"
    assert found[0]["dense_feature"] == before[0]["dense_feature"], "scaled as the training data"
    assert found[1:] == before[1:]
    assert (tmp_path / "out" / "feature_map.json").read_bytes() == given.read_bytes()
    with pytest.raises(MigrateError, match="does not have the column `device` with `ids: hash`, `size: 999`"):
        build(tmp_path, tmp_path / "eval.csv", feature_map=given, schema=SCHEMA.replace("1000", "999"), out="b")


def test_an_unseen_value_is_named_where_the_map_has_no_id_for_it(tmp_path: Path) -> None:
    schema = "version: 1\ndata: {sparse: [{name: c, unseen: error}]}\nlabels: [y]\n"
    (tmp_path / "train.csv").write_text("c,y\na,1\nb,0\n")
    (tmp_path / "eval.csv").write_text("y,c\n1,a\n0,zz\n")
    build(tmp_path, tmp_path / "train.csv", schema=schema, out="train")
    given = tmp_path / "train" / "feature_map.json"
    with pytest.raises(MigrateError, match=r"eval.csv:3: column `c` must be a value of the feature map.*got `zz`"):
        build(tmp_path, tmp_path / "eval.csv", schema=schema, feature_map=given)
    assert build(tmp_path, tmp_path / "eval.csv", schema=schema, feature_map=given, skip_bad_rows=True).rows == 1


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("age", "old", r":302: column `age` must be a finite number, got `old`"),
        ("price", "1e39", r":302: column `price` must be a finite number"),
        ("user", str(2**63), r":302: column `user` must be a 64-bit integer"),
        ("seen", "4|five", r":302: column `seen` must be a 64-bit integer, got `4\|five`"),
        ("at", "2020-13-01 00:00:00", r":302: column `at` must be a time in the format %Y-%m-%d %H:%M:%S"),
        ("unused", "more,", r":302: has 13 values, but the file has 12 columns"),
    ],
)
def test_a_bad_row_is_named_or_left_out(column: str, value: str, message: str, tmp_path: Path) -> None:
    good = write(tmp_path / "good.csv", rows()[:358])
    lines = good.read_text().split("\n")
    fields = rows()[300]
    fields[NAMES.index(column)] = value
    broken = ",".join(f'"{f}"' if "," in f and column != "unused" else f for f in fields).replace("a, b", "ab")
    (tmp_path / "bad.csv").write_text("\n".join([*lines[:300], "", broken, *lines[300:]]))
    with pytest.raises(MigrateError, match=message):
        build(tmp_path, tmp_path / "bad.csv", block_bytes=9000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "good.csv", "schema.yaml"]
    if column in ("seen", "unused", "age"):
        result = build(tmp_path, tmp_path / "bad.csv", block_bytes=9000, skip_bad_rows=True, shard_rows=100)
        build(tmp_path, good, out="good", shard_rows=100)
        assert (result.rows, result.skipped) == (358, 1)
        found, wanted = content(tmp_path / "out"), content(tmp_path / "good")
        assert [name for name in found if found[name] != wanted[name]] in (
            ["statistics.json", "statistics.txt"],
            ["statistics.txt", "statistics.json"],
        )
