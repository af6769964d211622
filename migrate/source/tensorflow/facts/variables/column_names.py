"""What TensorFlow calls an embedding column, how many rows it has, and what reads it: for records of tables.

TensorFlow makes the variable of a column, in the input layer that reads it, and names it after the column. A report
has that name too, with `*` for what the source does not show, as in a comprehension over features.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import libcst as cst

from migrate.source.flow import Computed, Constant, Holder, Member, Value, ValueFlow, as_written
from migrate.source.tensorflow.base.arguments import bind, is_none, number, string
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, makers, results
from migrate.source.tensorflow.base.visited import all_reached, itself
from migrate.source.tensorflow.facts.variables.embedding_columns import COLUMNS, INPUT_LAYERS, categories

IDENTITY, HASHED = "categorical_column_with_identity", "categorical_column_with_hash_bucket"
LISTED, FILED = "categorical_column_with_vocabulary_list", "categorical_column_with_vocabulary_file"
WEIGHTED = "weighted_categorical_column"
BUCKETS, _CROSSED, _NUMBERS = "bucketized_column", "crossed_column", "numeric_column"
#: The categories with their parameters, and the columns below them.
PARAMETERS = {
    IDENTITY: ("key", "num_buckets", "default_value"),
    HASHED: ("key", "hash_bucket_size", "dtype"),
    LISTED: ("key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"),
    FILED: ("key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "default_value", "dtype", "file_format"),
    WEIGHTED: ("categorical_column", "weight_feature_key", "dtype"),
    BUCKETS: ("source_column", "boundaries"),
    _CROSSED: ("keys", "hash_bucket_size", "hash_key"),
    _NUMBERS: ("key", "shape", "default_value", "dtype", "normalizer_fn"),
}
#: Their parameters that say how many ids they have.
ROWS = {
    IDENTITY: "num_buckets", HASHED: "hash_bucket_size", FILED: "vocabulary_size", LISTED: "vocabulary_list",
    BUCKETS: "boundaries", _CROSSED: "hash_bucket_size",
}  # fmt: skip
_ANY = "\0"  #: in a name while it is put together: what the source does not show


class _Category(NamedTuple):
    name: str  #: as TensorFlow has it
    rows: str  #: source text or number; empty when unknown


_UNKNOWN = _Category(_ANY, "")


def describe(file: File, table: Table) -> None:
    """Add to a table that stands for an embedding column its name, the number of its rows, and what reads it."""
    call = table.creation.call
    arguments = bind(call, COLUMNS[file.names.of(call.func) or ""][0])
    if arguments is None:
        return
    listed = arguments.get("categorical_columns")
    below = [_category(file, node) for node in categories_of(file, call)] or [_UNKNOWN]
    joined = "_".join(sorted(one.name for one in below))
    joined = _ANY if _ANY in joined and listed is not None else joined
    word = "shared_embedding_collection_name"
    named = _text(file, arguments[word]) if word in arguments else None
    name = named or f"{joined}{'_embedding' if listed is None else '_shared_embedding'}"
    table.creation.column = re.sub(r"\0+", "*", re.sub(r"[^0-9A-Za-z_\0]", "_", name))
    table.creation.rows_text = _common([one.rows for one in below], "")
    table.readers = _readers(file, call)


def categories_of(file: File, call: cst.Call) -> list[cst.BaseExpression]:
    """Return the categorical columns below the embedding columns that a call makes; none where they are not known."""
    arguments = bind(call, COLUMNS[file.names.of(call.func) or ""][0]) or {}
    listed = arguments.get("categorical_columns")
    display = as_written(flow_of(file), listed.value) if listed is not None else None
    return categories(arguments) or ([one.value for one in display.elements] if display is not None else [])


def _readers(file: File, call: cst.Call) -> list[cst.Call]:
    """Return the input layers that the column of a call reaches, alone or in lists and dicts."""
    columns, flow = results(file, call), flow_of(file)
    layers = [layer for part in file.program(call) for layer, _ in part.calls(*INPUT_LAYERS)]
    contents = ((layer, _contents(flow, arg.value)) for layer in layers for arg in layer.args)
    return list(dict.fromkeys(layer for layer, values in contents if any(one in values for one in columns)))


def _contents(flow: ValueFlow, node: cst.BaseExpression) -> set[Value]:
    """Return what an expression may be, what is in it, and what these are attributes or entries of."""

    def parts(value: Value) -> list[Value]:
        contents = [*flow.entries(value), *([value.base] if isinstance(value, Member) else [])]
        if isinstance(value, (Computed, Holder)) and isinstance(value.node, cst.BinaryOperation):
            contents += [one for side in (value.node.left, value.node.right) for one in flow.values(side)]
        return contents

    return set(all_reached(flow.values(node), parts, itself))


def _category(file: File, node: cst.BaseExpression) -> _Category:
    """Return the name and the rows of the categorical column that `node` may be, as far as all of them agree."""
    categories = [_made(file, one) for one in makers(file, node)]
    return _Category(_common([one.name for one in categories], _ANY), _common([one.rows for one in categories], ""))


def _common(texts: list[str], other: str) -> str:
    return texts[0] if len(set(texts)) == 1 else other


def read_category(file: File, node: cst.BaseExpression) -> tuple[str, dict[str, cst.Arg]]:
    """Return the kind of a categorical column and its arguments by parameter; an empty text for what is none."""
    head, _, last = (file.names.of(node.func) or "").rpartition(".") if isinstance(node, cst.Call) else ("", "", "")
    kind = last.removeprefix("sequence_") if head.endswith("feature_column") else ""
    arguments = bind(node, PARAMETERS[kind]) if kind in PARAMETERS and isinstance(node, cst.Call) else None
    return (kind, arguments) if arguments is not None else ("", {})


def _made(file: File, call: cst.BaseExpression) -> _Category:
    kind, arguments = read_category(file, call)
    if not kind:
        return _UNKNOWN
    if kind == WEIGHTED:
        inner = _below(file, arguments, "categorical_column")
        return inner._replace(name=f"{inner.name}_weighted_by_{_key(file, arguments, 'weight_feature_key')}")
    if kind == BUCKETS:
        inner = _below(file, arguments, "source_column")
        return _Category(f"{inner.name}_bucketized", _rows(file, kind, arguments) if inner.rows else "")
    if kind == _NUMBERS:
        return _Category(_key(file, arguments, "key"), "" if "shape" in arguments else "1")
    return _Category(
        _crossed(file, arguments) if kind == _CROSSED else _key(file, arguments, "key"), _rows(file, kind, arguments)
    )


def _below(file: File, arguments: Mapping[str, cst.Arg], word: str) -> _Category:
    return _category(file, arguments[word].value) if word in arguments else _UNKNOWN


def _key(file: File, arguments: Mapping[str, cst.Arg], word: str) -> str:
    return (_text(file, arguments[word]) if word in arguments else None) or _ANY


def _text(file: File, arg: cst.Arg) -> str | None:
    """Return the string that an argument always is, None for None."""
    if is_none(arg):
        return None
    values = flow_of(file).values(arg.value)
    literal = values[0].node if len(values) == 1 and isinstance(values[0], Constant) else arg.value
    text = string(literal)
    return _ANY if text is None else text


def _crossed(file: File, arguments: Mapping[str, cst.Arg]) -> str:
    """Return the keys that are crossed, sorted as TensorFlow does."""
    listed = as_written(flow_of(file), arguments["keys"].value) if "keys" in arguments else None
    names: list[str] = []
    for element in listed.elements if listed is not None else ():
        key = string(element.value)
        names += [key] if key is not None else _category(file, element.value).name.split("_X_")
    return "_X_".join(sorted(names)) if names and not any(_ANY in name for name in names) else _ANY


def _rows(file: File, kind: str, arguments: Mapping[str, cst.Arg]) -> str:
    """Return the number of ids of a category: a length where it is a list, else the text of its argument."""
    arg = arguments.get(ROWS[kind])
    if arg is None:
        return ""
    if kind in {LISTED, BUCKETS}:
        listed = as_written(flow_of(file), arg.value)
        plain = listed is not None and all(isinstance(one, cst.Element) for one in listed.elements)
        text = str(len(listed.elements) + (kind == BUCKETS)) if listed is not None and plain else ""
    else:
        text = file.tree.one_line(arg.value)
    more = number(arguments["num_oov_buckets"].value) if "num_oov_buckets" in arguments else 0
    if not more:
        return text if more == 0 else ""
    return str(int(text) + int(more)) if text.isdigit() else ""
