"""Tables with a row of zeros for padding: `tf.concat([tf.zeros([1, D]), W[1:]], 0)` and similar code.

A table cannot be concatenated. The result becomes a value of its own, which lookups recognize when they run: it may be
returned, stored, and chosen by a condition as the original was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import libcst as cst

from migrate.source.flow import Result, Value
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange, Creation, Lookup, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.references.padded_tables import RULE, Padding
from migrate.source.tensorflow.facts.references.table_values import TableValues

IDLE = "a padded table has a gradient for every id"
CARRIED = "lookups in it read zeros for the id of the padding, and rows of the table otherwise"
#: Scopes that order the ops created in them, or replace gradients.
SCOPES = ("control_dependencies", "gradient_override_map")


@dataclass
class Padded:
    """The paddings of one variable, and the reads of their values."""

    paddings: list[Padding] = field(default_factory=list)
    reads: dict[int, Padding] = field(default_factory=dict)  #: id of a read -> its padding
    blockers: list[Blocker] = field(default_factory=list)


def find_padding(file: File, known: TableValues) -> Padded:
    """Return the paddings of the variable, and which of its reads may read padded rows."""
    padded = Padded(known.paddings)
    for padding in padded.paddings:
        if not _pads_once(file, known, padding):
            padded.blockers.append(blocker(padding.table, RULE, "bound-again", name=file.tree.source(padding.table)))
    for read in known.reads if padded.paddings else ():
        makers = {id(value.node) for value in _values(file, known, read) if isinstance(value, Result)}
        paddings = [one for one in padded.paddings if id(one.call) in makers]
        if paddings:
            padded.reads[id(read)] = next((one for one in paddings if one.kind == "first"), paddings[0])
    return padded


def _values(file: File, known: TableValues, read: cst.BaseExpression) -> list[Value]:
    """Return the values of the variable, padded or not, that a read may have."""
    flow = flow_of(file)
    if any(read is one for one in known.unsure) and isinstance(read, cst.Attribute):
        return [value for value in known.values if read.attr.value in flow.attributes(value)]
    return [value for value in flow.values(read) if value in known.values]


def _pads_once(file: File, known: TableValues, padding: Padding) -> bool:
    """True if a padding pads the variable itself, or if padding it again is harmless."""
    padded = {id(value.node) for value in _values(file, known, padding.table)}
    inner = [other for other in known.paddings if id(other.call) in padded]
    return not inner or all(other.kind == "first" for other in (padding, *inner))


def pad(file: File, use: Lookup | Adaptation | Blocker, padding: Padding, creation: Creation) -> Lookup | Blocker:
    """Return the lookup that reads zeros for the ids of the padding, or a blocker if that is not possible."""
    if isinstance(use, Blocker) and not use.assumption:
        return use
    if not isinstance(use, Lookup):
        return blocker(use.node, RULE, "other-use")
    if _names_ordered_scopes(file, padding.call) or _names_ordered_scopes(file, use.call):
        return blocker(use.call, RULE, "ordered")
    if use.ids is None or not _is_plain(use) or creation.rank != 2:
        return blocker(use.call, RULE, "combined-rows")
    # The gradient of a concatenation with the whole table names the rows that are read.
    sliced = padding.kind == "first"
    return replace(use, rule=RULE, function="padded_lookup", idle=IDLE if sliced else "", dense=sliced)


def _names_ordered_scopes(file: File, node: cst.CSTNode) -> bool:
    """True if any file of the program around `node` names such a scope: who is inside of it is not asked."""
    trees = [part.tree for part in file.program(node)]
    return any(tree.attributes.get(name) or tree.names.get(name) for tree in trees for name in SCOPES)


def _is_plain(lookup: Lookup) -> bool:
    return lookup.function == "sparse_lookup" and lookup.rewrite is None


def share_padding(tables: Sequence[Table]) -> None:
    """Let lookups of other tables take padded tables too, where one call reads both."""
    padded = {id(one.call) for table in tables for one in table.lookups if one.function == "padded_lookup"}
    for table in tables if padded else ():
        table.lookups = [
            replace(one, function="padded_lookup") if id(one.call) in padded and _is_plain(one) else one
            for one in table.lookups
        ]


def follow(file: File, padded: Padded) -> Iterator[Adaptation]:
    """Yield the adaptations of the concatenations."""
    for padding in padded.paddings:
        text = file.tree.source(padding.table)
        change = CodeChange(padding.call, partial(_carried, text, padding.kind))
        message = f"row 0 of `{text}` reads as zeros" if padding.kind == "first" else f"`{text}` gets a row of zeros"
        yield Adaptation(padding.call, RULE, message, CARRIED, (change,))


def _carried(text: str, kind: str, fresh: Fresh, items: tuple[str, ...]) -> str:
    arguments = text if kind == "first" else f'{text}, "{kind}"'
    return f"{fresh.imports('zero_padded')}({arguments})"
