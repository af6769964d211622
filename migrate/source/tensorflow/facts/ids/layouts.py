"""How the ids of a bucketing become apart: what its code becomes, and what its table is created with.

An op that gives wide ids gets another name; beside it, one of the old name gives the buckets, since a program, or
another one that loads its graph, may read them by that.

There are three ways that ids divide: into rows that are all buckets; into the last rows, behind the words of a table of
words; and into the first rows, in front of the words of a layer of Keras.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.flow import Constant
from migrate.source.tensorflow.base.arguments import bind, by_keyword, is_none, literal, method_of, number, string
from migrate.source.tensorflow.base.bindings import binders
from migrate.source.tensorflow.base.known_shapes import is_int64, known_number
from migrate.source.tensorflow.base.model import CodeChange
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.base.value_flow import flow_of, makers, symbols_of
from migrate.source.tensorflow.facts.ids.bounds import DIVIDING, Bound
from migrate.source.tensorflow.facts.ids.bucket_readers import OtherReader
from migrate.source.tensorflow.facts.ids.vocabularies import asked_layer, count_text, is_count, is_global, known_count
from migrate.source.tensorflow.facts.references.reads_by_name import reads_by_name
from migrate.source.tensorflow.facts.variables.table_names import pattern

#: Functions that give numbers with a fraction, those that do if they are not asked for others, and those of any type.
_FLOATING, _PARSING = {"to_float", "to_double"}, {"string_to_number", "to_number"}
_TYPED = {"cast", "bitcast", "constant", "placeholder", "sparse_placeholder", "convert_to_tensor", "Input"}
_OTHER_NUMBERS = {"uint64", "float16", "bfloat16", "float32", "float64", "half", "double"}


def size_text(file: File, bound: Bound) -> str:
    """Return the number of buckets, as the source has it."""
    assert bound.size is not None
    is_default = bound.words is not None and bound.words.layer is not None and isinstance(bound.size, cst.Integer)
    return bound.size.value if is_default and isinstance(bound.size, cst.Integer) else file.tree.one_line(bound.size)


def base_argument(file: File, bound: Bound, rows: cst.BaseExpression) -> str:
    """Return the argument `base_buckets` of a table; "" where it is not known that it has so many rows."""
    assert bound.size is not None
    words, text = bound.words, file.tree.source(rows)
    if not is_repeatable(rows) and (words is None or words.layer is None):
        return ""
    if words is None:
        return text if is_same_number(file, bound.size, rows) else ""
    if words.layer is not None:
        if (layer := asked_layer(file, rows, words)) is not None:
            return f"{file.tree.source(layer)}.buckets"
        is_shown = beyond(file, bound, rows) and size_text(file, bound).isdigit()
        return f"Buckets({size_text(file, bound)}, {int(words.masked)}, {text})" if is_shown else ""
    return _behind(file, bound, rows)


def _behind(file: File, bound: Bound, rows: cst.BaseExpression) -> str:
    """Return the argument of a table whose last rows are the buckets, behind words."""
    assert bound.size is not None and bound.words is not None
    count, known = number(known_number(file, bound.size)), number(known_number(file, rows))
    words = known_count(file, bound.words)
    if words is not None and count is not None and known is not None:
        return f"Buckets({count}, {words})" if known == words + count else ""
    for total in (rows, *makers(file, rows)):
        if isinstance(total, cst.BinaryOperation) and isinstance(total.operator, cst.Add):
            for first, last in ((total.left, total.right), (total.right, total.left)):
                if is_same_number(file, last, bound.size) and is_count(file, first, bound.words):
                    if total is rows:
                        return f"Buckets({file.tree.source(last)}, {file.tree.source(first)})"
                    return f"Buckets({count}, {file.tree.source(rows)} - {count})" if count is not None else ""
    return ""


def beyond(file: File, bound: Bound, rows: cst.BaseExpression | None) -> str:
    """Return a number of rows as an expression where a layer of Keras is made; "" if there is none."""
    assert bound.words is not None and bound.words.layer is not None
    known = None if rows is None else known_number(file, rows)
    if known is not None:
        return file.tree.source(known)
    here = rows is not None and file.tree.module_of(rows) is file.tree.module_of(bound.words.layer)
    return file.tree.source(rows) if rows is not None and here and is_global(file, rows) else ""


def widened(file: File, bound: Bound, rows: cst.BaseExpression | None) -> list[CodeChange]:
    """Return the changes of the code that makes ids, with which they are apart."""
    assert bound.size is not None
    if bound.words is not None and bound.words.layer is not None:
        return [_layer_changed(file, bound, rows)]
    operand, size = bound.operand, bound.size
    is_keras = operand is not None and is_symbolic(file, operand)
    behind = "" if bound.words is None else count_text(file, bound.words, size)

    def text(fresh: Fresh, items: Sequence[str]) -> str:
        if behind:
            return f"{fresh.imports('Buckets')}({items[0]}, {behind}).widest"
        wide = f"{fresh.imports('wide_buckets')}({items[0]})"
        return f"int({wide})" if is_keras else wide  # operators of Keras 3 take no class of integers but Python's own

    changes = [CodeChange(size, text, takes=size, early=True)]
    if operand is not None and not is_int64(file, operand):
        tf = file.part(operand).names.v1_prefix.split(".compat")[0]
        wide = CodeChange(operand, lambda _, items: f"{tf}.cast({items[0]}, {tf}.int64)", takes=operand, early=True)
        changes.append(wide)
    return changes


def _layer_changed(file: File, bound: Bound, rows: cst.BaseExpression | None) -> CodeChange:
    """Return the change of a call that makes a layer of Keras to that of the runtime's layer."""
    assert bound.words is not None and bound.words.layer is not None
    call = bound.words.layer
    func, name = file.tree.source(call.func), (file.names.of(call.func) or "").rpartition(".")[2]
    asked = rows is not None and asked_layer(file, rows, bound.words) is not None
    more = "" if asked else f"beyond={beyond(file, bound, rows)}"

    def text(fresh: Fresh, items: Sequence[str]) -> str:
        arguments = items[0][len(func) :].strip()
        if more:
            inner = arguments[:-1].rstrip().rstrip(",")
            arguments = f"{inner}{'' if inner == '(' else ', '}{more})"
        return f"{fresh.imports(name)}{arguments}"

    return CodeChange(call, text, takes=call, early=True)


