"""Programs that are converted in part: a write was cut short, or one file was reverted."""

from __future__ import annotations

import ast
import re

from migrate.report.model import Finding, Location, State
from migrate.source.project.analysis_units import programs_of
from migrate.source.project.import_graph import Project

RULE = "tf-already-converted"
#: What a converted file has that makes tables, and one that trains them.
MAKES = re.compile(
    r"\b(create_table|DynamicVariable)\s*\(|\bruntime\.feature_column\b|\bfrom runtime import .*feature_column"
)
TRAINS = re.compile(r"\b(get_dense_and_sparse_variable|create_hash_optimizer|OptimizerWrapper|filter_variables)\b")
STEP = re.compile(r"\.\s*(minimize|apply_gradients)\s*\(")
REMEDY = "run `migrate revert` on its files and convert them again"


def half_converted(path: str, text: str, project: Project | None) -> list[Finding]:
    """Return a finding for a step of a program that makes tables, where no file of it trains them."""
    if project is None or path not in project.files or not STEP.search(text):
        return []
    if MAKES.search(text) or TRAINS.search(text):
        return []
    programs = programs_of(project)
    others = [one for one in project.files if one != path and project.holds(one, MAKES)]
    made = next((one for one in others if programs.related(path, one)), None)
    line = _step(text)
    if (
        made is None
        or not line
        or any(project.holds(one, TRAINS) and programs.related(path, one) for one in project.files)
    ):
        return []
    message = "this step trains no table, and its program makes some"
    reason = f"`{made}` was converted, and the files that train what it makes were not: the conversion is not whole"
    return [Finding(RULE, "optimizer", State.UNSUPPORTED, Location(path, line, line), message, reason, REMEDY)]


def _step(text: str) -> int:
    """Return the line of the first call that trains; 0 when there is none."""
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    steps = [c.lineno for c in calls if isinstance(c.func, ast.Attribute) and STEP.search(f".{c.func.attr}(")]
    return min(steps, default=0)
