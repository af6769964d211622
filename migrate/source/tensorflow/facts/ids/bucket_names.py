"""Names of ops that give buckets: a program, or another one that loads its graph, may read these by them.

An op that gives wide ids gets another name; beside it, one of the old name gives the buckets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, by_keyword, is_none, method_of, number, string
from migrate.source.tensorflow.base.known_shapes import known_number
from migrate.source.tensorflow.base.model import CodeChange
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.facts.ids.bounds import DIVIDING, Bound
from migrate.source.tensorflow.facts.ids.bucket_readers import OtherReader
from migrate.source.tensorflow.facts.ids.vocabularies import count_text
from migrate.source.tensorflow.facts.references.reads_by_name import reads_by_name
from migrate.source.tensorflow.facts.variables.variable_reuse import pattern

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