def is_symbolic(file: File, node: cst.BaseExpression) -> bool:
    """True for an input of a model of Keras 3, which functions of TensorFlow do not take."""
    return bool(symbols_of(flow_of(file).values(node)) & {"keras.Input", "keras.layers.Input"})


def is_other_number(file: File, node: cst.BaseExpression) -> bool:
    """True if the text shows numbers that tf.int64 does not hold: with a fraction, or of uint64."""
    for call in (one for one in (node, *makers(file, node)) if isinstance(one, cst.Call)):
        name = (file.names.of(call.func) or "").rpartition(".")[2]
        kinds = {(file.names.of(arg.value) or str(literal(arg.value))).rpartition(".")[2] for arg in call.args}
        is_fraction = name in _FLOATING or (name in _PARSING and not kinds & {"int32", "int64"})
        if is_fraction or (name in _TYPED and kinds & _OTHER_NUMBERS):
            return True
    return False


def is_same_number(file: File, first: cst.BaseExpression, second: cst.BaseExpression) -> bool:
    """True if two sizes are surely the same number."""
    known = number(known_number(file, first)), number(known_number(file, second))
    if None not in known:
        return known[0] == known[1]
    if file.tree.source(first) != file.tree.source(second) or not is_repeatable(first):
        return False
    bound = [binders(file.part(node).tree, node) for node in (first, second)]
    if isinstance(first, cst.Name):
        return bound[0] == bound[1] and len(bound[0]) == 1
    return not any(isinstance(value, Constant) for value in flow_of(file).values(first))


#: Functions whose result is the only output of an op of the name that they are given, with their parameters.
_NAMED = {
    **{name: parameters for name, (parameters, *_) in DIVIDING.items() if name != "sparse.cross_hashed"},
    **dict.fromkeys(("identity", "stop_gradient"), ("input", "name")),
    **dict.fromkeys(("expand_dims", "squeeze"), ("input", "axis", "name", "dim", "squeeze_dims")),
    **dict.fromkeys(("concat", "stack"), ("values", "axis", "name")),
    "cast": ("x", "dtype", "name"),
    "reshape": ("tensor", "shape", "name"),
    "slice": ("input_", "begin", "size", "name"),
    "tile": ("input", "multiples", "name"),
    "to_int64": ("x", "name"),
    "transpose": ("a", "perm", "name", "conjugate"),
}
#: What ops are called that get no name, where that is not the name of their function, in one of its spellings.
_DEFAULTS = {"floormod": "FloorMod|mod", "mod": "FloorMod|mod", "cross_hashed": "SparseCross", "lookup": ".*_Lookup"}
_LITERAL = re.compile(r"\d+|Buckets\(\d+(, \d+)*\)")


