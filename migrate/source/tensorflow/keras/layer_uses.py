"""Uses of a model, its variables and its layer class whose results would silently change with a table."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from typing import Any

import libcst as cst

from migrate.source.flow import Member, Symbol, Unknown, Value
from migrate.source.tensorflow.base.arguments import keyword, last_name, literal, method_of, string
from migrate.source.tensorflow.base.bindings import builtin
from migrate.source.tensorflow.base.logging_statements import prints, spoken
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File, cached_list
from migrate.source.tensorflow.base.symbols import canonical
from migrate.source.tensorflow.base.value_flow import flow_of, is_inherited, symbol_of, symbols_of
from migrate.source.tensorflow.facts.variables.embedding_columns import KERAS_READERS
from migrate.source.tensorflow.facts.variables.keras_layers import EMBEDDING, RULE, SYMBOL, Layer

LISTS = (
    "trainable_variables", "trainable_weights", "variables", "weights", "non_trainable_variables",
    "non_trainable_weights",
)  # fmt: skip
WRAPPERS = {"keras.layers.TimeDistributed", "keras.layers.Bidirectional", "keras.layers.Wrapper"}
#: Functions that call another in a loop of the graph.
LOOPS = {"while_loop", "scan", "map_fn", "foldl", "foldr"}

#: Layers of Keras that may hold a table.
HOLDERS = {SYMBOL, *WRAPPERS, *KERAS_READERS}

#: Functions that set the policy of all layers, and the policies with variables of float32.
POLICIES = {"set_global_policy", "set_dtype_policy"}
FLOAT32 = {"float32", "mixed_float16", "mixed_bfloat16"}

#: Attributes that are facts of the matrix, or its rows as an array.
_FACTS = frozenset({"dtype", "get_shape", "ndim", "numpy", "shape"})
#: Attributes that are the matrix again, and its name, which is another for a table.
_SAME = frozenset({"name", "read_value", "value"})
#: Functions that take a gradient, or that give back what is no tensor without reading it.
_OTHERS = frozenset({"batch_jacobian", "get_value", "gradient", "gradients", "jacobian", "watch"})

#: Keys of refusals, of which the second has an assumption.
NEVER, PERHAPS = "matrix", "matrix-given"

#: Functions of TensorFlow that give an `IndexedSlices` for one.
_KEEPING = {"cast", "clip_by_norm", "clip_by_value", "identity", "scalar_mul"}
_LISTS = {"clip_by_global_norm", "global_norm", "linalg.global_norm"}
#: Functions and methods that only hand a gradient on, or ask what it is.
_HANDING = {"enumerate", "isinstance", "len", "list", "tuple", "type", "zip"}
_METHODS = {"append", "apply", "apply_gradients", "extend", "insert"}
_TAKING = {"gradient", "clip_by_global_norm"}
#: Attributes of an `IndexedSlices` that tell the rows of the whole variable.
_SHAPES = {"dense_shape", "get_shape", "shape"}


def use_blockers(file: File, layers: list[Layer]) -> Iterator[Blocker]:
    """Block all layers of a file with code that would no longer see their rows, or see other values."""
    followed = {use for layer in layers for use in layer.uses}
    yield from _class_uses(file)
    for read in (*_reads(file, "embeddings", followed), *_read_by_text(file, "embeddings")):
        key = "" if _was_given(file, read) else refused_read(file, read)
        if key:
            yield blocker_at(file, read, {NEVER: "read-as-value", PERHAPS: "given-as-value"}[key])
    yield from _lists(file, followed)
    for call, name in file.names.calls:
        wrapped = call.args[0].value if name in WRAPPERS and call.args else None
        if wrapped is not None and wrapped not in followed and not are_layers(file, wrapped):
            yield blocker_at(file, call, "wrapped-layer")
        values = flow_of(file).values(call.args[0].value) if name == "convert_to_tensor" and call.args else ()
        if any(_is_gradient(file, value) for value in values):
            yield blocker_at(file, call, "dense-gradients")
    for node, key in gradient_uses(file):
        yield blocker_at(file, node, key)
    yield from _types_of_all(file)


@cached_list
def _types_of_all(file: File) -> Iterator[Blocker]:
    """Block calls that choose another type than float32 for all layers."""
    for call in file.tree.calls:
        if last_name(call.func) == "set_floatx" and not (call.args and string(call.args[0].value) == "float32"):
            yield blocker_at(file, call, "type-of-all")
        if last_name(call.func) in POLICIES and not (call.args and _keeps_float32(file, call.args[0].value)):
            yield blocker_at(file, call, "type-of-all")


def _was_given(file: File, read: cst.CSTNode) -> bool:
    """True for `self.NAME` that the class sets to what its makers give: it is judged where they read that."""
    home = file.tree.enclosing(read, cst.ClassDef)
    if home is None or not isinstance(read, cst.Attribute) or not isinstance(read.value, cst.Name):
        return False
    bases = [value for base in home.bases for value in flow_of(file).values(base.value)]
    if not bases or "keras.layers.Embedding" in symbols_of(bases):
        return False
    own = [one for one in flow_of(file).values(read) if not is_inherited(one)]
    stores = (other for other in file.tree.attributes.get(read.attr.value, ()) if file.tree.is_target(other))
    sets = any(
        file.tree.enclosing(other, cst.ClassDef) is home and read.value.deep_equals(other.value) for other in stores
    )
    return sets and not any(isinstance(one, Member) and one.name == read.attr.value for one in own)


@cached_list
def _read_by_text(file: File, attribute: str) -> Iterator[cst.Call]:
    """Yield the calls of `getattr` that read an attribute by its name."""
    for call in file.tree.calls:
        named = builtin(file.tree, call.func) == "getattr" and len(call.args) > 1
        if named and string(call.args[1].value) == attribute:
            yield call


def _keeps_float32(file: File, node: cst.BaseExpression) -> bool:
    """True if a policy, by name or as an object of Keras, surely leaves variables in float32."""
    nodes = [one.node for one in flow_of(file).values(node)]
    texts = [string(one.args[0].value if isinstance(one, cst.Call) and one.args else one) for one in nodes]
    return bool(texts) and all(text in FLOAT32 for text in texts)


def blocker_at(file: File, node: cst.CSTNode, key: str, **words: Any) -> Blocker:
    """Return the blocker of the row `key`, which shows the source of its node."""
    return blocker(node, RULE, key, shown=file.tree.excerpt(node), **words)


def are_layers(file: File, node: cst.BaseExpression, besides: Container[str] = ()) -> bool:
    """True for an object that is certainly a layer of Keras itself, and not of the classes `besides`."""
    names = symbols_of(flow_of(file).values(node))
    return bool(names) and all((name or "").startswith("keras.layers.") and name not in besides for name in names)


@cached_list
def _class_uses(file: File) -> Iterator[Blocker]:
    """Block code that compares or passes on the class of the layers, which a table changes."""
    for use, _ in flow_of(file).where(lambda value: isinstance(value, Symbol) and symbol_of(value) == SYMBOL):
        around = file.tree.parent(use)
        inherits = isinstance(around, cst.Arg) and isinstance(file.tree.parent(around), cst.ClassDef)
        makes = file.tree.call_of(use) is not None and file.names.of(use) == SYMBOL
        if not (inherits or makes or isinstance(around, cst.Annotation)):
            yield blocker_at(file, around or use, "class-used")


def _reads(file: File, word: str, followed: set[cst.BaseExpression]) -> Iterator[cst.Attribute]:
    """Yield the reads of an attribute of a value that may be a model, or a layer that is not followed."""
    for read in file.tree.attributes.get(word, ()):
        values = flow_of(file).values(read)
        own = [one for one in values if not is_inherited(one)]
        if file.tree.is_target(read) or {read, read.value} & followed:
            continue
        if not own or any(_is_of_model(one, word) for one in own):
            yield read


def _is_of_model(value: Value, word: str) -> bool:
    """True for an attribute that the program itself does not set, of a value that is no other layer."""
    if isinstance(value, Member):
        name = symbol_of(value.base) or ""
        other = name.startswith("keras.layers.") and name not in HOLDERS
        return value.name == word and not other
    return isinstance(value, Unknown) or (isinstance(value, Symbol) and canonical(value.name) is None)


def _lists(file: File, followed: set[cst.BaseExpression]) -> Iterator[Blocker]:
    """Block uses of a list of a model's variables other than training; `--assume` lifts those of their number."""
    counts = [call for call in file.tree.calls if last_name(call.func) == "count_params"]
    counts = [call for call in counts if file.names.of(call.func) is None]
    counting = [call for call in counts if not are_layers(file, call.func.value, HOLDERS)]  # type: ignore[attr-defined]
    for read in (read for word in LISTS for read in _reads(file, word, followed)):
        if not only_trains(file, read):
            yield blocker_at(file, read, "list-used")
        around = file.tree.parent(file.tree.parent(read) or read)
        counting += [around] if isinstance(around, cst.Call) and builtin(file.tree, around.func) == "len" else []
    for call in counting:
        if not prints(file, call) and not isinstance(file.tree.parent(call), cst.Expr):
            yield blocker_at(file, call, "counted", text=file.tree.source(call))


