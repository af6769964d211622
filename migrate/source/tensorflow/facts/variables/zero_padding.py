"""Tables with a row of zeros for padding: `tf.concat([tf.zeros([1, D]), W[1:]], 0)` and similar code.

A table cannot be concatenated. The result becomes a value of its own, which lookups recognize when they run: it may be
returned, stored, and chosen by a condition as the original was. For SDKs without such a value, the looked-up rows are
multiplied by zero for the id of the padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import libcst as cst

from migrate.source.flow import Result, Value
from migrate.source.tensorflow.base.bindings import scope_of_name
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange, Creation, Lookup, Table
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.ordered_scopes import names_ordered_scopes
from migrate.source.tensorflow.facts.references.padded_tables import RULE, Padding, are_values, frame_around
from migrate.source.tensorflow.facts.references.table_values import TableValues
from migrate.source.tensorflow.facts.variables.static_shapes import same_size

IDLE = "a padded table has a gradient for every id"
CARRIED = "lookups in it read zeros for the id of the padding, and rows of the table otherwise"


@dataclass
class Padded:
    """The paddings of one variable, and the reads of their values."""

    found: list[Padding] = field(default_factory=list)
    reads: dict[int, Padding] = field(default_factory=dict)  #: id of a read -> its padding
    blockers: list[Blocker] = field(default_factory=list)


def find_padding(file: File, known: TableValues) -> Padded:
    """Return the paddings of the variable, and which of its reads may read padded rows."""
    padded = Padded(known.paddings)
    for one in padded.found:
        if not _is_fresh(file, known, one):
            padded.blockers.append(_unclear(file, one.table))
    for read in known.reads if padded.found else ():
        ones = [one for one in padded.found if _may_read(file, known, read, one)]
        if ones:
            padded.reads[id(read)] = next((one for one in ones if one.kind == "first"), ones[0])
            padded.blockers += _mixed(file, known, read, ones)
    return padded


def _mixed(file: File, known: TableValues, read: cst.BaseExpression, ones: Sequence[Padding]) -> Iterator[Blocker]:
    """Yield why the ids of the padding are not known at a read of these padded tables."""
    if are_values(file):
        return
    if len({one.kind for one in ones}) > 1:
        yield _unclear(file, read)
        return
    for one in ones:
        sure = not any(_is_plain(known, value) for value in _values(file, known, read))
        if sure and one.flag is None:
            continue
        if sure or not _covers(file, one, read):
            yield _unclear(file, read)
        elif not _same_name(file, one, read):
            yield _aliased(file, one, read)


def _values(file: File, known: TableValues, read: cst.BaseExpression) -> list[Value]:
    """Return the values of the variable, padded or not, that a read may have, itself or by a list."""
    flow = flow_of(file)
    if any(read is one for one in known.unsure) and isinstance(read, cst.Attribute):
        return [value for value in known.values if read.attr.value in flow.attributes(value)]
    return _sources(file, known, [value for value in flow.values(read) if value in known.values])


def _sources(file: File, known: TableValues, values: Sequence[Value]) -> list[Value]:
    """Return the values of the variable and of its paddings that these are, or are copies of."""
    copies = {id(call): call.args[0].value for call in known.copies}

    def given(value: Value) -> Sequence[Value]:
        return flow_of(file).values(copies[id(value.node)]) if id(value.node) in copies else ()

    found = dict.fromkeys(one for value in values for one in reached(value, given) if id(one.node) not in copies)
    return [one for one in found if one in known.values]


def _is_plain(known: TableValues, value: Value) -> bool:
    return not any(value.node is one.call for one in known.paddings)


def _may_read(file: File, known: TableValues, read: cst.BaseExpression, one: Padding) -> bool:
    found = any(isinstance(value, Result) and value.node is one.call for value in _values(file, known, read))
    return found and not _is_before(file, known, one, read)


def _is_before(file: File, known: TableValues, one: Padding, read: cst.BaseExpression) -> bool:
    """True for a read between creation and padding, if all three are in the same run of a function."""
    made, line = known.call, one.line
    if line is None or any(isinstance(a, cst.GeneratorExp) for a in file.tree.ancestors(read)):
        return False
    if not (frame_around(file, made) is frame_around(file, read) is frame_around(file, line)):
        return False
    return file.tree.span(made)[1] <= file.tree.span(read)[0] and file.tree.span(read)[1] <= file.tree.span(line)[0]


def _is_fresh(file: File, known: TableValues, one: Padding) -> bool:
    """True if a padding pads the variable itself, since each run creates it anew, or if padding it again is harmless.

    The analysis of attributes is flow-insensitive: `self.W = tf.concat([zeros, self.W[1:]], 0)` seems to read its
    result.
    """
    made, line = known.call, one.line
    padded = {id(value.node) for value in _values(file, known, one.table) if not _is_plain(known, value)}
    inner = [other for other in known.paddings if id(other.call) in padded]
    if all(other.kind == "first" for other in (one, *inner)):
        return True
    if any(other is not one for other in inner):
        return False
    if not inner or line is None:
        return True
    same = frame_around(file, made) is frame_around(file, line)
    return same and file.tree.span(made)[0] < file.tree.span(line)[0]


def _unclear(file: File, node: cst.BaseExpression) -> Blocker:
    return blocker(node, RULE, "bound-again", name=file.tree.source(node))


def _same_name(file: File, one: Padding, read: cst.BaseExpression) -> bool:
    """True if `read` denotes the padding's target rather than another name of the unpadded table."""
    target = one.target
    if isinstance(target, cst.Name) and isinstance(read, cst.Name):
        same = scope_of_name(file.tree, target) is scope_of_name(file.tree, read)
        return same and target.value == read.value
    return target is not None and file.tree.source(target) == file.tree.source(read)


