"""A folder's configuration with other values, and batches with smaller ids, for both programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli.verify import verify
from migrate.verify.paddle.trainer import folder
from tests.support.measured import Measured

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
