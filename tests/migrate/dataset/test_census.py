"""`migrate dataset census`: files in the original format to ids, numbers, schema; all or nothing on bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.dataset.census.build import CensusOptions, build_census
from migrate.dataset.census.columns import COLUMNS, DENSE, INCOME_LOW
from migrate.dataset.tfrecord import Sample, write_samples
from migrate.errors import MigrateError


def row(**values: str) -> str:
    """One line in the original format: zeros and `x`s but for the columns given."""
    base = {name: "0" if name in DENSE else "x" for name in COLUMNS} | {"income_50k": INCOME_LOW}
    return ", ".join((base | values)[name] for name in COLUMNS) + "\n"


def build(folder: Path, train: str, test: str, out: str = "out", **options: object) -> Path:
    """Write both files, build into `out` and return it."""
    folder.mkdir(exist_ok=True)
    (folder / "train").write_text(train)
    (folder / "test").write_text(test)
    given = {"train": folder / "train", "test": folder / "test"} | options
    build_census(CensusOptions(**given), folder / out, lambda rows, source, text: rows)  # type: ignore[arg-type]
    return folder / out


def test_map_from_train_refuses_and_names_an_unseen_category(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match=r"test:2: column `sex` has the value `Other`.*--unseen reserve"):
        build(tmp_path, row(sex="Male"), row(sex="Male") + row(sex="Other"), map_from="train")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a, b, c\n", r"train:2: expected 42 comma-separated values, got 3"),
        (row(age="old"), r"train:2: column `age` must be a number, got `old`"),
        (row(age="nan"), r"train:2: column `age` must be a number, got `nan`"),
        (row(income_50k="much"), r"train:2: the last value must be"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_lost(tmp_path: Path, line: str, message: str) -> None:
    out = build(tmp_path, row(), row())
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    with pytest.raises(MigrateError, match=message):
        build(tmp_path, row() + line, row())
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


def test_synthetic_rows_never_replace_a_download(tmp_path: Path) -> None:
    original = tmp_path / "census-income.data"
    original.write_text("precious")
    with pytest.raises(MigrateError, match=r"census-income\.data is not synthetic"):
        build_census(CensusOptions(None, None, synthetic=60), tmp_path, lambda rows, source, text: rows)
    assert [file.name for file in tmp_path.iterdir()] == ["census-income.data"]
    assert original.read_text() == "precious"


def test_a_directory_in_the_way_stops_all_files(tmp_path: Path) -> None:
    out = build(tmp_path, row(), row())
    (out / "train.tfrecord").unlink()
    (out / "train.tfrecord").mkdir()
    before = {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()}
    with pytest.raises(MigrateError, match=r"train\.tfrecord is a directory"):
        build(tmp_path, row(sex="Male"), row())
    assert {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()} == before


def test_a_full_disk_is_one_sentence() -> None:
    many = [Sample([1, 0], [1] * 29, [0.0] * 11)] * 2000
    with pytest.raises(MigrateError, match=r"cannot write full .*No space left"):
        write_samples(Path("/dev/full"), many)
