"""Configuration files: which one holds for a file, what it may say, and the sentence for each mistake in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.source.configuration.config_files import for_file, is_excluded
from migrate.source.settings.options import Given, Options

TOML = """
[tool.migrate]
ignore = ["tf-gather"]
exclude = ["old", "*_generated.py", "deep/er/one.py"]
assume = true
target = "runtime"

[tool.migrate.per-file-ignores]
"tests/*.py" = ["tf-variable", "tf-saver"]
"""


def options(path: Path, given: Given | None = None) -> Options:
    return for_file(path, Options(overrides=given or Given()))


@pytest.fixture
def configured(tmp_path: Path) -> Path:
    """A directory with a configuration."""
    (tmp_path / "pyproject.toml").write_text(TOML)
    return tmp_path


def test_a_configuration_holds(configured: Path) -> None:
    found = options(configured / "src" / "model.py")
    assert (found.assume, found.target, found.overrides) == (True, "runtime", None)
    assert not found.selection.wants("tf-gather")
    assert found.selection.wants("tf-variable")
    assert not options(configured / "tests" / "model.py").selection.wants("tf-variable")


def test_the_command_line_stands_above(configured: Path) -> None:
    given = Given(assume=False, select=("tf-gather", "tf-variable"), ignore=("tf-saver",))
    found = options(configured / "tests" / "model.py", given)
    assert not found.assume
    assert found.selection.wants("tf-gather")
    assert not found.selection.wants("tf-variable"), "ignored in this file"


@pytest.mark.parametrize(
    ("path", "excluded"),
    [
        ("model.py", False),
        ("old/model.py", True),
        ("src/old/x/model.py", True),
        ("a_generated.py", True),
        ("src/a_generated.py", True),
        ("deep/er/one.py", True),
        ("er/one.py", False),
        ("older/model.py", False),
    ],
)
def test_patterns_exclude(configured: Path, path: str, excluded: bool) -> None:
    assert is_excluded(configured / path) is excluded


def test_the_nearest_configuration_wins_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(TOML)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    (tmp_path / "a" / "b" / "pyproject.toml").write_text("[tool.migrate]\nignore = ['tf-variable']\n")
    assert not options(tmp_path / "a" / "m.py").selection.wants("tf-gather")
    assert options(tmp_path / "a" / "b" / "m.py").selection.wants("tf-gather")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("pyproject.toml", '[tool.migrate]\nselct = ["tf"]', "unknown key `selct`; did you mean select?"),
        (
            "pyproject.toml",
            "[tool.recmigrate]\nfoo = 1",
            "[tool.recmigrate] is not read; name the section [tool.migrate]",
        ),
        ("pyproject.toml", "[tool.migrate]\nfoo = 1", "unknown key `foo`; keys are select, ignore"),
        ("pyproject.toml", '[tool.migrate]\nselect = "tf"', "key `select` is 'tf'; write a list of strings"),
        ("pyproject.toml", "[tool.migrate]\nassume = 1", "key `assume` is 1; write true, false, or a list of tables"),
        ("pyproject.toml", "[tool.migrate]\ntarget = 1", "key `target` is 1; write a string"),
        (
            "pyproject.toml",
            '[tool.migrate]\ntarget = "rec"',
            "key `target` = 'rec': unknown target; use one of `runtime`",
        ),
        ("pyproject.toml", '[tool.migrate]\nignore = ["tf-gahter"]', "key `ignore`: unknown rule `tf-gahter`"),
        ("pyproject.toml", '[tool.migrate]\nper-file-ignores = ["x"]', "write a table of patterns"),
        ("pyproject.toml", '[tool.migrate.per-file-ignores]\n"a" = ["no-rule"]', "unknown rule `no-rule`"),
        ("pyproject.toml", "[tool]\nmigrate = 1", "`tool.migrate` is not a table"),
        ("pyproject.toml", "[tool.migrate]\nignore = [", "is not valid TOML"),
        ("pyproject.toml", '[tool.migrate]\nrules = ["none.py"]', "none.py: cannot be read as rules"),
        ("pyproject.toml", "[tool.migrate]\nadmission = 0", "key `admission`: invalid value 0; write a number"),
        ("setup.cfg", "[migrate]\nselect = tf", "[migrate] is not read; write [tool.migrate]"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(MigrateError) as error:
        options(tmp_path / "m.py", Given(allow_rules=True))
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert (tmp_path / ("none.py" if "none.py" in text else name)).name in str(error.value)


def test_options_without_a_command_line_are_not_looked_up(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(TOML)
    assert for_file(tmp_path / "m.py", Options()) == Options()
