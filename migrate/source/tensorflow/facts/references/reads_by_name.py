"""What a program reads of its graph, or of checkpoints, by names: fetches, hooks, readers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.arguments import method_of, string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.rule_kinds import File

#: Methods of graphs, estimators and checkpoint readers that take a name.
METHODS = {
    "as_graph_element", "get_operation_by_name", "get_tensor", "get_tensor_by_name", "get_variable_value", "has_tensor",
}  # fmt: skip
FUNCTIONS = {"train.load_variable", "contrib.framework.load_variable"}
_OUTPUT = re.compile(r"(?!/).*:\d+")  # `/CPU:0` is a device
#: The name, and the code that shows what is read.
Read = tuple[cst.BaseExpression, cst.BaseExpression]


def reads_by_name(file: File) -> list[Read]:
    """Return the names that the file reads by, as far as they are passed to known functions or name an output."""
    return list({id(node): (node, shown) for node, shown in (*_asked(file), *_outputs(file))}.values())


def _outputs(file: File) -> Iterator[Read]:
    """Yield the strings of the file that name the output of an operation: hooks and `run` may fetch them."""
    for text in file.tree.strings:
        if _OUTPUT.fullmatch(string(text) or ""):
            whole: cst.BaseExpression = text
            for around in file.tree.ancestors(text):
                formats = isinstance(around, cst.Call) and file.tree.contains(around.func, text)
                if isinstance(around, cst.BinaryOperation) or (isinstance(around, cst.Call) and formats):
                    whole = around
                elif not isinstance(around, (cst.Attribute, cst.Tuple, cst.Element)):
                    break
            yield whole, whole


def _asked(file: File) -> Iterator[Read]:
    """Yield the names that are passed to functions that read by name, and the calls."""
    for call in file.tree.calls:
        name = file.names.of(call.func)
        method = method_of(call)
        if name in FUNCTIONS and len(call.args) > 1:
            yield resolve(file.tree, call.args[1].value), call
        elif method in METHODS and call.args:
            yield resolve(file.tree, call.args[0].value), call
        elif method in {"run", "eval"} and call.args and isinstance(call.args[0].value, cst.FormattedString):
            yield call.args[0].value, call
