"""The only module of the rewriter that uses private names of TensorFlow; a test guards each of them."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import tensorflow as tf
from tensorflow.python.data.util import structure
from tensorflow.python.distribute.values import DistributedVariable
from tensorflow.python.framework import function_def_to_graph, op_def_registry, ops, smart_cond
from tensorflow.python.ops.variables import PartitionedVariable

from runtime._tf_private import in_control_flow, may_run_or_not, stateful_types, update_input

__all__ = [
    "Seen",
    "arguments_of",
    "body_of",
    "call",
    "calls",
    "captured_from",
    "closed_loops",
    "control_flow_of",
    "element_of_tensors",
    "element_spec",
    "in_control_flow",
    "inputs_called",
    "keeps_state",
    "known_value",
    "may_run_or_not",
    "number_functions_beyond",
    "parts_of",
    "replace_controls",
    "replace_iterators",
    "settings_of",
    "stateful_types",
    "strategy_of",
    "takes_reference",
    "takes_references",
    "update_input",
    "waiting_for",
    "watch_inputs",
    "writes_in_place",
]

_MARK = "_has_manual_control_dependencies"


def replace_controls(op: tf.Operation, before: Sequence[tf.Operation]) -> None:
    """Replace the control inputs of an op in a live graph."""
    op._remove_all_control_inputs()
    op._add_control_inputs(list(before))


class Seen(NamedTuple):
    """What becomes of an op that Python builds: its inputs, what it waits for, and the op that Python gets."""

    inputs: list[tf.Tensor]
    waits: list[tf.Operation]
    result: Callable[[tf.Operation], tf.Operation] = lambda op: op


def watch_inputs(graph: tf.Graph, see: Callable[[str, str, list[tf.Tensor]], Seen | None]) -> None:
    """Call `see` with type, name and inputs of each op before Python builds it in a live graph.

    An exception that `see` raises surfaces at the user's line that would build the op; None leaves the op as it is.
    """
    create = graph._create_op_internal

    def created(op_type: str, inputs: Any, *arguments: Any, **named: Any) -> tf.Operation:
        name = named.get("name") or (arguments[2] if len(arguments) > 2 else None) or op_type
        seen = see(op_type, name.rstrip("/"), inputs)
        if seen is None:
            return create(op_type, inputs, *arguments, **named)
        op = create(op_type, seen.inputs, *arguments, **named)
        if seen.waits:
            op._add_control_inputs(seen.waits)
        return seen.result(op)

    graph._create_op_internal = created


def body_of(function: Any) -> tuple[Any, dict[str, str]]:
    """Return the body of a FunctionDef as a GraphDef, with a map from the function's tensor names to names there."""
    definition, names = function_def_to_graph.function_def_to_graph_def(function)
    return definition, dict(names)


def arguments_of(node: Any) -> list[tuple[str, int, str]] | None:
    """Return name, type (an enum number, 0 if unknown) and the attribute of the type of each data input of a NodeDef.

    None if this process does not know the op.
    """
    definition = op_def_registry.get(node.op)
    if definition is None:
        return None
    references: list[tuple[str, int, str]] = []
    for argument in definition.input_arg:
        if argument.type_list_attr:
            types = list(node.attr[argument.type_list_attr].list.type)
        else:
            count = node.attr[argument.number_attr].i if argument.number_attr else 1
            types = [argument.type or node.attr[argument.type_attr].type] * count
        references += [(argument.name, int(kind), argument.type_attr) for kind in types]
    return references


