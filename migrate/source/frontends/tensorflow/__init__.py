"""TensorFlow sources: variables that are looked up become dynamic tables."""

from __future__ import annotations

import re

from migrate.source.chosen import chosen
from migrate.source.comments import read_comments
from migrate.source.edits import apply_edits
from migrate.source.frontends.tensorflow.cross_file import Conversions
from migrate.source.frontends.tensorflow.judge import judge
from migrate.source.frontends.tensorflow.keras_layers.emit import layer_edits, layer_findings, layer_records
from migrate.source.frontends.tensorflow.keras_layers.judge import judge_layers
from migrate.source.frontends.tensorflow.plan import Planner
from migrate.source.frontends.tensorflow.reading import read_file
from migrate.source.frontends.tensorflow.reporting import report
from migrate.source.options import Options
from migrate.source.project import FileLink, Project
from migrate.source.result import SourceResult
from migrate.source.rules import load
from migrate.source.rules.local import rules_of
from migrate.source.text import UnreadableSource
from migrate.source.tree import Tree

load("migrate.source.rules.tensorflow")
#: Without one of these words no rule finds anything, and resolving names (the slow part) is not needed.
RELEVANT = re.compile(
    r"embed|Embedding|gather|one_hot|sparse_dense_matmul|sparse_tensor_dense_matmul|sparse\s*\.\s*matmul|Classifier|Regressor"
    r"|import\s*\(?\s*\*|getattr|import_module|__import__|\beval\b|\bexec\b"
)


def convert(path: str, text: str, options: Options, framework: str = "tensorflow") -> SourceResult:
    """Convert one file; `path` is how it is reported. Raises UnreadableSource when the text cannot be kept.

    A file of a project that does not import TensorFlow itself (`framework` is `other`) is one that may use tables.
    """
    if options.project is not None:
        together = _conversions(options.project).of(path, text, options)
        if together is not None:
            return together
    relevant = RELEVANT.search(text) or rules_of(options.rule_files)
    if not relevant or framework != "tensorflow":
        return SourceResult(path, framework, text, text, chosen(path, (), options, read_comments(text)))
    known = options.project is not None and path in options.project.files
    read = _conversions(options.project).parsed(path, text) if options.project is not None and known else None
    link = FileLink(options.project, path) if options.project is not None and known else None
    tree = read or Tree(path, text, link)
    if tree.module.code != text:
        raise UnreadableSource("its line ends cannot be kept (a bare carriage return?)")
    file = read_file(tree, options)
    judgement = judge(file, options.assume)
    plan = Planner(file, judgement).run()
    layers = judge_layers(file, options.assume)
    converted = apply_edits(text, [*plan.edits, *layer_edits(file, layers)])
    findings, tables = report(file, judgement, plan)
    everything = chosen(path, [*findings, *layer_findings(file, layers)], options, file.comments)
    return SourceResult(path, "tensorflow", text, converted, everything, (*tables, *layer_records(file, layers)))


def _conversions(project: Project) -> Conversions:
    found = project.memory.setdefault("tensorflow", Conversions(project))
    assert isinstance(found, Conversions)
    return found
