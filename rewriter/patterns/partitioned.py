"""Partitioned variables: the subgraph in which `embedding_lookup` looks ids up in each part and stitches the rows.

`mod`: id i is row `i // parts` of part `i % parts`. `div`: parts are consecutive, and the first ones are a row longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewriter.facts import Lookup, NewRows, Part, Table, Update
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.branches import source
from rewriter.patterns.matching import Match, Mismatch, match, node
from rewriter.table_settings import whole_of

_STITCHES = ("ParallelDynamicStitch", "DynamicStitch")
_SHAPED = ("Reshape", "Identity")
_GATHERS = ("ResourceGather", "GatherV2", "Gather")
_MOD_PART, _MOD_ROW = node("FloorMod", "ids", "count"), node("FloorDiv", "ids", "count")
_LONGER = node("AddV2|Add", "length", "one")
_DIV_PART = node("Maximum", node("FloorDiv", "ids", _LONGER), node("FloorDiv", node("Sub", "ids", "extras"), "length"))
_DIV_ROW = node(
    "Select|SelectV2",
    node("Less", "part", "extras"),
    node("FloorMod", "ids", _LONGER),
    node("FloorMod", node("Sub", "ids", "extras"), "length"),
)
_BELOW = re.compile(r"(.+)/part_(\d+)")


@dataclass(frozen=True)
class Stitch:
    """A partitioned lookup: its flat ids, the variables of the parts, and the gather on each."""

    op: str
    ids: Tensor
    variables: tuple[str, ...]
    gathers: tuple[str, ...]
    strategy: str


def named(names: Iterable[str], variables: Sequence[str], stitches: Iterable[Stitch]) -> list[str]:
    """Return the variables that `names` mean: a partitioned variable, or one of its parts, means all parts."""
    below: dict[str, list[str]] = {}
    for variable in variables:
        below.setdefault(whole_of(variable), []).append(variable)
    stitched: dict[str, Stitch] = {}
    for stitch in stitches:
        for variable in stitch.variables:
            stitched.setdefault(variable, stitch)
    parents: dict[str, None] = {}
    for name in names:
        for part in [name] if name in variables else below.get(name, [name]):
            parents |= dict.fromkeys(stitched[part].variables if part in stitched else (part,))
    return list(parents)


def find_stitches(view: GraphView) -> list[Stitch]:
    """Return the partitioned lookups of a graph."""
    return [stitch for op in view.of_type(*_STITCHES) if (stitch := _stitch(view, op)) is not None]


def _stitch(view: GraphView, op: str) -> Stitch | None:
    """Return the lookup that an op stitches: of gathers by the results of one partition, which nothing else reads."""
    inputs = view.inputs(op)
    count = len(inputs) // 2
    numbers, gathers = inputs[:count], inputs[count:]
    split = numbers[0].op
    if view.type(split) != "DynamicPartition" or numbers != tuple(Tensor(split, i) for i in range(count)):
        return None
    if any(view.type(one.op) not in _GATHERS for one in gathers):
        return None
    asked = [view.inputs(one.op) for one in gathers]
    rows, part = asked[0][1].op, view.inputs(split)[1]
    if view.type(rows) != "DynamicPartition" or view.inputs(rows)[1] != part:
        return None
    in_order = all(given[1] == Tensor(rows, i) for i, given in enumerate(asked))
    variables = tuple(source(view, given[0]).op for given in asked)
    alone = all([use.op for use in view.users(one.op)] == [op] for one in gathers)
    strategy = _strategy(view, view.inputs(rows)[0], part, count)
    if not in_order or not alone or len(set(variables)) != count or strategy is None:
        return None
    return Stitch(op, strategy[1], variables, tuple(one.op for one in gathers), strategy[0])


def _strategy(view: GraphView, row: Tensor, part: Tensor, count: int) -> tuple[str, Tensor] | None:
    """Return how ids are split (`mod`, or `div` with the number of rows), and the ids; None for another way."""
    whole = view.inputs(part.op)[0] if view.type(part.op) == "Cast" else part
    by_part, by_row = match(view, whole.op, _MOD_PART), match(view, row.op, _MOD_ROW)
    if isinstance(by_part, Match) and isinstance(by_row, Match) and by_part.tensors["ids"] == by_row.tensors["ids"]:
        numbers = {view.number(found.tensors["count"]) for found in (by_part, by_row)}
        return ("mod", by_part.tensors["ids"]) if numbers == {count} else None
    by_part, by_row = match(view, whole.op, _DIV_PART), match(view, row.op, _DIV_ROW)
    if isinstance(by_part, Mismatch) or isinstance(by_row, Mismatch):
        return None
    same = by_part.tensors["ids"] == by_row.tensors["ids"] and by_row.tensors["part"] == whole
    if not same or view.number(by_part.tensors["one"]) != 1 or view.number(by_row.tensors["one"]) != 1:
        return None
    pairs = {
        (view.number(found.tensors["length"]), view.number(found.tensors["extras"])) for found in (by_part, by_row)
    }
    ((length, extras), *others) = pairs
    if others or length is None or extras is None:
        return None
    return f"div {int(length) * count + int(extras)}", by_part.tensors["ids"]


def join_parts(view: GraphView, tables: Sequence[Table], stitches: Sequence[Stitch]) -> list[Table]:
    """Return the tables, with one table for all parts of a partitioned variable, or a note why they stay separate."""
    known = {table.name: table for table in tables}
    groups: dict[tuple[str, ...], list[Stitch]] = {}
    for stitch in stitches:
        groups.setdefault(stitch.variables, []).append(stitch)
    having: dict[str, list[tuple[str, ...]]] = {}
    for group in groups:
        for name in group:
            having.setdefault(name, []).append(group)
    whole: dict[str, Table] = {}
    for table in tables:
        names = _group(view, table.name, having.get(table.name, []))
        if not names or table.name in whole:
            whole.setdefault(table.name, table)
            continue
        joined: Table | str = (
            "its parts are not looked up together by tf.nn.embedding_lookup, or another part stays a variable"
        )
        if isinstance(names, tuple) and set(names) <= set(known):
            joined = _join(view, [known[name] for name in names], groups.get(names, []))
        for name in names if isinstance(joined, Table) else (table.name,):
            whole[name] = joined if isinstance(joined, Table) else replace(table, note=joined)
    return list(dict.fromkeys(whole[table.name] for table in tables))


def _group(view: GraphView, name: str, met: Sequence[tuple[str, ...]]) -> tuple[str, ...] | str | None:
    """Return the variables grouped with `name` by the lookups `met`, or why they do not agree; None if it is alone."""
    below = _BELOW.fullmatch(name)
    if len(met) == 1:
        return met[0]
    if met or (below and (f"{below[1]}/part_1" in view or below[2] != "0")):
        return "several"
    return (name,) if below and below[1] not in view else None


def _join(view: GraphView, tables: Sequence[Table], stitches: Sequence[Stitch]) -> Table | str:
    """Return one table for the tables of the parts, in the order of the stitches' variables; or the reason against."""
    strategies = {stitch.strategy for stitch in stitches}
    rows = sum(table.rows for table in tables)
    count = len(tables)
    if len(strategies) > 1 or len({table.row for table in tables}) > 1:
        return (
            "its lookups split ids over its parts differently" if len(strategies) > 1 else "its parts differ in width"
        )
    if [table.rows for table in tables] != [rows // count + (part < rows % count) for part in range(count)]:
        return "its parts do not have the numbers of rows that a partitioner makes"
    strategy, _, total = strategies.pop().partition(" ") if strategies else ("div", "", "")
    if total and int(total) != rows:
        return "its lookups split ids for parts with other numbers of rows"
    asked = {op for stitch in stitches for op in stitch.gathers}
    alone = [lookup.op for table in tables for lookup in table.lookups if lookup.op not in asked] if stitches else []
    if alone:
        return f"`{alone[0]}` looks ids up in one of its parts alone"
    if any(table.row_ops for table in tables):
        return "its optimizer reads and writes the rows of each part separately"
    updates = _joined_updates(view, tables, stitches)
    if isinstance(updates, str):
        return updates
    trained = {lookup.op for table in tables for lookup in table.lookups if lookup.trains}
    lookups = tuple(
        Lookup(one.op, one.ids, Tensor(one.op), not trained.isdisjoint(one.gathers), gathers=one.gathers)
        for one in stitches
    )
    parts = tuple(Part(one.name, one.rows, one.initial, one.initializer, one.variables[1:]) for one in tables)
    return replace(
        tables[0],
        name=_name(view, [table.name for table in tables]),
        rows=rows,
        lookups=lookups or tables[0].lookups,
        updates=updates,
        answers=tuple(answer for table in tables for answer in table.answers),
        assigned=tuple(replace(one, part=part) for part, table in enumerate(tables) for one in table.assigned),
        reads=tuple(replace(one, part=part) for part, table in enumerate(tables) for one in table.reads),
        carriers=tuple(op for table in tables for op in table.carriers),
        new_rows=_new_rows(tables),
        parts=parts,
        strategy=strategy,
    )


def _name(view: GraphView, names: Sequence[str]) -> str:
    """Return the name of the partitioned variable; for a list of variables, the name of the first."""
    matches = [_BELOW.fullmatch(name) for name in names]
    wholes = {one[1] for one in matches if one}
    if len(wholes) != 1 or any(one is None or int(one[2]) != part for part, one in enumerate(matches)):
        return names[0]
    (whole,) = wholes
    return names[0] if whole in view else whole


def _new_rows(tables: Sequence[Table]) -> NewRows:
    first = tables[0].new_rows
    if all((one.new_rows.kind, one.new_rows.a, one.new_rows.b) == (first.kind, first.a, first.b) for one in tables):
        return first
    assumption = "its parts have different initial values; new rows start as those of the first part"
    return first if first.assumption else replace(first, assumption=assumption)


def _joined_updates(view: GraphView, tables: Sequence[Table], stitches: Sequence[Stitch]) -> tuple[Update, ...] | str:
    counts = {len(table.updates) for table in tables}
    if len(counts) > 1:
        return "only some of its parts are updated"
    joined = []
    for steps in zip(*(table.updates for table in tables), strict=True):
        first = steps[0]
        if any(step.values is None for step in steps):
            return f"`{first.ops[0]}` updates a part by a term over that part alone, without a lookup"
        for step in steps[1:]:
            alike = (step.rule, step.starts, len(step.slots)) == (first.rule, first.starts, len(first.slots))
            if not alike or not all(map(lambda a, b: _same(view, a, b), step.hyper, first.hyper)):
                return (
                    f"`{step.ops[0]}` updates a part by another rule or other hyperparameters than `{first.ops[0]}`, "
                    "which updates the first part"
                )
        joined.append(_joined(view, steps, stitches))
    return tuple(joined)


def _joined(view: GraphView, steps: Sequence[Update], stitches: Sequence[Stitch]) -> Update:
    """Return one update for those of the parts: with the gradient before it was split, or with all its pieces."""
    ops = tuple(op for step in steps for op in step.ops)
    first = replace(steps[0], ops=ops, inner=tuple(op for step in steps for op in step.inner))
    stitch = _stitch_of(view, steps, stitches)
    whole = None if stitch is None else _before_split(view, steps, stitch)
    if stitch is not None and whole is not None:
        return replace(first, values=whole, indices=stitch.ids)
    return replace(first, pieces=tuple(step.gradients[0] for step in steps))


def _before_split(view: GraphView, steps: Sequence[Update], stitch: Stitch) -> Tensor | None:
    """Return the gradient of all stitched rows, if the parts' gradients are slices of it; else None."""
    wholes = set()
    for part, step in enumerate(steps):
        taken = view.behind(step.gradients[0][0], _SHAPED)
        if view.type(taken.op) != "GatherV2" or view.inputs(taken.op)[1] != view.inputs(stitch.op)[part]:
            return None
        if view.number(view.inputs(taken.op)[2]) != 0:
            return None
        wholes.add(view.inputs(taken.op)[0])
    return wholes.pop() if len(wholes) == 1 else None


def _stitch_of(view: GraphView, steps: Sequence[Update], stitches: Sequence[Stitch]) -> Stitch | None:
    """Return the stitch whose gathers have the indices by which the parts are updated."""
    indices = [view.behind(step.gradients[0][1], _SHAPED) for step in steps]
    for stitch in stitches:
        if indices == [view.inputs(gather)[1] for gather in stitch.gathers]:
            return stitch
    return None


def _same(view: GraphView, left: Any, other: Any) -> bool:
    """Whether two numbers or tensors are computed alike: Adam computes its learning rate separately for each part."""
    if not isinstance(left, Tensor) or not isinstance(other, Tensor) or left == other:
        return bool(left == other)
    if left.output != other.output or view.type(left.op) != view.type(other.op):
        return False
    if view.type(left.op) not in _PURE or view.controls(left.op) != view.controls(other.op):
        return False
    if view.type(left.op) == "Const":
        return bool(view.nodes[left.op].attr["value"] == view.nodes[other.op].attr["value"])
    inputs = zip(view.inputs(left.op), view.inputs(other.op), strict=True)
    return all(_same(view, *pair) for pair in inputs)


_PURE = ("Const", "Identity", "ReadVariableOp", "Add", "AddV2", "Sub", "Mul", "RealDiv", "Sqrt", "Neg", "Pow", "Cast")
