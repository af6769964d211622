"""What bounds the ids of a table, as far as the text shows it: buckets of a hash or a remainder, vocabularies, ranges.

A table has a row for each id that it sees, but never sees more than the code before its lookups makes. Where the text
does not show where ids come from, no guess is made: a run counts them (`migrate trial`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import Computed, Constant, Holder, Member, Result, Unknown, Value
from migrate.source.tensorflow.base.arguments import bind, number
from migrate.source.tensorflow.base.known_shapes import known_number
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, makers, symbol_of
from migrate.source.tensorflow.facts.ids.vocabularies import (
    LOOKUP_LAYERS,
    Words,
    words_of_column,
    words_of_layer,
    words_of_table,
)
from migrate.source.tensorflow.facts.variables.column_names import PARAMETERS, categories_of

#: Functions that hash into buckets, or divide by their number: their parameters, that of the number, and a verb.
_HASH = (("input", "num_buckets", "name", "key"), "num_buckets", "hashed")
_MOD = (("x", "y", "name"), "y", "divided")
_CROSS = (("inputs", "num_buckets", "hash_key", "name"), "num_buckets", "hashed")
_DIVIDING = {
    **{f"strings.to_hash_bucket{kind}": _HASH for kind in ("", "_fast", "_strong")},
    **{f"string_to_hash_bucket{kind}": _HASH for kind in ("", "_fast", "_strong")},
    **dict.fromkeys(("floormod", "mod", "math.floormod", "math.mod"), _MOD),
    "sparse.cross_hashed": _CROSS,
}
#: Layers of Keras that hash, and others that look ids up; by the last part of their names.
_HASHING = {"Hashing", "HashedCrossing"}
#: Their arguments with which the buckets are those of a plain hash.
_LEAVING_BUCKETS = {"num_bins", "salt", "name", "dtype", "trainable"}
_LISTING = {**dict.fromkeys((*LOOKUP_LAYERS, "TextVectorization"), "a vocabulary"), "Discretization": "boundaries"}
#: Functions that hand ids on, with the position and the name of the argument that they are.
HANDS_ON = {
    **dict.fromkeys(("identity", "stop_gradient", "expand_dims", "squeeze"), (0, "input")),
    **dict.fromkeys(("reshape", "convert_to_tensor", "ragged.to_tensor"), (0, "tensor")),
    **dict.fromkeys(("cast", "to_int64", "unique", "transpose"), (0, "x")),
    **dict.fromkeys(("tile", "slice", "strided_slice"), (0, "input")),
    "SparseTensor": (1, "values"),
    "sparse.from_dense": (0, "tensor"),
    "concat": (0, "values"),
    "stack": (0, "values"),
}
#: Attributes of sparse and ragged tensors that hold the ids.
CARRYING = ("values", "flat_values")
_PARSED = ("parse_example", "parse_single_example", "parse_sequence_example", "decode_csv")
_COLUMNS = {
    "categorical_column_with_hash_bucket": "hash_bucket_size",
    "crossed_column": "hash_bucket_size",
    "categorical_column_with_identity": "num_buckets",
    "categorical_column_with_vocabulary_list": "",
    "categorical_column_with_vocabulary_file": "",
    "bucketized_column": "",
}


@dataclass(frozen=True)
class Bound:
    """Code that bounds ids."""

    node: cst.BaseExpression  #: a call, or the operation `x % n`
    text: str
    #: the number of buckets, where the code can hash or divide by another one
    size: cst.BaseExpression | None = None
    operand: cst.BaseExpression | None = None  #: what is divided, which may be of 32 bits
    words: Words | None = None  #: the vocabulary beside whose words the buckets are


@dataclass(frozen=True)
class Bounds:
    """All that the text shows of where the ids of a table come from."""

    sources: tuple[Bound, ...] = ()
    free: bool = False  #: some ids are as the data has them
    unknown: bool = False  #: the text does not show where some ids come from

    @property
    def growth(self) -> str:
        """Whether the table can grow, as in a TableRecord."""
        if self.free:
            return "free"
        return "bounded" if self.sources and not self.unknown else "unknown"

    @property
    def text(self) -> str:
        """What bounds the ids, in words; "" where nothing is known to."""
        return "; ".join(dict.fromkeys(one.text for one in self.sources))


def bounds_of(file: File, table: Table) -> Bounds:
    """Return what bounds the ids of a table, or of the table of an embedding column."""
    if table.creation.emitted:
        return bounds_of_column(file, table.creation.call)
    read = [lookup.ids.value for lookup in table.lookups if lookup.ids is not None]
    bounds = bounds_of_ids(file, read)
    return bounds if len(read) == len(table.lookups) else Bounds(bounds.sources, bounds.free, True)


def growth(bounds: Bounds, given_up: str) -> tuple[str, str]:
    """Return `growth` and `bound` of a TableRecord; `given_up` is the number of buckets that ids give up, if any."""
    return ("free", "") if given_up else (bounds.growth, bounds.text)


def bounds_of_column(file: File, column: cst.Call) -> Bounds:
    """Return what bounds the ids of the categories of an embedding column."""
    nodes = categories_of(file, column)
    bounds = [_of_category(file, call) for node in nodes for call in makers(file, node) or [node]]
    sources = tuple(one for one in bounds if one is not None)
    return Bounds(sources, unknown=not nodes or len(sources) < len(bounds))


def bounds_of_ids(file: File, nodes: Iterable[cst.BaseExpression]) -> Bounds:
    """Return what bounds the ids that expressions may be."""
    flow = flow_of(file)
    pending = [value for node in nodes for value in flow.values(node)]
    known: set[Value] = set()
    sources: list[Bound] = []
    free = unknown = False
    while pending:
        value = pending.pop(0)
        if value in known:
            continue
        known.add(value)
        bound, behind = _of_value(file, value), _behind(file, value)
        if bound is not None:
            sources.append(bound)
        elif behind is not None:
            pending += behind
        elif _is_parsed(value):
            free = True
        elif not isinstance(value, Constant):
            unknown = True
    return Bounds(tuple(sources), free, unknown)


def _of_value(file: File, value: Value) -> Bound | None:
    """Return the bound of ids that an expression makes, None for others."""
    node = value.node
    if isinstance(value, Computed | Unknown) and isinstance(node, cst.BinaryOperation):
        is_remainder = isinstance(node.operator, cst.Modulo)
        return _divided(file, node, node.right, "divided", node.left) if is_remainder else None
    if not isinstance(value, Result) or not isinstance(node, cst.Call):
        return None
    name = symbol_of(value) or ""
    if name in _DIVIDING:
        parameters, word, verb = _DIVIDING[name]
        arguments = bind(node, parameters) or {}
        operand = arguments["x"].value if "x" in arguments else None
        return _divided(file, node, arguments[word].value, verb, operand) if word in arguments else None
    return _of_object(file, node, value.callee)


def _of_object(file: File, node: cst.Call, callee: Value) -> Bound | None:
    """Return the bound of ids that a layer of Keras, or a table of `tf.lookup`, makes."""
    method = callee.name if isinstance(callee, Member) else "__call__"
    maker = callee.base if isinstance(callee, Member) else callee
    name = symbol_of(maker) if isinstance(maker, Result) else None
    if name is None or not isinstance(maker, Result) or not isinstance(maker.node, cst.Call):
        return None
    short, at = name.rpartition(".")[2], _at(file, maker.node)
    if method == "lookup" and "lookup" in name:
        size, words = words_of_table(file, maker.node, short)
        return Bound(node if size is None else maker.node, f"a vocabulary, `{short}` at {at}", size, words=words)
    if method not in ("__call__", "call") or not name.startswith("keras.layers."):
        return None
    if short in _LISTING:
        size, beside = words_of_layer(maker.node) if short in LOOKUP_LAYERS else (None, None)
        return Bound(node if size is None else maker.node, f"{_LISTING[short]}, `{short}` at {at}", size, words=beside)
    size = _argument(maker.node, "num_bins") if short in _HASHING else None
    if size is None:
        return None
    named = {arg.keyword.value for arg in maker.node.args[1:] if arg.keyword is not None}
    plain = named <= _LEAVING_BUCKETS and len(named) == len(maker.node.args[1:])
    return Bound(maker.node, f"`{short}({_plain(file, size)})` at {at}", size if plain else None)


def _argument(call: cst.Call, name: str) -> cst.BaseExpression | None:
    """Return the first argument of a call, or that of its name."""
    first = [arg for i, arg in enumerate(call.args) if not arg.star and (arg.keyword is None and i == 0)]
    named = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name]
    return next((arg.value for arg in (*first, *named)), None)


def _divided(
    file: File, node: cst.BaseExpression, size: cst.BaseExpression, verb: str, operand: cst.BaseExpression | None
) -> Bound:
    return Bound(node, f"ids are {verb} into {_count(file, size)} buckets at {_at(file, node)}", size, operand)


def _of_category(file: File, call: cst.BaseExpression) -> Bound | None:
    """Return the bound of ids that a categorical column makes."""
    name = (file.names.of(call.func) or "").rpartition(".")[2] if isinstance(call, cst.Call) else ""
    kind = name.removeprefix("sequence_")
    arguments = (bind(call, PARAMETERS[kind]) or {}) if isinstance(call, cst.Call) and kind in PARAMETERS else {}
    if kind == "weighted_categorical_column" and "categorical_column" in arguments:
        below = [_of_category(file, one) for one in makers(file, arguments["categorical_column"].value)]
        return below[0] if len(below) == 1 else None
    if kind not in _COLUMNS or not arguments:
        return None
    word, column, at = _COLUMNS[kind], _column(file, arguments), _at(file, call)
    if not word:
        what = "the boundaries" if kind == "bucketized_column" else "the vocabulary"
        size, words = (None, None) if kind == "bucketized_column" else words_of_column(arguments)
        return Bound(call, f"{what} of {column} at {at}", size, words=words)
    size = arguments[word].value if word in arguments else None
    if size is None:
        return None
    text = f"`{word}={_plain(file, size)}` of {column} at {at}"
    return Bound(call, text, size if word == "hash_bucket_size" else None)


def _column(file: File, arguments: Mapping[str, cst.Arg]) -> str:
    """Return what a column is called in messages, by its key or the keys that it crosses."""
    for word, title in (("key", "the column"), ("keys", "the cross of"), ("source_column", "the column over")):
        if word in arguments:
            return f"{title} `{file.tree.excerpt(arguments[word].value)}`"
    return "a column"


def _behind(file: File, value: Value) -> list[Value] | None:
    """Return the values that ids are handed on from; None where they begin, or come out of something else."""
    flow, node = flow_of(file), value.node
    if isinstance(value, Holder) and value.kind in ("list", "record"):
        return flow.entries(value)
    if isinstance(value, Member):
        carries = value.name in (*CARRYING, "[]") and _hands_on(value.base)
        return [value.base] if carries else None
    if not isinstance(value, Result) or not isinstance(node, cst.Call):
        return None
    place = HANDS_ON.get(symbol_of(value) or "")
    ids = None if place is None else argument_at(node, *place)
    return None if ids is None else flow.values(ids)


def _hands_on(base: Value) -> bool:
    """True for a value whose parts are ids if it is: not the batch that a data set gives."""
    return isinstance(base, Computed | Member) or symbol_of(base) in {*HANDS_ON, *_DIVIDING}


def argument_at(call: cst.Call, position: int, name: str) -> cst.BaseExpression | None:
    """Return an argument of a call by its position or its name."""
    for i, arg in enumerate(call.args):
        if not arg.star and (arg.keyword.value == name if arg.keyword is not None else i == position):
            return arg.value
    return None


def _is_parsed(value: Value) -> bool:
    """True for what is read from records of data as it is."""
    while isinstance(value, Member):
        value = value.base
    return (symbol_of(value) or "").rpartition(".")[2] in _PARSED


def _plain(file: File, size: cst.BaseExpression) -> str:
    known = known_number(file, size)
    return file.tree.source(known if known is not None else size)


def _count(file: File, size: cst.BaseExpression) -> str:
    known = number(known_number(file, size))
    return f"{known:,}" if known is not None else f"`{file.tree.one_line(size)}`"


def _at(file: File, node: cst.CSTNode) -> str:
    place = file.tree.location(node)
    return f"{place.path}:{place.line}"
