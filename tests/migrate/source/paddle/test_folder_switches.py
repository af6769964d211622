"""What a target and its switches mean for a model's folder: rules of its tables, a note, or one sentence and code 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.errors import MigrateError
from migrate.verify.paddle.trainer import common
from runtime import nn

FOLDERS = Path(__file__).parent / "folders"


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    here, path = Path.cwd(), list(sys.path)
    yield
    os.chdir(here)
    sys.path[:] = path
    for name in ("net", "dygraph_model", "slot_reader", "session_reader"):
        sys.modules.pop(name, None)


def converted(name: str, target: Path, *given: str) -> str:
    """Convert a folder; return what the report says."""
    report = target.with_suffix(".json")
    arguments = ["convert", str(FOLDERS / name), "-o", str(target), "--report", str(report), *given]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return report.read_text()


def test_rules_of_tables_are_written_and_hold(tmp_path: Path) -> None:
    told = converted("wide_deep", tmp_path / "out", "--admission", "3", "--eviction", "86400")
    assert "ids that were seen fewer than 3 times read zeros and are not trained; rows that were not looked up" in told
    assert '"changes-values"' in told
    net = next((tmp_path / "out").rglob("net.py"))
    assert "table=nn.TableRules(admission=3, eviction=86400))" in net.read_text()
    config = nn.settings(str(FOLDERS / "wide_deep" / "config.yaml"))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        trainer = common.trainer_of(str(net.parent))
        training = nn.Training(trainer, config, str(net.parent), data_folder=str(FOLDERS / "wide_deep"))
        table = training.model.embedding.weight.table
        assert table.admission.access_threshold == 3 and table.admission.eviction_threshold == 86400
        (first,) = training.run(session, 1, steps=1)
        few = session.run(table.size())
        training.run(session, 1)
        assert first["loss"] > 0 and session.run(table.size()) > few


def test_switches_without_effect_are_noted(tmp_path: Path) -> None:
    told = converted("wide_deep", tmp_path / "out", "--dynamic-expansion", "--cache-mode", "DDR", "--admission", "1")
    for switch in ("--dynamic-expansion", "--cache-mode DDR", "--admission 1"):
        assert f"{switch} has no effect" in told
    assert "TableRules" not in next((tmp_path / "out").rglob("net.py")).read_text()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--target", "rec_sdk"], "TensorFlow 1.15 and 2.6; remove --target .* --schema FILE --target"),
        (["--target", "deeprec"], "DeepRec is a TensorFlow 1.15; remove --target"),
        (["--target", "sok"], "those of SparseOperationKit do not; remove --target"),
        (["--modify-graph"], "--modify-graph: .* remove it for a Paddle model's folder"),
        (["--multi-lookup"], "remove --multi-lookup"),
        (["--cache-mode", "SSD"], "remove --cache-mode"),
        (["--eviction", "5steps"], "write --eviction in seconds"),
    ],
)
def test_what_a_folder_cannot_have_is_refused(given: list[str], told: str, tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match=told):  # main.py ends with the code 2
        cli.main(["convert", str(FOLDERS / "wide_deep"), "-o", str(tmp_path / "out"), *given], standalone_mode=False)
    assert not (tmp_path / "out").exists()
