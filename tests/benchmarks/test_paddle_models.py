"""The table of a directory of Paddle models: smaller copies of folders, and what counts as equal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.paddle import models
from migrate.errors import MigrateError
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "migrate" / "source" / "paddle" / "folders" / "wide_deep"


def test_a_copy_of_a_folder_has_other_texts(tmp_path: Path) -> None:
    copy = models.replaced(FOLDER, tmp_path / "copy", {"config.yaml": {"runner:": "runner:  # smaller"}})
    assert "runner:  # smaller" in (copy / "config.yaml").read_text()
    assert (copy / "net.py").read_text() == (FOLDER / "net.py").read_text()
    with pytest.raises(MigrateError, match=r"config\.yaml: `none` of `replace` is not in it"):
        models.replaced(FOLDER, tmp_path / "again", {"config.yaml": {"none": ""}})


def test_the_proofs_of_public_models_are_read() -> None:
    proofs = models.proofs_of(ROOT / "benchmarks" / "paddle" / "paddlerec.yaml")
    replace = proofs["rank/deepfefm"]["replace"]
    assert all(isinstance(text, str) for pairs in replace.values() for text in pairs.values())


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["equal", "changes-values"], "equal"),
        (["undetermined", "equal"], "undetermined"),
        (["differs", "undetermined"], "differs"),
    ],
)
def test_a_stage_is_as_good_as_its_worst_tensor(
    verdicts: Sequence[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "convert", lambda *_: ("dygraph_model.py", ""))
    monkeypatch.setattr(models, "verified", lambda *_: [("sgd", verdict) for verdict in verdicts])
    monkeypatch.setattr(models, "trained", lambda *_: "yes")
    row = models.tried("wide_deep", FOLDER, tmp_path, 1.0, {})
    assert row.stages == {"sgd": expected}
    assert f"{int(expected == 'equal')} equal in all stages" in list(models.table([row]))[-1]
