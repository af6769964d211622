"""Converts TensorFlow files: one alone, or those that belong together, first the verdicts over all, then the edits."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from migrate.errors import MigrateError
from migrate.report.model import Finding
from migrate.source.configuration.config_files import for_file
from migrate.source.configuration.report_filter import chosen
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.edits import edited_file
from migrate.source.files.encoding import UnreadableSource, source_bytes
from migrate.source.files.notebook import SUFFIX, check_result
from migrate.source.project.analysis_units import programs_of
from migrate.source.project.combined_tree import Parts
from migrate.source.project.discovery import mentions_framework
from migrate.source.project.file_imports import FileLink
from migrate.source.project.import_graph import Project
from migrate.source.settings.options import Options, jointly
from migrate.source.settings.suppressions import read_comments
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.bindings import forget
from migrate.source.tensorflow.base.combined_file import JoinedFile, join
from migrate.source.tensorflow.base.initializers import Initializers
from migrate.source.tensorflow.base.rule_kinds import File, about_tables, foreign_symbols, relevant
from migrate.source.tensorflow.base.symbols import TfNames
from migrate.source.tensorflow.checks.verdicts import check_rules, judge
from migrate.source.tensorflow.edits.planner import Plan, Planner
from migrate.source.tensorflow.keras.edits import LayerFiles, LayerPart, layers_alone
from migrate.source.tensorflow.report.findings import report
from migrate.targets import target_of

#: Parsed files of more characters than these are dropped before others are read.
KEPT = 1_000_000


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
        reported = [*parted, *(layers.findings if layers is not None else ())]
        return SourceResult(path, framework, text, text, chosen(path, reported, options, comments))
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
    conversions = project.memory.setdefault("tensorflow", Conversions(project))
    assert isinstance(conversions, Conversions)
    return conversions


class Conversions:
    """The results for the files of a project, unit by unit."""

    def __init__(self, project: Project) -> None:
        """Take the project; nothing is read yet."""
        self.project = project
        self._trees: dict[str, Tree | None] = {}
        self._units: dict[tuple[str, ...], tuple[dict[str, File], JoinedFile | None]] = {}  #: the one that is judged
        self.programs = programs_of(project)
        self._done: dict[str, SourceResult] = {}
        self._seen: set[str] = set()
        self._layers = LayerFiles(project, self._joined, self._options)

    def of(self, path: str, options: Options) -> SourceResult | None:
        """Return the result for a file that is judged with others; None for a file on its own."""
        if path not in self.project.files:
            return None
        if path in self.programs.concerned and path not in self._seen:
            self._forget()
            unit = self.programs.unit(path)
            self._seen |= set(unit)
            self._done |= self._convert(unit, options)
        return self._done.get(path)

    def layers(self, path: str, options: Options) -> LayerPart | None:
        """Return the verdicts on the Keras layers of a file that is judged with others; None for a file on its own."""
        if path not in self.project.files:
            return None
        if path not in self.programs.concerned:
            self._forget()
        return self._layers.of(path, options)

    def _forget(self) -> None:
        """Drop trees, which are large, between units; files of several units keep theirs while these are few."""
        for _, file in self._units.values():
            if file is not None:
                forget(file.tree)
        self._units.clear()
        if sum(map(len, map(self.project.text, self._trees))) > KEPT:
            self._trees.clear()

    def parsed(self, path: str, text: str) -> Tree | None:
        """Return the tree of a file that was parsed for its unit, although it turned out to be on its own."""
        tree = self._trees.get(path)
        return tree.linked(FileLink(self.project, path)) if tree is not None and tree.text == text else None

    def _convert(self, unit: Sequence[str], options: Options) -> dict[str, SourceResult]:
        """Return the results of files that are judged together."""
        if len(unit) < 2 or not self.programs.may_use(unit, about_tables()):
            return {}
        singles, file = self._joined(unit, options)
        if file is None:
            return {}
        self._check_settings(singles, options)
        judgement = judge(file, jointly(self._options(path, options).assume for path in singles))
        plans = {part.tree.path: Planner(part, judgement).run() for part in file.files}
        findings, tables = report(file, judgement, _whole(plans.values()))
        results = {}
        for path, single in singles.items():
            own = self._options(path, options)
            text = single.tree.text
            layers = self.layers(path, options) or layers_alone(single, own.assume)
            single.comments.adopt(layers.comments)
            own_findings = [*(f for f in findings if f.location.path == path), *layers.findings]
            edits = [*plans[path].edits, *layers.edits]
            results[path] = SourceResult(
                path,
                "tensorflow" if mentions_framework(text.encode()) or edits else "other",
                text,
                edited_file(text, edits),
                chosen(path, own_findings, own, single.comments),
                (*(t for t in tables if t.location.path == path), *layers.records),
            )
        self._check(results)
        return results

    def _check(self, results: dict[str, SourceResult]) -> None:
        """Raise ValueError or SyntaxError, for all files at once, when the conversion of one is not sound."""
        for path, result in results.items():
            if result.changed:
                ast.parse(result.converted)
                if path.endswith(SUFFIX):
                    check_result(path, source_bytes(self.project.files[path]), result)

    def _options(self, path: str, options: Options) -> Options:
        """Return the options for one file of the project."""
        settings = self.project.settings
        return for_file(self.project.files[path], settings) if isinstance(settings, Options) else options

    def _joined(self, unit: Sequence[str], options: Options) -> tuple[dict[str, File], JoinedFile | None]:
        """Return the files of a unit that can be read, each and together, for the verdicts on variables and layers."""
        key = tuple(unit)
        if key not in self._units:
            trees = [tree for path in unit if (tree := self._tree(path)) is not None]
            singles = {tree.path: read_file(tree, self._options(tree.path, options)) for tree in trees}
            parts = Parts(self.project, trees, self.programs.related)
            self._units[key] = singles, join(parts, singles) if singles else None
        return self._units[key]

    def _check_settings(self, paths: Iterable[str], options: Options) -> None:
        """Raise MigrateError for files that belong together and have different settings."""
        asked = {path: self._options(path, options) for path in paths}
        if len({(one.target, one.switches) for one in asked.values()}) > 1:
            names = ", ".join(sorted(asked))
            raise MigrateError(
                f"{names} belong to one program, but have different targets or switches in the configuration; "
                "give them the same"
            )

    def _tree(self, path: str) -> Tree | None:
        """Return the parsed file, or None when it cannot be read; its own conversion reports that."""
        if path not in self._trees:
            self._trees[path] = _parsed(path, self.project.text(path))
        tree = self._trees[path]
        return tree.linked(FileLink(self.project, path)) if tree is not None else None


def _parsed(path: str, text: str) -> Tree | None:
    try:
        tree = Tree(path, text)
    except Exception:  # libcst raises many kinds of errors on text that it cannot parse
        return None
    return tree if tree.code == text else None


def _whole(plans: Iterable[Plan]) -> Plan:
    whole = Plan()
    for plan in plans:
        whole.after |= plan.after
        whole.notes += plan.notes
    return whole


def read_file(tree: Tree, options: Options) -> File:
    """Return the file with its names resolved and the user's options applied."""
    foreign = foreign_symbols()
    if ("names", foreign) not in tree.answers:
        tree.answers["names", foreign] = TfNames(tree, foreign)
    names = tree.answers["names", foreign]
    comments, target = read_comments(tree.text), target_of(options.target)
    settings = (options.switches, options.evidence, options.unbucket)
    return File(tree, names, Initializers(names), options.selection, comments, target, *settings)
