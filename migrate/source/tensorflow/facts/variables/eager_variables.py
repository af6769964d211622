"""Variables of eager code that are looked up: `self.users = tf.Variable(tf.random.normal([n, d]))` under a tape.

They become `runtime.keras.table_variable`, which is a variable to TensorFlow and Keras: lookups, lists of variables,
tapes and optimizers stay as they are. What reads the variable as a whole reads its `matrix`, which has no gradient.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

import libcst as cst

from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import bind, is_none, literal, string
from migrate.source.tensorflow.base.bindings import is_target
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.initializers import OPS
from migrate.source.tensorflow.base.known_shapes import shape_of
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.shapes import Shape, is_float32
from migrate.source.tensorflow.base.value_flow import flow_of, is_unseen, results
from migrate.source.tensorflow.facts.variables.keras_layers import Layer, rowwise, target_of

RULE = "tf-eager-variable"
SYMBOL = "Variable"
#: Text that makes a variable, and looks one up, in eager code that is seen to be eager.
WORDS = (
    r"\A(?=[\s\S]*\b(GradientTape|Module|Model|Layer)\b)(?=[\s\S]*(embedding_lookup|gather))"
    r"[\s\S]*\bVariable\s*\("
)
_PARAMETERS = ("initial_value", "trainable", "validate_shape", "caching_device", "name", "variable_def", "dtype")
#: Arguments that say nothing about the rows.
_PLAIN = {"initial_value", "validate_shape", "name", "dtype"}
#: Lookups that `table_variable` answers, with the names of the argument that it is.
LOOKUPS = {"gather": "params", "nn.embedding_lookup": "params", "nn.embedding_lookup_sparse": "params"}
#: Code that only programs of a v1 graph have.
_GRAPH = {
    "Session", "InteractiveSession", "placeholder", "get_variable", "global_variables_initializer", "variable_scope",
    "disable_eager_execution", "disable_v2_behavior", "train.MonitoredTrainingSession", "estimator.Estimator",
    "estimator.EstimatorSpec", "train.get_global_step", "train.get_or_create_global_step", "reset_default_graph",
    "Graph", "train.Supervisor", "app.run", "trainable_variables",
}  # fmt: skip
_BASES = {"Module", "keras.Model", "keras.models.Model", "keras.layers.Layer", "keras.Layer"}
#: What TensorFlow 2 has under the same name, with the same arguments.
_V1 = re.compile(r"compat\.v1\.(?=(random_normal|random_uniform|zeros|ones|constant)_initializer\()")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass
class EagerVariable(Layer):
    """One call of `tf.Variable` whose value is looked up."""

    initializer: str = ""  #: as source text
    shape: cst.BaseExpression | None = None
    reads: list[cst.BaseExpression] = field(default_factory=list)  #: uses of the whole matrix
    rule: ClassVar[str] = RULE

    def block(self, node: cst.CSTNode, key: str, **words: Any) -> None:
        """Add a blocker of the variable."""
        own = key not in {"wrapped-lookup", "lookup-in-loop"}
        self.blockers.append(blocker(node, RULE if own else "tf-keras-embedding", key, **words))


def is_eager(file: File, call: cst.Call) -> bool:
    """True if the file of a call that makes a variable is of eager code, as far as it shows."""
    own = file.part(call)
    return once(own, ("is eager",), lambda: _shows_eager(own))


def _shows_eager(file: File) -> bool:
    taped = bool(file.tree.names.get("GradientTape"))
    graph = any(
        name in _GRAPH or (name.startswith("train.") and name.endswith("Optimizer") and not taped)
        for _, name in file.names.calls
    )
    imports = [file.tree.source(one) for one in file.tree.imports]
    if graph or any("compat.v1" in one or "compat import v1" in one for one in imports):
        return False
    classes = (one for one in file.tree.nodes() if isinstance(one, cst.ClassDef))
    bases = {file.names.of(base.value) for one in classes for base in one.bases}
    return taped or not bases.isdisjoint(_BASES)


def words_of(file: File) -> set[str]:
    """Return the names and attributes to which variables of eager code are assigned; the word `Variable` for others."""
    calls = [call for call, _ in file.calls(SYMBOL) if is_eager(file, call)]
    targets = [target_of(file, call) for call in calls]
    named = [one.attr if isinstance(one, cst.Attribute) else one for one in targets]
    return {one.value if isinstance(one, cst.Name) else SYMBOL for one in named}


def find_variables(file: File, home: File) -> list[EagerVariable]:
    """Return the variables of `home` that are looked up, with the blockers from their arguments."""
    calls = [call for call, _ in home.calls(SYMBOL) if is_eager(home, call)]
    found = [_variable(file, call) for call in calls]
    return [one for one in found if one.calls]


def _variable(file: File, call: cst.Call) -> EagerVariable:
    target = target_of(file, call)
    label = file.tree.excerpt(target if target is not None else call)
    variable = EagerVariable(call, label, "", {})
    variable.values = results(file, call)
    variable.uses = _uses(file, variable, target)
    lookups = (lookup_at(file, node) for node in variable.uses)
    variable.calls = list(dict.fromkeys(one for one in lookups if one is not None))
    if variable.calls:
        _read(file, variable)
    return variable


def _uses(file: File, variable: EagerVariable, target: cst.Name | cst.Attribute | None) -> list[cst.BaseExpression]:
    """Return the expressions that may be the variable, including reads of its attribute on unknown objects."""
    tree, flow = file.tree, flow_of(file)
    found = {node for value in variable.values for node in flow.mentions(value)} - {variable.call}
    names = {node.attr.value for node in (*found, target) if isinstance(node, cst.Attribute)}
    reads = [node for name in names for node in tree.attributes[name]]
    found |= {node for node in reads if any(is_unseen(one) for one in flow.values(node.value))}
    return sorted(
        (node for node in found if not is_target(tree, node)),
        key=lambda node: (tree.location(node).path, tree.span(node)),
    )


def lookup_at(file: File, node: cst.BaseExpression) -> cst.Call | None:
    """Return the call that looks rows up in the variable at `node`; None for another use."""
    arg = file.tree.parent(node)
    listed = file.tree.parent(arg) if isinstance(arg, cst.Element) else None
    if isinstance(listed, cst.List) and len(listed.elements) == 1:
        arg = file.tree.parent(listed)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or not isinstance(arg, cst.Arg) or arg.star:
        return None
    name = file.names.of(call.func)
    if name not in LOOKUPS or (arg.keyword.value != LOOKUPS[name] if arg.keyword else call.args[0] is not arg):
        return None
    along = {one.keyword.value: one for one in call.args if one.keyword is not None}
    rows = all(file.tree.source(along[word].value) == "0" for word in ("axis", "batch_dims") if word in along)
    return call if rows and not (name == "gather" and len([a for a in call.args if a.keyword is None]) > 2) else None


def _read(file: File, variable: EagerVariable) -> None:
    """Read the arguments of the call."""
    call, part = variable.call, file.part(variable.call)
    bound = bind(call, [*_PARAMETERS, *_other_words(call)])
    if bound is None or "initial_value" not in bound:
        variable.block(call, "unread-arguments")
        return
    variable.arguments = bound
    for name, arg in bound.items():
        trained = name == "trainable" and literal(arg.value) is True
        if name not in _PLAIN and not trained and not is_none(arg):
            variable.block(arg, "argument", name=name)
    variable.name = _name(variable, bound)
    if not is_float32(part.names, bound.get("dtype")):
        variable.block(bound["dtype"], "other-type")
    value = bound["initial_value"].value
    if not (_read_op(part, variable, value) or _read_initializer(file, variable, value)):
        variable.block(value, "unknown-values")


def _read_op(file: File, variable: EagerVariable, value: cst.BaseExpression) -> bool:
    """Read `tf.random.normal(shape, …)`, whose values do not depend on the shape; False for another expression."""
    name = file.names.of(value.func) if isinstance(value, cst.Call) else None
    bound = bind(value, OPS[name][1]) if isinstance(value, cst.Call) and name in OPS else None
    shape = (bound.get("shape") or bound.get("dims")) if bound else None
    if shape is None:
        return False
    made = file.initializers.op(value, Shape(shape.value, None, "", "1"))
    if made is not None:
        variable.initializer, variable.shape = _V1.sub("", made.text), shape.value
    return made is not None


def _read_initializer(file: File, variable: EagerVariable, value: cst.BaseExpression) -> bool:
    """Read `initializer([rows, dim])`, whose callee is kept as it is written; False for another expression."""
    if not isinstance(value, cst.Call) or rowwise(file, value.func) is not True:
        return False
    bound, part = bind(value, ("shape", "dtype")), file.part(value)
    if bound is None or "shape" not in bound or not is_float32(part.names, bound.get("dtype")):
        return False
    shape = shape_of(part, bound["shape"].value)
    if not isinstance(shape, Shape) or shape.columns is None:
        return False  # the bound of an initializer depends on the rank
    variable.initializer, variable.shape = file.tree.source(value.func), bound["shape"].value
    return True


def _other_words(call: cst.Call) -> list[str]:
    words = [arg.keyword.value for arg in call.args if arg.keyword is not None]
    return sorted({*words} - {*_PARAMETERS})


def _name(variable: EagerVariable, bound: dict[str, cst.Arg]) -> str:
    """Return the name of the variable as it is written, else that of its attribute or name."""
    given = string(bound["name"].value) if "name" in bound else None
    if given is not None:
        return given
    words = _NAME.findall(variable.label.partition("(")[0])
    return words[-1] if words and variable.label == variable.label.partition("(")[0] else "Variable"


def tape_sources(tree: Tree, call: cst.Call) -> cst.Arg | None:
    """Return the argument of a method `gradient` that lists what gradients are taken of."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "gradient":
        return None
    named = (arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "sources")
    place = [arg for arg in call.args[1:2] if arg.keyword is None and not arg.star]
    return next(named, place[0] if place else None)