def reader_by_name(file: File, bound: Bound, nodes: Sequence[cst.BaseExpression], argument: str) -> OtherReader | None:
    """Return code that names buckets, or reads them by a name, where no other op of that name can give them.

    Args:
        file: the program.
        bound: what makes the buckets.
        nodes: the code that makes them, and that which hands them on to lookups.
        argument: the argument `base_buckets` of their table.
    """
    labels: list[str] = []
    for node in nodes:
        if not _is_named(file, node):
            labels += _labels(file, node)
        elif not _buckets(file, bound, node, argument):
            return OtherReader(node, "named")
    for read, shown in reads_by_name(file) if labels else ():
        parts = [re.sub(r"_\d+$", "", part) for part in (string(read) or "").partition(":")[0].split("/")]
        if any(re.fullmatch(label, part) for label in labels for part in parts):
            return OtherReader(shown, "other-reader")
    return None


def names_kept(file: File, bound: Bound, nodes: Sequence[cst.BaseExpression], argument: str) -> Iterator[CodeChange]:
    """Yield the changes of calls that name their results: the buckets keep these names."""
    for node in nodes:
        if isinstance(node, cst.Call) and _is_named(file, node):
            yield _kept(node.func, _buckets(file, bound, node, argument))


def _kept(function: cst.BaseExpression, buckets: str) -> CodeChange:
    def text(fresh: Fresh, items: Sequence[str]) -> str:
        is_class = buckets.startswith("Buckets(")
        divided = fresh.imports("Buckets") + buckets.removeprefix("Buckets") if is_class else buckets
        return f"{fresh.imports('naming_buckets')}({items[0]}, {divided})"

    return CodeChange(function, text, takes=function, early=True)


def _is_named(file: File, node: cst.BaseExpression) -> bool:
    """True for a call whose result is the only output of an op of the name that it gives."""
    parameters = _NAMED.get(file.names.of(node.func) or "", ()) if isinstance(node, cst.Call) else ()
    bound = bind(node, parameters) if isinstance(node, cst.Call) and parameters else None
    return bound is not None and not is_none(bound.get("name"))


def _labels(file: File, node: cst.BaseExpression) -> Iterator[str]:
    """Yield patterns of the names that the op of an expression, or the scope of its ops, may have."""
    if isinstance(node, cst.BinaryOperation):
        yield _DEFAULTS["mod"]
    elif isinstance(node, cst.Subscript):
        yield "strided_slice"
    elif isinstance(node, cst.Call):
        name = (file.names.of(node.func) or "").rpartition(".")[2]
        last = name or (method_of(node) if method_of(node) in _DEFAULTS else "")
        if (own := by_keyword(node, "name")) is not None:
            yield pattern(file, own.value)
        elif last:
            title = "".join(part[:1].upper() + part[1:] for part in last.split("_"))
            snake = re.sub("(?<=[a-z])(?=[A-Z])", "_", last).lower()
            yield _DEFAULTS.get(last, f"{last}|{snake}|(String)?{title}(V2)?")


def _buckets(file: File, bound: Bound, node: cst.BaseExpression, argument: str) -> str:
    """Return how the ids that a call gives divide, as an expression for the code around it; "" if there is none."""
    size, words = bound.size, bound.words
    assert size is not None
    known = number(known_number(file, size))
    same = file.tree.module_of(size) is file.tree.module_of(node) and (
        file.tree.enclosing(size, cst.FunctionDef) is file.tree.enclosing(node, cst.FunctionDef)
    )
    behind = "" if words is None or words.layer is not None else count_text(file, words, size)
    if same and is_repeatable(size) and (words is None or behind):
        return f"Buckets({file.tree.source(size)}, {behind})" if behind else file.tree.source(size)
    if words is None and known is not None:
        return str(known)
    return argument if _LITERAL.fullmatch(argument) else ""