def only_trains(file: File, read: cst.BaseExpression, pairs: bool = False) -> bool:
    """True for a list of variables that goes only into gradients, an optimizer or `len`, also by names and functions.

    Of `pairs` of gradients and variables: that only go into `apply_gradients`.
    """
    flow, nodes = flow_of(file), [read]
    for node in nodes:
        around, call = file.tree.parent(node), file.tree.call_with(node)
        call = None if isinstance(around, cst.Arg) and around.star else call
        nodes += [one for one in flow.carried(node) if one not in nodes]
        if isinstance(around, cst.BinaryOperation) and isinstance(around.operator, cst.Add):
            nodes += [around] if around not in nodes else []
        elif call is not None and pairs and builtin(file.tree, call.func) in {"list", "tuple"}:
            nodes += [call] if call not in nodes else []
        elif call is not None:
            taken = last_name(call.func) == "apply_gradients" if pairs else _is_taken(file, call, around)
            if not (taken or (flow.runs(call) and flow.is_only_copied(node))):
                return False
        elif not isinstance(around, cst.Expr) and not _is_named(around):
            return False
    return True


def _is_named(around: cst.CSTNode | None) -> bool:
    """True for a statement that assigns to plain names."""
    targets = [one.target for one in around.targets] if isinstance(around, cst.Assign) else []
    targets += [around.target] if isinstance(around, cst.AnnAssign) else []
    return bool(targets) and all(isinstance(one, cst.Name) for one in targets)


