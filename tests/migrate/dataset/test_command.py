"""`migrate dataset build` as a command: options, refusals, whole folders or none, bundled schemas."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from click.testing import CliRunner, Result

from migrate.cli.dataset import dataset
from migrate.dataset.census.build import CensusOptions, build_census
from migrate.dataset.census.columns import COLUMNS, DENSE, INCOME_HIGH, INCOME_LOW
from migrate.dataset.spec import parse_spec
from migrate.errors import MigrateError
from migrate.folders import new_folder
from migrate.schema import load_schema
from tests.support.paths import ROOT

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
        ("c,x,x,y\na,0,1,0\n", "d.csv:1: has the column `x` twice"),
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
        ("{}", "`data.sparse` and `data.dense` are both empty"),
        ("{dense: [{name: x, normalise: log}]}", "unknown key `data.dense[0].normalise`"),
        ("{dense: [{names: [a, b], column: c}]}", "`data.dense[0].column` cannot be combined with `names`"),
        ("{dense: [{name: x, normalize: sqrt}]}", "`data.dense[0].normalize` is 'sqrt'; use one of `none`"),
        ("{sparse: [{name: x, ids: hash}]}", "`data.sparse[0].size` is missing"),
        ("{sparse: [{name: x, size: 3}]}", "`data.sparse[0].size` is not valid with `ids: map`"),
        ("{sparse: [{name: x}, {name: x}]}", "`data.sparse` has the name `x` twice"),
        ("{sparse: [{name: label, separator: ' '}]}", "`data.sparse` has the name `label` twice"),
        ("{sparse: [{name: x, ids: buckets, buckets: [2, 1]}]}", "`data.sparse[0].buckets` is [2, 1]; give"),
        ("{sparse: [{name: x, unseen: error, min_count: 2}]}", "`data.sparse[0].unseen` is `error`, but"),
        ("{sparse: [{name: x, max_values: 2}]}", "`data.sparse[0].max_values` is valid only with a `separator`"),
        ("{dense: [{name: x}], columns: [a, y]}", "`data.columns` does not have `x`"),
        ("{dense: [{name: x}], labels: [{name: z}]}", "`data.labels` describes `z`"),
        ("{dense: [{name: x}], delimiter: '::'}", "`data.delimiter` is '::'; give one ASCII character"),
        ("{dense: [{name: x}], timestamp: {column: t, format: '%H %z'}}", "`data.timestamp.format` is '%H %z'"),
    ],
)
def test_mistakes_in_the_schema_are_named(data: str, message: str) -> None:
    with pytest.raises(MigrateError) as error:
        parse_spec(f"version: 1\ndata: {data}\nlabels: [y]\n", "s.yaml")
    assert str(error.value).startswith("s.yaml: ") and message in str(error.value)


def test_the_bundled_census_schema_gives_what_the_census_command_gives(tmp_path: Path) -> None:
    lines = []
    for i in range(60):
        base = {name: str(i * 7 % 11) if name in DENSE else f"v{i % 3}" for name in COLUMNS}
        base |= {"det_ind_code": str(i % 12), "marital_stat": ["Never married", "Divorced"][i % 2]}
        base["income_50k"] = INCOME_HIGH if i % 5 == 0 else INCOME_LOW
        lines.append(", ".join(base[name] for name in COLUMNS) + "\n")
    data = tmp_path / "census.data"
    data.write_text("".join(lines))
    options = CensusOptions(data, data, reserve_unseen=True, normalize=True)
    build_census(options, tmp_path / "command", lambda rows, source, text: rows)
    assert run("--schema", "census", data, "-o", tmp_path / "built").exit_code == 0
    wanted = list(tf.data.TFRecordDataset(str(tmp_path / "command" / "train.tfrecord")).as_numpy_iterator())
    features = {
        "label": tf.io.FixedLenFeature([2], tf.int64),
        "sparse_feature": tf.io.FixedLenFeature([29], tf.int64),
        "dense_feature": tf.io.FixedLenFeature([11], tf.float32),
    }
    mine = tf.io.parse_example(records(tmp_path / "built"), features)
    for name, value in tf.io.parse_example(wanted, features).items():
        if name == "dense_feature":
            tf.debugging.assert_near(mine[name], value, atol=1e-6)
        else:
            assert (mine[name].numpy() == value.numpy()).all(), name
    for key in ("input", "labels", "tasks"):
        mine_schema, other = (load_schema(tmp_path / one / "schema.yaml") for one in ("built", "command"))
        wanted_part = getattr(other, key)
        assert getattr(mine_schema, key) == (wanted_part if key != "input" else vars_without_name(wanted_part))


def vars_without_name(spec: object) -> object:
    """Return an input specification that names no argument of `forward`."""
    import dataclasses

    return dataclasses.replace(spec, name="")  # type: ignore[type-var]


def test_the_bundled_criteo_schema_reads_its_lines(tmp_path: Path) -> None:
    data = tmp_path / "day_0.gz"
    line = "\t".join(["1", *[""] * 6, *[str(i) for i in range(7)], "68fd1e64", '5"', *["a73ee510"] * 24])
    data.write_text((line + "\n") * 12)
    assert run("--schema", "criteo", data, "-o", tmp_path / "out").exit_code == 0
    values = json.loads((tmp_path / "out" / "feature_map.json").read_text())["sparse"]
    assert (values["C1"]["values"], values["C2"]["values"]) == (["68fd1e64"], ['5"'])
    assert len(records(tmp_path / "out")) == 12


def test_the_command_needs_no_tensorflow_and_names_what_it_needs(tmp_path: Path) -> None:
    schema, data = small(tmp_path)
    program = (
        "import sys; from migrate.cli.main import main; sys.modules['tensorflow'] = None\n"
        "if sys.argv[1] == 'bare': sys.modules['pyarrow'] = None\n"
        "sys.argv[:2] = ['migrate']; main()"
    )
    arguments = ["dataset", "build", "--schema", str(schema), str(data), "-o"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for how, code, words in (("whole", 0, "2 rows in 1 file"), ("bare", 2, "needs pyarrow")):
        command = [sys.executable, "-c", program, how, *arguments, str(tmp_path / how)]
        found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert (found.returncode, words in found.stdout + found.stderr) == (code, True), found.stderr
        assert "Traceback" not in found.stderr
