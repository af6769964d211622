"""Uses of a model, its variables and its class of layer that a table would change without a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst
import libcst.matchers as m

from migrate.source.frontends.tensorflow.args import literal, string
from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.keras_layers.facts import RULE, SYMBOL, Layer
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.talk import prints
from migrate.source.frontends.tensorflow.values import (
    is_target,
    is_variable,
    local_names,
    resolve,
    scope_of_name,
    self_class,
)

LISTS = (
    "trainable_variables", "trainable_weights", "variables", "weights", "non_trainable_variables",
    "non_trainable_weights",
)  # fmt: skip
LOADERS = {"keras.models.load_model", "keras.saving.load_model", "saved_model.load", "saved_model.load_v2"}
WRAPPERS = {"keras.layers.TimeDistributed", "keras.layers.Bidirectional", "keras.layers.Wrapper"}
KEEP = "keep the layers dense"


def use_stops(file: File, layers: list[Layer]) -> Iterator[Stop]:
    """Stop all layers of the file at what would no longer see their rows, or see something else."""
    followed = {id(use) for layer in layers for use in layer.uses}
    yield from _class_uses(file)
    yield from _matrices(file, followed)
    yield from _lists(file, followed)
    yield from _counts(file, followed)
    yield from _dense_gradients(file)
    for call, name in file.names.calls:
        if name in LOADERS:
            reason = "who trains a model that was loaded trains it without the steps of its tables"
            yield stop_at(
                file, call, "loads a model", reason, "build it anew and load its weights", "loaded models only predict"
            )
        wrapped = call.args[0].value if name in WRAPPERS and call.args else None
        if wrapped is not None and id(wrapped) not in followed and not _is_other(file, wrapped, ()):
            reason = "a table looked up in a wrapper gets no gradients"
            yield stop_at(file, call, "wraps a layer", reason, KEEP, "no `Embedding` layer is in a wrapped model")
    for call in file.tree.calls:
        if _called(call) == "set_floatx" and not (call.args and string(call.args[0].value) == "float32"):
            yield stop_at(file, call, "sets the type of all layers", "tables hold float32", KEEP)


def stop_at(file: File, node: cst.CSTNode, what: str, reason: str, action: str = "", assumption: str = "") -> Stop:
    """Return a stop that shows the source of its node."""
    text = " ".join(file.tree.source(node).split())
    shown = text if len(text) <= 60 else text[:57] + "..."
    return Stop(node, RULE, f"`{shown}` {what}", reason, action, assumption)


def _called(call: cst.Call) -> str:
    """Return the last part of the name of what is called."""
    func = call.func
    return func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""


def _class_uses(file: File) -> Iterator[Stop]:
    """Stop where the class of the layers is compared or handed on: a table's is another."""
    aliases = [
        alias.asname.name if alias.asname is not None else alias.name
        for statement in file.tree.imports
        if isinstance(statement, cst.ImportFrom) and not isinstance(statement.names, cst.ImportStar)
        for alias in statement.names
    ]
    local = {"Embedding", *(name.value for name in aliases if isinstance(name, cst.Name))}
    names = [use for name in sorted(local) for use in file.tree.names.get(name, ()) if is_variable(file.tree, use)]
    for use in (*names, *file.tree.attributes.get("Embedding", ())):
        if not is_target(file.tree, use) and file.names.of(use) == SYMBOL and not _makes_or_inherits(file, use):
            reason = "a layer that became a table is of another class"
            yield stop_at(file, file.tree.parent(use) or use, "uses the class of the layers", reason, KEEP)


def _makes_or_inherits(file: File, use: cst.BaseExpression) -> bool:
    around = file.tree.parent(use)
    if isinstance(around, cst.Call):
        return around.func is use
    if isinstance(around, cst.Arg):
        return isinstance(file.tree.parent(around), cst.ClassDef)
    return isinstance(around, cst.ImportAlias | cst.AsName | cst.Annotation)


