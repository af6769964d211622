"""Initializers that are kept as written: all values of the expression must be able to initialize single rows.

The runtime accepts any initializer object, and raises an error for one that cannot be drawn row by row. An expression
is therefore kept if all of its known values are suitable; for unknown ones, that is an assumption.
"""

from __future__ import annotations

import re
import sys

import libcst as cst

from migrate.source.flow import Constant, Symbol, Unknown, Value, only_reads, stores
from migrate.source.tensorflow.base.arguments import bind, literal
from migrate.source.tensorflow.base.bindings import binders, resolve, self_class
from migrate.source.tensorflow.base.initializers import GLOROT, OLD_FAN, ROWWISE
from migrate.source.tensorflow.base.model import Creation, Initializer
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.shapes import Shape, is_float32
from migrate.source.tensorflow.base.value_flow import flow_of, root_of, seen_values, source_of, symbol_of
from migrate.source.tensorflow.facts.calls.variable_scopes import callers_option, enclosing_option
from migrate.source.tensorflow.facts.variables.creations import (
    in_parts,
    is_partitioned,
    read_shape,
    refuse,
    takes_fan_of_part,
)

#: A function that picks an initializer by its name often has such a branch.
NO_CONTRIB = "`{}` is left out: it fails in TensorFlow 2, which the runtime needs and which has no `tf.contrib`"
CONTRIB = re.compile(r"tensorflow\.(compat\.v[12]\.)?contrib\.")
#: Initializers whose value may be a number or a matrix.
CONSTANTS = {"constant_initializer", "keras.initializers.Constant"}


def read_initializer(creation: Creation, file: File, argument: cst.BaseExpression, shape: Shape) -> None:
    """Set the table's initializer to `argument`, unchanged or written out; or refuse it."""
    if not file.tree.contains(creation.call, argument) and _may_change(file, argument):
        shown = file.tree.excerpt(argument)
        refuse(creation, argument, "moved-values", shown=shown)
        return
    values = initial_values(file, creation.call, argument)
    creation.initializer = _single(file, argument, shape, values[0]) if len(values) == 1 else None
    if creation.initializer is None:
        _keep(creation, file, argument, shape, values)


def read_initializer_call(creation: Creation, file: File, node: cst.BaseExpression) -> bool:
    """Read shape and initial values from `initializer([V, D])`, where a function of the program gives the initializer.

    False, with nothing read, if the value may be anything else.
    """
    if not isinstance(node, cst.Call) or file.names.of(node.func) is not None:
        return False
    initializer = resolve(file.tree, node.func)
    if isinstance(initializer, cst.Call) and file.names.of(initializer.func) is not None:
        return False  # the value of this one call
    bound = bind(node, ("shape", "dtype"))
    if bound is None or "shape" not in bound or not is_float32(file.names, bound.get("dtype")):
        return False
    values = initial_values(file, creation.call, node.func)
    if not all(isinstance(one, cst.Call) and _is_initializer(file, one) for one in values):
        return False
    shape = read_shape(creation, file, bound["shape"].value)
    if shape is not None:
        read_initializer(creation, file, node.func, shape)
    return True


def _is_initializer(file: File, value: cst.Call) -> bool:
    """True for a call that makes an initializer of TensorFlow, of `tf.contrib` among them."""
    names = {file.names.of(value.func)} if file.names.of(value.func) else file.tree.imported_names(value.func)[0]
    return bool(names) and all("initializer" in str(name).lower() for name in names)


def _single(file: File, argument: cst.BaseExpression, shape: Shape, value: cst.BaseExpression) -> Initializer | None:
    reads = isinstance(argument, cst.Call) and only_reads(flow_of(file), argument, accepts=_makes_initializer)
    return file.initializers.object(argument, shape, value, only_reads=reads)


