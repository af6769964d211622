"""Keras layers of a project: judged with the files that train, save, read or compare their models."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from migrate.report.model import Finding, TableRecord
from migrate.source.files.edits import Edit
from migrate.source.project.analysis_units import programs_of
from migrate.source.project.combined_tree import Parts
from migrate.source.project.import_graph import Project
from migrate.source.settings.options import Assume, Options, jointly
from migrate.source.settings.suppressions import Comments
from migrate.source.tensorflow.base.combined_file import JoinedFile, join
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.variables.embedding_columns import COLUMNS
from migrate.source.tensorflow.facts.variables.keras_layers import SYMBOL, WORDS
from migrate.source.tensorflow.keras.edits import layer_edits, layer_findings, layer_records
from migrate.source.tensorflow.keras.given_up_buckets import bucket_edits
from migrate.source.tensorflow.keras.verdicts import judge_layers

#: Programs without one of these have nothing here to judge, which is seen faster than by reading them.
_WORDS = re.compile(WORDS)


@dataclass
class LayerPart:
    """The verdicts on the layers of one file, and findings in its code because of layers in other files."""

    edits: list[Edit] = field(default_factory=list)
    elsewhere: list[tuple[str, Edit]] = field(default_factory=list)  #: edits of other files, with their paths
    findings: list[Finding] = field(default_factory=list)
    records: list[TableRecord] = field(default_factory=list)
    comments: Comments = field(default_factory=Comments)  #: of the file, marked where they block a layer


def layers_alone(file: File, assume: Assume) -> LayerPart:
    """Return the verdicts on the layers of a file on its own."""
    return _part(file, assume, file)


def _part(home: File, assume: Assume, file: File, own: Collection[str] | None = None) -> LayerPart:
    judgement = judge_layers(home, assume, file, own)
    findings, records = [*layer_findings(file, judgement)], [*layer_records(file, judgement)]
    edits, elsewhere = layer_edits(home, judgement), []
    for path, edit in bucket_edits(file, home, judgement.moving):
        if path == home.tree.path:
            edits.append(edit)
        else:
            elsewhere.append((path, edit))
    return LayerPart(edits, elsewhere, findings, records, home.comments)


def _add(parts: Mapping[str, LayerPart], path: str, found: LayerPart) -> None:
    """Add the verdicts on the layers of a file, and the findings to the files that they are in."""
    for where, edit in (*((path, edit) for edit in found.edits), *found.elsewhere):
        edits = parts[where].edits
        edits += [edit] if where == path or edit not in edits else []
    parts[path].records += found.records
    for finding in found.findings:
        said = parts[finding.location.path].findings
        said += [finding] if finding not in said else []


class LayerFiles:
    """The layers of a project, by the files that run together; each such group is judged once."""

    def __init__(
        self,
        project: Project,
        joined: Callable[[Sequence[str], Options], tuple[dict[str, File], JoinedFile | None]],
        options: Callable[[str, Options], Options],
    ) -> None:
        """Take the project, what reads the files of a unit, each and together, and the options of each."""
        self.project = project
        self._joined = joined
        self._options = options
        self._programs = programs_of(project)
        self._done: dict[str, LayerPart] = {}

    def of(self, path: str, options: Options) -> LayerPart | None:
        """Return the verdicts on the layers of a file that is judged with others; None for a file on its own."""
        unit = self._programs.unit(path)
        if path not in self._programs.concerned or not self._programs.may_use(unit, _WORDS):
            return None
        if path not in self._done:
            if len(unit) < 2:
                return None
            self._done |= self._judged(unit, options)
        return self._done.get(path)

    def _judged(self, unit: Sequence[str], options: Options) -> dict[str, LayerPart]:
        singles, whole = self._joined(unit, options)
        parts = {path: LayerPart(comments=single.comments) for path, single in singles.items()}
        # Layers that run beside the same files share one analysis; that of all files is of the variables, too.
        joined: dict[tuple[str, ...], File] = {tuple(singles): whole} if whole is not None else {}
        related = self._programs.related
        beside = {path: {one for one in singles if one == path or related(path, one)} for path in singles}
        for path, single in singles.items():
            if not single.calls(SYMBOL, *COLUMNS):
                continue
            around = tuple(one for one in singles if one in beside[path])
            if around not in joined:
                files = {one: singles[one] for one in around}
                shared = Parts(self.project, [file.tree for file in files.values()], related)
                joined[around] = join(shared, files)
            assume = jointly(self._options(one, options).assume for one in around)
            own = {one for one in around if beside[one] <= beside[path]}
            _add(parts, path, _part(single, assume, joined[around], own))
        return parts
