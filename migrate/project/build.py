"""Writes a folder with a training project, from a model, its schema and `templates/project`."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from migrate.errors import MigrateError
from migrate.folders import new_folder
from migrate.own_python import module_command
from migrate.project.facts import ProjectFacts, project_facts
from migrate.scratch import scratch_folder
from migrate.source.syntax.unbound_names import check_names

#: File of a project -> its template; `model.py` and `schema.yaml` have none.
FILES = {
    name: f"{name}.jinja"
    for name in (
        "README.md",
        "config.py",
        "dataset.py",
        "main.py",
        "metrics.py",
        "pyproject.toml",
        "run.sh",
        "test_smoke.py",
    )
}
TABLES = {"tables.py": "tables.py.jinja"}  #: a further file for TensorFlow models
#: Sort imports, then format; a file with a syntax error is left unchanged.
_STEPS = (["check", "--fix-only", "--exit-zero", "--select", "I"], ["format"])


@dataclass(frozen=True)
class ProjectOptions:
    """The options of `migrate project`."""

    source: Path
    schema: Path
    output: Path
    target: str = "runtime"
    style: str = "session"
    force: bool = False  #: replace the output folder
    entry: str = ""  #: the function, class or class.method of a TensorFlow file that is the model


def write_project(options: ProjectOptions) -> list[str]:
    """Write the project atomically and return the names of its files.

    Raises:
        MigrateError: source or schema cannot be read or converted, or the folder is not empty and `force` is false.
    """
    files = render(project_facts(options.source, options.schema, options.entry), options.target, options.style)
    write_files(files, options.output, options.force)
    return sorted(files)


def write_files(files: Mapping[str, str], output: Path, force: bool = False) -> None:
    """Write the files of a project, name -> text. Raises MigrateError as `write_project`."""
    with new_folder(output, replace=force) as folder:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "run.sh").chmod(0o777 & (folder / "run.sh").stat().st_mode | 0o111)


def rendered(files: Mapping[str, str], values: Mapping[str, object]) -> dict[str, str]:
    """Return the texts of files, name -> template; each Python file binds the names that it reads."""
    environment = Environment(
        loader=PackageLoader("migrate.templates", "project"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    texts = {name: environment.get_template(template).render(**values) for name, template in files.items()}
    for name, text in texts.items():
        if name.endswith(".py"):
            check_names(None, text)
    return texts


def render(facts: ProjectFacts, target: str, style: str) -> Mapping[str, str]:
    """Return the files of a project, name -> text."""
    values = {**facts.values(), "target": target, "style": style}
    files = rendered(FILES | TABLES if facts.call else FILES, values)
    files["model.py"] = facts.module
    _check_class(facts.model, files["main.py"])
    return {**_laid_out(files), "schema.yaml": facts.schema_text}


def _check_class(name: str, main: str) -> None:
    """Raise MigrateError if main.py uses the name of the model class for something else."""
    bound: list[str] = []
    for node in ast.parse(main).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.append(node.name)
        elif isinstance(node, ast.Assign):
            bound += [target.id for target in node.targets if isinstance(target, ast.Name)]
    if bound.count(name) > 1:
        raise MigrateError(f"main.py of the project uses the name `{name}`; rename the model class")


def _laid_out(files: Mapping[str, str]) -> dict[str, str]:
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
