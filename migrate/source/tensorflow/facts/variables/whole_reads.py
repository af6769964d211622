"""Reads of a whole matrix that no loss can depend on: summaries, fetches, scores for evaluation.

The values that are computed from a read are followed forward. Each of their uses must be known: a function of
TensorFlow that computes another value, which is then followed, or an end that takes no gradient. Any other use may lead
to a loss.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from migrate.source.flow import Constant, Unknown, is_none
from migrate.source.tensorflow.base.model import Adaptation, CodeChange, Creation
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.execution_count import repeated
from migrate.source.tensorflow.facts.calls.inner_graphs import run_apart
from migrate.source.tensorflow.facts.calls.tensor_functions import COMPUTING, is_end
from migrate.source.tensorflow.facts.variables.followed_values import FETCHES, FollowedValues, fetches

RULE = "tf-all-rows"
KEPT = "no loss depends on it, and it is what it was while ids are below the number of rows"

#: Functions that give the shape of the variable, for which no row is read.
SIZES = frozenset({"rank", "shape", "size"})
#: Methods that give the value of a variable.
VALUES = frozenset({"read_value", "value"})
#: Where one of these is, a graph may take no more ops when a fetch runs, so the fetch cannot add its read.
CLOSING = ("MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession", "Supervisor", "finalize")
#: Methods that find a tensor of the graph by its name.
BY_NAME = ("as_graph_element", "get_operation_by_name", "get_operations", "get_tensor_by_name")
_DISPLAYS = cst.List | cst.Tuple | cst.Dict | cst.Set
_ENTRIES = cst.Element | cst.DictElement


def whole_read(file: File, node: cst.BaseExpression, creation: Creation) -> Adaptation | None:
    """Return the adaptation of a mention of a table that reads all rows apart from training; None for other uses."""
    if "all_rows" not in file.target.functions or not creation.rank or run_apart(file, node) is not None:
        return None
    read = value_read(file, node)
    if read is None or may_be_number(file, node) or _is_fed(file, read) or not _is_computed_with(file, read):
        return None
    if not _is_apart(file, read):
        return None
    fetched = _is_fetched(file, read)
    if fetched and (_is_closed(file, read) or _is_of_unknown(file, node)):
        return None
    source = file.tree.source(node)
    again = fetched and not _adds_once(file, read, creation)
    change = CodeChange(read, all_rows_of(source, creation, again=again))
    return Adaptation(read, RULE, f"`{shown_use(file, read)}` reads all rows of `{source}`", KEPT, (change,))


def all_rows_of(
    source: str, creation: Creation, *, trainable: bool = False, again: bool = False
) -> Callable[[Fresh, tuple[str, ...]], str]:
    """Return what writes the call that reads all rows of the table `source`.

    `again` is true where a session may fetch it several times, for which the graph needs one read.
    """
    given = [source, *(["trainable=True"] if trainable else [])]
    column = "[:, 0]" if creation.rank == 1 else ""
    if again:
        given += ["once=True", *(["vector=True"] if column else [])]
        column = ""
    return lambda fresh, _: f"{fresh.imports('all_rows')}({', '.join(given)}){column}"


def may_be_number(file: File, node: cst.BaseExpression) -> bool:
    """True if a mention of a table may also be a constant, which has no rows to read; None cannot be computed with."""
    return any(isinstance(value, Constant) and not is_none(value) for value in flow_of(file).values(node))


def outer_use(file: File, read: cst.BaseExpression) -> cst.CSTNode | None:
    """Return what is around a value, and around the lists and tuples that it is written in."""
    around = file.tree.parent(read)
    while isinstance(around, _ENTRIES | _DISPLAYS):
        around = file.tree.parent(around)
    return around


def shown_use(file: File, read: cst.BaseExpression) -> str:
    """Return the text of what uses the matrix, cut."""
    around = outer_use(file, read)
    user = file.tree.parent(around) if isinstance(around, cst.Arg) else around
    return file.tree.excerpt(user or read)


def _is_fed(file: File, read: cst.BaseExpression) -> bool:
    """True for a key of a dict: `sess.run(loss, {W: rows})` has other rows in the place of the variable's."""
    entry = file.tree.parent(read)
    return isinstance(entry, cst.DictElement) and entry.key is read


def value_read(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the expression whose value is the matrix: the mention itself, or a call of its method `value`."""
    around = file.tree.parent(node)
    if not isinstance(around, cst.Attribute) or around.value is not node:
        return node
    call = file.tree.call_of(around)
    if around.attr.value in VALUES and call is not None:
        return call if not call.args else None
    return node if around.attr.value in FETCHES else None


def _is_computed_with(file: File, read: cst.BaseExpression) -> bool:
    """True if the value is used: an op computes with it, or a session gives it. Else another rule knows the use."""
    around = outer_use(file, read)
    call = file.tree.call_with(around) if isinstance(around, cst.Arg) else None
    if call is not None:
        name = file.names.of(call.func)
        return name not in SIZES and (name in COMPUTING or (name is not None and is_end(name)) or fetches(call))
    formats = isinstance(around, cst.BinaryOperation) and isinstance(around.operator, cst.Modulo)
    return not formats and isinstance(around, cst.BinaryOperation | cst.UnaryOperation | cst.Subscript | cst.Attribute)


def _is_apart(file: File, read: cst.BaseExpression) -> bool:
    """True if every value that is computed from `read` ends where no gradient is taken, and at least one ends.

    A value that nothing uses is meant for code that is not seen.
    """
    trees = [part.tree for part in file.program(read)]
    if any(name in tree.attributes for tree in trees for name in BY_NAME):
        return False
    followed = FollowedValues(file)
    list(reached(read, followed.next))
    return followed.known and followed.ends


def _is_fetched(file: File, read: cst.BaseExpression) -> bool:
    """True if the matrix itself is fetched, so that its read is built where the session runs."""
    for around in file.tree.ancestors(read):
        if isinstance(around, cst.Call):
            return fetches(around)
        if not isinstance(around, cst.Arg | cst.Attribute | _ENTRIES | _DISPLAYS):
            return False
    return False


def _is_of_unknown(file: File, node: cst.BaseExpression) -> bool:
    """True for an attribute of an object that code which is not seen gives: it may be one with another variable."""
    values = flow_of(file).values(node.value) if isinstance(node, cst.Attribute) else []
    return any(isinstance(one, Unknown) for one in values)


def _is_closed(file: File, read: cst.BaseExpression) -> bool:
    """True if the graph of a fetch may take no more ops when the session runs."""
    trees = [part.tree for part in file.program(read)]
    return any(name in tree.attributes or name in tree.names for tree in trees for name in CLOSING)


def _adds_once(file: File, read: cst.BaseExpression, creation: Creation) -> bool:
    """True if a fetch runs once for a table, in the only graph of the program."""
    function = file.tree.enclosing(read, cst.FunctionDef)
    beside = function is file.tree.enclosing(creation.call, cst.FunctionDef)
    is_open = isinstance(function, cst.FunctionDef) and not beside and flow_of(file).is_open(function)
    return not (is_open or repeated(file, read, skips=False) or file.calls("Graph", "reset_default_graph"))
