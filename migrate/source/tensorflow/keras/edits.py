"""Edits and findings for `Embedding` layers; those of a project are judged with the files that use their models."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

import libcst as cst

from migrate.report.model import Applicability, Finding, State, TableRecord
from migrate.source.files.edits import Edit
from migrate.source.project.analysis_units import programs_of
from migrate.source.project.combined_tree import Parts
from migrate.source.project.import_graph import Project
from migrate.source.settings.options import Assume, Options, jointly
from migrate.source.settings.suppressions import Comments
from migrate.source.tensorflow.base.arguments import by_keyword, last_name, method_of
from migrate.source.tensorflow.base.bindings import forget
from migrate.source.tensorflow.base.bindings import is_variable as is_read
from migrate.source.tensorflow.base.combined_file import JoinedFile, join
from migrate.source.tensorflow.base.findings import finding, in_one_line, of_blocker, of_line, of_use
from migrate.source.tensorflow.base.insertion_points import name_import, without_line, without_names
from migrate.source.tensorflow.base.model import Adaptation, Blocker, only_doubts, refused_state
from migrate.source.tensorflow.base.other_sdks import is_apart
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.ids.bounds import growth
from migrate.source.tensorflow.facts.references.exports import OPERATIONS, exports, note
from migrate.source.tensorflow.facts.references.ways import steps_to
from migrate.source.tensorflow.facts.variables.embedding_columns import COLUMNS
from migrate.source.tensorflow.facts.variables.keras_layers import SYMBOL, WORDS, Layer, LayerKind
from migrate.source.tensorflow.keras.given_up_buckets import COLUMN, bounds_of_layer, bucket_edits, bucket_findings
from migrate.source.tensorflow.keras.surroundings import is_foreign, texts_of
from migrate.source.tensorflow.keras.verdicts import LayerJudgement, judge_layers

_MODELS = {"keras.Model", "keras.models.Model"}
_TYPES = "give `input_signature`, as a subclassed model of Keras 3 without it takes float32, also for ids"


def layer_edits(file: File, judgement: LayerJudgement) -> list[Edit]:
    """Return the edits: of the import, where all uses of the imported `Embedding` are converted; else of the calls."""
    moving = judgement.moving
    if not moving:
        return []
    words = [layer.regularizer.keyword for layer in moving if layer.regularizer is not None]
    renames = [Edit(*file.tree.span(word), "rows_regularizer") for word in words if word is not None]
    kinds = dict.fromkeys(layer.kind for layer in moving)
    classes = (_class_edits(file, kind, [one for one in moving if one.kind is kind]) for kind in kinds)
    return [*renames, *(edit for edits in classes for edit in edits)]


def _class_edits(file: File, kind: LayerKind, moving: list[Layer]) -> list[Edit]:
    alias = _only_import(file, moving)
    if alias is not None and (removal := _without(file, alias)) is not None:
        local = moving[0].call.func
        name = local.value if isinstance(local, cst.Name) else kind.name
        return [*removal, name_import(file.tree, kind.module, removal[0].start, (kind.name, name))]
    longer, taken = f"Table{kind.name}" if kind.name.istitle() else f"table_{kind.name}", file.tree.bound()
    names = (kind.name, longer, *(f"{longer}{number}" for number in range(2, 1000)))
    name = next(one for one in names if one not in taken)
    calls = [Edit(*file.tree.span(layer.call.func), name) for layer in moving]
    return [*calls, name_import(file.tree, kind.module, min(edit.start for edit in calls), (kind.name, name))]


def _only_import(file: File, moving: list[Layer]) -> cst.ImportAlias | None:
    """Return the class or function of `from … import …` when the file uses it only for what is converted."""
    names = {layer.call.func.value for layer in moving if isinstance(layer.call.func, cst.Name)}
    if len(names) != 1 or any(not isinstance(layer.call.func, cst.Name) for layer in moving):
        return None
    name = names.pop()
    moved = {id(layer.call.func) for layer in moving}
    if any(
        is_read(file.tree, use) and id(use) not in moved and not _imported(file, use) for use in file.tree.names[name]
    ):
        return None
    aliases = [
        alias
        for statement in file.tree.imports
        if isinstance(statement, cst.ImportFrom) and not isinstance(statement.names, cst.ImportStar)
        for alias in statement.names
        if _local(alias) == name
    ]
    return aliases[0] if len(aliases) == 1 and _at_top(file, aliases[0]) else None


def _imported(file: File, use: cst.Name) -> bool:
    return isinstance(file.tree.parent(use), (cst.ImportAlias, cst.AsName))


def _local(alias: cst.ImportAlias) -> str:
    name = alias.asname.name if alias.asname is not None else alias.name
    return name.value if isinstance(name, cst.Name) else ""


def _at_top(file: File, alias: cst.ImportAlias) -> bool:
    """True for an import on a line of its own in the module, outside of a `try` or a function."""
    statement = file.tree.parent(alias)
    line = file.tree.parent(statement) if statement is not None else None
    return (
        isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and file.tree.parent(line) is file.tree.module
    )


def _without(file: File, alias: cst.ImportAlias) -> list[Edit] | None:
    """Return the edits that remove one name from its import; None when this would remove a comment."""
    tree, statement = file.tree, file.tree.parent(alias)
    assert isinstance(statement, cst.ImportFrom) and not isinstance(statement.names, cst.ImportStar)
    line, gone = tree.statement(statement), [other is alias for other in statement.names]
    assert line is not None
    edits = [without_line(tree, line, {id(line)})] if all(gone) else [*without_names(tree, statement, gone)]
    return None if any("#" in tree.text[one.start : one.end] for one in edits) else edits


def layer_findings(file: File, judgement: LayerJudgement) -> Iterator[Finding]:
    """Yield a finding for each layer, and for each blocker of all layers."""
    moving = {id(layer) for layer in judgement.moving}
    for layer in judgement.layers:
        if id(layer) in moving:
            yield _converted(file, judgement, layer)
            yield from bucket_findings(file, layer)
        for blocker in layer.blockers if not is_apart(layer.blockers) else ():
            steps = steps_to(file, layer.call, layer.label, blocker.node)
            yield of_blocker(file, blocker, table=layer.name or layer.label, steps=steps)
    if any(only_doubts(layer.blockers) for layer in judgement.layers):
        yield from (of_blocker(file, blocker) for blocker in judgement.file_blockers)
    yield from (of_use(file, note) for note in (notes_on_exports(file) if moving else ()))


def _converted(file: File, judgement: LayerJudgement, layer: Layer) -> Finding:
    kind = layer.kind
    return finding(
        file, layer.call, kind.rule, "table", State.APPLIED,
        f"the {kind.title} `{layer.label}` becomes `{kind.module}.{kind.name}`, a dynamic table",
        applicability=_applicability(judgement, layer),
        assumptions=tuple(dict.fromkeys(_assumption(file, one, layer) for one in (*judgement.assumed, *layer.freed))),
        after=f"{kind.name}(...)",
        table=layer.name or layer.label,
    )  # fmt: skip


def _assumption(file: File, doubt: Blocker, layer: Layer) -> str:
    """Return what is assumed for a layer, and the place that it is about, which may be an optimizer's."""
    about, here = file.tree.location(doubt.node), file.tree.location(layer.call)
    return doubt.assumption + ("" if (about.path, about.line) == (here.path, here.line) else of_line(about, here))


