"""Which files of a model's folder are read and written: byte-order marks, modules without Paddle, and missing files."""

from __future__ import annotations

import codecs
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migrate.cli.main import cli

FOLDER = Path(__file__).parent / "folders" / "wide_deep"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FOLDER, "model")
    return Path("model")


def convert(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["convert", "model", "--no-cache", *arguments], catch_exceptions=False)


@pytest.mark.soak
def test_a_byte_order_mark_is_kept(model: Path) -> None:
    assert convert("-o", "plain").exit_code == 0
    for path in model.glob("*.py"):
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes().replace(b"\n", b"\r\n"))
    assert convert("-o", "out").exit_code == 0
    for path in model.glob("*.py"):
        data = (Path("out") / path.name).read_bytes()
        assert data == codecs.BOM_UTF8 + (Path("plain") / path.name).read_bytes().replace(b"\n", b"\r\n")
    written = CliRunner().invoke(cli, ["project", "model", "-o", "project"], catch_exceptions=False)
    assert written.exit_code == 0, written.output
    assert (Path("project") / "net.py").read_bytes() == (Path("out") / "net.py").read_bytes()


def test_the_output_directory_is_no_input(model: Path) -> None:
    result = CliRunner().invoke(cli, ["convert", "model", "-o", "./model/"])
    assert result.exit_code == 2 or result.exception is not None
    said = f"{result.output}{result.exception}"
    assert "model: is the output directory, too; give another one with -o, or use --in-place" in said


def test_packages_of_a_folder_belong_to_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FOLDER.parent / "experts", "model")
    other = Path("model/another")  # a model of its own
    other.mkdir()
    (other / "dygraph_model.py").write_text("import paddle\n")
    done = convert("-o", "out")
    assert done.exit_code == 1 and "another" in done.output  # which has no reader
    package = {path.as_posix() for path in Path("model/parts").rglob("*.py")}
    written = {path.relative_to("out") for path in Path("out").rglob("*.py")}
    assert {f"model/{path.as_posix()}" for path in written if path.parts[0] == "parts"} == package
    assert (Path("out") / "parts" / "names.py").read_text() == Path("model/parts/names.py").read_text()
    alone = CliRunner().invoke(cli, ["convert", "model/parts/chains/base.py", "-o", "one", "--no-cache"])
    assert (alone.exit_code, [*Path("one").rglob("*.py")]) == (0, [Path("one/base.py")]), alone.output
    shutil.rmtree(other)
    Path("model/picture.png").write_bytes(bytes(range(256)))  # no text, which nothing reads
    project = CliRunner().invoke(cli, ["project", "model", "-o", "project"], catch_exceptions=False)
    assert project.exit_code == 0, project.output
    for path in written:
        assert (Path("project") / path).read_text() == (Path("out") / path).read_text()


def test_an_earlier_result_is_not_used_where_the_data_of_many_folders_changed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from migrate.source.driver import run

    for number in range(300):
        (model / f"part{number}").mkdir()
    (model / "part299" / "data.txt").write_text("1")
    first = run._stamps(model)
    assert run._stamps(model) == first
    (model / "part299" / "data.txt").write_text("12")
    assert run._stamps(model) != first
    monkeypatch.setattr(run, "_STAMPED", 1)
    assert run._stamps(model) != run._stamps(model)
