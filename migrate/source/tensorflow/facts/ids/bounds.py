"""What bounds the ids of a table, as far as the text shows it: buckets of a hash or a remainder, vocabularies, ranges.

A table has a row for each id that it sees, but never sees more than the code before its lookups makes. Where the text
does not show where ids come from, no guess is made: a run counts them (`migrate trial`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import Computed, Constant, Holder, Member, Result, Unknown, Value
from migrate.source.tensorflow.base.arguments import bind, given_argument, number
from migrate.source.tensorflow.base.known_shapes import known_number
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, makers, symbol_of
from migrate.source.tensorflow.base.visited import all_reached, itself
from migrate.source.tensorflow.facts.ids.vocabularies import (
    LOOKUP_LAYERS,
    Vocabulary,
    words_of_column,
    words_of_layer,
    words_of_table,
)
from migrate.source.tensorflow.facts.variables.column_names import (
    BUCKETS,
    FILED,
    LISTED,
    ROWS,
    WEIGHTED,
    categories_of,
    read_category,
)

#: Functions that hash into buckets, or divide by their number: their parameters, that of the number, and a verb.
_HASH = (("input", "num_buckets", "name", "key"), "num_buckets", "hashed")
_MOD = (("x", "y", "name"), "y", "divided")
_CROSS = (("inputs", "num_buckets", "hash_key", "name"), "num_buckets", "hashed")
DIVIDING = {
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
#: Functions that hand ids on, with the name and the position of the argument that they are.
HANDS_ON = {
    **dict.fromkeys(
        ("identity", "stop_gradient", "expand_dims", "squeeze", "tile", "slice", "strided_slice"), ("input", 0)
    ),
    **dict.fromkeys(("reshape", "convert_to_tensor", "ragged.to_tensor", "sparse.from_dense"), ("tensor", 0)),
    **dict.fromkeys(("cast", "to_int64", "unique", "transpose"), ("x", 0)),
    **dict.fromkeys(("concat", "stack"), ("values", 0)),
    "SparseTensor": ("values", 1),
}
#: Attributes of sparse and ragged tensors that hold the ids.
CARRYING = ("values", "flat_values")
_PARSED = ("parse_example", "parse_single_example", "parse_sequence_example", "decode_csv")

#: So many bounds of the ids of one table are told.
_SHOWN = 3


@dataclass(frozen=True)
class Bound:
    """Code that bounds ids."""

    node: cst.BaseExpression  #: a call, or the operation `x % n`
    text: str
    #: the number of buckets, where the code can hash or divide by another one
    size: cst.BaseExpression | None = None
    operand: cst.BaseExpression | None = None  #: what is divided, which may be of 32 bits
    words: Vocabulary | None = None  #: the vocabulary beside whose words the buckets are


@dataclass(frozen=True)
class Bounds:
    """All that the text shows of where the ids of a table come from."""

    sources: tuple[Bound, ...] = ()
    free: bool = False  #: some ids are as the data has them
    unknown: bool = False  #: the source does not show where some ids come from

    @property
    def growth(self) -> str:
        """Whether the table can grow, as in a TableRecord."""
        if self.free:
            return "free"
        return "bounded" if self.sources and not self.unknown else "unknown"

    @property
    def text(self) -> str:
        """What bounds the ids, in words; "" where nothing is known to."""
        texts = [*dict.fromkeys(one.text for one in self.sources)]
        more = [f"so in {len(texts) - _SHOWN} more places"] if len(texts) > _SHOWN else []
        return "; ".join([*texts[:_SHOWN], *more])


def bounds_of(file: File, table: Table) -> Bounds:
    """Return what bounds the ids of a table, or of the table of an embedding column."""
    if table.creation.target_function:
        return bounds_of_column(file, table.creation.call)
    return bounds_of_ids(file, [lookup.ids.value if lookup.ids is not None else None for lookup in table.lookups])


def growth(file: File, bounds: Bounds, given_up: str) -> tuple[str, str]:
    """Return `growth` and `bound` of a TableRecord; `given_up` is the number of buckets that ids give up, if any."""
    if not given_up:
        return bounds.growth, bounds.text
    operands = [one.operand for one in bounds.sources if one.operand is not None]
    before = bounds_of_ids(file, operands)
    is_bounded = before.growth == "bounded" and len(operands) == len(bounds.sources)
    return ("bounded", before.text) if is_bounded else ("free", "")


def bounds_of_column(file: File, column: cst.Call) -> Bounds:
    """Return what bounds the ids of the categories of an embedding column."""
    nodes = categories_of(file, column)
    bounds = [_of_category(file, call) for node in nodes for call in makers(file, node) or [node]]
    sources = tuple(one for one in bounds if one is not None)
    return Bounds(sources, unknown=not nodes or len(sources) < len(bounds))


def bounds_of_ids(file: File, nodes: Sequence[cst.BaseExpression | None]) -> Bounds:
    """Return what bounds the ids that expressions may be; None stands for ids that cannot be read."""
    known = [node for node in nodes if node is not None]
    sources: list[Bound] = []
    free, unknown = False, not nodes or len(known) < len(nodes)

    def behind(value: Value) -> Sequence[Value]:
        nonlocal free, unknown
        if (bound := _of_value(file, value)) is not None:
            sources.append(bound)
            return ()
        if (handed := _behind(file, value)) is None:
            parsed = _is_parsed(value)
            free, unknown = free or parsed, unknown or not (parsed or isinstance(value, Constant))
        return handed or ()

    for _ in all_reached((value for node in known for value in flow_of(file).values(node)), behind, itself):
        pass
    return Bounds(tuple(sources), free, unknown)


def _of_value(file: File, value: Value) -> Bound | None:
    """Return the bound of ids that an expression makes, None for others."""
    node = value.node
    if isinstance(value, (Computed, Unknown)) and isinstance(node, cst.BinaryOperation):
        is_remainder = isinstance(node.operator, cst.Modulo)
        return _divided(file, node, node.right, "divided", node.left) if is_remainder else None
    if not isinstance(value, Result) or not isinstance(node, cst.Call):
        return None
    name = symbol_of(value) or ""
    if name in DIVIDING:
        parameters, word, verb = DIVIDING[name]
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
    size = given_argument(maker.node, "num_bins", 0) if short in _HASHING else None
    if size is None:
        return None
    named = {arg.keyword.value for arg in maker.node.args[1:] if arg.keyword is not None}
    plain = named <= _LEAVING_BUCKETS and len(named) == len(maker.node.args[1:])
    return Bound(maker.node, f"`{short}({_plain(file, size)})` at {at}", size if plain else None)


def _divided(
    file: File, node: cst.BaseExpression, size: cst.BaseExpression, verb: str, operand: cst.BaseExpression | None
) -> Bound:
    return Bound(node, f"ids are {verb} into {_count(file, size)} buckets at {_at(file, node)}", size, operand)


def _of_category(file: File, call: cst.BaseExpression) -> Bound | None:
    """Return the bound of ids that a categorical column makes."""
    kind, arguments = read_category(file, call)
    if kind == WEIGHTED and "categorical_column" in arguments:
        below = [_of_category(file, one) for one in makers(file, arguments["categorical_column"].value)]
        return below[0] if len(below) == 1 else None
    if kind not in ROWS:
        return None
    word, column, at = ROWS[kind], _column(file, arguments), _at(file, call)
    if kind in {LISTED, FILED, BUCKETS}:
        what = "the boundaries" if kind == BUCKETS else "the vocabulary"
        size, words = (None, None) if kind == BUCKETS else words_of_column(arguments)
        return Bound(call, f"{what} of {column} at {at}", size, words=words)
    size = arguments[word].value if word in arguments else None
    if size is None:
        return None
    size = arguments[word].value
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
    handed = HANDS_ON.get(symbol_of(value) or "")
    ids = None if handed is None else given_argument(node, *handed)
    return None if ids is None else flow.values(ids)


def _hands_on(base: Value) -> bool:
    """True for a value whose parts are ids if it is: not the batch that a data set gives."""
    return isinstance(base, (Computed, Member)) or symbol_of(base) in {*HANDS_ON, *DIVIDING}


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
    location = file.tree.location(node)
    return f"{location.path}:{location.line}"
