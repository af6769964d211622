"""Reads of a whole matrix on which a loss may depend: softmax over all items, products, graph propagation.

Such a read becomes a lookup of all ids, so each row gets the gradient that the variable gave it. It is exact, but a
table gains nothing from it: the user decides.
"""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange, Creation, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.inner_graphs import in_branch, run_apart
from migrate.source.tensorflow.facts.calls.tensor_functions import COMPUTING
from migrate.source.tensorflow.facts.variables.whole_reads import (
    RULE,
    all_rows_of,
    may_be_number,
    outer_use,
    shown_use,
    value_read,
)

#: The rows of `RULE` that such a read is reported by: its gradient has all rows, or it may have some, as its users do.
TRAINED, IN_PART = "trained", "trained-in-part"
#: Functions that read some rows, whose gradient names these, and copies, which other rules read.
_NAMING = frozenset({"boolean_mask", "convert_to_tensor", "gather", "gather_nd", "identity", "nn.embedding_lookup"})
#: Functions that hand a gradient of some rows on as it is: `tf.gather(tf.concat([W, V], 0), ids)`.
_PASSED = """
    add_n broadcast_to cast concat negative pad repeat reverse scatter_nd slice sort split
    squeeze stack stop_gradient strided_slice tensor_scatter_nd_update unstack where
"""
_PASSING = frozenset(_PASSED.split())


def trained_read(file: File, node: cst.BaseExpression, creation: Creation) -> Blocker | None:
    """Return the doubt about a mention of a table that computes with all rows; None for other uses."""
    if "all_rows" not in file.target.functions or not _may_be_read(creation) or _is_inside(file, node):
        return None
    read = value_read(file, node)
    if read is None or not _is_computed_with(file, read) or may_be_number(file, node):
        return None
    source = file.tree.source(node)
    change = CodeChange(read, all_rows_of(source, creation, trainable=True))
    around = outer_use(file, read)
    whole = file.tree.parent(around) if isinstance(around, cst.Arg) else around
    key = IN_PART if _passes_rows(file, whole) else TRAINED
    return blocker(whole or read, RULE, key, changes=(change,), text=shown_use(file, read), source=source)


def _passes_rows(file: File, use: cst.CSTNode | None) -> bool:
    """True if the gradient of the matrix may be one of some rows, as that of what is computed from it."""
    if isinstance(use, cst.Call):
        return file.names.of(use.func) in _PASSING
    return isinstance(use, cst.UnaryOperation)


def reads_of(table: Table) -> list[Blocker]:
    """Return the doubts of a table about its reads in a loss."""
    return [one for one in table.blockers if one.rule == RULE and one.key in {TRAINED, IN_PART}]


def check_ranks(tables: list[Table]) -> None:
    """Block the tables for which the same code reads a matrix of one and a vector of another."""
    ranks: dict[int, set[int]] = {}
    for table in tables:
        for use in _reads(table):
            ranks.setdefault(id(use.changes[0].node), set()).add(table.creation.rank)
    for table in tables:
        for use in [one for one in _reads(table) if len(ranks[id(one.changes[0].node)]) > 1]:
            table.blockers.append(blocker(use.node, RULE, "differing-ranks"))


def _reads(table: Table) -> list[Adaptation | Blocker]:
    """Return the uses of a table that become `all_rows`."""
    uses: list[Adaptation | Blocker] = [*table.adaptations, *table.blockers]
    return [use for use in uses if use.rule == RULE and use.changes]


def _may_be_read(creation: Creation) -> bool:
    """True for a table with a known number of rows that is always trained."""
    return creation.rank in {1, 2} and not creation.target_function and creation.trainable is None


def _is_inside(file: File, node: cst.BaseExpression) -> bool:
    """True for code of an inner graph, where a table cannot be looked up for training in all cases."""
    return run_apart(file, node) is not None or in_branch(file, node) is not None


def _is_computed_with(file: File, read: cst.BaseExpression) -> bool:
    """True if an op computes another value from the matrix, and does nothing else with it."""
    around = outer_use(file, read)
    if isinstance(around, cst.Arg):
        call = file.tree.parent(around)
        return not around.star and isinstance(call, cst.Call) and file.names.of(call.func) in COMPUTING - _NAMING
    formats = isinstance(around, cst.BinaryOperation) and isinstance(around.operator, cst.Modulo)
    own = isinstance(around, cst.Subscript) and around.value is read
    return own or (not formats and isinstance(around, (cst.BinaryOperation, cst.UnaryOperation)))
