"""Keras layers in programs that build a v1 graph: a layer is a variable, which its first call creates.

Such a program calls its layers on tensors of the graph and trains by `tf.train` optimizers, so the layer becomes a
table of the graph like any variable. Where Keras builds, trains or saves a model, its layers are left to Keras' rule.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.model import Blocker, Lookup, Rewrite
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import makers
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.variables.keras_layers import are_positions

RULE = "tf-keras-graph-embedding"
#: Functions that only code for v1 graphs calls.
GRAPH = {
    "Session", "InteractiveSession", "placeholder", "sparse_placeholder", "disable_eager_execution",
    "disable_v2_behavior", "train.MonitoredTrainingSession", "estimator.EstimatorSpec",
}  # fmt: skip
#: Functions that create or train a model of layers, or run code outside of the one graph.
MODELS = (
    "keras.Model", "keras.Sequential", "keras.Input", "keras.layers.Input", "keras.layers.Layer", "keras.models.",
    "keras.optimizers.", "keras.backend.", "keras.estimator.", "keras.experimental.", "keras.mixed_precision.",
    "GradientTape", "Module",
    "enable_eager_execution", "enable_v2_behavior", "function", "keras.layers.Embedding.",
)  # fmt: skip
_WORDS = {name.rstrip(".").rpartition(".")[2] for name in MODELS} | {"models", "optimizers", "backend", "estimator"}
#: Functions that create or enter another graph; an Estimator creates one for each run of its model function.
GRAPHS = {"Graph", "reset_default_graph"}
ESTIMATORS = ("estimator.", "contrib.learn.", "contrib.tpu.")
FLOATS = {"float16", "float32", "float64", "bfloat16"}


def in_graph(file: File, call: cst.Call) -> bool:
    """True when the file of `call` builds a v1 graph, and no code that runs with it creates a Keras model."""
    own = file.part(call)
    return _builds_graph(own) and not any(_makes_model(one) for one in file.program(call))


def _builds_graph(file: File) -> bool:
    return any(name in GRAPH for _, name in file.names.calls)


def _makes_model(file: File) -> bool:
    return once(file, ("makes a Keras model",), lambda: _has_model(file))


def _has_model(file: File) -> bool:
    named = [file.names.of(node) or "" for node in file.names.mentions(lambda word: word in _WORDS)]
    named += [name for _, name in file.names.calls]
    return any(name == one or (one.endswith(".") and name.startswith(one)) for name in named for one in MODELS)


def layer_call(file: File, node: cst.BaseExpression) -> cst.Call | None:
    """Return the call of the layer at `node`; None where it is not called."""
    call = file.tree.parent(node)
    return call if isinstance(call, cst.Call) and call.func is node else None


def read_call(file: File, call: cst.Call) -> Lookup | Blocker:
    """Return the lookup that a call of a layer is, or why it cannot become one."""
    arg = call.args[0] if len(call.args) == 1 and not call.args[0].star else None
    if arg is None or (arg.keyword is not None and arg.keyword.value != "inputs"):
        return blocker(call, RULE, "more-than-ids")
    if _are_floats(file, arg.value):
        return blocker(call, RULE, "other-ids")
    texts = (("W", call.func), ("ids", arg.value))
    rewrite = Rewrite("{sparse_lookup}({W}, {ids}{train})", ("sparse_lookup",), texts, "ids")
    return Lookup(call, RULE, ids=arg, rewrite=rewrite, bound={"ids": arg})


def _are_floats(file: File, ids: cst.BaseExpression) -> bool:
    return any(_is_float(file, one) for one in reached(ids, lambda one: _operands(file, one)))


def _operands(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [node.left, node.right] if isinstance(node, cst.BinaryOperation) else makers(file, node)


def _is_float(file: File, value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.Float):
        return True
    made = value if isinstance(value, cst.Call) and file.names.of(value.func) in {"placeholder", "cast"} else None
    return made is not None and any((file.names.of(arg.value) or "") in FLOATS for arg in made.args)


def check_calls(file: File, call: cst.Call, lookups: list[Lookup]) -> Blocker | None:
    """Block a layer of positions, and one that is created outside of the graph in which it is called.

    A layer creates its variable in the graph of its first call; a table is created where the layer is.
    """
    given = [one.ids.value for one in lookups if one.ids is not None]
    if given and all(are_positions(file, ids) for ids in given):
        return blocker(lookups[0].call, RULE, "positions")
    names = {name for one in file.program(call) for _, name in one.names.calls}
    graphs = any(name in GRAPHS or name.startswith(ESTIMATORS) for name in names)
    if not graphs or all(_in_graph_of(file, call, one.call) for one in lookups):
        return None
    return blocker(call, RULE, "other-graph")


def _in_graph_of(file: File, made: cst.Call, called: cst.Call) -> bool:
    """True when no function and no `with graph.as_default()` contains one call without the other."""
    home, other = (file.tree.enclosing(node, cst.FunctionDef) for node in (made, called))
    within = file.tree.contains(home, called) if home is not None else other is None
    opened = [one for node in (made, called) for one in file.tree.ancestors(node) if _opens_graph(one)]
    return within and all(file.tree.contains(one, node) for one in opened for node in (made, called))


def _opens_graph(node: cst.CSTNode) -> bool:
    called = m.Call(func=m.Attribute(attr=m.Name("as_default")))
    return isinstance(node, cst.With) and any(m.matches(item.item, called) for item in node.items)
