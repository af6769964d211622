"""Whether the layers of a program's classes stay in the instances that make them, as far as the text shows it.

The analysis of values does not follow an object into code that it does not see, nor where a name is looked up by text.
So only plain code passes: a layer is an attribute of its instance, is called, or is given to a layer of Keras.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.flow import Class, Holder, Symbol, Value
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, root_of, symbol_of
from migrate.source.tensorflow.facts.variables.keras_layers import Layer

#: By these a program reaches variables and attributes without their names.
_NAMES = {"globals", "locals", "vars", "exec", "eval", "gc", "setattr", "delattr", "__main__", "import_module"}
_ATTRIBUTES = {"__dict__", "__class__", "modules", "import_module", "get_objects"}
#: Methods by which a class decides what an instance or its attribute is.
_METHODS = {"__new__", "__setattr__", "__getattribute__"}

#: What these make leads to the layers that it goes through.
_SYMBOLIC = {"Input", "InputLayer", "Model"}
#: Attributes of a model that hold its layers.
_PARTS = {"layers", "submodules", "get_layer", "_layers", "_flatten_layers"}
#: Attributes of a layer that are settings, and its rows: of those of a table no gradient is taken.
_SETTINGS = {"input_dim", "output_dim", "name", "embeddings"}
#: Functions of Python that give a container's entries to loops, and methods that read it.
_READERS = {"len", "zip", "enumerate", "sum", "reversed", "isinstance"}
_OF_CLASSES = {"super", "isinstance", "issubclass"}
_READING = {"append", "items", "values", "keys"}
#: Methods of Keras' models that neither take nor return a layer.
METHODS = {
    "fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch", "summary", "build", "save",
    "save_weights", "load_weights", "export", "compile", "count_params", "reset_metrics",
}  # fmt: skip
#: Classes of libraries that a class may inherit: they neither share layers between instances nor hand them on.
#: `tfrs.Model` is a `keras.Model` with a training step; what keras_rs has here are layers without a state but weights.
_BASES = {
    "abc.ABC", "tensorflow_recommenders.Model", "tensorflow_recommenders.models.Model",
    "keras_rs.layers.BruteForceRetrieval", "keras_rs.layers.DotInteraction", "keras_rs.layers.FeatureCross",
    "keras_rs.layers.HardNegativeMining", "keras_rs.layers.RemoveAccidentalHits", "keras_rs.layers.Retrieval",
    "keras_rs.layers.SamplingProbabilityCorrection",
}  # fmt: skip
#: Libraries whose datasets call what `map` is given, and keep it to themselves.
_DATASETS = ("tensorflow.data.", "tensorflow_datasets.")


def are_inside(file: File, layers: Sequence[Layer]) -> bool:
    """True if every layer surely belongs to one instance, and no instance is handed to other code."""
    tree = file.tree
    return (
        not any(_is_by_text(node) for node in tree.nodes())
        and not any(
            name.rpartition(".")[2] in _SYMBOLIC and tree.enclosing(call, cst.ClassDef) is not None
            for call, name in file.names.calls
            if name.startswith("keras.")
        )
        and all(_is_plain_class(file, node) for node in _classes(tree))
        and all(_is_called(tree, name) for one in _classes(tree) for name in tree.names.get(one.name.value, ()))
        and all(_is_kept(file, use) for layer in layers for use in _mentions(file, layer))
        and all(_is_looped_over(file, use) for use in _containers(file, layers))
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
        if not named and not (known and all(_is_known_base(one) for one in known)):
            return False
    return all(
        not method.decorators or all(_is_known_decorator(file, one) for one in method.decorators)
        for method in node.body.body
        if isinstance(method, cst.FunctionDef)
    ) and all(
        file.tree.contains(method.params, name) or _is_read(file.tree, name)
        for method in node.body.body
        if isinstance(method, cst.FunctionDef) and method.params.params
        for name in file.tree.names.get(method.params.params[0].name.value, ())
        if file.tree.contains(method, name)
    )


def _is_known_base(value: Value) -> bool:
    named = isinstance(value, Symbol) and value.name in _BASES
    return named or isinstance(value, Class) or _is_keras(symbol_of(value))


def _is_known_decorator(file: File, one: cst.Decorator) -> bool:
    node = one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator
    plain = isinstance(node, cst.Name) and node.value in {"property", "staticmethod", "classmethod"}
    abstract = file.tree.imported_names(node) == (frozenset(["abc.abstractmethod"]), False)
    return plain or abstract or _is_setter(file.tree, node) or file.names.of(node) is not None


def _is_setter(tree: Tree, node: cst.BaseExpression) -> bool:
    """True for `size.setter` of the class's own property `size`."""
    if not isinstance(node, cst.Attribute) or node.attr.value != "setter" or not isinstance(node.value, cst.Name):
        return False
    around, name = tree.enclosing(node, cst.ClassDef), node.value.value
    methods = [one for one in around.body.body if isinstance(one, cst.FunctionDef)] if around is not None else []
    made = [one.decorators[0].decorator for one in methods if one.name.value == name and len(one.decorators) == 1]
    return bool(made) and isinstance(made[0], cst.Name) and made[0].value == "property"


def _classes(tree: Tree) -> list[cst.ClassDef]:
    return [node for node in tree.nodes() if isinstance(node, cst.ClassDef)]


