"""`--unbucket` for Keras: `Hashing`, `HashedCrossing` and remainders before an `Embedding`, and hashed columns.

Columns that `DenseFeatures` reads are judged as the layers with tables are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import libcst as cst

from migrate.report.model import Finding
from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import bind, given_argument, keyword, last_name, literal, string
from migrate.source.tensorflow.base.findings import of_use
from migrate.source.tensorflow.base.insertion_points import name_import
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.checks.given_up_buckets import (
    ALL,
    Candidate,
    given_categories,
    note,
    settle,
)
from migrate.source.tensorflow.facts.ids.bounds import Bound, Bounds, bounds_of_column, bounds_of_ids
from migrate.source.tensorflow.facts.variables.column_names import describe
from migrate.source.tensorflow.facts.variables.embedding_columns import (
    COLUMNS,
    KERAS_READERS,
    RULE,
    are_of_keras,
    find_columns,
)
from migrate.source.tensorflow.facts.variables.keras_layers import Layer, LayerKind, layer_without_arguments
from migrate.source.tensorflow.keras.layer_uses import POLICIES, check_places
from migrate.targets.runtime import spelled


def bounds_of_layer(file: File, layer: Layer) -> Bounds:
    """Return what bounds the ids of a layer or of the column that a layer reads."""
    if layer.kind is COLUMN:
        return bounds_of_column(file, layer.call)
    return bounds_of_ids(file, [given_argument(call, "inputs", 0) for call in layer.calls])


def give_up_buckets(file: File, own: Collection[str], moving: Sequence[Layer]) -> None:
    """Let the layers that `--unbucket` names give up the buckets of their ids; say why where they cannot.

    `own` are the paths of files that no program runs but those that are in `file`, too.
    """
    wanted = [layer for layer in moving if {ALL, layer.name, layer.label} & {*file.unbucket}]
    candidates = [(layer, _candidate(file, own, layer)) for layer in wanted]
    settle(file, [candidate for _, candidate in candidates])
    for layer, candidate in candidates:
        if candidate.kept:
            layer.notes.append(note(candidate, layer.label))
            continue
        layer.given_up = candidate.given_up
        layer.freed += candidate.freed


def _candidate(file: File, own: Collection[str], layer: Layer) -> Candidate:
    bounds = bounds_of_layer(file, layer)
    if layer.kind is COLUMN:
        candidate = Candidate(layer.call, None, bounds, given_categories(file, layer.call))
    else:
        rows = layer.arguments.get("input_dim")
        ids = [node for call in layer.calls if (node := given_argument(call, "inputs", 0)) is not None]
        candidate = Candidate(layer.call, rows.value if rows is not None else layer.call, bounds, ids)
    other = next((use for use in _other_uses(file, layer)), None)
    masked = layer.arguments.get("mask_zero")
    is_masked = masked is not None and literal(masked.value) is not False and any(map(_begins_at_0, bounds.sources))
    apart = next((one for one in bounds.sources if file.part(one.node).tree.path not in own), None)
    if other is not None:
        candidate.keep("other-use", text=file.tree.excerpt(other))
    elif is_masked:
        candidate.keep("masked", text=file.tree.excerpt(layer.call))
    elif apart is not None:
        candidate.keep("other-file", bound=apart.text)
    return candidate


def _begins_at_0(bound: Bound) -> bool:
    """True if the id 0 is that of a bucket."""
    words = bound.words
    return bound.size is not None and (words is None or (words.layer is not None and not words.masked))


def _other_uses(file: File, layer: Layer) -> Iterator[cst.CSTNode]:
    """Yield what reads rows in another way than by ids: regularizers, and uses of the matrix."""
    if "embeddings_regularizer" in layer.arguments:
        yield layer.arguments["embeddings_regularizer"]
    for use in layer.uses:
        around = file.tree.parent(use)
        if isinstance(around, cst.Attribute) and around.value is use and around.attr.value == "embeddings":
            yield around


def bucket_edits(file: File, home: File, layers: Sequence[Layer]) -> Iterator[tuple[str, Edit]]:
    """Yield, with the paths of their files, the edits of layers of `home` that give up the buckets of their ids."""
    freed = [layer for layer in layers if layer.given_up.number]
    changes = {id(change.node): change for layer in freed for use in layer.freed for change in use.changes}
    by_path: dict[str, list[CodeChange]] = {home.tree.path: []}
    for change in changes.values():
        by_path.setdefault(file.part(change.node).tree.path, []).append(change)
    for path, mine in by_path.items():
        part = home if path == home.tree.path else file.part(mine[0].node)
        tree, fresh = part.tree, Fresh(part.tree.identifiers(), part.tree.bound(), file.target.name)
        edits = []
        for layer in (one for one in freed if part is home and one.kind is not COLUMN):
            end = tree.outer_span(layer.call.args[-1].value)[1]
            edits.append(Edit(end, end, f", base_buckets={spelled(layer.given_up.argument, fresh.imports)}"))
        edits += [Edit(*tree.span(change.node), _text(file, fresh, change)) for change in mine]
        modules = {name: file.target.functions[name].module for name in fresh.imported}
        for module in dict.fromkeys(modules.values()):
            names = [(name, local) for name, local in fresh.imported.items() if modules[name] == module]
            edits.append(name_import(part.tree, module, min(edit.start for edit in edits), *names))
        yield from ((path, edit) for edit in edits)


def _text(file: File, fresh: Fresh, change: CodeChange) -> str:
    assert change.takes is not None
    return change.text(fresh, (file.tree.source(change.takes),))


def bucket_findings(file: File, layer: Layer) -> Iterator[Finding]:
    """Yield what makes wide ids for a layer, or why it keeps the buckets of its ids."""
    uses: list[Blocker | Adaptation] = [*layer.freed, *layer.notes]
    for use in uses:
        changed = Fresh(set(), set(), file.target.name)
        after = ", ".join(_text(file, changed, change) for change in use.changes)
        yield of_use(file, use, after, table=layer.name or layer.label)


COLUMN = LayerKind(
    "embedding_column", "runtime.feature_column", "column", RULE, "", "dimension", "initializer", "truncated normal"
)
#: Arguments of the layers that decide on the variables of their columns.
_OF_VARIABLES = {"dtype", "partitioner"}


def columns_of(file: File, home: File) -> list[Layer]:
    """Return the embedding columns of `home` that a model of Keras trains, in source order, with their blockers."""
    own = {id(call) for call, _ in home.calls(*COLUMNS) if are_of_keras(home, call)}
    tables = [table for table in find_columns(file) if id(table.creation.call) in own] if own else []
    around = [*_readers(file), *_policies(file)] if tables else []
    layers = []
    for table in tables:
        call, name = table.creation.call, table.creation.target_function
        kept = [one for one in table.blockers if one.key != "no-reader"]
        describe(file, table)
        layer = Layer(call, table.label, table.creation.column, {}, kind=COLUMN, blockers=[*kept, *around])
        layer.rows_text, layer.readers = table.creation.rows_text, table.readers
        layer.arguments = bind(call, COLUMNS[f"feature_column.{name}"][0]) or {}
        if name != COLUMN.name:
            layer.blockers.append(blocker(call, RULE, "eager-shared"))
        elif len(kept) != len(table.blockers):
            layer.blockers.append(blocker(file.tree.module_of(call), RULE, "no-reader-of-keras"))
        layers.append(layer)
    return layers


def _readers(file: File) -> Iterator[Blocker]:
    """Yield blockers for layers that give variables another form, or look rows up where no gradient leaves."""
    for call, _ in file.calls(*KERAS_READERS):
        for arg in call.args:
            if (word := keyword(arg)) in _OF_VARIABLES:
                yield blocker(arg, RULE, "other-variables", word=word)
        layer = replace(layer_without_arguments(file, call, followed=True), kind=COLUMN)
        check_places(file, layer)
        yield from layer.blockers


def _policies(file: File) -> Iterator[Blocker]:
    """Yield blockers where layers compute in another type: it rounds the rows of a variable before they are pooled."""
    for call in file.tree.calls:
        if last_name(call.func) in POLICIES and not (call.args and string(call.args[0].value) == "float32"):
            yield blocker(call, RULE, "other-policy", text=file.tree.one_line(call))