def _matrices(file: File, followed: set[int]) -> Iterator[Stop]:
    for read in _reads(file, "embeddings", followed):
        reason = "that may be the whole [rows, dim] matrix, which a growing table does not have"
        yield stop_at(file, read, "may read an `Embedding` layer", reason, KEEP)


def _lists(file: File, followed: set[int]) -> Iterator[Stop]:
    """Stop where a list of a model's variables is used for anything but to train them."""
    for word in LISTS:
        for read in _reads(file, word, followed):
            if not _trains(file, read):
                reason = "the list of a model's variables lacks the rows of its tables"
                yield stop_at(file, read, "is used for more than training", reason, KEEP)


def _counts(file: File, followed: set[int]) -> Iterator[Stop]:
    """Doubt numbers of variables or parameters that are used: those of tables are not among them."""
    counts = [one for one in file.tree.calls if _called(one) == "count_params" and file.names.of(one.func) is None]
    found = [c for c in counts if isinstance(c.func, cst.Attribute) and not _is_other(file, c.func.value)]
    for word in LISTS:
        around = [file.tree.parent(file.tree.parent(read) or read) for read in _reads(file, word, followed)]
        found += [one for one in around if isinstance(one, cst.Call) and m.matches(one.func, m.Name("len"))]
    for call in found:
        if not prints(file, call) and not isinstance(file.tree.parent(call), cst.Expr):
            reason = "the rows of tables are not counted among the variables of a model"
            assumption = f"nobody needs the tables in `{file.tree.source(call)}`"
            yield stop_at(file, call, "counts", reason, "convert with --assume if nobody needs them there", assumption)


def _reads(file: File, word: str, followed: set[int]) -> Iterator[cst.Attribute]:
    """Yield the reads of an attribute, but of layers that are followed and of what is provably no model."""
    own = [self_class(file.tree, a) for a in file.tree.attributes.get(word, ()) if is_target(file.tree, a)]
    defined = any(cls is not None for cls in own)
    for read in file.tree.attributes.get(word, ()):
        if is_target(file.tree, read) or id(read.value) in followed or file.names.of(read) is not None:
            continue
        if id(read) in followed and isinstance(read.value, cst.Name | cst.Attribute):
            continue
        if (defined and self_class(file.tree, read) is not None) or _is_other(file, read.value):
            continue
        yield read


def _is_other(file: File, node: cst.BaseExpression, models: Iterable[str] = (SYMBOL, *WRAPPERS)) -> bool:
    """True for a layer of Keras that has no other layer in it, `models` aside."""
    value = resolve(file.tree, node)
    name = file.names.of(value.func) if isinstance(value, cst.Call) else None
    return name is not None and name.startswith("keras.layers.") and name not in models


def _trains(file: File, node: cst.BaseExpression, depth: int = 4) -> bool:
    """True for a list of variables that goes into a gradient, an optimizer or `len`, through plain names at most."""
    around = file.tree.parent(node)
    while isinstance(around, cst.BinaryOperation) and isinstance(around.operator, cst.Add):
        node, around = around, file.tree.parent(around)
    if isinstance(around, cst.Expr):
        return True
    if isinstance(around, cst.Arg):
        return _taken(file, around)
    target = _name_given(around) if depth else None
    reads = _all_reads(file, target) if target is not None else []
    return bool(reads) and all(_trains(file, read, depth - 1) for read in reads)


def _taken(file: File, arg: cst.Arg) -> bool:
    call = file.tree.parent(arg)
    if not isinstance(call, cst.Call) or arg.star:
        return False
    second = len(call.args) > 1 and (call.args[1] is arg or arg.keyword is not None)
    if isinstance(call.func, cst.Name):
        zipped = call.func.value == "zip" and len(call.args) == 2 and second
        return call.func.value == "len" or (zipped and _applied(file, call))
    return _called(call) in {"minimize", "build"} or (_called(call) == "gradient" and second)


