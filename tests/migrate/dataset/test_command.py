"""`migrate dataset build` as a command: options, refusals, whole folders or none, bundled schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tensorflow as tf
from click.testing import CliRunner, Result

from migrate.cli.dataset import dataset
from migrate.dataset.spec import parse_spec
from migrate.errors import MigrateError
from migrate.folders import new_folder
from migrate.schema import load_schema

SCHEMA = "version: 1\ndata: {sparse: [{name: c}], dense: [{name: x}]}\nlabels: [y]\n"


def run(*arguments: object) -> Result:
    """Run `migrate dataset build` in this process."""
    return CliRunner().invoke(dataset, ["build", "-j", "1", *map(str, arguments)])


def small(folder: Path, text: str = "c,x,y\na,1,0\nb,2,1\n") -> tuple[Path, Path]:
    """Write a schema and a file that fits it."""
    (folder / "s.yaml").write_text(SCHEMA)
    (folder / "d.csv").write_text(text)
    return folder / "s.yaml", folder / "d.csv"


def records(folder: Path, kind: str = "GZIP") -> list[bytes]:
    """Read all shards."""
    paths = sorted(str(path) for path in folder.glob("part-*"))
    return list(tf.data.TFRecordDataset(paths, compression_type=kind).as_numpy_iterator())


def test_a_folder_is_written_whole_and_replaced_only_on_request(tmp_path: Path) -> None:
    schema, data = small(tmp_path)
    out = tmp_path / "new" / "out"
    result = run("--schema", schema, data, data, "-o", out, "--shard-rows", 3, "--compression", 0)
    assert (result.exit_code, result.stdout) == (0, f"{out}: 4 rows in 2 files\n")
    assert len(records(out, "")) == 4
    names = ["feature_map.json", "part-00000-of-00002.tfrecord", "part-00001-of-00002.tfrecord"]
    assert sorted(path.name for path in out.iterdir()) == [*names, "schema.yaml", "statistics.json", "statistics.txt"]
    written = load_schema(out / "schema.yaml")
    assert (written.input.size, written.input.dense, written.input.rows) == (4, ((0, 1),), 3)
    again = run("--schema", schema, data, "-o", out)
    assert isinstance(again.exception, MigrateError) and "--force" in str(again.exception)
    assert run("--schema", schema, data, "-o", out, "--force").exit_code == 0
    assert [path.name for path in out.glob("part-*")] == ["part-00000-of-00001.tfrecord.gz"]
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_what_ends_a_build_leaves_the_old_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("old")
    for error in (MigrateError, KeyboardInterrupt):
        with pytest.raises(error), new_folder(tmp_path / "out", replace=True) as stage:
            (stage / "new").write_text("half")
            raise error
    with pytest.raises(MigrateError, match="cannot write to"), new_folder(tmp_path / "out", replace=True) as stage:
        stage.rmdir()  # so that it cannot be moved into its place
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["out", "out/old"]


def test_of_two_builds_at_once_the_second_does_not_replace_the_first(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match="is not empty"), new_folder(tmp_path / "out", replace=False) as stage:
        (stage / "new").write_text("second")
        with new_folder(tmp_path / "out", replace=False) as other:
            (other / "old").write_text("first")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["out", "out/old"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; its first line must have the names of columns"),
        ("c,x,y\n", "the inputs have no rows"),
        ("c,y\na,0\n", "d.csv:1: has no column `x`"),
        ('c,x,y\na,1,0\n"b\nb",1,0\n', "a quoted value contains a line break"),
        ('c,x,y\na,1,0\na,1,"0\n', "a quoted value contains a line break"),
    ],
)
def test_files_that_do_not_fit_are_named(text: str, message: str, tmp_path: Path) -> None:
    schema, data = small(tmp_path, text)
    result = run("--schema", schema, data, "-o", tmp_path / "out")
    assert message in str(result.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "s.yaml"]


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    schema, data = small(tmp_path)
    for name, raw, message in (
        ("a.gz", b"\x1f\x8b broken", "a.gz is damaged"),
        ("b.parquet", b"PAR1 broken", "b.parquet is not a Parquet file"),
        ("c.csv", b"c,x,y\na,1,0\n\n\xff,1,0\n", r"c.csv:4: not UTF-8 text"),
        ("d", None, "d cannot be read"),
    ):
        if raw is not None:
            (tmp_path / name).write_bytes(raw)
        assert message in str(run("--schema", schema, data, tmp_path / name, "-o", tmp_path / "out").exception)
    given = run("--schema", schema, data, "-o", tmp_path / "out", "--feature-map", data)
    assert "is not a feature map" in str(given.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{dense: [{name: x, normalise: log}]}", "unknown key `data.dense[0].normalise`"),
        ("{sparse: [{name: x, ids: hash}]}", "`data.sparse[0].size` is missing"),
        ("{sparse: [{name: label, separator: ' '}]}", "`data.sparse` has the name `label` twice"),
        ("{sparse: [{name: x, ids: buckets, buckets: [2, 1]}]}", "`data.sparse[0].buckets` is [2, 1]; give"),
        ("{dense: [{name: x}], columns: [a, y]}", "`data.columns` does not have `x`"),
        ("{dense: [{name: x}], delimiter: '::'}", "`data.delimiter` is '::'; give one ASCII character"),
        ("{dense: [{name: x}], timestamp: {column: t, format: '%H %z'}}", "`data.timestamp.format` is '%H %z'"),
    ],
)
def test_mistakes_in_the_schema_are_named(data: str, message: str) -> None:
    with pytest.raises(MigrateError) as error:
        parse_spec(f"version: 1\ndata: {data}\nlabels: [y]\n", "s.yaml")
    assert str(error.value).startswith("s.yaml: ") and message in str(error.value)


def test_the_bundled_criteo_schema_reads_its_lines(tmp_path: Path) -> None:
    data = tmp_path / "day_0.gz"
    line = "\t".join(["1", *[""] * 6, *[str(i) for i in range(7)], "68fd1e64", '5"', *["a73ee510"] * 24])
    data.write_text((line + "\n") * 12)
    assert run("--schema", "criteo", data, "-o", tmp_path / "out").exit_code == 0
    values = json.loads((tmp_path / "out" / "feature_map.json").read_text())["sparse"]
    assert (values["C1"]["values"], values["C2"]["values"]) == (["68fd1e64"], ['5"'])
    assert len(records(tmp_path / "out")) == 12
