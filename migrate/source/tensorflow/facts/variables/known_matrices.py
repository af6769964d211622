"""Arrays and tensors that are surely matrices of float32, as the calls that make them say."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from migrate.source.flow import as_written
from migrate.source.tensorflow.base.arguments import number
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.shapes import is_float32
from migrate.source.tensorflow.base.value_flow import flow_of, makers

#: Functions that make an array of a shape: name -> the places of the shape and of the type.
SHAPED = {
    "numpy.zeros": (0, 1), "numpy.ones": (0, 1), "numpy.empty": (0, 1), "numpy.full": (0, 2),
}  # fmt: skip
#: Functions and methods that draw an array of float64: name -> the place of its shape.
DRAWN = {"uniform": 2, "normal": 2, "standard_normal": 0, "random_sample": 0, "random": 0}
GENERATORS = {"numpy.random.RandomState", "numpy.random.default_rng"}
#: Functions that give their first argument the type at the second place, if there is one; a place of -1: float32.
TYPED = {
    "numpy.array": 1, "numpy.asarray": 1, "numpy.ascontiguousarray": 1, "numpy.float32": -1,
    "convert_to_tensor": 1, "constant": 1, "cast": 1, "to_float": -1,
}  # fmt: skip
DEPTH = 8


def is_float32_matrix(file: File, node: cst.BaseExpression, typed: bool) -> bool:
    """True if a value surely has two dimensions, and is float32 unless it is `typed` by what takes it."""
    return _all(file, node, _has_two, DEPTH) and (typed or _all(file, node, _is_float32, DEPTH))


Query = Callable[[File, cst.BaseExpression, int], bool]


def _all(file: File, node: cst.BaseExpression, holds: Query, depth: int) -> bool:
    """True if it holds of everything that `node` may be, but of None, which no variable begins with."""
    made = [one for one in makers(file, node) if not (isinstance(one, cst.Name) and one.value == "None")]
    return depth > 0 and bool(made) and all(holds(file, one, depth - 1) for one in made)


def _has_two(file: File, node: cst.BaseExpression, depth: int) -> bool:
    """True if an expression makes something with two dimensions."""
    if isinstance(node, cst.BinaryOperation):
        return (array := _scaled(node)) is not None and _all(file, array, _has_two, depth)
    if not isinstance(node, cst.Call):
        return False
    name, method = _name(file, node)
    if name in SHAPED:
        return _is_pair(file, _given(node, SHAPED[name][0], "shape"))
    if _draws(file, node):
        return _is_pair(file, _given(node, DRAWN[name.rpartition(".")[2] or method], "size"))
    if name in {"numpy.random.randn", "numpy.random.rand"}:
        return len(node.args) == 2 and not any(arg.star for arg in node.args)
    if method == "reshape":
        return len(node.args) == 2 or _is_pair(file, _given(node, 0, "shape"))
    if name == "numpy.reshape":
        return _is_pair(file, _given(node, 1, "newshape"))
    if name == "constant" and (shape := _given(node, 2, "shape")) is not None:
        return _is_pair(file, shape)
    array = _source(node, name, method)
    return array is not None and _all(file, array, _has_two, depth)


def _is_float32(file: File, node: cst.BaseExpression, depth: int) -> bool:
    """True if an expression makes something of type float32."""
    if isinstance(node, cst.BinaryOperation):
        return (array := _scaled(node)) is not None and _all(file, array, _is_float32, depth)
    if not isinstance(node, cst.Call):
        return False
    name, method = _name(file, node)
    place = SHAPED[name][1] if name in SHAPED else 0 if method == "astype" else TYPED.get(name, len(node.args))
    written = _given(node, place, "dtype") if place >= 0 else None
    if place < 0 or written is not None:
        return place < 0 or is_float32(file.names, cst.Arg(written) if written is not None else None)
    array = None if name in SHAPED or _draws(file, node) else _source(node, name, method)
    return array is not None and _all(file, array, _is_float32, depth)


def _source(node: cst.Call, name: str, method: str) -> cst.BaseExpression | None:
    """Return the array that a call gives another type or shape."""
    if method in {"astype", "reshape", "copy"} and isinstance(node.func, cst.Attribute):
        return node.func.value
    if name in {*TYPED, "numpy.reshape"} and node.args and not node.args[0].star and node.args[0].keyword is None:
        return node.args[0].value
    return None


def _name(file: File, call: cst.Call) -> tuple[str, str]:
    """Return the function of numpy or TensorFlow that is called, or else the name of the method."""
    if (name := file.names.of(call.func)) is not None:
        return name, ""
    imported, shadowed = file.tree.imported_names(call.func)
    if len(imported) == 1 and not shadowed and _is_dotted(call.func):
        return next(iter(imported)), ""
    return "", call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def _is_dotted(node: cst.CSTNode) -> bool:
    """True for names and their attributes alone: a method of what a call returns is no function of a module."""
    return isinstance(node, cst.Name) or (isinstance(node, cst.Attribute) and _is_dotted(node.value))


def _draws(file: File, call: cst.Call) -> bool:
    """True for `numpy.random.uniform(…)`, and for the method of a generator that is made there."""
    name, method = _name(file, call)
    if name.startswith("numpy.random."):
        return name.rpartition(".")[2] in DRAWN
    if method not in DRAWN or not isinstance(call.func, cst.Attribute):
        return False
    made = makers(file, call.func.value)
    return bool(made) and all(isinstance(one, cst.Call) and _name(file, one)[0] in GENERATORS for one in made)


def _given(call: cst.Call, place: int, name: str) -> cst.BaseExpression | None:
    """Return an argument by its place or its name."""
    for index, arg in enumerate(call.args):
        if arg.star:
            return None
        if (arg.keyword is None and index == place) or (arg.keyword is not None and arg.keyword.value == name):
            return arg.value
    return None


def _is_pair(file: File, shape: cst.BaseExpression | None) -> bool:
    """True for a list or a tuple of two sizes."""
    if shape is None:
        return False
    listed = shape if isinstance(shape, cst.List | cst.Tuple) else as_written(flow_of(file), shape)
    return listed is not None and len(listed.elements) == 2 and all(isinstance(e, cst.Element) for e in listed.elements)


def _scaled(node: cst.BinaryOperation) -> cst.BaseExpression | None:
    """Return the array of `array * 0.1`, `array - 1` and the like; None for another operation."""
    if not isinstance(node.operator, cst.Add | cst.Subtract | cst.Multiply | cst.Divide):
        return None
    left, right = number(node.left), number(node.right)
    return node.left if right is not None else node.right if left is not None else None