def _applied(file: File, node: cst.BaseExpression, depth: int = 4) -> bool:
    """True for pairs that only go into `apply_gradients`."""
    around = file.tree.parent(node)
    call = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    if isinstance(call, cst.Call):
        if isinstance(call.func, cst.Name) and call.func.value in {"list", "tuple"}:
            return _applied(file, call, depth)
        return _called(call) == "apply_gradients"
    target = _name_given(around) if depth else None
    reads = _all_reads(file, target) if target is not None else []
    return bool(reads) and all(_applied(file, read, depth - 1) for read in reads)


def _name_given(around: cst.CSTNode | None) -> cst.Name | None:
    """Return the plain name that a statement gives a value to."""
    if isinstance(around, cst.Assign) and len(around.targets) == 1:
        target = around.targets[0].target
    elif isinstance(around, cst.AnnAssign):
        target = around.target
    else:
        return None
    return target if isinstance(target, cst.Name) else None


def _all_reads(file: File, target: cst.Name) -> list[cst.Name]:
    scope = scope_of_name(file.tree, target)
    names = local_names(file.tree, target.value, scope) if scope is not None else []
    return [name for name in names if not is_target(file.tree, name)]


def _dense_gradients(file: File) -> Iterator[Stop]:
    """Stop where each of some gradients is made dense: those of a table are only its rows."""
    if not any(_called(call) == "gradient" for call in file.tree.calls):
        return
    for call, _ in file.calls("convert_to_tensor"):
        value = call.args[0].value if call.args else None
        if isinstance(value, cst.Name) and any(_is_turned(file, use) for use in file.tree.names[value.value]):
            reason = "the gradient of a table is that of the rows of a batch"
            yield stop_at(file, call, "may make gradients dense", reason, "leave it out", "it takes no gradients")


def _is_turned(file: File, use: cst.Name) -> bool:
    """True for the variable of a loop."""
    around = file.tree.parent(use)
    while isinstance(around, cst.Element | cst.Tuple):
        around = file.tree.parent(around)
    return isinstance(around, cst.For | cst.CompFor) and is_target(file.tree, use)


def check_places(file: File, layer: Layer) -> None:
    """Stop a layer that is wrapped, or looked up in a loop of the graph."""
    for node in (layer.call, *layer.uses):
        around = next((a for a in file.tree.ancestors(node) if isinstance(a, cst.Call) and _wraps(file, a)), None)
        if around is not None:
            layer.stop(
                around,
                "an `Embedding` in a wrapper stays dense",
                "a table looked up there gets no gradients",
                "look the rows up outside of the wrapper",
            )
    for call in layer.calls:
        loop = next((a for a in file.tree.ancestors(call) if _is_graph_loop(file, a)), None)
        if loop is not None:
            reason = "the gradients of a table do not leave the loop"
            assumption = "lookups in loops are in loops of Python"
            layer.stop(call, "a lookup in a loop", reason, "look all rows up before the loop", assumption)


def _wraps(file: File, call: cst.Call) -> bool:
    return file.names.of(call.func) in {*WRAPPERS, "while_loop", "scan", "map_fn", "foldl", "foldr"}


def _is_graph_loop(file: File, node: cst.CSTNode) -> bool:
    """True for a loop over a tensor: one that TensorFlow makes, or that the function is given."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    if isinstance(node, cst.While):
        return function is not None and literal(node.test) is not True
    if not isinstance(node, cst.For):
        return False
    value = resolve(file.tree, node.iter)
    if isinstance(value, cst.Call):
        name = file.names.of(value.func)
        return name is not None and not name.startswith("data.")
    method = function is not None and function.name.value == "call"
    return method and isinstance(value, cst.Name) and function is not None and value.value in _given(function)


def _given(function: cst.FunctionDef) -> Iterable[str]:
    return {parameter.name.value for parameter in (*function.params.posonly_params, *function.params.params)}
