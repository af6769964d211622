"""Programs whose dataset can supply the ids: each lookup gets a specification, and the graph is not modified.

The dataset's elements must be dicts, since the SDK adds an entry to them, and the program must not notice that entry:
it may read the batch by literal keys only. If the source does not show this, ids are found by modifying the graph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.syntax.node_index import CONDITIONAL
from migrate.source.tensorflow.base.bindings import is_target, resolve
from migrate.source.tensorflow.base.model import Lookup, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.calls.variable_scopes import in_loop
from migrate.source.tensorflow.facts.ids.sessions import hooked, iterators, main_block
from migrate.source.tensorflow.facts.references.containers import entry_key
from migrate.source.tensorflow.facts.references.table_values import others, table_values

#: Nodes that may skip the code inside them.
BRANCHES = (*CONDITIONAL, cst.IfExp, cst.BooleanOperation)
DEPTH = 6


@dataclass(frozen=True)
class Feature:
    """The ids of one lookup, as an entry of the batch."""

    lookup: Lookup
    table: str
    key: str
    batch: str  #: the expression of the batch at the lookup


@dataclass(frozen=True)
class Pipeline:
    """A dataset that supplies the ids of all lookups."""

    iterator: cst.Call
    dataset: cst.BaseExpression
    features: list[Feature] = field(default_factory=list)

    def of(self, lookup: Lookup) -> int | None:
        """Return the index of the feature that a lookup reads."""
        return next((number for number, one in enumerate(self.features) if one.lookup.call is lookup.call), None)


def find_pipeline(file: File, moving: Sequence[Table], plain: bool) -> Pipeline | None:
    """Return the dataset that can supply all ids, or None if the source does not show its complete use.

    `plain` states that the program has a plain session with a place for new statements before it; a session with hooks
    serves as well.
    """
    read = [c for c in file.tree.calls if isinstance(c.func, cst.Attribute) and c.func.attr.value == "get_next"]
    made = iterators(file)
    if len(file.program(file.tree.module)) > 1 or len(read) != 1 or len(made) != 1 or not (plain or hooked(file)):
        return None
    if file.calls("estimator.EstimatorSpec", "estimator.Estimator"):
        return None  # it may evaluate with another dataset
    dataset = _dataset(made[0])
    func = read[0].func
    if dataset is None or read[0].args or not isinstance(func, cst.Attribute):
        return None
    home = file.tree.enclosing(made[0], cst.FunctionDef)
    if resolve(file.tree, func.value) is not made[0] or not _once(file, made[0], home):
        return None
    entries = _entries(file, read[0])
    pipeline = Pipeline(made[0], dataset)
    for table in moving:
        for lookup in table.lookups:
            feature = _feature(file, table, lookup, entries)
            if feature is None or not _once(file, lookup.call, home):
                return None
            pipeline.features.append(feature)
    return pipeline if pipeline.features else None


def _dataset(iterator: cst.Call) -> cst.BaseExpression | None:
    """Return the dataset of `make_one_shot_iterator(dataset)` or `dataset.make_one_shot_iterator()`."""
    plain = [arg for arg in iterator.args if arg.keyword is None or arg.keyword.value == "dataset"]
    if len(iterator.args) == 1 and len(plain) == 1 and not plain[0].star:
        return plain[0].value
    return iterator.func.value if not iterator.args and isinstance(iterator.func, cst.Attribute) else None


def _entries(file: File, batch: cst.Call) -> list[cst.Subscript]:
    """Return the reads of a batch if all of them are entries with literal keys; else an empty list."""
    known = table_values(file, batch)
    found = [file.tree.parent(read) for read in known.reads]
    entries = [one for one in found if isinstance(one, cst.Subscript) and entry_key(one) is not None]
    written = any(is_target(file.tree, one) for one in entries)
    whole = len(entries) == len(found) and all(e.value is r for e, r in zip(entries, known.reads, strict=True))
    alone = not any(True for read in known.reads for _ in others(file, known, read))
    return entries if whole and not written and not known.blockers and not known.holders and alone else []


def _feature(file: File, table: Table, lookup: Lookup, entries: Sequence[cst.Subscript]) -> Feature | None:
    """Return the batch entry that a lookup uses, unmodified, as its ids; else None."""
    if lookup.rewrite is not None or lookup.ids is None:
        return None
    ids = resolve(file.tree, lookup.ids.value)
    key = entry_key(ids) if isinstance(ids, cst.Subscript) and any(ids is one for one in entries) else None
    here = file.tree.enclosing(lookup.call, cst.FunctionDef)
    if key is None or not isinstance(ids, cst.Subscript) or file.tree.enclosing(ids, cst.FunctionDef) is not here:
        return None
    plain = re.fullmatch(r"\w+", table.final_name) and key and '"' not in key and "\\" not in key
    return Feature(lookup, table.final_name, key, file.tree.source(ids.value)) if plain else None


def _once(file: File, node: cst.CSTNode, home: cst.FunctionDef | None, depth: int = DEPTH) -> bool:
    """True if `node` certainly runs once per run of `home`, directly or in functions that the module calls."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    block = main_block(file)
    for around in file.tree.ancestors(node):
        if around is function or around is block:
            break
        if isinstance(around, BRANCHES):
            return False
    if in_loop(file, node) or depth == 0:
        return False
    if function is home:
        return True
    calls = flow_of(file).calls(function) if function is not None and home is None else None
    return calls is not None and len(calls) == 1 and _once(file, next(iter(calls)), home, depth - 1)
