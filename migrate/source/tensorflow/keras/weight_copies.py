"""`layer.get_weights()[0]` and `layer.set_weights([matrix])` of a layer that becomes a table.

The first is the matrix as an array: `layer.embeddings.numpy()` of the layer over a table. The second sets rows by id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import literal, string
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, is_inherited
from migrate.source.tensorflow.facts.variables.keras_layers import Layer

_METHODS = {"get_weights", "set_weights"}


@dataclass(frozen=True)
class WeightCopy:
    """One such use: the call, and the text that changes, if any."""

    layer: Layer
    call: cst.Call
    method: cst.Attribute
    whole: cst.Subscript | None  #: `get_weights()[0]`

    def edit(self, file: File) -> Edit | None:
        """Return the edit of a layer that becomes a table."""
        if self.whole is None:
            return None
        start, end = file.tree.span(self.method.value)[1], file.tree.span(self.whole)[1]
        return Edit(start, end, ".embeddings.numpy()")


def weight_copies(file: File, home: File, layers: list[Layer]) -> list[WeightCopy]:
    """Return the uses in `home` of layers that are certain, and take their refusals away."""
    found = [*_found(file, home, layers)]
    known = {id(copy.method) for copy in found}
    for layer in layers:
        layer.blockers = [one for one in layer.blockers if one.key != "weights" or id(one.node) not in known]
    return found


def _found(file: File, home: File, layers: list[Layer]) -> Iterator[WeightCopy]:
    for call in home.tree.calls:
        method = call.func
        if not isinstance(method, cst.Attribute) or method.attr.value not in _METHODS:
            continue
        layer = _layer(file, method.value, layers)
        whole = _first(file, call)
        if layer is None or (method.attr.value == "get_weights" and whole is None):
            continue
        if method.attr.value == "set_weights" and not _is_list_of_one(call):
            continue
        yield WeightCopy(layer, call, method, whole if method.attr.value == "get_weights" else None)


def _layer(file: File, base: cst.BaseExpression, layers: list[Layer]) -> Layer | None:
    """Return the layer that an expression surely is: by its value, or by its name in a model."""
    own = [one for one in flow_of(file).values(base) if not is_inherited(one)]
    for layer in layers:
        if own and all(any(one is value for value in layer.values) for one in own):
            return layer
    if not isinstance(base, cst.Call) or not isinstance(base.func, cst.Attribute) or len(base.args) != 1:
        return None
    name = string(base.args[0].value) if base.func.attr.value == "get_layer" else None
    named = [call for call in file.tree.calls for arg in call.args if _is_name(arg) and string(arg.value) == name]
    return next((one for one in layers if name and one.name == name and named == [one.call]), None)


def _is_name(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == "name"


def _first(file: File, call: cst.Call) -> cst.Subscript | None:
    """Return `call[0]`."""
    around = file.tree.parent(call)
    if not isinstance(around, cst.Subscript) or around.value is not call or call.args or len(around.slice) != 1:
        return None
    index = around.slice[0].slice
    return around if isinstance(index, cst.Index) and literal(index.value) == 0 else None


def _is_list_of_one(call: cst.Call) -> bool:
    given = call.args[0].value if len(call.args) == 1 and not call.args[0].star else None
    return isinstance(given, cst.List) and len(given.elements) == 1 and isinstance(given.elements[0], cst.Element)
