"""A program whose Python lacks TensorFlow: one sentence names that Python and the remedy."""

from __future__ import annotations

import re
import venv
from pathlib import Path

import pytest

from tests.support.command import migrate


@pytest.mark.each_case
@pytest.mark.parametrize("command", ["run", "trace", "trial"])
def test_a_python_without_tensorflow_is_named(tmp_path: Path, command: str) -> None:
    venv.create(tmp_path / "other", symlinks=True)
    (tmp_path / "train.py").write_text("import tensorflow as tf\n")
    python = f"{tmp_path}/other/bin/python"
    done = migrate([command, "--", python, "train.py"], tmp_path)
    assert done.code == (1 if command == "run" else 2), done.err
    said = (
        f"{python} has no TensorFlow, which the program imports; give the Python that runs `migrate`, which has it, as"
    )
    assert done.err.count(said) == 1
    words = re.search(r"as in `-- (\S+) train.py`, or run `(\S+) -m pip install 'tensorflow>=2.15", done.err)
    assert words is not None and Path(words[1]) != Path(python) == Path(words[2])
    assert "Traceback" not in done.err


def test_other_errors_of_such_a_program_are_shown_whole(tmp_path: Path) -> None:
    """Also where it looks for TensorFlow first."""
    venv.create(tmp_path / "other", symlinks=True)
    looks = "try:\n    import tensorflow\nexcept ImportError:\n    pass\n"
    (tmp_path / "train.py").write_text(f"{looks}raise ValueError('no data')\n")
    done = migrate(["run", "--", f"{tmp_path}/other/bin/python", "train.py"], tmp_path)
    assert "Traceback" in done.err and "no data" in done.err
