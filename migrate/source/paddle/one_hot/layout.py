"""The head of a converted module: its imports, and constants that say what its two inputs are."""

from __future__ import annotations

from migrate.source.paddle.emission.names import Names
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.one_hot.standalone import OwnNames

WIDTH = 120


def prologue(program: Program, expressions: list[str], names: Names, more: str = "") -> list[str]:
    """Return the imports, with `more` lines of them, the constants, and `sparse_keys` if there is a table."""
    spec = program.schema.input
    imports = "import tensorflow.compat.v1 as tf"
    if not isinstance(names, OwnNames):
        wanted = [*(["create_table"] if expressions else []), "nn" + _alias(names)]
        imports += f"\n\nfrom runtime import {', '.join(wanted)}"
    imports += f"\n{'' if imports.count(chr(10)) else chr(10)}{more.rstrip()}" if more else ""
    layout = [
        f"#: the features of `sparse_feature` [batch, {len(spec.sparse)}], in order",
        *_tuple("SPARSE_FEATURES", [f'"{feature.name}"' for feature in spec.sparse]),
        "#: where the keys of each feature begin: key = offset + id keeps their id spaces apart",
        *_tuple("SPARSE_OFFSETS", [str(offset) for offset in spec.offsets]),
        f"SPARSE_ROWS = {spec.rows}",
    ]
    dense = [
        f"#: how many columns `dense_feature` has: {_ranges(program)} of the original input",
        f"DENSE_SIZE = {spec.dense_size}",
    ]
    text = imports + "\n\n" + "\n".join([*(layout if expressions else []), *dense])
    return [text, _SPARSE_KEYS.format(count=len(spec.sparse))] if expressions else [text]


def _alias(names: Names) -> str:
    return "" if names.layers == "nn" else f" as {names.layers}"


def _ranges(program: Program) -> str:
    pieces = [
        f"{start} to {stop - 1}" if stop > start + 1 else f"{start}" for start, stop in program.schema.input.dense
    ]
    return "columns " + ", ".join(pieces) if pieces else "no column"


def _tuple(name: str, items: list[str]) -> list[str]:
    short = ", ".join(items) + ("," if len(items) == 1 else "")
    if len(name) + len(short) + 5 <= WIDTH:
        return [f"{name} = ({short})"]
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) + 6 > WIDTH:
            lines.append("")
        lines[-1] += f" {item}," if lines[-1] else f"{item},"
    return [f"{name} = (", *(f"    {line}" for line in lines), ")"]


_SPARSE_KEYS = '''\
def sparse_keys(sparse_feature: tf.Tensor) -> tf.Tensor:
    """Return the keys of the table, int64 [batch, {count}], for the ids of `sparse_feature`."""
    return tf.cast(sparse_feature, tf.int64) + tf.constant(SPARSE_OFFSETS, tf.int64)
'''