def _is_called(tree: Tree, name: cst.Name) -> bool:
    """True where the name of a class is called, is a base, or has its method called."""
    parent = tree.parent(name)
    if isinstance(parent, cst.Attribute):
        above = tree.parent(parent)
        return parent.attr is name or (isinstance(above, cst.Call) and above.func is parent)
    if isinstance(parent, cst.Arg):
        call = tree.parent(parent)
        reads = isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in _OF_CLASSES
        return isinstance(call, cst.ClassDef) or reads
    named = isinstance(parent, (cst.ClassDef, cst.ImportAlias)) or tree.enclosing(name, cst.Annotation) is not None
    return named or (isinstance(parent, cst.Call) and parent.func is name)


def _containers(file: File, layers: Sequence[Layer]) -> list[cst.BaseExpression]:
    """Return the mentions in classes of what holds layers, but for `self`."""
    flow = flow_of(file)
    holders = {one for layer in layers for value in layer.values for one in flow.holders(value)}
    uses = [use for one in holders for use in flow.mentions(one)]
    return [use for use in uses if file.tree.enclosing(use, cst.ClassDef) is not None and not _is_self(file.tree, use)]


def _is_looped_over(file: File, node: cst.BaseExpression) -> bool:
    """True if an expression with a container of layers only reads its entries, or keeps it in the instance."""
    tree, parent = file.tree, file.tree.parent(node)
    if isinstance(parent, (cst.For, cst.CompFor)):
        return parent.iter is node
    if isinstance(parent, cst.Subscript):
        return parent.value is node
    if isinstance(parent, cst.Attribute) and parent.value is node:
        method = tree.parent(parent)
        runs = parent.attr.value in METHODS and isinstance(method, cst.Call) and method.func is parent
        return runs or parent.attr.value in _READING
    call = tree.parent(parent) if isinstance(parent, cst.Arg) else None
    reads = isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in _READERS
    return reads or _is_kept(file, node)


def _is_keras(name: str | None) -> bool:
    return (name or "").startswith("keras.")


def _is_read(tree: Tree, name: cst.Name) -> bool:
    """True for `self.attribute`, `self(inputs)`, `super(Class, self)`, `return self`, and for what is no variable."""
    parent = tree.parent(name)
    if isinstance(parent, cst.Return):
        return True  # the analysis follows what a method returns
    if isinstance(parent, cst.Call):
        return parent.func is name
    if isinstance(parent, cst.Attribute):
        above = tree.parent(parent)
        called = isinstance(above, cst.Call) and above.func is parent
        bound = not called and parent.attr.value in _methods(tree)
        return parent.attr is name or not (bound or parent.attr.value in _PARTS)
    if not isinstance(parent, cst.Arg):
        return False
    call = tree.parent(parent)
    to_super = isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "super"
    return parent.keyword is name or to_super


def _methods(tree: Tree) -> frozenset[str]:
    """Return the names of the functions of a program that have no decorators."""
    found = tree.answers.get(("functions",))
    if not isinstance(found, frozenset):
        functions = (one for one in tree.nodes() if isinstance(one, cst.FunctionDef))
        found = tree.answers[("functions",)] = frozenset(one.name.value for one in functions if not one.decorators)
    return found


def _mentions(file: File, layer: Layer) -> list[cst.BaseExpression]:
    return [layer.call, *layer.uses, *(node for value in layer.values for node in flow_of(file).mentions(value))]


def _is_kept(file: File, node: cst.BaseExpression, depth: int = 4) -> bool:
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
        if not isinstance(call, cst.Call) or not depth:
            return False
        mentions = [call, *(use for value in flow_of(file).values(call) for use in flow_of(file).mentions(value))]
        made = _is_keras(file.names.of(call.func)) and all(_is_kept(file, use, depth - 1) for use in mentions)
        return made or _is_appended(file, call) or _is_mapped(file, call)
    if isinstance(parent, cst.Assign):
        return all(_is_own(tree, one.target) for one in parent.targets)
    if isinstance(parent, (cst.AssignTarget, cst.AnnAssign)):
        target = parent.target
        return _is_own(tree, target)
    called = isinstance(parent, cst.Call) and parent.func is node
    read = isinstance(parent, cst.Attribute) and parent.value is node and _is_setting(tree, parent)
    return called or read or (isinstance(parent, (cst.For, cst.CompFor)) and parent.target is node)


def _is_setting(tree: Tree, node: cst.Attribute) -> bool:
    """True for a setting of a layer, and for its method that is called."""
    parent = tree.parent(node)
    return node.attr.value in _SETTINGS or (isinstance(parent, cst.Call) and parent.func is node)


def _is_own(tree: Tree, target: cst.BaseExpression) -> bool:
    """True for a local variable, and for an attribute of the instance."""
    return isinstance(target, cst.Name) or (isinstance(target, cst.Attribute) and _is_self(tree, target.value))


def _is_appended(file: File, call: cst.Call) -> bool:
    """True for `self.attribute.append(...)` of a list of the program."""
    method = call.func
    return (
        isinstance(method, cst.Attribute)
        and method.attr.value == "append"
        and isinstance(method.value, cst.Attribute)
        and _is_self(file.tree, method.value.value)
        and all(isinstance(one, Holder) for one in flow_of(file).values(method.value))
    )


def _is_mapped(file: File, call: cst.Call) -> bool:
    """True for `dataset.map(model)`, which makes a dataset of what the model computes."""
    method = call.func
    if not isinstance(method, cst.Attribute) or method.attr.value != "map":
        return False
    roots = [root_of(one) for one in flow_of(file).values(method.value)]
    return bool(roots) and all(isinstance(one, Symbol) and one.name.startswith(_DATASETS) for one in roots)


def _is_self(tree: Tree, node: cst.BaseExpression) -> bool:
    method = tree.enclosing(node, cst.FunctionDef)
    first = method.params.params[:1] if method is not None else ()
    return isinstance(node, cst.Name) and any(one.name.value == node.value for one in first)
