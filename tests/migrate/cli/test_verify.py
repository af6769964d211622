"""`migrate verify` compares in a process that has no framework: programs run in others."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.paths import ROOT

#: What the command imports to run and to compare the programs of each framework.
NAMES = ("comparer", "tensorflow.pair", "paddle.pair", "paddle.trainer.folder")


def test_who_compares_needs_no_framework() -> None:
    code = f"import sys, {', '.join(f'migrate.verify.{name}' for name in NAMES)}\n"
    code += "sys.exit(', '.join({'tensorflow', 'paddle', 'runtime'} & set(sys.modules)) or 0)\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
