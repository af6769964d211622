"""A project trains as the trainer beside its model does, or says that it cannot."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.project.facts import ProjectFacts, project_facts
from tests.support.project_programs import EXAMPLE, SCHEMA

ADAM = "paddle.optimizer.Adam(learning_rate=lr"
RATE = "hyper_parameters: {feature_size: 23, optimizer: {class: adam, learning_rate: 0.05}}\n"


def facts(folder: Path, optimizer: str, config: str = RATE) -> ProjectFacts:
    """Return the facts of the example with another optimizer."""
    folder.mkdir(exist_ok=True)
    shutil.copy(EXAMPLE / "net.py", folder / "net.py")
    trainer = (EXAMPLE / "dygraph_model.py").read_text()
    assert ADAM in trainer
    (folder / "dygraph_model.py").write_text(trainer.replace(ADAM, optimizer))
    (folder / "config.yaml").write_text(config)
    (folder / "schema.yaml").write_text(SCHEMA)
    return project_facts(folder / "net.py", folder / "schema.yaml")


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        ("paddle.optimizer.Adagrad(learning_rate=lr", r"line 41 of dygraph_model\.py: .* Adam and SGD, not Adagrad"),
        (f"{ADAM}, multi_precision=True", "do not support `multi_precision` of Adam"),
        (f"{ADAM}, grad_clip=paddle.nn.ClipGradByNorm(1.0)", r"line 41: .*: grad_clip=nn\.ClipGradByNorm"),
        (f"{ADAM}, weight_decay=0.1", r"weight_decay=0\.1"),
    ],
)
def test_what_a_project_has_not(tmp_path: Path, optimizer: str, message: str) -> None:
    with pytest.raises(MigrateError, match=message):
        facts(tmp_path, optimizer)
