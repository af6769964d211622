"""A file of a Paddle model whose cause is in another file: a note beside it, and work where the run has no cause."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from migrate.cli.main import cli

NET = "import paddle.nn as nn\n\n\nclass Net(nn.Layer):\n    pass\n"
TRAINER = (
    "import paddle\nfrom net import Net\n\n\nclass DygraphModel:\n    def create_model(self, config):\n        {}\n"
)


@pytest.mark.parametrize("command", ["check", "convert"])
@pytest.mark.parametrize("config", ["", "runner:\n  train_data_dir: data\n"], ids=["no batch", "no reader"])
def test_a_file_of_a_model_that_stays_is_work_on_its_own_too(tmp_path: Path, command: str, config: str) -> None:
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "config.yaml").write_text(config)
    (tmp_path / "dygraph_model.py").write_text(TRAINER.format("return Net()"))
    to = ["-o", str(tmp_path / "out")] if command == "convert" else []
    alone = CliRunner().invoke(cli, [command, str(tmp_path / "net.py"), "--no-cache", *to])
    assert alone.exit_code == 1, alone.output
    assert "1 left unchanged" in alone.output and "give its whole folder" in alone.output
    whole = CliRunner().invoke(cli, [command, str(tmp_path), "--no-cache", *to])
    assert whole.exit_code == 1, whole.output
    assert "1 left unchanged, 1 noted" in whole.output
