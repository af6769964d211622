"""Which table is which variable: by names, numbers and widths, in copies of programs made smaller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli.verify import verify
from migrate.errors import MigrateError
from migrate.verify import program_files
from migrate.verify.paddle.trainer import folder
from migrate.verify.tensorflow.matching import Kind, by_original, match_tables, original_names, renamed, without_slots
from migrate.verify.tensorflow.measure import Program
from tests.support.measured import Measured


def test_names_decide_first() -> None:
    trained = {"b": (5, 4), "a": (5, 4), "deep/user": (9, 4), "deep/item": (9, 4), "w": (4, 1)}
    tables = {"a": 4, "b": 4, "deep_user": 4, "item": 4}
    assert match_tables("c.py", tables, trained, {"w"}) == {
        "a": "a",
        "b": "b",
        "deep_user": "deep/user",
        "item": "deep/item",
    }


def test_then_width_and_order() -> None:
    trained = {"Variable": (5, 4), "Variable_1": (6, 8), "Variable_2": (7, 8), "bias": (5,)}
    assert match_tables("c.py", {"u": 4, "v": 8, "w": 8, "x": 1}, trained, set()) == {
        "u": "Variable",
        "v": "Variable_1",
        "w": "Variable_2",
        "x": "bias",
    }


@pytest.mark.parametrize(
    ("tables", "trained", "kept", "words"),
    [
        ({"x": 4}, {"u": (5, 4), "v": (5, 4)}, set(), "1 table of dim 4 .* 2 variables .* give each table the name of"),
        ({"u": 4, "x": 4}, {"u": (5, 4)}, set(), "give each table the name of its variable"),
        ({"u": 4}, {"u": (5, 4), "v": (5, 3)}, set(), "neither a variable nor a table for the original's `v`"),
        ({"u": 4}, {"u": (5, 4)}, {"z"}, "trains `z`"),
    ],
    ids=["two variables", "two tables", "lost", "extra"],
)
def test_anything_else_is_an_error(
    tables: dict[str, int], trained: dict[str, tuple[int, ...]], kept: set[str], words: str
) -> None:
    with pytest.raises(MigrateError, match=words):
        match_tables("c.py", tables, trained, kept)


D, W = Kind((4, 4), "float32", True), Kind((9, 4), "float32", True)  # a dense variable, and one like a table
COUNTER = Kind((), "int32", False)

POWER = Kind((), "float32", False)
#: what a program is: the original's variables, its own, the order of creation, the places that tables tell, and what of
#: it has which name in the original
PROGRAMS: dict[str, tuple[dict[str, Kind], dict[str, Kind], list[str], dict[str, str], dict[str, str]]] = {
    "names were counted anew": (
        {"Variable": D, "Variable_1": W, "Variable_2": D, "Variable_3": COUNTER, "Variable_4": W},
        {"Variable": D, "Variable_1": D, "Variable_2": COUNTER, "Variable_3": W},
        ["Variable", "T", "Variable_1", "Variable_2", "Variable_3"],
        {},
        {"T": "Variable_1", "Variable_1": "Variable_2", "Variable_2": "Variable_3", "Variable_3": "Variable_4"},
    ),
    # By its name the dense variable would be the original's table, and the program would train other values.
    "equal shapes, the table first": (
        *({"Variable": W, "Variable_1": W}, {"Variable": W}, ["T", "Variable"], {}),
        {"T": "Variable", "Variable": "Variable_1"},
    ),
    "equal shapes, the table last": (
        *({"Variable": W, "Variable_1": W}, {"Variable": W}, ["Variable", "T"], {}),
        {"T": "Variable_1"},
    ),
    "each scope for itself": (
        {"a/Variable": W, "a/Variable_1": D, "b/Variable": D, "b/Variable_1": W, "b/Variable_2": D},
        {"a/Variable": D, "b/Variable": D, "b/Variable_1": D},
        ["T", "a/Variable", "b/Variable", "U", "b/Variable_1"],
        {},
        {"T": "a/Variable", "U": "b/Variable_1", "a/Variable": "a/Variable_1", "b/Variable_1": "b/Variable_2"},
    ),
    "names are kept": (
        *({"Variable": W, "Variable_1": W}, {"Variable_1": W}, ["T", "Variable_1"], {"T": "Variable"}),
        {"T": "Variable"},
    ),
    "names are kept in another order": (
        *({"Variable": W, "Variable_1": W}, {"Variable": W}, ["T", "Variable"], {"T": "Variable_1"}),
        {"T": "Variable_1"},
    ),
    "literal names in any order": ({"w": W, "w_1": W, "b": D}, {"w": W, "b": D}, ["w_1", "w", "b"], {}, {}),
    "literal names without numbers": ({"x": W, "y": W}, {"y": W}, ["y", "T"], {}, {}),
    "optimizers count for themselves": (
        {"Variable": W, "Variable_1": D, "beta1_power": POWER, "beta1_power_1": POWER},
        {"Variable": D, "beta1_power": POWER, "Adam_1/beta1_power": POWER},
        ["T", "Variable", "beta1_power", "Adam_1/beta1_power"],
        {},
        {"T": "Variable", "Variable": "Variable_1"},
    ),
    "another shape": ({"Variable": W, "Variable_1": D}, {"Variable": W}, ["T", "Variable"], {}, {}),
    "one is lost": (*({"Variable": W, "Variable_1": D, "Variable_2": D}, {"Variable": D}, ["T", "Variable"], {}, {}),),
    "another dim": (
        *({"Variable": Kind((9, 8), "float32", True), "Variable_1": D}, {"Variable": D}, ["T", "Variable"], {}, {}),
    ),
    "another type": (
        *({"Variable": Kind((9, 4), "float64", True), "Variable_1": D}, {"Variable": D}, ["T", "Variable"], {}, {}),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_of_the_original_are_found_and_nothing_is_guessed(name: str) -> None:
    original, kept, order, places, expected = PROGRAMS[name]
    names = original_names("c.py", original, kept, dict.fromkeys(set(order) - set(kept), 4), order, places)
    assert {mine: theirs for mine, theirs in names.variables.items() if mine != theirs} | names.tables == expected


def test_two_readings_are_refused() -> None:
    with pytest.raises(MigrateError, match=r"`w` may be the original's `w` by its name, or `w_1` by the order"):
        original_names("c.py", {"w": W, "w_1": W}, {"w": W}, {"T": 4}, ["T", "w"], {})


def test_slots_follow_their_variable() -> None:
    assert without_slots(["Variable", "Variable/Adam", "Variable_1", "a/b", "a/b/Adam_1"]) == [
        "Variable",
        "Variable_1",
        "a/b",
    ]
    names = {"Variable": "Variable_2", "Variable_2": "Variable_3", "b": "b"}
    assert by_original({"Variable": 1, "Variable/Adam": 2, "Variable_2": 3, "b/Adam": 4, "x/Variable": 5}, names) == {
        "Variable_2": 1,
        "Variable_2/Adam": 2,
        "Variable_3": 3,
        "b/Adam": 4,
        "x/Variable": 5,
    }
    program = Program({}, {"Variable": (2,)}, [], [], {"Variable #2": "g"}, {"Variable": ()})
    assert renamed(program, names).gradients == {"Variable_2 #2": "g"}


CONFIG = "runner:\n  train_batch_size: 4\nhyper_parameters:\n  rows: 1000\n  sizes: [8, 4]\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "dygraph_model.py").touch()
    return tmp_path


def test_both_programs_get_the_values_and_the_ids(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    given = [[np.array([[7, 30]]), {"more": np.array([10, 3])}, np.array([12.5, 23.0])]]
    monkeypatch.setattr(folder.workers, "run", lambda _, job: seen.append(job["config"]) or {"batches": given})
    monkeypatch.setattr(folder, "measure", lambda *arguments: seen.extend(arguments[2:4]) or Measured())
    options = ["--set", "hyper_parameters.rows=10", "--set", "hyper_parameters.sizes=[2]", "--ids", "10"]
    CliRunner().invoke(verify, [str(model), str(model), *options], catch_exceptions=False)
    read, config, batches = seen
    assert read == config and config["hyper_parameters.rows"] == 10 and config["hyper_parameters.sizes"] == [2]
    assert config["runner.train_batch_size"] == 4
    ids, named, numbers = batches[0]
    assert ids.tolist() == [[7, 0]] and named["more"].tolist() == [0, 3] and numbers.tolist() == [12.5, 3.0]


def test_a_value_that_the_configuration_does_not_have(model: Path) -> None:
    found = CliRunner().invoke(verify, [str(model), str(model), "--set", "rows=10"])
    assert "config.yaml has no `rows`: set one of runner.train_batch_size, hyper" in str(found.exception)


@pytest.mark.parametrize("text", ["rows", "rows=[1"])
def test_what_is_no_pair(model: Path, text: str) -> None:
    found = CliRunner().invoke(verify, [str(model), str(model), "--set", text])
    assert found.exit_code == 2 and f"`{text}` is not KEY=VALUE" in found.output


def test_only_folders_have_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import tensorflow\n")
    found = CliRunner().invoke(verify, [str(tmp_path / "m.py"), str(tmp_path / "m.py"), "--ids", "10"])
    assert "--set and --ids apply to folders of Paddle models" in str(found.exception)


def everything(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder with their contents, and its directories."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_a_program_finds_its_files_and_changes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    (home / "project" / "data" / "deep").mkdir(parents=True)
    scratch.mkdir()
    (home / "project" / "small").write_text("small")
    (home / "project" / "data" / "deep" / "large").write_bytes(b"x" * (program_files.SMALL + 1))
    (home / "beside").write_text("beside")
    before = everything(home)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    program_files.enter(str(home / "project"))
    assert Path.cwd().is_relative_to(scratch)
    assert Path("small").read_text() == "small"
    assert Path("data/deep/large").stat().st_size == program_files.SMALL + 1
    assert Path("../beside").read_text() == "beside"
    Path("small").write_text("changed")
    Path("data/deep/new").write_text("new")
    Path("../new").write_text("new")
    assert everything(home) == before


def test_what_is_too_much_is_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b/c"):
        (tmp_path / "home" / name).mkdir(parents=True)
    (tmp_path / "home" / "b" / "c" / "file").write_text("far")
    monkeypatch.setattr(program_files, "MOST", 2)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program_files.enter(str(tmp_path / "home"))
    assert Path("b").is_dir() and not Path("b").is_symlink()
    assert Path("b/c").is_symlink()
    assert Path("b/c/file").read_text() == "far"
