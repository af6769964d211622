"""Whether the layers of a program's classes stay in the instances that make them, as far as the text shows it.

The analysis of values does not follow an object into code that it does not see, nor where a name is looked up by text.
So only plain code passes: a layer is an attribute of its instance, is called, or is given to a layer of Keras.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.flow import Class
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, symbol_of
from migrate.source.tensorflow.facts.variables.keras_layers import Layer

#: By these a program reaches variables and attributes without their names.
_NAMES = {"globals", "locals", "vars", "exec", "eval", "gc", "setattr", "delattr", "__main__", "import_module"}
_ATTRIBUTES = {"__dict__", "__class__", "modules", "import_module", "get_objects"}
#: Methods by which a class decides what an instance or its attribute is.
_METHODS = {"__new__", "__setattr__", "__getattribute__"}


def are_inside(file: File, layers: Sequence[Layer]) -> bool:
    """True if every layer surely belongs to one instance, and no instance is handed to other code."""
    tree = file.tree
    return (
        not any(_is_by_text(node) for node in tree.nodes())
        and all(_is_plain_class(file, node) for node in tree.nodes() if isinstance(node, cst.ClassDef))
        and all(_is_kept(file, use) for layer in layers for use in _mentions(file, layer))
    )


def _is_by_text(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.FunctionDef):
        return node.name.value in _METHODS
    if isinstance(node, cst.Attribute):
        return node.attr.value in _ATTRIBUTES | _METHODS - {"__setattr__"}
    return isinstance(node, cst.ImportStar) or (isinstance(node, cst.Name) and node.value in _NAMES)


def _is_plain_class(file: File, node: cst.ClassDef) -> bool:
    """True if the bases of a class are of the program or of Keras, and its methods use `self` by attributes alone."""
    for base in node.bases:
        known = flow_of(file).values(base.value)
        named = isinstance(base.value, cst.Name) and base.value.value == "object"
        if not named and not (known and all(isinstance(one, Class) or _is_keras(symbol_of(one)) for one in known)):
            return False
    return all(
        file.tree.contains(method.params, name) or _is_read(file.tree, name)
        for method in node.body.body
        if isinstance(method, cst.FunctionDef) and method.params.params
        for name in file.tree.nodes()
        if isinstance(name, cst.Name)
        and name.value == method.params.params[0].name.value
        and file.tree.contains(method, name)
    )


def _is_keras(name: str | None) -> bool:
    return (name or "").startswith("keras.")


def _is_read(tree: Tree, name: cst.Name) -> bool:
    """True for `self.attribute`, for `super(Class, self)`, and for what is no variable."""
    parent = tree.parent(name)
    if isinstance(parent, cst.Attribute):
        return True
    if not isinstance(parent, cst.Arg):
        return False
    call = tree.parent(parent)
    above = isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "super"
    return parent.keyword is name or above


def _mentions(file: File, layer: Layer) -> list[cst.BaseExpression]:
    return [layer.call, *layer.uses, *(node for value in layer.values for node in flow_of(file).mentions(value))]


def _is_kept(file: File, node: cst.BaseExpression) -> bool:
    """True if an expression with a layer only calls it, reads its attribute, or keeps it in the instance."""
    tree = file.tree
    if any(isinstance(one, cst.Lambda) for one in tree.ancestors(node)):
        return False
    parent = tree.parent(node)
    if isinstance(parent, (cst.Element, cst.DictElement, cst.ListComp)):
        collection = parent if isinstance(parent, cst.ListComp) else tree.parent(parent)
        assert collection is not None
        node, parent = collection, tree.parent(collection)  # type: ignore[assignment]
    if isinstance(parent, cst.Arg):
        call = tree.parent(parent)
        return isinstance(call, cst.Call) and (_is_keras(file.names.of(call.func)) or _is_appended(tree, call))
    if isinstance(parent, cst.Assign):
        return all(_is_own(tree, one.target) for one in parent.targets)
    if isinstance(parent, (cst.AssignTarget, cst.AnnAssign)):
        target = parent.target
        return _is_own(tree, target)
    called = isinstance(parent, cst.Call) and parent.func is node
    read = isinstance(parent, cst.Attribute) and parent.value is node
    return called or read or (isinstance(parent, (cst.For, cst.CompFor)) and parent.target is node)


def _is_own(tree: Tree, target: cst.BaseExpression) -> bool:
    """True for a local variable, and for an attribute of the instance."""
    return isinstance(target, cst.Name) or (isinstance(target, cst.Attribute) and _is_self(tree, target.value))


def _is_appended(tree: Tree, call: cst.Call) -> bool:
    """True for `self.attribute.append(...)`."""
    method = call.func
    return (
        isinstance(method, cst.Attribute)
        and method.attr.value == "append"
        and isinstance(method.value, cst.Attribute)
        and _is_self(tree, method.value.value)
    )


def _is_self(tree: Tree, node: cst.BaseExpression) -> bool:
    method = tree.enclosing(node, cst.FunctionDef)
    first = method.params.params[:1] if method is not None else ()
    return isinstance(node, cst.Name) and any(one.name.value == node.value for one in first)