def _is_taken(file: File, call: cst.Call, arg: cst.CSTNode | None) -> bool:
    """True for an argument of a function that trains or counts variables."""
    second = len(call.args) > 1 and (call.args[1] is arg or (isinstance(arg, cst.Arg) and arg.keyword is not None))
    if isinstance(call.func, cst.Name):
        zipped = call.func.value == "zip" and len(call.args) == 2 and second
        return call.func.value == "len" or (zipped and only_trains(file, call, pairs=True))
    return last_name(call.func) in {"minimize", "build"} or (last_name(call.func) == "gradient" and second)


def _is_gradient(file: File, value: Value) -> bool:
    """True for the members of gradients, and of unknown values: the gradient of a table holds only rows."""
    if isinstance(value, Unknown):
        return bool(flow_of(file).opened(value)) and any(last_name(call.func) == "gradient" for call in file.tree.calls)
    return is_entry_of(value, {"gradient"})


def check_places(file: File, layer: Layer) -> None:
    """Block a layer that is wrapped, and columns whose layer is called in a loop of the graph."""
    columns = layer.kind is not EMBEDDING
    unfit = {*WRAPPERS, *LOOPS} if columns else WRAPPERS
    for node in (layer.call, *layer.uses):
        calls = (around for around in file.tree.ancestors(node) if isinstance(around, cst.Call))
        around = next((call for call in calls if file.names.of(call.func) in unfit), None)
        if around is not None:
            layer.block(around, "wrapped-lookup")
    for call in layer.calls if columns else ():
        loop = next((a for a in file.tree.ancestors(call) if _is_graph_loop(file, a)), None)
        if loop is not None:
            layer.block(call, "lookup-in-loop")


def check_matrix(file: File, layer: Layer) -> None:
    """Block a layer whose whole matrix is read in a way that the rows of a table cannot stand for."""
    for node in (layer.call, *layer.uses):
        read = file.tree.parent(node)
        if isinstance(read, cst.Attribute) and read.value is node and read.attr.value == "embeddings":
            key = NEVER if file.tree.is_target(read) else refused_read(file, read)
            if key:
                layer.block(read, key, text=file.tree.one_line(read))


