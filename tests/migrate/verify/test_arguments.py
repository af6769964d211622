"""Arguments of the programs, after `--`; the tutorial of evidence runs a program with some."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.verify import pair
from migrate.verify.settings import Settings


def test_a_paddle_model_takes_no_arguments(tmp_path: Path) -> None:
    files = [tmp_path / "net.py", tmp_path / "out.py"]
    for one in files:
        one.write_text("import paddle\n")
    with pytest.raises(MigrateError, match=r"`--epochs 1`: only TensorFlow programs take arguments"):
        pair.verify(str(files[0]), str(files[1]), None, Settings(arguments=("--epochs", "1")))
