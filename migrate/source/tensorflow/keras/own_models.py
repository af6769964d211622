"""Whether two optimizers are compiled into models of their own, which share no layer.

So it is where each model is an instance of a class whose methods create the layers, and nothing hands a part of one
model to the other:

    first = Tower(8)                                   # Tower.__init__ creates the layers
    first.compile(keras.optimizers.Adagrad(0.1))
    second = Tower(16)
    second.compile(keras.optimizers.Adagrad(0.1))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from migrate.source.flow import Class, Holder, Unknown, Value
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, symbol_of
from migrate.source.tensorflow.facts.variables.keras_layers import Layer
from migrate.source.tensorflow.keras.kept_inside import METHODS, are_inside

#: Kinds of objects that each instance may have its own of; a class and a module are one for all.
_OF_ONE = ("object", "list", "dict", "record")
#: Names of Keras whose results may be, or may hold, a layer.
_PARTS = tuple(f"keras.{name}" for name in ("layers.", "models.", "Model", "Sequential", "Input", "applications."))
#: Modules of Keras whose objects hold no layer.
_WITHOUT = tuple(f"keras.{name}." for name in ("activations", "initializers", "losses", "metrics", "regularizers"))


def are_apart(file: File, pair: Sequence[cst.CSTNode], made: Sequence[cst.CSTNode], layers: Sequence[Layer]) -> bool:
    """True if the models that a pair of optimizers is compiled into surely share none of `layers`.

    `made` are all optimizers of the program.
    """
    models = [one for one in (_created(file, node) for node in pair) if one is not None]
    if len(models) < 2 or models[0][1] is models[1][1]:
        return False
    return _are_of_their_own(file, models, made, layers)


def is_remade(file: File, node: cst.CSTNode, made: Sequence[cst.CSTNode], layers: Sequence[Layer]) -> bool:
    """True if code that runs again makes a new model, with layers of its own, whenever it makes the optimizer `node`.

    for rate in rates:
        model = Tower(8)
        model.compile(keras.optimizers.Adam(rate))
    """
    model = _created(file, node)
    return model is not None and _are_of_their_own(file, [model], made, layers)


def _are_of_their_own(
    file: File, models: Sequence[tuple[str, cst.Call]], made: Sequence[cst.CSTNode], layers: Sequence[Layer]
) -> bool:
    """True if each of the models, given by its variable and its creation, surely has layers of its own."""
    names, calls = {name for name, _ in models}, [call for _, call in models]
    known = [model[1] for node in made if (model := _created(file, node)) is not None]
    return (
        all(_is_of_instances(file, layer, known) for layer in layers)
        and all(_is_new(file, call, names) and _is_known(file, call, names) for call in calls)
        and all(_is_harmless(file, node) for node in file.tree.nodes() if _is_one_of(node, names))
        and are_inside(file, layers)
    )


def _created(file: File, node: cst.CSTNode) -> tuple[str, cst.Call] | None:
    """Return the variable and the creation of the model into which `node` is compiled."""
    tree = file.tree
    compiled = next((one for one in tree.ancestors(node) if isinstance(one, cst.Call)), None)
    if compiled is None or not isinstance(compiled.func, cst.Attribute) or compiled.func.attr.value != "compile":
        return None
    model, line = compiled.func.value, tree.parent(tree.parent(compiled) or compiled)
    body = tree.parent(line) if line is not None else None
    if not isinstance(model, cst.Name) or not isinstance(body, (cst.Module, cst.IndentedBlock)):
        return None
    before: Sequence[cst.CSTNode] = body.body[: next(i for i, one in enumerate(body.body) if one is line)]
    last = next((one for one in reversed(before) if _assigns(tree, one, model.value)), None)
    if not isinstance(last, cst.SimpleStatementLine) or len(last.body) != 1:
        return None
    assigned = last.body[0]
    if not isinstance(assigned, cst.Assign) or len(assigned.targets) != 1:
        return None
    plain = isinstance(assigned.targets[0].target, cst.Name)
    return (model.value, assigned.value) if plain and isinstance(assigned.value, cst.Call) else None


def _assigns(tree: Tree, node: cst.CSTNode, name: str) -> bool:
    """True if a statement assigns the name; another way to bind it is not harmless anywhere (`_is_harmless`)."""
    uses = (use for use in tree.names.get(name, ()) if isinstance(tree.parent(use), cst.AssignTarget))
    return any(tree.contains(node, use) for use in uses)


def _is_of_instances(file: File, layer: Layer, models: Sequence[cst.CSTNode]) -> bool:
    """True if a method makes the layer anew for each instance, and nothing that all instances see leads to it."""
    tree = file.tree
    if not layer.values or not _is_made_by_a_method(tree, layer.call):
        return False
    if not all(_is_in_class(tree, use) for use in layer.uses):
        return False
    for holder in _holders(file, layer.values):
        if any(holder.node is one for one in models):
            continue
        if not isinstance(holder, Holder) or holder.kind not in _OF_ONE or holder.node is None:
            return False
        inside = all(_is_in_class(tree, use) for use in flow_of(file).uses(holder))
        kept = holder.kind == "object" or flow_of(file).held(holder) or isinstance(tree.parent(holder.node), cst.Arg)
        if not inside or not kept or not _is_made_by_a_method(tree, holder.node):
            return False
    return True


def _is_made_by_a_method(tree: Tree, node: cst.CSTNode) -> bool:
    """True if a plain method of a class of the module runs the node whenever it is called."""
    around = list(tree.ancestors(node))
    methods = [one for one in around if isinstance(one, cst.FunctionDef)]
    classes = [one for one in around if isinstance(one, cst.ClassDef)]
    if len(methods) != 1 or len(classes) != 1 or tree.contains(methods[0], classes[0]) or methods[0].decorators:
        return False
    shared = (cst.Global, cst.Nonlocal)  # a name outside of the instance
    return tree.contains(methods[0].body, node) and not any(
        isinstance(one, shared) and tree.contains(classes[0], one) for one in tree.nodes()
    )


def _holders(file: File, values: Iterable[Value]) -> list[Value]:
    """Return what holds the values, what holds that, and so on."""
    found: list[Value] = []
    left = list(values)
    while left:
        for holder, _ in flow_of(file).held(left.pop()):
            if not any(holder is one for one in found):
                found.append(holder)
                left.append(holder)
    return found


def _is_in_class(tree: Tree, node: cst.CSTNode) -> bool:
    return any(isinstance(one, cst.ClassDef) for one in tree.ancestors(node))


def _is_new(file: File, call: cst.Call, names: set[str]) -> bool:
    """True if a call makes an instance of a class of the program, and is given no part of a model."""
    classes = flow_of(file).values(call.func)
    if not classes or not all(isinstance(one, Class) and not _is_special(one) for one in classes):
        return False
    if any(file.tree.contains(call, use) for name in names for use in file.tree.names.get(name, ())):
        return False
    return all(_is_plain(file, flow_of(file).values(arg.value), strict=True) for arg in call.args)


def _is_known(file: File, call: cst.Call, names: set[str]) -> bool:
    """True if nothing but the model's variable, and names in its class, may be the instance that a call makes."""
    flow = flow_of(file)
    uses = [use for value in flow.values(call) for use in flow.uses(value)]
    return all(use is call or _is_one_of(use, names) or _is_in_class(file.tree, use) for use in uses)


