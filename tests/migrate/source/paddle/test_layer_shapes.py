"""Each layer: names and shapes of its weights, and shape and dtype of what it returns, are those of Paddle."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from migrate.source.paddle.abstract.machine import Machine
from migrate.source.paddle.abstract.modules import load
from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.run import Frame
from migrate.source.paddle.abstract.values import Function, LayerValue, Stop, Tensor, Weight
from migrate.source.paddle.emission.files import write
from migrate.source.paddle.layers.registry import SPECS
from runtime import nn
from tests.support.paddle.layer_cases import CASES, programs
from tests.support.paddle.op_examples import abstract, drawn, leaves

pytestmark = pytest.mark.paddle

PROGRAMS = programs()
v1 = tf.compat.v1


def state_dict(model: LayerValue, prefix: str = "") -> dict[str, Weight]:
    """Return path -> weight as `state_dict` of Paddle does: what has several paths is there under each of them."""
    found = {prefix + name: weight for name, weight in model.weights.items()}
    for name, layer in model.sublayers.items():
        found |= state_dict(layer, f"{prefix}{name}.")
    return found


def operands(call: str) -> list[str]:
    names = [node.id for node in ast.walk(ast.parse(f"f({call})")) if isinstance(node, ast.Name) and node.id != "f"]
    return list(dict.fromkeys(names))


def with_calls(text: str, calls: tuple[str, ...]) -> str:
    """Return a program with a function for each call."""
    functions = [
        f"def call_{i}(layer, {', '.join(operands(call))}):\n    return layer({call})\n" for i, call in enumerate(calls)
    ]
    return "\n".join([text, *functions])


def dtype_of(value: Any) -> str:
    return str(value.dtype).rpartition(".")[2]


class Abstract:
    """A program as the machine executes it."""

    def __init__(self, text: str) -> None:
        self.run = Machine()
        self.module = load(self.run, "net.py", text)
        self.run.frames.append(Frame(self.module, ""))
        self.layer: Any = self.do("make")

    def do(self, name: str, *given: Any) -> Any:
        function = self.module.names[name]
        assert isinstance(function, Function)
        try:
            return self.run.call_function(function, list(given), {})
        except Stop:
            return None

    @property
    def problems(self) -> list[str]:
        return [problem.message for problem in self.run.problems.values()]


@cache
def in_paddle() -> list[tuple[Any, list[Any]]]:
    """Return each program's layer, and the results of its calls."""
    found = []
    for _, text, calls in PROGRAMS:
        names: dict[str, Any] = {}
        exec(compile(with_calls(text, calls), "net.py", "exec"), names)
        layer = names["make"]()
        results = [
            names[f"call_{i}"](layer, *[paddle.to_tensor(drawn(name, call, False)) for name in operands(call)])
            for i, call in enumerate(calls)
        ]
        found.append((layer, results))
    return found


def test_constructors_are_those_of_paddle() -> None:
    wrong = []
    for name, spec in SPECS.items():
        theirs = list(inspect.signature(eval(name, {"paddle": paddle}).__init__).parameters.values())[1:]
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        wanted = {
            one.name: None if one.default is one.empty else one.default for one in theirs if one.kind not in kinds
        }
        ours = {key: None if type(value) is object else value for key, value in spec.constructor.parameters.items()}
        if ours != wanted and name != "paddle.nn.Identity":
            wrong.append((name, ours, wanted))
    assert wrong == []


@pytest.mark.parametrize("open_batch", [False, True])
def test_results_are_those_of_paddle(open_batch: bool) -> None:
    wrong = []
    for (name, text, calls), (_, results) in zip(PROGRAMS, in_paddle(), strict=True):
        ours = Abstract(with_calls(text, calls))
        for index, (call, result) in enumerate(zip(calls, results, strict=True)):
            given = [abstract(one, open_batch) for one in operands(call)]
            found = list(leaves(ours.do(f"call_{index}", ours.layer, *given)))
            wanted = list(leaves(result))
            if ours.problems or len(found) != len(wanted):
                wrong.append((name, call, ours.problems or found, [one.shape for one in wanted]))
                break
            wrong += [
                (name, call, a.shape, a.dtype, b.shape, b.dtype)
                for a, b in zip(found, wanted, strict=True)
                if not _agrees(a, b, open_batch)
            ]
    assert wrong == []


def _agrees(ours: Any, theirs: Any, open_batch: bool) -> bool:
    if not isinstance(ours, Tensor) or ours.shape is None or ours.dtype != dtype_of(theirs):
        return False
    if len(ours.shape) != len(theirs.shape) or (None in ours.shape and not open_batch):
        return False
    return all(a in (b, None) for a, b in zip(ours.shape, theirs.shape, strict=True))


def test_classes_that_derive_from_layers_and_use_their_parts_compute_the_same() -> None:
    graph = tf.Graph()
    fetches: list[Any] = []
    wanted: list[Any] = []
    loaded: list[tuple[Any, Any]] = []
    feeds: dict[Any, Any] = {}
    with graph.as_default():
        for index, ((_, text, calls), (theirs, _)) in enumerate(zip(PROGRAMS, in_paddle(), strict=True)):
            if "class" not in text:
                continue
            ours = Abstract(text := with_calls(text, calls))
            given = [abstract(name, True) for name in operands(calls[0])]
            ours.do("call_0", ours.layer, *given)
            names: dict[str, Any] = {}
            exec(write(Program(ours.run, ours.module, model=ours.layer), "net.py").text, names)
            layer = names["make"]()
            layer.build(f"model_{index}")
            values = [drawn(name, calls[0], False) for name in operands(calls[0])]
            tensors = [v1.placeholder(value.dtype, [None, *value.shape[1:]]) for value in values]
            feeds |= dict(zip(tensors, values, strict=True))
            loaded.append((layer, {key: value.numpy() for key, value in theirs.state_dict().items()}))
            theirs.eval()
            layer.eval()
            fetches += leaves(names["call_0"](layer, *tensors))
            wanted += leaves(theirs(*map(paddle.to_tensor, values)))
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for layer, arrays in loaded:
                nn.load_weights(layer, arrays, session)
            found = session.run([tf.convert_to_tensor(one) for one in fetches], feeds)
    assert len(found) == len(wanted) > len(PROGRAMS) - len(CASES)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs.numpy(), 1e-5, 1e-6)