def settings_of(node: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, value and default of each attribute of a NodeDef that is neither a type nor private (`_name`)."""
    definition = op_def_registry.get(node.op)
    known = {one.name: one for one in definition.attr} if definition is not None else {}
    for name, value in node.attr.items():
        kind = known[name].type if name in known else ""
        if name.startswith("_") or kind in ("type", "list(type)"):
            continue
        held, usual = (getattr(one, one.WhichOneof("value") or "s") for one in (value, _default(known, name)))
        yield name, held, usual if known and name in known and known[name].HasField("default_value") else None


def _default(known: Mapping[str, Any], name: str) -> Any:
    return known[name].default_value if name in known else tf.compat.v1.AttrValue()


def keeps_state(kind: str) -> bool:
    """Whether ops of a type have a state, or draw random numbers; True if this process does not know it."""
    definition = op_def_registry.get(kind)
    return definition is None or bool(definition.is_stateful)


def takes_references(kind: str) -> bool:
    """Whether ops of a type take a reference, by which they may write; True if this process does not know it."""
    definition = op_def_registry.get(kind)
    return definition is None or any(argument.is_ref for argument in definition.input_arg)


def takes_reference(kind: str, place: int) -> bool:
    """Whether ops of a type take a reference as input `place`; those with references take no lists before them."""
    definition = op_def_registry.get(kind)
    return definition is None or (place < len(definition.input_arg) and definition.input_arg[place].is_ref)


def writes_in_place(node: Any) -> bool:
    """Whether the op of a NodeDef updates its first input in place: it returns a reference to it, or nothing."""
    definition = op_def_registry.get(node.op)
    if definition is None or not definition.input_arg:
        return False
    outputs, first = definition.output_arg, definition.input_arg[0]
    return not outputs or (first.is_ref and outputs[0].is_ref and node.op not in ("RefSwitch", "RefMerge", "RefEnter"))


@contextlib.contextmanager
def waiting_for(before: Sequence[tf.Operation]) -> Iterator[None]:
    """Build ops with these control inputs, without the marks that tf.control_dependencies leaves for automatic ones."""
    unmarked = [op for op in before if _MARK not in op.node_def.attr]
    with tf.control_dependencies(list(before)):
        yield
    for op in unmarked:
        op._clear_attr(_MARK)


def closed_loops(graph: tf.Graph) -> frozenset[str]:
    """Return the Enter ops of v1 loops that cannot be extended: import_graph_def restores no control-flow contexts."""
    entries = (op for op in graph.get_operations() if op.type in ("Enter", "RefEnter"))
    return frozenset(op.name for op in entries if op._get_control_flow_context() is None)


@contextlib.contextmanager
def control_flow_of(op: tf.Operation) -> Iterator[bool]:
    """Build ops in the v1 control-flow context of `op`; yield whether it has one."""
    context: Any = op._get_control_flow_context()
    if context is None:
        yield False
        return
    context.Enter()
    try:
        yield True
    finally:
        context.Exit()


def known_value(tensor: tf.Tensor) -> Any:
    """Return the value of a tensor that is computed from constants alone; None if it is not."""
    return smart_cond.smart_constant_value(tensor)


def inputs_called(op: tf.Operation, name: str) -> list[int]:
    """Return the positions of the data input called `name` in an op's definition; a list input has several."""
    first = 0
    for argument in op.op_def.input_arg:
        count = op.get_attr(argument.number_attr) if argument.number_attr else 1
        if argument.name == name:
            return list(range(first, first + count))
        first += count
    return []


def parts_of(item: Any) -> list[tf.Variable]:
    """Return the variables in an item of a collection; none if the item is not a variable.

    A partitioned variable gives its parts, a distributed variable its copies in this process.
    """
    if isinstance(item, PartitionedVariable):
        return [part for one in item for part in parts_of(one)]
    if isinstance(item, DistributedVariable):
        return list(item.values)
    return [item] if isinstance(item, tf.Variable) else []


def strategy_of(item: Any) -> tuple[str, int]:
    """Return the name of the tf.distribute.Strategy that an item belongs to, and its replica count; "" and 1 if none.

    The item's initializer is not looked at, because that of a distributed variable would build ops.
    """
    strategy: Any = getattr(item, "distribute_strategy", None)
    return (type(strategy).__name__, strategy.num_replicas_in_sync) if strategy else ("", 1)


def captured_from(tensor: tf.Tensor, graph: tf.Graph) -> tf.Tensor | None:
    """Return the tensor of `graph` that a function below it captured as `tensor`; None if there is none."""
    while tensor.graph is not graph:
        captures = getattr(tensor.graph, "captures", ())
        outside = next((outer for outer, inner in captures if inner is tensor), None)
        if outside is None:
            return None
        tensor = outside
    return tensor


def calls(op: tf.Operation, body: tf.Graph) -> bool:
    """Whether `op` calls the function with graph `body`, or a function that contains it.

    A gradient gives new names to functions of which it needs more outputs.
    """
    while isinstance(getattr(body, "outer_graph", None), tf.Graph) and body.outer_graph is not op.graph:
        body = body.outer_graph
    attributes = op.node_def.attr.values()
    names = {one.name for value in attributes for one in (value.func, *value.list.func) if one.name}
    known = re.compile(rf"{re.escape(body.name)}(_rewritten)*|__[a-z]+_{re.escape(body.name)}_\d+")
    return any(known.fullmatch(name) for name in names)


def call(op: tf.Operation, attribute: str, name: str) -> str:
    """Let an op that no session has run call another function of its graph; return the name of that of before."""
    function_attribute = op.get_attr(attribute)
    before: str = function_attribute.name
    function_attribute.name = name
    op._set_attr(attribute, tf.compat.v1.AttrValue(func=function_attribute))
    return before


def number_functions_beyond(last: int) -> None:
    """Let names of branch functions that are built from now on end with numbers above `last`."""
    while ops.uid() < last:
        pass


_element_specs: WeakKeyDictionary[tf.Graph, dict[str, Any]] = WeakKeyDictionary()


def _keep_element_specs() -> None:
    """Record the element structure of v1 iterators as they are made: the graph only keeps flat components."""
    kind: Any = tf.compat.v1.data.Iterator
    make = kind.__init__

    @functools.wraps(make)
    def initialize(self: Any, iterator_resource: Any, *arguments: Any, **named: Any) -> None:
        make(self, iterator_resource, *arguments, **named)
        if isinstance(iterator_resource, tf.Tensor) and hasattr(iterator_resource, "op"):
            _element_specs.setdefault(iterator_resource.graph, {})[iterator_resource.op.name] = self.element_spec

    kind.__init__ = initialize


_keep_element_specs()


def element_spec(graph: tf.Graph, iterator: str) -> Any:
    """Return the element structure of an iterator, given its op; None if it was not recorded."""
    return _element_specs.get(graph, {}).get(iterator)


def element_of_tensors(spec: Any, tensors: Sequence[tf.Tensor]) -> Any:
    """Return an element of structure `spec` made of these component tensors."""
    return structure.from_tensor_list(spec, list(tensors))


def replace_iterators(graph: tf.Graph, new: Mapping[str, tf.Tensor], undo: contextlib.ExitStack) -> None:
    """Replace the iterators of these names in the collection that CheckpointInputPipelineHook saves."""
    held = graph.get_collection_ref("iterators")
    undo.callback(held.__setitem__, slice(None), list(held))
    held[:] = [new.get(one.op.name, one) for one in held]