def _aliased(file: File, one: Padding, read: cst.BaseExpression) -> Blocker:
    padded = file.tree.source(one.target or one.table)
    return blocker(read, RULE, "other-name", name=file.tree.source(read), padded=padded)


def _covers(file: File, one: Padding, read: cst.BaseExpression) -> bool:
    """True if the padding certainly runs before `read`, in the same function."""
    line = one.line
    if line is None or file.tree.span(read)[0] < file.tree.span(line)[1]:
        return False
    if frame_around(file, read) is not frame_around(file, line):
        return False
    block = file.tree.parent(line)
    while isinstance(file.tree.parent(block) if block is not None else None, cst.With):
        holder = file.tree.parent(block) if block is not None else None
        block = file.tree.parent(holder) if holder is not None else None
    return block is not None and file.tree.contains(block, read)


def pad(file: File, use: Lookup | Adaptation | Blocker, one: Padding, creation: Creation) -> Lookup | Blocker:
    """Return the lookup with the rows of padding ids set to zero, or a blocker if that is not possible."""
    if isinstance(use, Lookup):
        if names_ordered_scopes(file, one.call) or names_ordered_scopes(file, use.call):
            return blocker(use.call, RULE, "ordered")
        return _masked(file, use, one, creation)
    if isinstance(use, Blocker) and not use.assumption:
        return use
    return blocker(use.node, RULE, "other-use")


