"""TensorFlow sources: variables that are looked up become dynamic tables."""

from __future__ import annotations

import re

from migrate.report.model import with_ids
from migrate.source.edits import apply_edits
from migrate.source.frontends.tensorflow.initializers import Initializers
from migrate.source.frontends.tensorflow.judge import judge
from migrate.source.frontends.tensorflow.keras_layers.emit import layer_edits, layer_findings, layer_records
from migrate.source.frontends.tensorflow.keras_layers.judge import judge_layers
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.names import TfNames
from migrate.source.frontends.tensorflow.plan import Planner
from migrate.source.frontends.tensorflow.reporting import report
from migrate.source.options import Options
from migrate.source.result import SourceResult
from migrate.source.rules import load
from migrate.source.text import UnreadableSource
from migrate.source.tree import Tree

load("migrate.source.rules.tensorflow")
#: Without one of these words no rule finds anything, and resolving names (the slow part) is not needed.
RELEVANT = re.compile(
    r"embed|Embedding|gather|one_hot|sparse_dense_matmul|sparse_tensor_dense_matmul|sparse\s*\.\s*matmul|Classifier|Regressor"
    r"|import\s*\(?\s*\*|getattr|import_module|__import__|\beval\b|\bexec\b"
)


def convert(path: str, text: str, options: Options) -> SourceResult:
    """Convert one file; `path` is how it is reported. Raises UnreadableSource when the text cannot be kept."""
    if not RELEVANT.search(text):
        return SourceResult(path, "tensorflow", text, text)
    tree = Tree(path, text)
    if tree.module.code != text:
        raise UnreadableSource("its line ends cannot be kept (a bare carriage return?)")
    names = TfNames(tree)
    file = File(tree, names, Initializers(names))
    judgement = judge(file, options.assume)
    plan = Planner(file, judgement).run()
    layers = judge_layers(file, options.assume)
    converted = apply_edits(text, [*plan.edits, *layer_edits(file, layers)])
    findings, tables = report(file, judgement, plan)
    everything = sorted([*findings, *layer_findings(file, layers)], key=lambda f: (f.location.line, f.rule))
    return SourceResult(
        path, "tensorflow", text, converted, with_ids(everything), (*tables, *layer_records(file, layers))
    )
