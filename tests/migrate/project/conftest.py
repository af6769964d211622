"""The projects of a small MMoE, with data."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

from migrate.project.build import render, write_files
from migrate.project.facts import project_facts
from tests.support.project_programs import EXAMPLE, SCHEMA


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session's project; `estimator` and, for the hardware, `rec_sdk` and `rec_sdk_estimator` lie beside it."""
    root = tmp_path_factory.mktemp("project")
    for name in ("net.py", "dygraph_model.py"):
        shutil.copy(EXAMPLE / name, root / name)
    (root / "schema.yaml").write_text(SCHEMA)
    facts = project_facts(root / "net.py", root / "schema.yaml")
    write_files(render(facts, "runtime", "session"), root / "out")
    write_files(render(facts, "runtime", "estimator"), root / "estimator")
    write_files(render(facts, "rec_sdk", "session"), root / "rec_sdk")
    write_files(render(facts, "rec_sdk", "estimator"), root / "rec_sdk_estimator")
    runpy.run_path(str(root / "out" / "dataset.py"))["make_up"](256, root / "out" / "data")
    shutil.copytree(root / "out" / "data", root / "estimator" / "data")
    return root / "out"
