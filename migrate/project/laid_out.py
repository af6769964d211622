"""Formats the files of a project with Ruff, with the settings of the project."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from migrate.errors import MigrateError
from migrate.own_python import module_command
from migrate.scratch import scratch_folder

#: Sort imports, then format; a file with a syntax error is left unchanged.
_STEPS = (["check", "--fix-only", "--exit-zero", "--select", "I"], ["format"])


def laid_out(files: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a project, name -> text, with Python files formatted.

    Raises:
        MigrateError: Ruff cannot be run.
    """
    names = [name for name in files if name.endswith(".py")]
    with scratch_folder("migrate-project-") as folder:
        for name in (*names, "pyproject.toml"):
            (folder / name).write_text(files[name], encoding="utf-8", newline="")
        for step in _STEPS:
            ruff = module_command("ruff", *step, "--quiet", "--no-cache", *names)
            done = subprocess.run(ruff, cwd=folder, capture_output=True, text=True, check=False)
            if "No module named ruff" in done.stderr:
                raise MigrateError(
                    "the formatter Ruff is not installed; run `pip install ruff` and then `migrate project` again"
                )
        return {**files, **{name: (folder / name).read_text(encoding="utf-8") for name in names}}
