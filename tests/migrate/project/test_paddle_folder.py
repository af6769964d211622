"""`migrate project FOLDER` writes a program that trains a Paddle model's folder on its own reader and sample data."""

from __future__ import annotations

import math
import os
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.errors import MigrateError
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "migrate" / "source" / "paddle" / "folders" / "wide_deep"
OWN = ("dygraph_model", "net", "slot_reader", "static_model", "line_reader")
#: A trainer that loops over a size that only the run knows.
LOOPING = """
import paddle


class DygraphModel:
    def create_model(self, config):
        return paddle.nn.Linear(3, 1)

    def create_optimizer(self, model, config):
        return paddle.optimizer.SGD(0.1, parameters=model.parameters())

    def train_forward(self, model, metrics, batch, config):
        loss = 0
        for row in batch[0]:
            loss = loss + model(row)
        return loss, metrics, None
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of the model's folder, with files that its trainer does not use."""
    model = tmp_path / "model"
    shutil.copytree(FOLDER, model)
    (model / "static_model.py").write_text("import paddle.static\n")
    (model / "numbers_of.py").write_text("# no paddle here\nCOUNT = 3\n")
    (model / "other.yaml").write_text((model / "config.yaml").read_text())
    return model


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    """Forget what the programs import, and where they run."""
    here, path = Path.cwd(), list(sys.path)
    yield
    os.chdir(here)
    sys.path[:] = path
    for name in (*OWN, "other"):
        sys.modules.pop(name, None)


def project(*arguments: Any) -> Any:
    return CliRunner().invoke(cli, ["project", *map(str, arguments)], catch_exceptions=False)


def trained(folder: Path, *arguments: Any) -> list[dict[str, float]]:
    history: list[dict[str, float]] = runpy.run_path(str(folder / "train.py"))["main"]([*map(str, arguments)])
    return history


def test_a_project_trains_evaluates_and_goes_on(model: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    assert project(model, "-o", out).exit_code == 0
    shutil.rmtree(model)  # the project has all that it needs
    history = trained(out, "--seed", 3)
    assert len(history) == 3  # as config.yaml says
    assert {"loss", "steps", "train auc", "test auc"} <= set(history[0])
    assert all(math.isfinite(value) for told in history for value in told.values())
    assert (out / "model" / "model.ckpt-3.index").exists()
    assert trained(out) == [] and "raise --epochs" in capsys.readouterr().out
    further = trained(out, "--epochs", 12)
    assert len(further) == 9
    assert further[0]["loss"] < history[0]["loss"] and further[-1]["test auc"] > 0.7
    assert "epoch 11: loss " in capsys.readouterr().out


def test_a_trainer_without_metrics_is_measured_by_what_evaluation_tells(model: Path, tmp_path: Path) -> None:
    trainer = model / "dygraph_model.py"
    text = trainer.read_text()
    text = text.replace('[paddle.metric.Auc("ROC")], ["auc"]', "[], []").replace(
        "        metrics_list[0].update(preds=both.numpy(), labels=label.numpy())\n", ""
    )
    trainer.write_text(text.replace("metrics_list, None", '[], {"prediction": pred, "label": label}'))
    project(model, "-o", tmp_path / "out")
    (told,) = trained(tmp_path / "out", "--epochs", 1, "--seed", 3)
    assert told["test auc"] > 0 and "train auc" not in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--target", "rec_sdk"], "--target: the project of a Paddle model's folder is trained by `runtime.nn`"),
        (["--style", "estimator"], "--style: the project"),
        (["--entry", "f"], "--entry: the project"),
    ],
)
def test_options_of_other_projects_are_refused(arguments: list[str], told: str, tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match=told):
        cli.main(["project", str(FOLDER), "-o", str(tmp_path / "out"), *arguments], standalone_mode=False)
    assert not (tmp_path / "out").exists()


def test_what_does_not_convert_writes_nothing(model: Path, tmp_path: Path) -> None:
    out, net = tmp_path / "out", model / "net.py"
    net.write_text(net.read_text().replace("return F.sigmoid(y", "y = y * y.item()\n        return F.sigmoid(y"))
    with pytest.raises(MigrateError, match=r"net\.py:57: .*item"):
        cli.main(["project", str(model), "-o", str(out)], standalone_mode=False)
    for name in ("dygraph_model.py", "static_model.py"):
        (model / name).unlink()
    with pytest.raises(MigrateError, match=r"has no dygraph_model\.py or static_model\.py; give a Paddle model"):
        cli.main(["project", str(model), "-o", str(out)], standalone_mode=False)
    with pytest.raises(
        MigrateError, match=r"one file needs a schema of its columns; give --schema, or give the folder"
    ):
        cli.main(["project", str(FOLDER / "net.py"), "-o", str(out)], standalone_mode=False)
    assert not out.exists()


def test_a_static_model_beside_a_trainer_that_cannot_be_a_graph_is_trained(tmp_path: Path, capsys: Any) -> None:
    shutil.copytree(FOLDER.parent / "clicks", tmp_path / "model")
    (tmp_path / "model" / "dygraph_model.py").write_text(LOOPING)
    told = project(tmp_path / "model", "-o", tmp_path / "out")
    assert told.exit_code == 0, told.output
    first = trained(tmp_path / "out", "--epochs", 2, "--steps", 2)
    assert [one["steps"] for one in first] == [2, 2] and "train auc" in first[0] and "test auc" in first[1]
    (further,) = trained(tmp_path / "out", "--epochs", 3)
    assert further["steps"] == 5 and math.isfinite(further["loss"])
    assert "epoch 2: loss" in capsys.readouterr().out and not (tmp_path / "out" / "dygraph_model.py").exists()
    assert "`infer_net`" in (tmp_path / "out" / "README.md").read_text()
