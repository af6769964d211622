"""Calls of unanalysed libraries next to tables; such a library may list or train variables by itself."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import libcst as cst

from migrate.source.flow import Function, Member, Result, Symbol, Value, ValueFlow
from migrate.source.tensorflow.base.model import Blocker, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, root_of, sources, symbol_of
from migrate.source.tensorflow.base.visited import reached

#: Libraries that do not access TensorFlow variables.
LIBRARIES = sys.stdlib_module_names | {
    "absl", "boto3", "click", "cv2", "dateutil", "faiss", "fire", "gensim", "google", "h5py", "jieba", "joblib",
    "kafka", "lightgbm", "matplotlib", "msgpack", "networkx", "nltk", "numba", "numpy", "pandas", "PIL", "plotly",
    "psutil", "pyarrow", "pymysql", "pyspark", "pytest", "pytz", "redis", "requests", "scipy", "seaborn", "simplejson",
    "six", "sklearn", "sqlalchemy", "statsmodels", "tabulate", "termcolor", "tqdm", "ujson", "xgboost", "yaml",
}  # fmt: skip
#: Functions of tf_slim that make layers, whose variables are in the collections as others, and do nothing else.
LAYERS = re.compile(
    r"tf_slim\.(layers\.)?(fully_connected|conv2d|convolution|max_pool2d|avg_pool2d|dropout|flatten|layer_norm|linear|relu"
    r"|relu6|bias_add|one_hot_encoding|unit_norm)"
)
RULE = "tf-surroundings"


def library_calls(file: File, tables: Sequence[Table]) -> Iterator[Blocker]:
    """Yield a blocker for each library function that a file of a program with tables calls, once per function."""
    creations = [table.creation.call for table in tables]
    own = [call for call in creations if file.tree.related(call, file.tree.module)]
    reported: set[str] = set()
    for call in file.tree.calls if own else ():
        name = _library(file, call)
        if name and name not in reported and _is_beside(file, call, own):
            reported.add(name)
            text = file.tree.one_line(call.func)
            yield blocker(call, RULE, "unread-library", text=text)


def _library(file: File, call: cst.Call) -> str:
    """Return the full name of a function of an unanalysed library; empty for any other call.

    The program gets at it by an import, or by what it handed on: an argument, an attribute, another name.
    """
    if file.names.of(call.func) is not None or file.tree.is_inside(call.func):
        return ""
    imported, shadowed = file.tree.imported_names(call.func)
    if len(imported) != 1 or shadowed:
        imported = frozenset(one.name for one in flow_of(file).values(call.func) if isinstance(one, Symbol))
    return next((name for name in sorted(imported) if _is_unread(file, call, name)), "")


def _is_unread(file: File, call: cst.Call, name: str) -> bool:
    """True for a name of a library that may do anything, and that the project does not hold."""
    parts = name.strip(".").split(".")
    if LAYERS.fullmatch(name) is not None:
        return False
    if not name or name.startswith(".") or parts[0] in {*LIBRARIES, "tensorflow"}:
        return False
    link = file.part(call).tree.link
    if link is not None and link.defines(name):
        return False
    paths = [Path(path).with_suffix("") for path in (link.not_given() if link is not None else ())]
    return not any({path.name, path.parent.name} & set(parts) for path in paths)


def _is_beside(file: File, call: cst.Call, creations: Sequence[cst.Call]) -> bool:
    """True for a call that receives a part of the graph, or whose effect or result is used after a table is created."""
    if any(_is_of_graph(file, arg.value) for arg in call.args):
        return True
    function = file.tree.enclosing(call, cst.FunctionDef)
    beside = (one for one in creations if file.tree.enclosing(one, cst.FunctionDef) is function)
    after = any(file.tree.stands_before(one, call) for one in beside)
    around = file.tree.parent(call)
    if isinstance(around, cst.Arg):
        outer = file.tree.parent(around)
        return after and isinstance(outer, cst.Call) and file.names.of(outer.func) is not None
    return after and isinstance(around, (cst.Expr, cst.BinaryOperation, cst.AugAssign))


def _is_of_graph(file: File, node: cst.BaseExpression) -> bool:
    """True for a value that TensorFlow created, or what holds one: a tensor, an optimizer, a model that has tables."""
    flow = flow_of(file)
    values = [value for one in reached(node, lambda whole: _operands(file, whole)) for value in flow.values(one)]
    inside = (part for value in values for part in reached(value, lambda whole: _inside(flow, whole)))
    return any(symbol_of(root_of(value)) is not None for value in inside if isinstance(value, (Member, Result)))


def _inside(flow: ValueFlow, value: Value) -> list[Value]:
    """Return what a value holds, or what a lambda returns."""
    if isinstance(value, Function) and isinstance(value.node, cst.Lambda):
        return flow.values(value.node.body)
    return flow.entries(value)


def _operands(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the operands from which an operator computes `node`."""
    operations = [one for one in sources(file, node) if isinstance(one, cst.BinaryOperation)]
    return [side for one in operations for side in (one.left, one.right)]