def _is_one_of(node: cst.CSTNode, names: set[str]) -> bool:
    return isinstance(node, cst.Name) and node.value in names


def _is_special(cls: Class) -> bool:
    """True if calling the class may return an object that exists already."""
    node = cls.node
    assert isinstance(node, cst.ClassDef)
    own = {one.name.value for one in node.body.body if isinstance(one, cst.FunctionDef)}
    return bool(node.keywords or node.decorators) or "__new__" in own


def _is_plain(file: File, values: Iterable[Value], strict: bool = False, depth: int = 4) -> bool:
    """True if no value is an object of the program, a layer or a model; `strict`: nor one that is not known."""
    flow = flow_of(file)
    for value in values:
        name = symbol_of(value) or ""
        if isinstance(value, Holder) and value.kind in {"list", "dict", "record"} and depth:
            if not _is_plain(file, flow.entries(value), strict, depth - 1):
                return False
        elif (
            isinstance(value, Holder)
            or (name.startswith("keras." if strict else _PARTS) and not name.startswith(_WITHOUT))
            or (strict and isinstance(value, Unknown))
        ):
            return False
    return True


def _is_harmless(file: File, name: cst.CSTNode) -> bool:
    """True for the assignment of a model, and for a call of it or of a method of Keras with data alone."""
    parent = file.tree.parent(name)
    if isinstance(parent, cst.AssignTarget):
        return True
    attribute = isinstance(parent, cst.Attribute) and parent.attr is name
    if attribute or (isinstance(parent, cst.Arg) and parent.keyword is name):
        return True  # not this variable
    read = parent if isinstance(parent, cst.Attribute) else name
    call = file.tree.parent(read)
    if not isinstance(call, cst.Call) or call.func is not read:
        return False
    if isinstance(read, cst.Attribute) and read.attr.value not in METHODS:
        return False
    compiles = isinstance(read, cst.Attribute) and read.attr.value == "compile"
    return compiles or all(_is_plain(file, flow_of(file).values(arg.value)) for arg in call.args)