def initial_values(file: File, call: cst.Call, argument: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the expressions that may create a variable's initializer; an unknown value is represented by its source.

    The expression of a scope is evaluated again at the creation of the variable, so that calls in it must only return.
    """
    if file.names.of(argument.func if isinstance(argument, cst.Call) else argument) is not None:
        return [argument]
    moved = not file.tree.contains(call, argument) and not isinstance(argument, (cst.Name, cst.Attribute))
    if moved and not only_reads(flow_of(file), argument, accepts=_makes_initializer):
        return [argument]
    own = isinstance(argument, cst.Attribute) and self_class(file.tree, argument) is not None
    values = seen_values(file, argument) if own else flow_of(file).values(argument)
    objects = [value for value in values if not _is_number(value)]
    return list(dict.fromkeys(source_of(file, value, argument) for value in objects)) or [argument]


def _makes_initializer(callee: Value) -> bool:
    return "initializer" in (symbol_of(callee) or "").lower()


def _is_number(value: Value) -> bool:
    """True for a value that merely shares a list with the initializer: using it as one would fail."""
    return isinstance(value, Constant) and not isinstance(literal(value.node), (str, type(None)))


def _keep(
    creation: Creation, file: File, argument: cst.BaseExpression, shape: Shape, values: list[cst.BaseExpression]
) -> None:
    """Set the table's initializer to `argument` as it is written, with the necessary assumptions; or refuse it."""
    text = file.tree.source(argument)
    parted = is_partitioned(file, creation)
    notes = set()
    default = "" if parted or len(values) == 1 else _default(creation, file, shape)
    contrib = [value for value in values if len(values) > 1 and _is_contrib(file, value)]
    for value in values:
        if literal(value) is None and default:
            text = f"{text if isinstance(argument, (cst.Name, cst.Attribute)) else f'({text})'} or {default}"
            notes.add(OLD_FAN)
            continue
        if any(value is one for one in contrib):
            if len(contrib) == len(values):
                refuse(creation, argument, "contrib-values", shown=file.tree.excerpt(value))
        elif is_unseen(file, value) and shape.columns is not None and not parted:
            refuse(creation, argument, "unseen-values", shown=file.tree.excerpt(value))
        elif (stays := _stays(file, value, shape)) is None or (parted and takes_fan_of_part(file, value)):
            if value is argument and _holds_matrix(creation, file, value, shape, parted):
                return
            if not _may_hold_matrix(creation, file, argument, value, shape, parted):
                _refuse(creation, file, argument, value)
                return
            creation.first_rows.may_be_matrix = True
        else:
            notes.add(stays.note)
    if contrib:
        notes.add(NO_CONTRIB.format(file.tree.excerpt(contrib[0])))
    creation.initializer = Initializer(text, "; ".join(sorted(notes - {""})))


def _stays(file: File, value: cst.BaseExpression, shape: Shape) -> Initializer | None:
    """Return the initializer that `value` creates if the runtime accepts it unchanged, else None."""
    initializer = file.initializers.object(value, shape, value)
    text = file.tree.source(value)
    return initializer if initializer is not None and initializer.text in {text, f"{text}()"} else None


def _holds_matrix(creation: Creation, file: File, value: cst.BaseExpression, shape: Shape, parted: bool) -> bool:
    """Take the value of a constant initializer that is made in the call as the first rows; False if it is another."""
    if (
        parted
        or in_parts(creation, file)
        or shape.columns is None
        or not isinstance(value, cst.Call)
        or not file.tree.contains(creation.call, value)
    ):
        return False
    bound = bind(value, ("value", "dtype")) if file.names.of(value.func) in CONSTANTS else None
    if bound is None or "value" not in bound or not is_float32(file.names, bound.get("dtype")):
        return False
    creation.first_rows.matrix = bound["value"].value
    sizes = f"[{shape.rows_text}, {shape.columns_text}]"
    creation.first_rows.form = f"{{tf}}.constant({{matrix}}, dtype={{tf}}.float32, shape={sizes})"
    return True


def _may_hold_matrix(
    creation: Creation, file: File, argument: cst.BaseExpression, value: cst.BaseExpression, shape: Shape, parted: bool
) -> bool:
    """True for a constant initializer of an array, which `create_table` takes as the rows of the variable's shape."""
    if parted or in_parts(creation, file) or shape.columns is None or not file.tree.contains(creation.call, argument):
        return False
    name = file.names.of(value.func) if isinstance(value, cst.Call) else None
    bound = bind(value, ROWWISE[name]) if isinstance(value, cst.Call) and name in CONSTANTS else None
    return bound is not None and "value" in bound and is_float32(file.names, bound.get("dtype"))


def _default(creation: Creation, file: File, shape: Shape) -> str:
    """Return the initializer of a variable without one; empty if a scope may give it, or the call does not have it."""
    scopes = enclosing_option(file, creation.call, "initializer"), callers_option(file, creation.call, "initializer")
    if any(one is not None for one in scopes):
        return ""
    return file.initializers.scaled(GLOROT, shape, "the default of `get_variable`").text


def _refuse(creation: Creation, file: File, argument: cst.BaseExpression, value: cst.BaseExpression) -> None:
    if isinstance(value, cst.Call) and file.names.of(value.func) in CONSTANTS:
        refuse(creation, argument, "matrix-parts")
        return
    shown = file.tree.excerpt(value)
    key = "unknown-value-of" if value is argument else "unknown-value-in-branch"
    parameter = file.tree.parent(value)
    if isinstance(parameter, cst.Param):
        key, shown = "parameter-may-be-none", parameter.name.value
    refuse(creation, argument, key, shown=shown)


def _is_contrib(file: File, value: cst.BaseExpression) -> bool:
    if not isinstance(value, cst.Call):
        return False
    imported, shadowed = file.tree.imported_names(value.func)
    return bool(imported) and not shadowed and all(CONTRIB.match(name) for name in imported)


def is_unseen(file: File, node: cst.BaseExpression) -> bool:
    """True for a value from unanalysed code: a parameter, an object's attribute, a function of another module."""
    if isinstance(file.tree.parent(node), cst.Param):
        return not isinstance(node, cst.Name) or node.value != "None"
    plain = node.func if isinstance(node, cst.Call) else node
    if not isinstance(plain, (cst.Name, cst.Attribute)) or file.names.of(plain) is not None:
        return False
    origins = [root_of(value) for value in flow_of(file).values(node)]
    return any(isinstance(one, Unknown) or (isinstance(one, Symbol) and _is_foreign(one)) for one in origins)


def _is_foreign(symbol: Symbol) -> bool:
    return symbol.name.split(".")[0] not in {*sys.stdlib_module_names, "builtins", "numpy", "tensorflow"}


def _may_change(file: File, argument: cst.BaseExpression) -> bool:
    """True if the expression of a scope may have another value inside the scope: it is computed, or rebound."""
    if isinstance(argument, cst.Call):
        return is_unseen(file, argument)
    if isinstance(argument, cst.Attribute):
        return len(stores(flow_of(file), argument)) > 1
    return len(binders(file.tree, argument)) > 1