def _is_graph_loop(file: File, node: cst.CSTNode) -> bool:
    """True for a loop over a tensor: one that TensorFlow returns, or that is a parameter of the function."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    if isinstance(node, cst.While):
        return function is not None and literal(node.test) is not True
    if not isinstance(node, cst.For):
        return False
    if any(name is not None and not name.startswith("data.") for name in symbols_of(flow_of(file).values(node.iter))):
        return True
    method = function is not None and function.name.value == "call"
    return method and isinstance(node.iter, cst.Name) and function is not None and node.iter.value in _given(function)


def _given(function: cst.FunctionDef) -> Iterable[str]:
    return {parameter.name.value for parameter in (*function.params.posonly_params, *function.params.params)}


def refused_read(file: File, read: cst.BaseExpression) -> str:
    """Return the key of the refusal of a read of `layer.embeddings`; an empty text for a read that is exact.

    The layer over a table has `embeddings` too: its rows, read where they are used. A gradient through them raises. So
    a read is exact where it gives an array or a fact of the matrix; elsewhere it is assumed that no loss depends on it.
    """
    flow = flow_of(file)
    mentions = {read, *(node for value in flow.values(read) for node in flow.mentions(value))}
    keys = {_refused_use(file, node) for node in mentions if not file.tree.is_target(node)}
    return NEVER if NEVER in keys else PERHAPS if PERHAPS in keys else ""


def _refused_use(file: File, node: cst.BaseExpression) -> str:
    """Return the key of the refusal of one expression that is the matrix."""
    around = file.tree.parent(node)
    if isinstance(around, cst.Attribute) and around.value is node:
        return "" if around.attr.value in _FACTS else PERHAPS if around.attr.value in _SAME else NEVER
    if isinstance(around, cst.Subscript) and around.value is node:
        rows = file.tree.parent(around)
        return NEVER if isinstance(rows, cst.Attribute) and rows.attr.value.startswith("assign") else PERHAPS
    call = file.tree.call_with(node)
    if call is None:
        return PERHAPS
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in _OTHERS:
        return NEVER
    imported, other = file.tree.imported_names(call.func)
    return "" if imported and not other and all(one.startswith("numpy.") for one in imported) else PERHAPS


@cached_list
def gradient_uses(file: File) -> Iterator[tuple[cst.CSTNode, str]]:
    """Return the calls and operations that make a gradient dense, arguments that do, and reads of its shape.

    The gradient of a table has only the rows of the batch.
    """
    if not any(_takes(call) for call in file.tree.calls):
        return
    zeros = (arg for call in file.tree.calls if _takes(call) for arg in call.args if _is_zero_of_others(file, arg))
    yield from ((arg, "dense-gradient") for arg in zeros)
    seen: list[cst.CSTNode] = []
    for use, _ in flow_of(file).where(lambda value: is_entry_of(value, _TAKING)):
        around = _argument(file, use)
        if isinstance(around, cst.Attribute) and around.value is use and around.attr.value in _SHAPES:
            if spoken(file, around) is None:
                yield around, "gradient-shape"
            continue
        if isinstance(around, cst.Arg) and not around.star:
            around = file.tree.parent(around)
            makes = isinstance(around, cst.Call) and around.func is not use and not _keeps(file, around)
        else:
            makes = isinstance(around, (cst.BinaryOperation, cst.UnaryOperation, cst.AugAssign))
            makes = makes and not (isinstance(around, cst.UnaryOperation) and isinstance(around.operator, cst.Not))
        if makes and around is not None and not any(one is around for one in seen):
            seen.append(around)
            yield around, "dense-gradient"


def _is_zero_of_others(file: File, arg: cst.Arg) -> bool:
    """True for the argument by which a variable that no loss depends on has a dense gradient of zeros."""
    if keyword(arg) != "unconnected_gradients":
        return False
    return (string(arg.value) or "") != "none" and file.names.of(arg.value) != "UnconnectedGradients.NONE"


def is_entry_of(value: Value, methods: Collection[str]) -> bool:
    """True for an entry of what a method gives: of the gradients of a tape, also of those that are clipped together."""
    entry = False
    while isinstance(value, Member) and value.name == "[]":
        entry, value = True, value.base
    return isinstance(value.node, cst.Call) and method_of(value.node) in methods and entry


def _takes(call: cst.Call) -> bool:
    return method_of(call) in _TAKING


def _keeps(file: File, call: cst.Call) -> bool:
    name, func = file.names.of(call.func), call.func
    if name is not None:
        return name in _KEEPING | _LISTS or spoken(file, call) is call
    handed = builtin(file.tree, func) in _HANDING or method_of(call) in _METHODS
    return handed or bool(flow_of(file).runs(call)) or spoken(file, call) is call


def _argument(file: File, use: cst.BaseExpression) -> cst.CSTNode | None:
    """Return what is around an expression, or around the list that is written there for a function of TensorFlow."""
    listed = file.tree.display_with(use)
    call = file.tree.call_with(listed) if isinstance(listed, (cst.List, cst.Tuple)) else None
    displayed = listed is not None and call is not None and file.names.of(call.func) is not None
    return file.tree.parent(listed if displayed and listed is not None else use)
