"""The shape and the element type of a variable, according to its creation."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from migrate.source.tensorflow.base.arguments import is_none, literal
from migrate.source.tensorflow.base.symbols import TfNames


@dataclass(frozen=True)
class Shape:
    """A shape `[rows, columns]`, or `[rows]` if `columns` is None."""

    rows: cst.BaseExpression
    columns: cst.BaseExpression | None
    rows_text: str
    columns_text: str  #: `1` for a shape of rank 1

    def operands(self) -> tuple[str, str]:
        """Return both sizes as operands of an arithmetic expression."""
        columns = self.columns if self.columns is not None else self.rows
        text = self.columns_text if self.columns is not None else self.rows_text
        return _operand(self.rows, self.rows_text), _operand(columns, text)


def _operand(node: cst.BaseExpression, text: str) -> str:
    plain = isinstance(node, (cst.Name, cst.Attribute, cst.Integer, cst.Subscript, cst.Call)) or text.startswith("(")
    return text if plain else f"({text})"


def is_float32(names: TfNames, arg: cst.Arg | None) -> bool:
    """True if a `dtype` argument is absent or known to be float32."""
    if arg is None or is_none(arg):
        return True
    if names.of(arg.value) == "float32" or literal(arg.value) == "float32":
        return True
    imported, shadowed = names.tree.imported_names(arg.value)
    return not shadowed and imported == {"numpy.float32"}
