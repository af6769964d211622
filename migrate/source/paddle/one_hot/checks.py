"""What a model with one-hot inputs must not have, although it can be executed: refusals, each with its line."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Mapping

from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.modules import dotted_name, imported_modules, imported_names, imports_of
from migrate.source.paddle.abstract.values import Described, Layer, Span, Value, words
from migrate.source.paddle.emission.names import Names
from migrate.source.paddle.layers import functions
from migrate.source.paddle.layers.basic import LINEAR
from migrate.source.paddle.one_hot.module import reserved, scope_name
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.ops import creation, registry

_PLAIN_DUNDERS = frozenset({"__init__", "__doc__", "__repr__", "__str__", "__all__"})
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_NAME_RULE = "names of TensorFlow variables consist of ASCII letters, digits, `_` and `-`"
#: Names that the converted layers use.
RESERVED_ATTRIBUTES = words(
    "path columns name_layers create_variables input_layers embedding_tables emb_dim embedding_initializer "
    "_sub_layers build named_weights"
)
#: Layers that hold nothing, and compute the same in training and evaluation.
_PLAIN_LAYERS = {spec.name for spec in functions.SPECS if not spec.name.endswith("PReLU")} | {
    LINEAR.name,
    "paddle.nn.Identity",
}
_RANDOM = {op.name for op in creation.DRAWN}
#: Arguments of `ParamAttr` that change how a parameter trains -> their defaults.
_TRAINING = {"learning_rate": 1.0, "regularizer": None, "trainable": True, "do_model_average": True, "need_clip": True}


def defines_model(text: str) -> bool:
    """Return whether a file defines a class that derives from `nn.Layer`; raises SyntaxError."""
    tree = ast.parse(text)
    names = imported_names(tree.body)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return any(_dotted(base, names) == registry.LAYER for node in classes for base in node.bases)


def _dotted(node: ast.AST, names: Mapping[str, str]) -> str:
    return registry.canonical(dotted_name(node, names))


def foreign_base(text: str) -> ast.ClassDef | None:
    """Return the first class whose base comes from another file and may be a layer; None if Paddle is not imported."""
    tree = ast.parse(text)
    names = imported_names(tree.body)
    if not any(name.partition(".")[0] == "paddle" for name, _ in imported_modules(tree)):
        return None
    known = {"paddle", *dir(builtins), *sys.stdlib_module_names}
    known |= {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            dotted = [_dotted(base, names) or ast.unparse(base) for base in node.bases]
            if any(name.partition(".")[0] not in known for name in dotted):
                return node
    return None


def check(program: Program, names: Names, taken: frozenset[str] = frozenset()) -> None:
    """Record problems for all that is executed but not converted; `taken` are further names of the module."""
    _check_imports(program)
    _check_names(program, reserved(names) | taken)
    _check_constructor(program)
    _check_layers(program)
    _check_parameters(program)
    _check_random(program)


def _problem(program: Program, span: Span, message: str) -> None:
    program.run.problem_at(program.net, span, message)


def _check_imports(program: Program) -> None:
    """Only this file is converted: names of other files of the folder are refused where they are used."""
    names = imported_names(imports_of(program.net.tree))
    allowed = {"paddle", "numpy", *sys.stdlib_module_names}
    for node in ast.walk(program.net.tree):
        if isinstance(node, ast.ImportFrom) and any(item.name == "*" for item in node.names):
            message = f"`from {node.module} import *` does not tell which names it binds; name them"
            program.run.problem_in(program.net, node, message)
        if not isinstance(node, ast.Name) or node.id not in names or isinstance(node.ctx, ast.Store):
            continue
        if names[node.id].partition(".")[0] not in allowed:
            message = f"`{names[node.id]}` comes from another module, which is not converted; define it in this file"
            program.run.problem_in(program.net, node, message)


def _check_names(program: Program, taken: frozenset[str]) -> None:
    """Record problems for names that collide with converted code."""
    run, module = program.run, program.net
    names = imported_names(imports_of(module.tree))
    for node in ast.walk(module.tree):
        bound = _bound_name(node)
        if bound in taken or bound in names:
            run.problem_in(module, node, f"the name `{bound}` is used by the converted code; rename it")
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            run.problem_in(module, node, f"the decorators of `{node.name}` are not supported")
        if isinstance(node, ast.ClassDef):
            _check_members(program, node)
        if isinstance(node, ast.Attribute):
            _check_attribute(program, node)


def _check_attribute(program: Program, node: ast.Attribute) -> None:
    if node.attr == "training":
        message = "`training` is read, but the converted module has one graph for training and evaluation; leave it out"
        program.run.problem_in(program.net, node, message)
    if isinstance(node.ctx, ast.Store) and node.attr in RESERVED_ATTRIBUTES:
        message = f"the name `{node.attr}` is used by the converted layers; rename it"
        program.run.problem_in(program.net, node, message)


def _check_members(program: Program, node: ast.ClassDef) -> None:
    """Record problems for class members that would replace those of layers, or change how calls work."""
    for item in node.body:
        targets = item.targets if isinstance(item, ast.Assign) else [getattr(item, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        names += [item.name] if isinstance(item, ast.FunctionDef) else []
        for name in names:
            message = ""
            if name in RESERVED_ATTRIBUTES or name == "add_sublayer":
                message = f"the name `{name}` is used by the converted layers; rename it"
            elif name.startswith("__") and name.endswith("__") and name not in _PLAIN_DUNDERS:
                message = f"the special method `{name}` is not supported; remove it"
            if message:
                program.run.problem_in(program.net, item, message)


def _bound_name(node: ast.AST) -> str:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def _check_constructor(program: Program) -> None:
    cls, run, module = program.model.cls, program.run, program.net
    if not _NAME.fullmatch(scope_name(program.name)):
        message = f"the class name `{program.name}` cannot be used for variable names; {_NAME_RULE}"
        run.problem_in(module, cls.node, message)
    own = [node for node in cls.node.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    if not own:
        run.problem_in(module, cls.node, f"{program.name} has no constructor; add one")
    for function in own:
        if not function.args.args or function.args.args[0].arg != "self":
            run.problem_in(module, function, "the first parameter of the model's constructor must be called `self`")
        if function.body[0].lineno == function.lineno:
            message = "the body of the constructor must not be on the line of `def`; put it on lines of its own"
            run.problem_in(module, function, message)
        for node in ast.walk(function):
            if isinstance(node, ast.Return):
                message = "a `return` in the model's constructor would skip code added by the conversion; remove it"
                run.problem_in(module, node, message)


def _check_layers(program: Program) -> None:
    """Record problems for layers that do more than compute, and for names of layers that are no names of variables."""
    paths = program.paths
    for layer in program.run.layers:
        if isinstance(layer, Layer) and layer.name not in _PLAIN_LAYERS:
            message = f"`{layer.name}` is not supported in a model with a one-hot input"
            _problem(program, layer.span, f"{message}; convert the model's folder without a schema, or leave it out")
        elif isinstance(layer, Layer) and layer.calls and id(layer) not in paths and layer.weights:
            message = (
                "this layer is used but not registered, so Paddle does not train it; use add_sublayer or LayerList"
            )
            _problem(program, layer.span, message)
    for replaced in program.run.replaced:
        message = f"two layers have the name {replaced.name!r}, and Paddle does not train the first; rename one of them"
        _problem(program, replaced.place[1], message)
    for _, layer in named_layers(program.model):
        for name in layer.sublayers:
            at = layer.sublayers[name].span
            if not _NAME.fullmatch(name):
                _problem(program, at, f"a layer has the name {name!r}, but {_NAME_RULE}")
            elif name in RESERVED_ATTRIBUTES or _is_method(layer, name):
                _problem(program, at, f"the name {name!r} of this layer is also an attribute; rename one of them")


def _is_method(layer: Value, name: str) -> bool:
    cls = getattr(layer, "cls", None)
    return cls is not None and cls.find(name) is not None


def _check_parameters(program: Program) -> None:
    """Record problems for parameters of no layer, and for those that train in a way of their own."""
    seen: set[str] = set()
    for weight in program.run.parameters:
        message = "a parameter of `create_parameter` is not supported in a model with a one-hot input; use `nn.Linear`"
        _problem(program, weight.place[1], message)
    for layer in program.linears:
        for which in ("weight_attr", "bias_attr"):
            message = _about(layer.arguments.get(which), seen)
            if message:
                _problem(program, layer.span, message)
        weights = layer.weights
        if "weight" not in weights:
            _problem(program, layer.span, "a `nn.Linear` without a weight is not supported")
        if layer.whole_reads:
            span = layer.whole_reads[0][1]
            message = "reading a layer's `weight` is not supported in a model with a one-hot input; call the layer"
            if layer.whole_reads[0][0] == program.net.path:
                _problem(program, span, message)


def _about(attr: Value, seen: set[str]) -> str:
    """Return why an attribute of a parameter is refused, or an empty text."""
    if isinstance(attr, str):
        return "a parameter given by its name may be shared with another layer; give an initializer instead"
    if not isinstance(attr, Described):
        return ""
    if attr.name.startswith("paddle.regularizer"):
        return f"`{attr.name}` changes how the parameter trains and is not converted"
    if attr.name == "paddle.nn.initializer.Assign":
        return "`paddle.nn.initializer.Assign` gives values that a table cannot compute; use another initializer"
    if attr.name != "paddle.ParamAttr":
        return ""
    for name, default in _TRAINING.items():
        value = attr.arguments.get(name, default)
        if value != default:
            shown = getattr(value, "name", repr(value))
            return f"`{name}={shown}` of `ParamAttr` changes how the parameter trains and is not converted"
    label = attr.arguments.get("name")
    if label is not None and label in seen:
        return f"two parameters have the name {label!r}; use different names"
    seen |= {label} if label is not None else set()
    return _about(attr.arguments.get("initializer"), seen)


def _check_random(program: Program) -> None:
    """Record problems for ops of the model, or of its loss, that draw random numbers."""
    node, files = program.loss.node, {program.net.path: program.net, program.loss.module.path: program.loss.module}
    for (path, span), site in list(program.run.sites.items()):
        converted = path == program.net.path or node.lineno <= span[0] <= (node.end_lineno or 0)
        name = site.op.name if site.op is not None and path in files and converted else ""
        if name in _RANDOM or "dropout" in name or name.endswith(("gumbel_softmax", "rrelu")):
            message = f"`{name}` draws random numbers, which is not supported in a model with a one-hot input"
            program.run.problem_at(files[path], span, message)
