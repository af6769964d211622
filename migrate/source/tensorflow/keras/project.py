"""Keras layers of a project: judged with the files that train, save, read or compare their models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from migrate.report.model import Finding, TableRecord
from migrate.source.files.edits import Edit
from migrate.source.project.analysis_units import EAGER, KERAS, programs_of
from migrate.source.project.combined_tree import Parts
from migrate.source.project.file_imports import FileLink
from migrate.source.project.import_graph import Project
from migrate.source.project.live_code import LiveCode
from migrate.source.settings.options import Options
from migrate.source.settings.suppressions import Comments
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.combined_file import join
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.source_file import read_file
from migrate.source.tensorflow.facts.variables.eager_variables import SYMBOL as VARIABLE
from migrate.source.tensorflow.facts.variables.eager_variables import words_of
from migrate.source.tensorflow.facts.variables.embedding_columns import COLUMNS
from migrate.source.tensorflow.facts.variables.keras_layers import SYMBOL
from migrate.source.tensorflow.keras.edits import layer_edits, layer_findings, layer_records
from migrate.source.tensorflow.keras.strategies import strategy_edits, strategy_findings
from migrate.source.tensorflow.keras.verdicts import judge_layers

_IMPORTS = (cst.Import, cst.ImportFrom)
#: Files that are analysed together, each with the text of what may run there.
_Texts = tuple[tuple[str, str], ...]
#: Pairs of a name and what an import takes for it by `as`.
_Aliases = frozenset[tuple[str, str]]


@dataclass
class LayerPart:
    """The verdicts on the layers of one file, and findings in its code because of layers in other files."""

    edits: list[Edit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    records: list[TableRecord] = field(default_factory=list)
    comments: Comments = field(default_factory=Comments)  #: of the file, marked where they block a layer

    def follow(self, file: File, texts: Sequence[str]) -> None:
        """Add what follows layers that are converted: strategies in `texts`, what may run of the file with them."""
        self.edits += strategy_edits(file, texts)
        self.findings += strategy_findings(file, texts)


def layers_alone(file: File, assume: bool) -> LayerPart:
    """Return the verdicts on the layers of a file on its own."""
    part = _part(file, assume, file)
    if part.edits:
        part.follow(file, [file.tree.text])
    return part


def _part(home: File, assume: bool, file: File) -> LayerPart:
    judgement = judge_layers(home, assume, file)
    findings, records = [*layer_findings(file, judgement)], [*layer_records(file, judgement)]
    return LayerPart(layer_edits(home, judgement), findings, records, home.comments)


def _add(parts: Mapping[str, LayerPart], path: str, found: LayerPart) -> None:
    """Add the verdicts on the layers of a file, and the findings to the files that they are in."""
    parts[path].edits += found.edits
    parts[path].records += found.records
    for finding in found.findings:
        said = parts[finding.location.path].findings
        said += [finding] if finding not in said else []


class LayerFiles:
    """The layers of a project, by the files that run together; each such group is judged once."""

    def __init__(
        self, project: Project, tree: Callable[[str], Tree | None], options: Callable[[str, Options], Options]
    ) -> None:
        """Take the project, the function that parses its files (None where it fails), and the options of each."""
        self.project = project
        self._tree = tree
        self._options = options
        self._programs = programs_of(project, KERAS)
        self._live = LiveCode(project)
        self._cut: dict[tuple[str, str], Tree] = {}  # files without code that does not run
        self._done: dict[str, LayerPart] = {}

    def of(self, path: str, options: Options) -> LayerPart | None:
        """Return the verdicts on the layers of a file that is judged with others; None for a file on its own."""
        unit = self._programs.unit(path)
        if path not in self._programs.concerned:
            return None
        if path not in self._done:
            users = self._users(unit)
            if len(unit) + len(users) < 2:
                return None
            judged = self._judged((*unit, *users), options)
            self._done |= {one: part for one, part in judged.items() if one not in users}
        return self._done.get(path)

    def _users(self, unit: Sequence[str]) -> tuple[str, ...]:
        """Return the files outside of a unit that may reach its variables of eager code, by a name or an attribute."""
        made = [path for path in unit if EAGER.search(self.project.text(path))]
        trees = [tree for path in made if (tree := self._tree(path)) is not None]
        words = {word for tree in trees for word in words_of(read_file(tree, Options()))}
        return self._programs.users(unit, words, words)

    def _judged(self, unit: Sequence[str], options: Options) -> dict[str, LayerPart]:
        unit = (*unit, *self._programs.bases(unit))
        trees = [tree for path in unit if (tree := self._tree(path)) is not None]
        singles = {tree.path: read_file(tree, self._options(tree.path, options)) for tree in trees}
        parts = {path: LayerPart(comments=single.comments) for path, single in singles.items()}
        running: dict[_Texts, dict[_Aliases, list[str]]] = {}  # programs of the same texts share one analysis
        for path, single in singles.items():
            if single.calls(SYMBOL, *COLUMNS) or words_of(single):
                texts, aliases = self._running(single, singles)
                running.setdefault(texts, {}).setdefault(aliases, []).append(path)
        followed: dict[str, list[str]] = {}
        for texts, programs in running.items():
            files = {one: self._with(singles[one], text, self._options(one, options)) for one, text in texts}
            shared = Parts(self.project, [file.tree for file in files.values()], self._programs.related)
            assume = all(self._options(one, options).assume for one, _ in texts)
            for aliases, homes in programs.items():
                file = join(shared.with_aliases(aliases), files)
                for path in homes:
                    found = _part(singles[path], assume, file)
                    _add(parts, path, found)
                    for one, text in texts if found.edits else ():
                        followed.setdefault(one, []).append(text)
        for path, run in followed.items():
            parts[path].follow(singles[path], run)
        return parts

    def _running(self, home: File, singles: Mapping[str, File]) -> tuple[_Texts, _Aliases]:
        """Return what may run with the layers of `home`, and what the imports of its programs take by `as`."""
        live, path = self._live, home.tree.path
        lines = _lines(home)
        programs = [live.of(entry) for entry in sorted(self._programs.entries(path))]
        ours = [one for one in programs if one.entry == path or any(live.runs(one, path, line) for line in lines)]
        files = frozenset[str]().union(*(one.files for one in ours))
        around = [one for one in singles if one == path or (one in files and self._programs.related(path, one))]
        texts = tuple((one, singles[one].tree.text if one == path else live.text(one, ours)) for one in around)
        return texts, live.aliases(files)

    def _with(self, single: File, text: str, options: Options) -> File:
        """Return a file with another text; comments that are used there are used in the file."""
        path = single.tree.path
        if text == single.tree.text:
            return single
        if (path, text) not in self._cut:
            self._cut[path, text] = Tree(path, text, FileLink(self.project, path))
        return replace(read_file(self._cut[path, text], options), comments=single.comments)


def _lines(home: File) -> list[int]:
    """Return the lines of a file that create layers, columns or variables, or use the class of layers otherwise."""
    tree = home.tree
    uses = [*tree.names.get("Embedding", ()), *tree.attributes.get("Embedding", ())]
    uses = [use for use in uses if not any(isinstance(one, _IMPORTS) for one in tree.ancestors(use))]
    return [tree.start(node).line for node in (*uses, *(call for call, _ in home.calls(SYMBOL, VARIABLE, *COLUMNS)))]