def _masked(file: File, lookup: Lookup, one: Padding, creation: Creation) -> Lookup | Blocker:
    """Return the lookup that reads zeros for the ids of the padding, or a blocker."""
    ids = lookup.ids
    plain = lookup.function == "sparse_lookup" and lookup.rewrite is None
    if ids is None or not plain or creation.rank != 2:
        return blocker(lookup.call, RULE, "combined-rows")
    if are_values(file):
        # The gradient of a concatenation with the whole table names the rows that are read.
        sliced = one.kind == "first"
        return replace(lookup, rule=RULE, function="padded_lookup", idle=IDLE if sliced else "", dense=sliced)
    if not is_repeatable(ids.value) or isinstance(ids.value, cst.Await | cst.NamedExpr):
        return blocker(lookup.call, RULE, "unnamed-ids")
    if one.kind == "last" and not _same_rows(file, lookup, creation):
        return blocker(lookup.call, RULE, "other-size", rows=creation.rows_text)
    text = file.tree.source(ids.value)
    number = "0"
    if one.kind == "last":
        number = file.tree.source(creation.rows) if isinstance(creation.rows, cst.Integer) else creation.rows_text
    mask = f"{{tf}}.expand_dims({{tf}}.cast({{tf}}.not_equal({text}, {number}), {{tf}}.float32), -1)"
    if one.flag is not None:
        mask += f" if {file.tree.source(one.flag)} else 1.0"
    around = (f"{{tf}}.multiply({lookup.around[0]}", f"{lookup.around[1]}, {mask})")
    last = str(creation.rows.evaluated_value - 1) if isinstance(creation.rows, cst.Integer) else f"{number} - 1"
    wraps = {
        "first": (),
        "before": ((ids, "{tf}.maximum({tf}.subtract(", ", 1), 0)"),),
        "last": ((ids, "{tf}.minimum(", f", {last})"),),  # the padding id must not create a row
    }[one.kind]
    return replace(lookup, rule=RULE, around=around, wraps=wraps, idle=IDLE, dense=True)


def _same_rows(file: File, lookup: Lookup, creation: Creation) -> bool:
    """True if the number of rows, as written at the creation, is known at the lookup."""
    rows = creation.rows
    if isinstance(rows, cst.Integer):
        return True
    here = file.tree.enclosing(lookup.call, cst.FunctionDef) is file.tree.enclosing(creation.call, cst.FunctionDef)
    if not here or not isinstance(rows, cst.Name | cst.Attribute) or creation.rows_text != file.tree.source(rows):
        return False
    return same_size(file, rows, creation.call, lookup.call)


def share_padding(tables: Sequence[Table]) -> None:
    """Let lookups of other tables take padded tables too, where one call reads both."""
    padded = {id(one.call) for table in tables for one in table.lookups if one.function == "padded_lookup"}
    for table in tables if padded else ():
        table.lookups = [_sharing(one) if id(one.call) in padded else one for one in table.lookups]


def _sharing(lookup: Lookup) -> Lookup:
    plain = lookup.function == "sparse_lookup" and lookup.rewrite is None
    return replace(lookup, function="padded_lookup") if plain else lookup


def follow(file: File, padded: Padded) -> Iterator[Adaptation]:
    """Yield the adaptations of the concatenations."""
    for one in padded.found:
        text = file.tree.source(one.table)
        if are_values(file):
            change = CodeChange(one.call, partial(_carried, text, one.kind))
            told = f"row 0 of `{text}` reads as zeros" if one.kind == "first" else f"`{text}` gets a row of zeros"
            yield Adaptation(one.call, RULE, told, CARRIED, (change,))
            continue
        rebound = one.line is not None and one.target is not None and file.tree.source(one.target) == text
        node = one.line if rebound and one.line is not None else one.call
        new = text if not rebound else "pass" if _leaves_nothing(file, node) else ""
        change = CodeChange(node, partial(_text, new))
        reason = "the looked-up rows are multiplied by zero where the id is the padding's"
        yield Adaptation(one.call, RULE, f"the row of zeros next to `{text}` is not stored", reason, (change,))


def _carried(text: str, kind: str, fresh: Fresh, items: tuple[str, ...]) -> str:
    given = text if kind == "first" else f'{text}, "{kind}"'
    return f"{fresh.imports('zero_padded')}({given})"


def _text(text: str, fresh: Fresh, items: tuple[str, ...]) -> str:
    return text


def _leaves_nothing(file: File, line: cst.CSTNode) -> bool:
    """True if removing a line may leave its block empty."""
    block = file.tree.parent(line)
    others = block.body if isinstance(block, cst.IndentedBlock) else ()
    inner = isinstance(block, cst.IndentedBlock)
    return inner and all(other is line or "concat" in file.tree.source(other) for other in others)
