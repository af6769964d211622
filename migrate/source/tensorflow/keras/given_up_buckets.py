"""`--unbucket` for Keras: `Hashing`, `HashedCrossing` and remainders before an `Embedding`, and hashed columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import libcst as cst

from migrate.report.model import Finding
from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import given_argument, literal
from migrate.source.tensorflow.base.findings import of_use
from migrate.source.tensorflow.base.insertion_points import name_import
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange
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
from migrate.source.tensorflow.facts.variables.keras_layers import Layer
from migrate.source.tensorflow.keras.columns import COLUMN
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
