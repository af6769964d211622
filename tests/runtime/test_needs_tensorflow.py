"""Without TensorFlow, `runtime` and `rewriter` say what to install; nothing else of them is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT


@pytest.mark.one_version
@pytest.mark.parametrize("line", ["import runtime", "import runtime.nn", "import rewriter; rewriter.rewrite"])
def test_what_to_install_is_said(line: str, tmp_path: Path) -> None:
    # Not the environment's packages: none of them is needed before the message.
    done = subprocess.run(
        [sys.executable, "-S", "-c", line], env={"PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.endswith("`pip install tensorflow-cpu` for a smaller one without GPUs\n")
    assert "pip install 'recmigrate[runtime]'" in done.stderr
