"""Converts one TensorFlow file, or takes its result where it was converted together with others."""

from __future__ import annotations

from migrate.report.model import Finding
from migrate.source.configuration.report_filter import chosen
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.edits import edited_file
from migrate.source.files.encoding import UnreadableSource
from migrate.source.project.file_imports import FileLink
from migrate.source.project.import_graph import Project
from migrate.source.settings.options import Options
from migrate.source.settings.suppressions import read_comments
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.rule_kinds import relevant
from migrate.source.tensorflow.base.source_file import read_file
from migrate.source.tensorflow.checks.verdicts import check_rules, judge
from migrate.source.tensorflow.edits.planner import Planner
from migrate.source.tensorflow.keras.project import layers_alone
from migrate.source.tensorflow.project_conversion import Conversions
from migrate.source.tensorflow.report.findings import report


def convert(path: str, text: str, options: Options, framework: str = "tensorflow") -> SourceResult:
    """Convert one file; `path` is how it is reported. Raises UnreadableSource when the text cannot be kept.

    A file of a project that does not import TensorFlow itself (`framework` is `other`) is one that may use tables.
    """
    known = _conversions(options.project) if options.project is not None and path in options.project.files else None
    together = known.of(path, options) if known is not None else None
    if together is not None:
        return together
    layers = known.layers(path, options) if known is not None else None
    parted = _of_text(path, text, options.project) if options.project is not None and known is not None else []
    follows = layers is not None and layers.edits
    if not (follows or relevant().search(text)) or framework != "tensorflow":
        comments = read_comments(text)
        comments.adopt(layers.comments if layers is not None else comments)
        found = [*parted, *(layers.findings if layers is not None else ())]
        return SourceResult(path, framework, text, text, chosen(path, found, options, comments))
    tree = (known.parsed(path, text) if known is not None else None) or Tree(path, text, _link(path, options))
    if tree.code != text:
        raise UnreadableSource("its line ends cannot be kept (a bare carriage return?)")
    file = read_file(tree, options)
    judgement = judge(file, options.assume)
    plan = Planner(file, judgement).run()
    layers = layers or layers_alone(file, options.assume)
    converted = edited_file(text, [*plan.edits, *layers.edits])
    file.comments.adopt(layers.comments)
    findings, tables = report(file, judgement, plan)
    everything = chosen(path, [*findings, *parted, *layers.findings], options, file.comments)
    return SourceResult(path, "tensorflow", text, converted, everything, (*tables, *layers.records))


def _of_text(path: str, text: str, project: Project) -> list[Finding]:
    return [finding for rule in check_rules() for finding in rule.of_text(path, text, project)]


def _link(path: str, options: Options) -> FileLink | None:
    """Return how the imports of a file resolve in its project."""
    known = options.project is not None and path in options.project.files
    return FileLink(options.project, path) if options.project is not None and known else None


def _conversions(project: Project) -> Conversions:
    found = project.memory.setdefault("tensorflow", Conversions(project))
    assert isinstance(found, Conversions)
    return found
