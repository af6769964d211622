"""The commands `convert` and `check` from outside: files, streams and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from migrate.cli.main import cli
from migrate.errors import MigrateError
from tests.support import forking
from tests.support.command import GOOD
from tests.support.paths import ROOT

KEPT = GOOD + "s = tf.cond(f, lambda: tf.matmul(u, W), lambda: u)\n"


def migrate(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in its own process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [forking.python(), "-m", "migrate", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A directory with a convertible file, one that stays, and one without a framework."""
    (tmp_path / "src" / "sub").mkdir(parents=True)
    (tmp_path / "src" / "good.py").write_text(GOOD)
    (tmp_path / "src" / "sub" / "kept.py").write_text(KEPT)
    (tmp_path / "src" / "other.py").write_text("import os\n")
    return tmp_path


def test_bare_convert_writes_to_migrated(work: Path) -> None:
    (work / "src" / "good.py").write_text(f"{GOOD}session.run(op)\n")
    done = migrate("convert", "src/good.py", cwd=work)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "1 table converted" in done.stderr
    assert "next: migrate verify src/good.py migrated/good.py" in done.stderr
    assert "create_table(" in (work / "migrated" / "good.py").read_text()
    assert (work / "src" / "good.py").read_text() == f"{GOOD}session.run(op)\n"
    (work / "migrated" / "good.py").write_text("edited")
    done = migrate("convert", "src/good.py", cwd=work)
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert (work / "migrated" / "good.py").read_text() == "edited"


@pytest.mark.parametrize("where", [(), ("-o", "out"), ("--in-place",)], ids=["migrated", "output", "in place"])
def test_a_report_that_cannot_be_rendered_leaves_all_files(
    where: tuple[str, ...], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(report: object) -> str:
        raise ZeroDivisionError

    monkeypatch.chdir(work)
    monkeypatch.setattr("migrate.report.writers.as_html.render", fail)
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    with pytest.raises(ZeroDivisionError):
        cli(["convert", "src", *where, "--report", "r.html"], standalone_mode=False)
    assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["convert", "none.py"], "no such file"),
        (["convert", "src/other.py", "--target", "torchrec"], "unknown target; use one of `runtime`, `rec_sdk`"),
        (["convert", "src/good.py", "-o", "x", "--diff"], "cannot be combined"),
        (["convert", "src/good.py", "--select", "tf-gahter"], "did you mean tf-gather?"),
        (
            ["convert", "src/good.py", "--nonsense"],
            "migrate: no such option `--nonsense`; see `migrate convert --help`\n",
        ),
        (["convert"], "migrate: missing argument 'PATH...'; see `migrate convert --help`\n"),
        (["convert", "src/good.py", "-j", "0"], "'--jobs': 0 is not in the range x>=1; see `migrate convert --help`\n"),
        (
            ["convert", "src/good.py", "-q", "-v"],
            "migrate: --quiet and --verbose cannot be combined; give one of them\n",
        ),
        (["convert", "src/bad.py"], "does not parse at line 2"),
        (["check", "src/read.me"], "read.me: it is not a Python file (the code does not parse at line 3: "),
        (["convert", "src/good.py", "-o", "src/other.py"], "cannot be written"),
        (["convert", "empty"], "no Python file"),
        (["convert", "src/good.py", "--report", "none/r.json"], "does not exist"),
    ],
)
@pytest.mark.one_case
def test_what_cannot_run_is_one_sentence_and_exit_code_2(work: Path, arguments: list[str], says: str) -> None:
    (work / "empty").mkdir()
    (work / "src" / "bad.py").write_text("import tensorflow\ndef f(:\n")
    (work / "src" / "read.me").write_text("# tensorflow\n\nit reads\n")
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    done = migrate(*arguments, cwd=work)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == before


def test_nothing_is_rewritten_when_one_file_cannot_be(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "src" / "zlast.py").write_text(GOOD)
    monkeypatch.chdir(work)
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "zlast" not in str(path) and allowed(path, mode))
    with pytest.raises(MigrateError, match=r"zlast.py: cannot be written \(Permission denied\)"):
        cli.main(["convert", "src", "--in-place"], standalone_mode=False)
    assert (work / "src" / "good.py").read_text() == GOOD


def test_converting_imports_no_framework(work: Path) -> None:
    code = (
        "import sys\nfrom migrate.cli.main import cli\n"
        "try:\n    cli.main(['convert', 'src', '-o', 'out'], standalone_mode=False)\nexcept SystemExit:\n    pass\n"
        "heavy = {'tensorflow', 'numpy', 'paddle', 'libcst.matchers'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) if heavy else 0)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (work / "out" / "good.py").exists()
