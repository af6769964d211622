"""The `Embedding` layers of a file: their arguments, the variables that hold them, and their calls."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import libcst as cst

from migrate.source.flow import Class, Function, Value, is_none
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import bind, keyword, string
from migrate.source.tensorflow.base.arguments import is_none as is_left_out
from migrate.source.tensorflow.base.model import KEPT, Adaptation, Blocker, GivenUp, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.shapes import is_float32
from migrate.source.tensorflow.base.value_flow import flow_of, is_inherited, is_unseen, results, symbol_of, symbols_of

RULE = "tf-keras-embedding"
SYMBOL = "keras.layers.Embedding"
#: Text of layers with a table, and of those that read columns with one.
WORDS = r"\bEmbedding\b|\b(Dense|Sequence)Features\b"
#: The first three parameters have the same position in Keras 2, Keras 3 and the runtime; others must be keywords.
PARAMETERS = ("input_dim", "output_dim", "embeddings_initializer")
NAMED = {
    "embeddings_regularizer", "activity_regularizer", "embeddings_constraint", "mask_zero", "input_length", "weights",
    "name", "trainable", "dtype", "input_shape", "batch_input_shape", "batch_size", "dynamic",
}  # fmt: skip
#: Initializers that draw each row independently, by the names that Keras accepts as strings.
_SCALED = {f"{family}_{kind}" for family in ("glorot", "he", "lecun") for kind in ("normal", "uniform")}
_PLAIN = {"uniform", "normal", "random_uniform", "random_normal", "truncated_normal", "zeros", "ones", "constant"}
NAMES = _SCALED | _PLAIN
CLASSES = {"".join(part.title() for part in name.split("_")) for name in NAMES} | {"VarianceScaling"}
#: Regularizers that a table has over all its rows, by the names of functions, classes and strings of Keras.
PENALTIES = {"l1", "l2", "l1_l2", "L1", "L2", "L1L2"}
#: Settings of an optimizer that clip gradients, which needs that of every row; and functions that clip any value.
CLIPS, _CLIPS_VALUES = re.compile(r"clip(norm|value)"), re.compile(r"clip_by_")
#: Where none of these is, Keras alone has the gradients.
_GRADIENTS = re.compile(r"(?<!stop_)gradient|update_step", re.IGNORECASE)
#: A layer without a name is called by so many characters of the call that creates it.
_LABEL = 40
#: Attributes and methods of a layer that list or copy its weights.
WHOLE = {"weights", "trainable_weights", "variables", "trainable_variables", "get_weights", "set_weights"}


class LayerKind(NamedTuple):
    """What becomes one over a table: its class or function in the runtime, and what messages call it."""

    name: str
    module: str
    title: str
    rule: str
    rows: str = ""  #: the parameters with the number of rows, and below their width and first values
    width: str = ""
    initializer: str = ""
    default_initializer: str = ""  #: the initializer, where none is given


EMBEDDING = LayerKind(
    "Embedding", "runtime.keras", "layer", RULE, "input_dim", "output_dim", "embeddings_initializer", '"uniform"'
)


@dataclass
class Layer:
    """One call that creates an `Embedding` layer, or a column that a layer of Keras reads."""

    call: cst.Call
    label: str  #: its spelling in the source: `self.emb`, or the call itself
    name: str  #: the `name` argument, if it is static
    arguments: dict[str, cst.Arg]
    values: list[Value] = field(default_factory=list)  #: the values that the call creates
    uses: list[cst.BaseExpression] = field(default_factory=list)  #: expressions that may be the layer
    calls: list[cst.Call] = field(default_factory=list)  #: its calls in this file
    readers: list[cst.Call] = field(default_factory=list)  #: the layers that look a column up
    rows_text: str = ""  #: of a column, whose own call does not have it
    blockers: list[Blocker] = field(default_factory=list)
    regularizer: cst.Arg | None = None
    kind: LayerKind = EMBEDDING
    given_up: GivenUp = KEPT
    freed: list[Blocker] = field(default_factory=list)  #: what changes for that, as assumptions that the user made
    notes: list[Adaptation] = field(default_factory=list)  #: why it keeps them

    def block(self, node: cst.CSTNode, key: str, **words: Any) -> None:
        """Add a blocker of the layer."""
        self.blockers.append(blocker(node, RULE, key, **words))


def find_layers(file: File, home: File) -> list[Layer]:
    """Return the `Embedding` layers of `home` in source order, with the blockers from their arguments and uses.

    `file` combines all files that may run with `home`, since layers may be used in any of them.
    """
    layers = [_layer(file, call) for call, _ in home.calls(SYMBOL)]
    for layer in layers:
        _check_arguments(file, layer)
        _check_uses(file, layer)
    return layers


def _layer(file: File, call: cst.Call) -> Layer:
    """Return the layer that a call creates, with its arguments and uses."""
    layer = layer_without_arguments(file, call)
    keywords = [keyword(arg) for arg in call.args]
    known = {*PARAMETERS, *NAMED}
    strange = next(
        (arg for arg, name in zip(call.args, keywords, strict=True) if arg.star or name not in {"", *known}), None
    )
    if strange is not None or keywords.count("") > len(PARAMETERS):
        arg = strange if strange is not None else call.args[len(PARAMETERS)]
        name = keyword(arg)
        layer.block(arg, "unknown-argument" if name else "unread-arguments", name=name)
        return layer
    layer.arguments = bind(call, [*PARAMETERS, *sorted(NAMED)]) or {}
    if "name" in layer.arguments:
        layer.name = string(layer.arguments["name"].value) or ""
    _follow(file, layer)
    return layer


def layer_without_arguments(file: File, call: cst.Call, followed: bool = False) -> Layer:
    """Return a layer of any class that a call creates; with its uses and calls if it is `followed`."""
    target = target_of(file, call)
    label = file.tree.excerpt(target) if target is not None else file.tree.excerpt(call, _LABEL)
    layer = Layer(call, label, "", {})
    if followed:
        _follow(file, layer)
    return layer


def _follow(file: File, layer: Layer) -> None:
    layer.values = results(file, layer.call)
    layer.uses = _mentions(file, layer, target_of(file, layer.call))
    mentions = [layer.call, *layer.uses]
    layer.calls = [call for call in map(file.tree.call_of, mentions) if call is not None]


def target_of(file: File, call: cst.Call) -> cst.Name | cst.Attribute | None:
    """Return the name or attribute to which the result of a call is assigned, if it is one."""
    assign = file.tree.parent(call)
    targets = [one.target for one in assign.targets] if isinstance(assign, cst.Assign) else []
    targets += [assign.target] if isinstance(assign, cst.AnnAssign) else []
    return targets[0] if len(targets) == 1 and isinstance(targets[0], (cst.Name, cst.Attribute)) else None


def _mentions(file: File, layer: Layer, target: cst.Name | cst.Attribute | None) -> list[cst.BaseExpression]:
    """Return the expressions that may be the layer, including reads of its attribute on unknown objects."""
    tree, flow = file.tree, flow_of(file)
    mentions = {node for value in layer.values for node in flow.mentions(value)} - {layer.call}
    names = {node.attr.value for node in (*mentions, target) if isinstance(node, cst.Attribute)}
    reads = [node for name in names for node in tree.attributes[name] if not tree.is_target(node)]
    mentions |= {node for node in reads if any(is_unseen(one) for one in flow.values(node))}
    return sorted(mentions, key=lambda node: (tree.location(node).path, tree.span(node)))


def _check_arguments(file: File, layer: Layer) -> None:
    arguments = layer.arguments
    if not is_left_out(arguments.get("embeddings_constraint")):
        layer.block(arguments["embeddings_constraint"], "constraint")
    if not is_left_out(arguments.get("embeddings_regularizer")):
        _check_regularizer(file, layer, arguments["embeddings_regularizer"])
    if "dtype" in arguments and not is_float32(file.names, arguments["dtype"]):
        layer.block(arguments["dtype"], "other-type")
    if "embeddings_initializer" in arguments:
        _check_initializer(file, layer, arguments["embeddings_initializer"])


def _check_regularizer(file: File, layer: Layer, arg: cst.Arg) -> None:
    """Block a layer whose regularizer a table cannot have over all its rows, or that is not known."""
    known = [_is_penalty(value) for value in flow_of(file).values(arg.value)]
    if False in known or _may_clip(file, layer.call):
        layer.regularizer = arg
        layer.block(arg, "regularizer")
    elif None in known or not known:
        layer.block(arg, "unknown-regularizer")


def _may_clip(file: File, call: cst.Call) -> bool:
    """True if a program that makes a layer may clip gradients."""
    trees = [part.tree for part in file.program(call)]
    if any(CLIPS.search(tree.text) for tree in trees):
        return True
    return any(_CLIPS_VALUES.search(tree.text) for tree in trees) and any(map(_takes_gradients, trees))


def _takes_gradients(tree: Tree) -> bool:
    """True if code, not a comment or a text for people, has a word for gradients."""
    texts = [text for node in tree.strings if (text := string(node)) is not None and text.isidentifier()]
    return any(_GRADIENTS.search(word) for word in (*tree.names, *tree.attributes, *texts))


def _is_penalty(value: Value) -> bool | None:
    """Return whether one value of a regularizer is L1, L2 or both of them; None if it is not known."""
    if is_none(value):
        return True
    text = string(value.node)
    if text is not None:
        return text in PENALTIES
    name = symbol_of(value)
    if name is None:
        return False if isinstance(value, (Function, Class)) else None
    return "regularizers." in name and name.rpartition(".")[2] in PENALTIES


def _check_initializer(file: File, layer: Layer, arg: cst.Arg) -> None:
    known = rowwise(file, arg.value)
    if known is False:
        layer.block(arg, "joint-values")
    elif known is None:
        layer.block(arg, "unknown-values")


def rowwise(file: File, node: cst.BaseExpression) -> bool | None:
    """Return whether an initializer can draw each row independently; None if it is not known."""
    values = flow_of(file).values(node)
    known = [_is_rowwise(value) for value in [one for one in values if not is_inherited(one)] or values]
    return None if None in known else all(known)


def _is_rowwise(value: Value) -> bool | None:
    """Return whether one value of an initializer draws each row independently; None if it is not known."""
    if is_none(value) or (text := string(value.node)) is not None:
        return is_none(value) or text in NAMES or text in CLASSES
    name, node = symbol_of(value), value.node
    if name is None:
        return None
    short = name.removesuffix("_initializer").rpartition(".")[2]
    if short in {"Constant", "constant"}:
        return isinstance(node, cst.Call) and not any(arg.star for arg in node.args)  # of a number, or of a matrix
    return ("initializers." in name or name.endswith("_initializer")) and short in {*NAMES, *CLASSES}


def _check_uses(file: File, layer: Layer) -> None:
    """Block a layer whose weights are listed or copied, or which embeds positions."""
    for node in (layer.call, *layer.uses):
        around = file.tree.parent(node)
        if isinstance(around, cst.Attribute) and around.value is node and around.attr.value in WHOLE:
            text = file.tree.one_line(around)
            layer.block(around, "weights", text=text)
    ids = [call.args[0].value for call in layer.calls if call.args]
    if ids and all(are_positions(file, node) for node in ids):
        layer.block(layer.calls[0], "positions")


def are_positions(file: File, node: cst.BaseExpression) -> bool:
    """True if the value is known to be `tf.range(...)`."""
    names = symbols_of(flow_of(file).values(node))
    return bool(names) and names <= {"range", "keras.ops.arange"}
