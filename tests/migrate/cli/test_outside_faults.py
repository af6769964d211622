"""What is wrong outside of the command: nowhere to print, nothing to read, missing packages, links elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import command
from tests.support.paths import ROOT

GOOD = (
    "import tensorflow.compat.v1 as tf\n"
    'W = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\n"
    "op = tf.train.AdagradOptimizer(0.1).minimize(e)\n"
)
#: As L2 over a whole table is taken, and what is exported afterwards.
ASSUMED = (
    GOOD.replace("(e)", "(tf.reduce_sum(e) + tf.cond(c, lambda: tf.nn.l2_loss(W), lambda: 0.0))")
    + "est.export_saved_model('d', f)\n"
)
FULL = Path("/dev/full")


def migrate(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, which may read no more than its user may."""
    done = command.migrate([*map(str, arguments)], cwd)
    return subprocess.CompletedProcess([*map(str, arguments)], done.code, done.out, done.err)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A directory with a convertible file, and a directory with another one."""
    (tmp_path / "src" / "sub").mkdir(parents=True)
    (tmp_path / "src" / "good.py").write_text(GOOD)
    (tmp_path / "src" / "sub" / "inner.py").write_text(GOOD)
    return tmp_path


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["check src", "convert src --diff", "rules list", "--help"])
@pytest.mark.one_case
def test_an_output_that_is_full_is_said_in_one_sentence(work: Path, arguments: str) -> None:
    program = [sys.executable, "-m", "migrate", *arguments.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with FULL.open("w") as full:
        done = subprocess.run(program, cwd=work, env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
        silent = subprocess.run(program, cwd=work, env=environment, stdout=full, stderr=full)
    assert (done.returncode, silent.returncode) == (2, 2)
    assert done.stderr == (
        "migrate: the output cannot be written (No space left on device); free some space or redirect the output\n"
    )


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100], ids=["closed", "listed only", "entered only"])
@pytest.mark.one_case
def test_a_directory_that_may_not_be_read_is_one_failed_file(work: Path, mode: int) -> None:
    closed = work / "src" / "sub"
    closed.chmod(mode)
    try:
        done = migrate("convert", "src", cwd=work)
        inside = migrate("convert", "src/sub/inner.py", "-o", "out", cwd=work)
    finally:
        closed.chmod(0o755)
    assert done.returncode == 1, done.stderr
    assert "src/good.py: 1 table converted" in done.stderr
    assert "the file cannot be read (Permission denied)" in done.stderr
    assert inside.returncode == (0 if mode == 0o100 else 2)
    assert mode == 0o100 or "permission denied" in inside.stderr.lower()
    assert "Traceback" not in done.stderr + inside.stderr


@pytest.mark.parametrize(("package", "remedy"), [("numpy", "numpy"), ("tensorflow", "'recmigrate[runtime]'")])
@pytest.mark.one_case
def test_a_package_that_is_missing_is_named_with_its_remedy(work: Path, package: str, remedy: str) -> None:
    """The command itself needs the one, and the processes that it starts the other."""
    missing = f'raise ModuleNotFoundError("No module named {package!r}", name={package!r})\n'
    (work / f"{package}.py").write_text(missing)
    done = subprocess.run(
        [sys.executable, "-m", "migrate", "verify", "src/good.py", "src/good.py"],
        cwd=work,
        env={**os.environ, "PYTHONPATH": f"{work}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.endswith(
        f"migrate: this command needs the module `{package}`, which is not installed; run `pip install {remedy}`\n"
    )
    assert "Traceback" not in done.stderr


def test_in_place_changes_nothing_outside_of_the_directory(work: Path) -> None:
    outside = work / "elsewhere.py"
    outside.write_text(GOOD)
    (work / "src" / "link.py").symlink_to(outside)
    done = migrate("convert", "src", "--in-place", cwd=work)
    assert done.returncode == 0, done.stderr
    note = (
        f"a link out of the given directory, not followed: it leads to {outside}; give that path, too, if it is to be"
    )
    assert note in done.stderr
    assert outside.read_text() == GOOD != (work / "src" / "good.py").read_text()
    done = migrate("convert", "src", "elsewhere.py", "--in-place", cwd=work)
    assert done.returncode == 0 and "not followed" not in done.stderr
    assert "sparse_lookup" in outside.read_text()


def test_a_link_inside_of_the_directory_is_followed_in_place(work: Path) -> None:
    (work / "src" / "link").symlink_to(work / "src" / "sub")
    assert migrate("convert", "src", "--in-place", cwd=work).returncode == 0
    assert "sparse_lookup" in (work / "src" / "sub" / "inner.py").read_text()


def test_notes_and_what_was_assumed_are_printed(work: Path) -> None:
    (work / "src" / "good.py").write_text(ASSUMED)
    done = migrate("convert", "src/good.py", "--assume", cwd=work)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert any(
        line.startswith("  assumed, line 2, line 4: the term covers the rows that the batch looks up") for line in lines
    )
    assert any(line.startswith("  note, line 5: `est.export_saved_model` writes the tables as") for line in lines)


def test_what_is_found_beside_the_files_of_a_run_is_printed(work: Path) -> None:
    example = ROOT / "examples" / "mmoe"
    for name in ("net.py", "schema.yaml"):
        (work / name).write_text((example / name).read_text())
    trainer = (example / "dygraph_model.py").read_text().replace("label_marital)\n", "label_marital) * 2.0\n")
    (work / "dygraph_model.py").write_text(trainer)
    done = migrate("check", "net.py", "--schema", "schema.yaml", cwd=work)
    assert done.returncode == 1, done.stderr
    assert "\ndygraph_model.py:\n  line " in done.stderr
    assert "the loss of `train_forward` is not what `create_loss` returns" in done.stderr