def _applicability(judgement: LayerJudgement, layer: Layer) -> Applicability:
    if layer.regularizer is not None or layer.given_up.number:
        return Applicability.CHANGES_VALUES
    return Applicability.ASSUMPTION if judgement.assumed else Applicability.EXACT


def layer_records(file: File, judgement: LayerJudgement) -> Iterator[TableRecord]:
    """Yield one record a layer."""
    moving = {id(layer) for layer in judgement.moving}
    for layer in judgement.layers:
        moves = id(layer) in moving
        blockers = [] if moves else [*layer.blockers, *(judgement.file_blockers if only_doubts(layer.blockers) else ())]
        texts = {key: file.tree.source(arg.value) for key, arg in layer.arguments.items()}
        grows, bound = growth(file, bounds_of_layer(file, layer), layer.given_up.number) if moves else ("", "")
        yield TableRecord(
            layer.name or layer.label,
            file.tree.location(layer.call),
            State.APPLIED if moves else refused_state(blockers),
            _applicability(judgement, layer) if moves else None,
            texts.get(layer.kind.width, ""),
            texts.get(layer.kind.rows, layer.rows_text),
            texts.get(layer.kind.initializer, layer.kind.default_initializer),
            ", ".join(sorted(set(judgement.optimizers))),
            tuple(map(file.tree.location, [*layer.calls, *layer.readers])),
            tuple(dict.fromkeys(in_one_line(file, blocker, layer.call) for blocker in blockers)),
            identity="name" if layer.kind is not COLUMN else "run time",
            base_buckets=layer.given_up.number,
            growth=grows,
            bound=bound,
        )


