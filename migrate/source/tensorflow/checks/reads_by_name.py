"""Variables that are read by their names, under which a table has no rows to give."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.variables.variable_names import VariableName, variable_name
from migrate.source.tensorflow.facts.variables.variable_reuse import pattern

RULE = "tf-read-by-name"
#: Methods of graphs, estimators and readers of checkpoints that are given a name.
METHODS = {
    "as_graph_element",
    "get_operation_by_name",
    "get_tensor",
    "get_tensor_by_name",
    "get_variable_value",
    "has_tensor",
}
FUNCTIONS = {"train.load_variable", "contrib.framework.load_variable"}
#: The names that TensorFlow gives to lookups, by the end of the function.
DEFAULTS = {"gather": "Gather(V2)?"}
OUTPUT = re.compile(r"(?!/).*:\d+")  # `/CPU:0` is a device
Read = tuple[cst.BaseExpression, cst.BaseExpression]


def check_named_reads(file: File, tables: list[Table]) -> None:
    """Stop tables whose variables are read by name; a name that is computed is a doubt."""
    reads = list({id(node): (node, shown) for node, shown in (*_asked(file), *_outputs(file))}.values())
    for table in tables if reads else ():
        name = variable_name(file, table)
        for node, shown in reads:
            if not file.tree.related(node, table.creation.call):
                continue
            blocker = _blocker(file, name, node, shown) or _lookup_blocker(file, table, node, shown)
            table.blockers += [blocker] if blocker is not None else []


def _outputs(file: File) -> Iterator[Read]:
    """Yield the texts that name the output of an operation, wherever they stand: hooks and `run` may fetch them."""
    for text in file.tree.strings:
        if OUTPUT.fullmatch(string(text) or ""):
            whole: cst.BaseExpression = text
            for around in file.tree.ancestors(text):
                formats = isinstance(around, cst.Call) and file.tree.contains(around.func, text)
                if isinstance(around, cst.BinaryOperation) or (isinstance(around, cst.Call) and formats):
                    whole = around
                elif not isinstance(around, cst.Attribute | cst.Tuple | cst.Element):
                    break
            yield whole, whole


def _asked(file: File) -> Iterator[Read]:
    """Yield the names that are given to what reads by name, and the calls."""
    for call in file.tree.calls:
        name = file.names.of(call.func)
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if name in FUNCTIONS and len(call.args) > 1:
            yield resolve(file.tree, call.args[1].value), call
        elif method in METHODS and call.args:
            yield resolve(file.tree, call.args[0].value), call
        elif method in {"run", "eval"} and call.args and isinstance(call.args[0].value, cst.FormattedString):
            yield call.args[0].value, call


def _blocker(file: File, name: VariableName, node: cst.BaseExpression, shown: cst.BaseExpression) -> Blocker | None:
    text, given = " ".join(file.tree.source(shown).split())[:80], string(node)
    reason = "a table's rows are not in a variable of that name"
    if given is not None:
        if not name.is_meant_by(given):
            return None
        return Blocker(shown, RULE, f"`{text}` reads this variable by its name", reason, "look the rows up instead")
    if not name.fits(pattern(file, node)):
        return None
    assumption = "what is read by a computed name is none of the tables"
    action = "write the name out, or convert with --assume"
    return Blocker(shown, RULE, f"`{text}` may read this variable by its name", reason, action, assumption)


def _lookup_blocker(file: File, table: Table, node: cst.BaseExpression, shown: cst.BaseExpression) -> Blocker | None:
    """Stop a table when what one of its lookups gives is read by the name of an operation inside it."""
    given = string(node)
    for lookup in table.lookups if given is not None else ():
        own = next((a.value for a in lookup.call.args if a.keyword is not None and a.keyword.value == "name"), None)
        last = (file.names.of(lookup.call.func) or "").rpartition(".")[2]
        label = DEFAULTS.get(last, re.escape(last)) if own is None else pattern(file, own)
        if given is not None and re.fullmatch(rf"(.*/)?{label}(_\d+)?(/.*)?(:\d+)?", given) is not None:
            text = " ".join(file.tree.source(shown).split())[:80]
            reason = "the operations of a table's lookup have other names"
            action = "give the result a name of its own: `tf.identity(rows, name=...)`"
            return Blocker(shown, RULE, f"`{text}` reads this lookup by its name", reason, action)
    return None
