"""Files that already create tables, and partly converted programs: an interrupted write, or a reverted file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from migrate.report.model import Finding, Location, State
from migrate.source.files.path_lookup import is_file
from migrate.source.project.analysis_units import programs_of
from migrate.source.project.import_graph import Project
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.targets import MAKERS
from migrate.targets.runtime import TARGET as RUNTIME

#: What converted files import from the runtime.
OURS = [one.name for one in RUNTIME.functions.values() if one.module in {"runtime", "runtime.optimizers"}]
#: Code of converted files that creates tables, and code that trains them.
MAKES = re.compile(
    r"\b(create_table|DynamicVariable)\s*\(|\bruntime\.feature_column\b|\bfrom runtime import .*feature_column"
)
TRAINS = re.compile(r"\b(get_dense_and_sparse_variable|create_hash_optimizer|OptimizerWrapper|filter_variables)\b")
STEP = re.compile(r"\.\s*(minimize|apply_gradients)\s*\(")
REMEDY = "run `migrate revert` on its files and convert them again"


@register
class AlreadyConverted(CheckRule):
    """A file that calls `create_table` or `sparse_lookup` was converted before: its variables are left unchanged."""

    id = "tf-already-converted"
    title = "Variables of a file that already creates tables are left unchanged"
    applicability = None
    refusals = (
        Refusal(
            "in-part",
            "`{text}` is of an earlier conversion",
            "this file was converted, but other files of its program were not, so the conversion is not complete",
            REMEDY,
        ),
        Refusal(
            "makes-tables",
            "this file already creates tables, by `{call}`",
            "its tables were created by hand or by an earlier conversion",
            "convert the original file again, or convert the rest by hand",
        ),
    )
    examples = (
        Example(
            "a table that was created by hand",
            "import tensorflow.compat.v1 as tf\nfrom runtime import create_table\n"
            'T = create_table(key_dtype=tf.int64, dim=4, name="t")\nW = tf.get_variable("w", [9, 4])\n'
            "e = tf.nn.embedding_lookup(W, ids)\n",
            says="already creates tables",
        ),
    )

    def of_text(self, path: str, text: str, project: Project) -> Iterator[Finding]:
        """Yield a finding for a training step of a program that creates tables which none of its files trains."""
        if not STEP.search(text) or MAKES.search(text) or TRAINS.search(text):
            return
        programs = programs_of(project)
        others = [one for one in project.files if one != path and project.holds(one, MAKES)]
        file = next((one for one in others if programs.related(path, one)), None)
        line = _step(text)
        trained = (project.holds(one, TRAINS) and programs.related(path, one) for one in project.files)
        if file is None or not line or any(trained):
            return
        message = "this training step trains no table, although its program creates tables"
        reason = f"`{file}` was converted, but the files that train its tables were not: the conversion is incomplete"
        yield Finding(self.id, "optimizer", State.UNSUPPORTED, Location(path, line, line), message, reason, REMEDY)

    def of_file(self, judgement: Judgement, file: File) -> Iterator[Blocker]:
        if file.target.name == "runtime":
            yield from self._other_runtime(file)
        makers = {*MAKERS, file.target.functions["create_table"].name}
        if not file.tree.names.keys() & makers:
            return
        called = (file.tree.source(call.func).split(".")[-1] for call in file.tree.calls)
        function = next((name for name in called if name in makers), None)
        if function is not None:
            shown = "create_table" if function == "sparse_lookup" else function
            yield blocker(file.tree.module, self.id, "makes-tables", call=shown)

    def _other_runtime(self, file: File) -> Iterator[Blocker]:
        """Yield blockers for a user's module named `runtime`: one of the two modules would hide the other."""
        for statement in file.tree.imports:
            text = file.tree.one_line(statement)
            if "create_table" in text:
                continue
            if re.match(rf"from runtime(\.\w+)* import .*\b({'|'.join(OURS)})\b", text):
                yield blocker(statement, self.id, "in-part", text=text)
            elif re.match(r"(from|import) runtime\b", text):
                yield blocker(statement, "tf-surroundings", "other-module", text=text)
        beside = Path(file.tree.path).with_name("runtime.py")
        if is_file(beside):
            yield blocker(file.tree.module, "tf-surroundings", "module-beside", path=beside.as_posix())


def _step(text: str) -> int:
    """Return the line of the first call that trains variables; 0 when there is none."""
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    steps = [c.lineno for c in calls if isinstance(c.func, ast.Attribute) and STEP.search(f".{c.func.attr}(")]
    return min(steps, default=0)