def notes_on_exports(file: File) -> Iterator[Adaptation]:
    """Yield a note on each call that writes a SavedModel; programs that load it need the operations of the tables."""
    for node, text, kind in exports(file):
        if kind == OPERATIONS:
            yield note(node, text)
    for call in file.tree.calls:
        method = method_of(call)
        if method in {"export", "save"} and call.args and file.names.of(call.func) is None:
            if is_foreign(file, call):
                continue
            paths = [*filter(None, texts_of(file, call.args[0].value))]
            written = note(call, file.tree.source(call.func))
            # Keras 2 writes a SavedModel where the path has no suffix; Keras 3 does only in `export`.
            if method == "export" or (paths and not any(PurePath(path).suffix for path in paths)):
                yield replace(written, action=f"{_TYPES}; {written.action}") if _untyped(file, call) else written
            elif not paths and len(call.args) == 1 and _is_trained(file, call):
                yield replace(written, message=f"{written.message}, in Keras 2 where its path has no suffix")


def _is_trained(file: File, save: cst.Call) -> bool:
    """True if the object with this method `save` is also trained, or compiled, in the file: a model of Keras."""
    receiver = file.tree.source(cst.ensure_type(save.func, cst.Attribute).value)
    trained = (one.func for one in file.tree.calls if method_of(one) in {"compile", "fit"})
    return any(file.tree.source(cst.ensure_type(one, cst.Attribute).value) == receiver for one in trained)


def _untyped(file: File, call: cst.Call) -> bool:
    """True for an `export` that is told no types of inputs, in a file with a model of its own class."""
    bases = (file.names.of(base.value) for one in file.tree.classes for base in one.bases)
    untyped = last_name(call.func) == "export" and by_keyword(call, "input_signature") is None
    return untyped and any(base in _MODELS for base in bases)


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


def _add(parts: Mapping[str, LayerPart], path: str, part: LayerPart) -> None:
    """Add the verdicts on the layers of a file, and the findings to the files that they are in."""
    for where, edit in (*((path, edit) for edit in part.edits), *part.elsewhere):
        edits = parts[where].edits
        edits += [edit] if where == path or edit not in edits else []
    parts[path].records += part.records
    for each in part.findings:
        said = parts[each.location.path].findings
        said += [each] if each not in said else []


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
        related = self._programs.related
        beside = {path: {one for one in singles if one == path or related(path, one)} for path in singles}
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for path, single in singles.items():
            if single.calls(SYMBOL, *COLUMNS):
                groups[tuple(one for one in singles if one in beside[path])].append(path)
        judged: dict[str, LayerPart] = {}
        for around, paths in groups.items():
            # Layers that run beside the same files share one analysis; that of all files is of the variables, too.
            shared = whole if whole is not None and around == tuple(singles) else self._beside(singles, around)
            assume = jointly(self._options(one, options).assume for one in around)
            for path in paths:
                own = {one for one in around if beside[one] <= beside[path]}
                judged[path] = _part(singles[path], assume, shared, own)
            if shared is not whole:
                forget(shared.tree)
        parts = {path: LayerPart(comments=single.comments) for path, single in singles.items()}
        for path in singles:
            if path in judged:
                _add(parts, path, judged[path])
        return parts

    def _beside(self, singles: Mapping[str, File], around: Sequence[str]) -> JoinedFile:
        """Return some files of a unit together."""
        files = {path: singles[path] for path in around}
        trees = [file.tree for file in files.values()]
        return join(Parts(self.project, trees, self._programs.related), files)
