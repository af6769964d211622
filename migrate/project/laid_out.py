"""Lays the files of a project out with Ruff, by the settings that the project itself brings."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from migrate.errors import MigrateError

#: Sorted imports, then the layout; what is not Python stays as it is, and says so when it is run.
_STEPS = (["check", "--fix-only", "--exit-zero", "--select", "I"], ["format"])


def laid_out(files: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a project, name -> text, those in Python laid out.

    Raises:
        MigrateError: Ruff cannot be run.
    """
    names = [name for name in files if name.endswith(".py")]
    with tempfile.TemporaryDirectory(prefix="migrate-project-") as temporary:
        folder = Path(temporary)
        for name in (*names, "pyproject.toml"):
            (folder / name).write_text(files[name], encoding="utf-8", newline="")
        for step in _STEPS:
            ruff = [sys.executable, "-m", "ruff", *step, "--quiet", "--no-cache", *names]
            done = subprocess.run(ruff, cwd=folder, capture_output=True, text=True, check=False)
            if "No module named ruff" in done.stderr:
                raise MigrateError(
                    "the formatter Ruff is not installed: pip install ruff, and run `migrate project` again"
                )
        return {**files, **{name: (folder / name).read_text(encoding="utf-8") for name in names}}
