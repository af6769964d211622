"""A tree that means harm: no command runs anything of it, writes outside of its place, or obeys what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from migrate.report.model import Report
from migrate.report.serialize import to_json
from migrate.source.files.journal import FORMAT, digest
from tests.support.command import GOOD, Done, migrate
from tests.support.paths import ROOT

DOUBT = GOOD.replace("(e)", "(tf.reduce_sum(e) + tf.cond(c, lambda: tf.nn.l2_loss(W), lambda: 0.0))")
VICTIM = b"# rc\nalias ls=ls\n"
EVIL = b"# rc\nEVIL\nalias ls=ls\n"
DIFF = "--- a/rc\n+++ b/rc\n@@ -1,3 +1,2 @@\n # rc\n-EVIL\n alias ls=ls\n"
RULE = (
    'open({mark!r}, "w").write("x")\nfrom migrate.rules import FileRule, register\n@register\nclass R(FileRule):\n'
    '    "Page."\n    id = "acme-x"\n    title = "T"\n    examples = ()\n'
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one good file; beside it `victim`, which no command may touch."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "rc").write_bytes(VICTIM)
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "good.py").write_text(GOOD)
    return root


def outside(tree: Path) -> Mapping[str, bytes | None]:
    """Return what lies beside the repository: its files, and folders without contents."""
    found = (path for path in tree.parent.rglob("*") if tree not in (path, *path.parents))
    return {str(path): path.read_bytes() if path.is_file() else None for path in found}


def said(done: Done, words: str) -> None:
    """Check that the command ended with one sentence that has these words."""
    assert done.code == 2, done
    assert done.err.startswith("migrate: ") and done.err.count("\n") == 1, done.err
    assert words in done.err


def journal(tree: Path, name: str) -> None:
    (tree / ".migrate").mkdir(exist_ok=True)
    entry = {"path": name, "original": digest(EVIL), "converted": digest(VICTIM), "diff": DIFF}
    (tree / ".migrate" / "edits.json").write_text(json.dumps({"format": FORMAT, "edits": [entry]}))


COMMANDS = ("check .", "check good.py", "convert . -o out", "convert . --in-place", "explain good.py:2", "rules list",
            "rules explain tf-gather", "rules test")  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.one_case
def test_rules_of_the_tree_run_where_somebody_says_so(tree: Path, command: str) -> None:
    mark = tree.parent / "RAN"
    (tree / "r.py").write_text(RULE.format(mark=str(mark)))
    place = "pyproject.toml"
    (tree / place).write_text("[tool.migrate]\nrules = ['r.py']\n")
    before = outside(tree)
    said(
        migrate(command.split(), tree), f"{place}: names rules (`r.py`), which are Python that would run; give --allow-"
    )
    assert outside(tree) == before
    assert sorted(path.name for path in tree.iterdir()) == sorted([".git", "good.py", "r.py", place])
    assert migrate([*command.split(), "--no-allow-rules"], tree).code in (0, 1)
    assert outside(tree) == before
    allowed = migrate([*command.split(), "--allow-rules"], tree)
    assert allowed.code in (0, 1) and mark.exists(), allowed


def test_modules_in_the_working_directory_are_not_imported(tree: Path) -> None:
    for name in ("click", "libcst", "tomllib", "sitecustomize", "pathspec", "markupsafe"):
        (tree / f"{name}.py").write_text(f"open({str(tree.parent / 'RAN')!r}, 'w').write('x')\n")
    command = [sys.executable, "-m", "migrate", "check", "good.py", "--no-cache"]
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert not (tree.parent / "RAN").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../victim/rc", "is outside of"),
        ("{victim}/rc", "is outside of"),
        ("sub/../../victim/rc", "is outside of"),
        ("link/rc", "a link leads to"),
        ("rc.py", "a link leads to"),
        (".git/config", "which changes what git does"),
        ("sub/.GIT/hooks/pre-commit", "which changes what git does"),
        (".venv/lib/x.py", "is hidden or belongs to a virtual environment"),
        ("env/x.py", "is hidden or belongs to a virtual environment"),
        ("", "is outside of"),
    ],
)
@pytest.mark.parametrize("command", ["revert", "revert .", "revert --merge", "revert --diff"])
def test_a_journal_stays_in_its_project(tree: Path, name: str, says: str, command: str) -> None:
    (tree / "link").symlink_to(tree.parent / "victim")
    (tree / "rc.py").symlink_to(tree.parent / "victim" / "rc")
    for folder in (".venv/lib", "env", "sub/.GIT/hooks"):
        (tree / folder).mkdir(parents=True)
    (tree / "env" / "pyvenv.cfg").touch()
    for own in (".git/config", ".venv/lib/x.py", "env/x.py", "sub/.GIT/hooks/pre-commit"):
        (tree / own).write_bytes(VICTIM)
    journal(tree, name.format(victim=tree.parent / "victim"))
    before = outside(tree)
    said(migrate(command.split(), tree), says)
    assert outside(tree) == before
    assert EVIL not in [path.read_bytes() for path in tree.rglob("*") if path.is_file()]


def test_a_journal_of_everyones_folder_is_nobodys(tree: Path) -> None:
    shared = tree.parent / "shared"
    (shared / "mine").mkdir(parents=True)
    shared.chmod(0o1777)
    (shared / "mine" / "rc.py").write_bytes(VICTIM)
    journal(shared, "mine/rc.py")
    said(migrate(["revert"], shared / "mine"), "no conversion is stored here")
    assert (shared / "mine" / "rc.py").read_bytes() == VICTIM


@pytest.mark.parametrize("link", ["out/.migrate", "out/.recmigrate.json", "out/.migrate/edits.json", "out/good.py"])
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
def test_an_output_keeps_inside(tree: Path, link: str, force: list[str]) -> None:
    (tree / link).parent.mkdir(parents=True)
    (tree / link).symlink_to(tree.parent / "victim" / ("new" if link.endswith(".migrate") else "rc"))
    (tree.parent / "victim" / "new").mkdir()
    before = outside(tree)
    said(migrate(["convert", "good.py", "-o", "out", *force], tree), "a link leads to")
    assert outside(tree) == before


def test_in_place_follows_no_link_out_of_the_tree(tree: Path) -> None:
    other = tree.parent / "victim" / "model.py"
    other.write_text(GOOD)
    (tree / "link.py").symlink_to(other)
    done = migrate(["convert", ".", "--in-place"], tree)
    assert done.code == 0 and f"not followed: it leads to {other}; to convert that file, give its path" in done.err
    assert other.read_text() == GOOD != (tree / "good.py").read_text()


@pytest.mark.parametrize("command", ["check .", "convert . -o out", "convert . -o out --copy-rest", "check . -v"])
@pytest.mark.one_case
def test_names_reach_no_terminal_raw(tree: Path, command: str) -> None:
    evil = "a\x1b]0;x\x07\x9b2J\u202eb"
    (tree / f"{evil}.py").write_text(DOUBT)
    (tree / "made.py").write_text(
        GOOD.replace('"user"', f'"{evil}"').replace("\u202e", "")
        + f"tf.summary.histogram('{evil}'.strip(), tf.transpose(W))\n".replace("\u202e", "")
    )
    (tree / "two\n::error::lines.py").write_text(DOUBT)
    done = migrate(command.split(), tree, env={"FORCE_COLOR": "1"})
    assert done.code == 1, done
    printed = (done.out + done.err).replace("\x1b[0m", "")
    for colour in ("\x1b[1m", *(f"\x1b[{number}m" for number in range(31, 37))):
        printed = printed.replace(colour, "")
    assert not [one for one in printed if one != "\n" and not one.isprintable()], printed
    assert "\n::error" not in printed


def test_commands_that_are_suggested_quote_names(tree: Path) -> None:
    name = "q'uo te;$(touch RAN).py"
    (tree / name).write_text(DOUBT + "if __name__ == '__main__':\n    pass\n")
    (tree / "-c.py").write_text(DOUBT)
    done = migrate(["check", "."], tree)
    line = next(line for line in done.err.splitlines() if "migrate trace" in line)
    words = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {line.partition('python ')[2].rpartition('`, then')[0]}"],
        capture_output=True, text=True, cwd=tree, check=True,
    ).stdout  # fmt: skip
    assert words in (f"{name}\n", "./-c.py\n")
    assert not (tree / "RAN").exists()


BOMBS = {
    "nested parentheses": ("a.py", GOOD + "x=" + "(" * 10_000 + ")" * 10_000),
    "minus signs": ("a.py", GOOD + "x=" + "-" * 100_000 + "1"),
    "a large file": ("a.py", GOOD + "x = 1\n" * 1_000_000),
    "a notebook": ("a.ipynb", '{"cells": ' + "[" * 100_000 + "]" * 100_000 + ', "x": "tensorflow"}'),
}


@pytest.mark.parametrize(("name", "text"), BOMBS.values(), ids=BOMBS)
@pytest.mark.one_case
def test_bombs_of_source_are_named(tree: Path, name: str, text: str) -> None:
    (tree / name).write_text(text)
    done = migrate(["check", "."], tree)
    assert done.code == 1, done
    assert f"{name}" in done.out and ": failed: " in done.out, done.out
    said(migrate(["check", name], tree), name)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"schema": ' * 50_000, to_json(Report("c", "1", (), (), (), ())).replace('"c"', "[" * 9_999)],
    ids=["list", "objects", "inside"],
)
@pytest.mark.parametrize(
    "command",
    ["report show a.json", "report html a.json -o r.html", "check good.py --baseline a.json",
     "check good.py --evidence a.json", "dataset build good.py --schema criteo --feature-map a.json -o out"],
)  # fmt: skip
@pytest.mark.one_case
def test_bombs_of_json_are_named(tree: Path, command: str, text: str) -> None:
    (tree / "a.json").write_text(text)
    done = migrate(command.split(), tree)
    said(done, "a.json")
    assert "internal error" not in done.err
    (tree / ".migrate").mkdir()
    (tree / ".migrate" / "edits.json").write_text(text)
    said(migrate(["revert"], tree), "the stored edits cannot be read")
