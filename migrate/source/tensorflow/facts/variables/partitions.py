"""Partitioned variables: they become one table if all lookups read the same row for an id.

The initial values must not depend on the partition either. With `mod`, the default in v1, an id i reads row i // n of
partition i % n; with `div`, partitions hold consecutive ranges of ids.
"""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, is_none
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.initializers import FANS, VARIANCE_SCALING
from migrate.source.tensorflow.base.model import Creation, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.variable_scopes import PARAMETERS

DROPPED = "the partitioner is dropped: a table is not split by row ranges"
OTHER_ORDER = "by `mod`, the default in v1, rows of an old checkpoint are not in the order of their ids"
#: Place of the partitioner among the arguments of `tf.get_variable`.
_PLACE = 8
#: Initializers whose fan is that of one partition; other v1 initializers use the fan of the whole variable.
OF_PARTS = {"xavier_initializer", "contrib_variance_scaling_initializer"}


def is_partitioned(file: File, creation: Creation) -> bool:
    """True if the variable, or any scope of the file, has a partitioner; scopes act on columns, too."""
    if creation.naming.unique:
        return bool(creation.target_function) and _is_partitioned_by_scope(file)
    own = any(_is_partitioner(arg, position) for position, arg in enumerate(creation.call.args))
    return own or _is_partitioned_by_scope(file)


def _is_partitioned_by_scope(file: File) -> bool:
    scopes = (bind(call, PARAMETERS) or {} for call, _ in file.calls("variable_scope"))
    partitioned = any("partitioner" in bound and not is_none(bound["partitioner"]) for bound in scopes)
    return partitioned or "set_partitioner" in file.tree.attributes


def _is_partitioner(arg: cst.Arg, place: int) -> bool:
    named = arg.keyword.value == "partitioner" if arg.keyword is not None else place == _PLACE
    return named and not is_none(arg)


def check_parts(file: File, table: Table) -> None:
    """Block a partitioned variable whose lookups differ in the row that they read for an id."""
    if not table.lookups or not is_partitioned(file, table.creation):
        return
    ways = sorted({lookup.strategy for lookup in table.lookups})
    table.creation.notes += [DROPPED] if ways == ["div"] else [DROPPED, OTHER_ORDER]
    if len(ways) > 1:
        node, rule = table.lookups[0].call, table.lookups[0].rule
        named = " and ".join("the default" if way == "default" else f"`{way}`" for way in ways)
        table.blockers.append(blocker(node, rule, "parts-differ", named=named))


def takes_fan_of_part(file: File, value: cst.BaseExpression) -> bool:
    """True for an initializer whose bound, in a partitioned variable, depends on the shape of one partition."""
    name = file.names.of(value.func if isinstance(value, cst.Call) else value) or ""
    return name in OF_PARTS or (name.startswith("keras.") and name in {*FANS, *VARIANCE_SCALING})
