"""Inlines a function call in a live graph: the body of a tf.function, or a v2 branch or loop as v1 control flow."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.graph.view import GraphView

v1 = tf.compat.v1
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_IFS = ("If", "StatelessIf")
_CASES = ("Case", "StatelessCase")
_WHILES = ("While", "StatelessWhile")
_XLA = "_XlaMustCompile"


def can_be_built(view: GraphView, call: str) -> bool:
    """Whether `build_call` supports a call: of a known kind, not for XLA, and with a bool as its condition."""
    kind, node = view.type(call), view.nodes[call]
    if kind not in (*_CALLS, *_IFS, *_CASES, *_WHILES) or _flagged(node):
        return False
    functions = [view.functions[name] for name in _functions(node) if name in view.functions]
    if len(functions) < len(_functions(node)) or any(map(_flagged, functions)):
        return False
    if kind in _IFS:
        return bool(node.attr["Tcond"].type == tf.bool.as_datatype_enum)
    return kind not in _WHILES or bool(functions[0].signature.output_arg[0].type == tf.bool.as_datatype_enum)


def _flagged(node: Any) -> bool:
    return _XLA in node.attr and bool(node.attr[_XLA].b)


def _functions(node: Any) -> list[str]:
    names = {"If": ("then_branch", "else_branch"), "While": ("cond", "body"), "Case": ("branches",)}
    wanted = names.get(node.op.removeprefix("Stateless"), ("f",))
    attributes = [node.attr[name] for name in wanted if name in node.attr]
    return [one.name for value in attributes for one in (value.func, *value.list.func) if one.name]


def build_call(view: GraphView, call: tf.Operation) -> list[tf.Tensor]:
    """Build what a call computes, in its place and with its control inputs.

    Returns:
        A tensor for each output of the call; if it has no outputs, one tensor to wait for.
    """
    names, inputs, kind = _functions(view.nodes[call.name]), list(call.inputs), call.type
    bodies = _Bodies(view)
    with (
        _tf_private.control_flow_of(call),
        tf.control_dependencies(call.control_inputs),
        _v1_control_flow(),
        tf.name_scope(f"{call.name}/inlined/"),
    ):
        if kind in _CALLS:
            outputs = bodies.build(names[0], inputs)
        elif kind in _WHILES:
            outputs = bodies.loop(names, inputs, call)
        else:
            outputs = bodies.branches(inputs[0], names if kind in _CASES else names[::-1], inputs[1:])
    for output, old in zip(outputs, call.outputs, strict=False):
        output.set_shape(old.shape)
    return outputs


@contextlib.contextmanager
def _v1_control_flow() -> Iterator[None]:
    enabled = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        yield
    finally:
        if enabled:
            v1.enable_control_flow_v2()


def _leave_groups(nodes: Sequence[Any]) -> None:
    """Remove colocations with arguments of the function, which only the function's own names refer to."""
    own = {f"loc:@{node.name}".encode() for node in nodes}
    for node in nodes:
        groups = node.attr["_class"].list.s if "_class" in node.attr else ()
        kept = [group for group in groups if group in own]
        if len(kept) < len(groups):
            del node.attr["_class"].list.s[:]
            node.attr["_class"].list.s.extend(kept)


class _Bodies:
    """Builds bodies of the functions in a graph's library."""

    def __init__(self, view: GraphView) -> None:
        self._view = view

    def build(self, name: str, arguments: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Build a body in the current context; its outputs wait for all side effects of the function."""
        function = self._view.functions[name]
        body, flat = _tf_private.body_of(function)
        fed = {one.name: tensor for one, tensor in zip(function.signature.input_arg, arguments, strict=True)}
        nodes = [node for node in body.node if node.name not in fed]
        _leave_groups(nodes)
        del body.node[:]
        body.node.extend(nodes)
        read = {text.partition(":")[0] for node in nodes for text in node.input}
        wanted = [flat[function.ret[one.name]] for one in function.signature.output_arg]
        asked = [one for one in wanted if one.partition(":")[0] not in fed]
        effects = sorted(set(function.control_ret.values()))
        mapped = {f"{one}:0": tensor for one, tensor in fed.items() if one in read}
        built = tf.import_graph_def(
            body, mapped, [*asked, *effects], name=re.sub("[^A-Za-z0-9]+", "_", name).strip("_")
        )
        tensors = dict(zip([*asked, *effects], built, strict=True))
        outputs = [tensors[one] if one in tensors else fed[one.partition(":")[0]] for one in wanted]
        with tf.control_dependencies([tensors[one] for one in effects]):
            return [tf.identity(one) for one in outputs] or [tf.constant(0)]

    def branches(self, choice: tf.Tensor, names: Sequence[str], arguments: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Build a Case or If: `choice` is the branch's number, or true for the second; other numbers take the last."""
        return self._branch(choice, names, arguments, 0)

    def _branch(
        self, choice: tf.Tensor, names: Sequence[str], arguments: Sequence[tf.Tensor], number: int
    ) -> list[tf.Tensor]:
        if number == len(names) - 1:
            return self.build(names[number], arguments)
        here = tf.logical_not(choice) if choice.dtype == tf.bool else tf.equal(choice, number)
        results: list[tf.Tensor] = v1.cond(
            here,
            lambda: self.build(names[number], arguments),
            lambda: self._branch(choice, names, arguments, number + 1),
            strict=True,
        )
        return results

    def loop(self, names: Sequence[str], arguments: Sequence[tf.Tensor], call: tf.Operation) -> list[tf.Tensor]:
        """Build a loop. Arguments that its body returns unchanged, such as variables, do not become loop variables."""
        body = self._view.functions[names[1]]
        results = [body.ret[one.name] for one in body.signature.output_arg]
        own = [i for i, one in enumerate(body.signature.input_arg) if results[i] != one.name]

        def all_of(changing: Sequence[tf.Tensor]) -> list[tf.Tensor]:
            values = dict(zip(own, changing, strict=True))
            return [values.get(number, argument) for number, argument in enumerate(arguments)]

        def step(*changing: tf.Tensor) -> list[tf.Tensor]:
            next_values = self.build(names[1], all_of(changing))
            return [next_values[number] for number in own]

        final = v1.while_loop(
            lambda *changing: self.build(names[0], all_of(changing))[0],
            step,
            [arguments[number] for number in own],
            [call.outputs[number].shape for number in own],
            parallel_iterations=call.get_attr("parallel_iterations"),
            back_prop=False,
            return_same_structure=True,
        )
        return [tf.identity(one) for one in all_of(list(final))]
