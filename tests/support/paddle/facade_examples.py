"""Runs the examples of ops, and layers with calls, in Paddle and on the façade; prints those that differ.

`python -m tests.support.paddle.facade_examples`: Paddle goes first, then the façade takes its name.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow  # noqa: F401

import paddle as stock  # isort: skip  (after TensorFlow, see conftest.py)

from runtime.compat.paddle import install
from tests.support.paddle.layer_cases import CASES
from tests.support.paddle.op_examples import _OPERAND, drawn, examples, leaves

#: What draws at random, has undefined values, or a wrong gradient in Paddle; and layers that Paddle cannot call.
_APART = (
    "rand",
    "normal",
    "uniform",
    "bernoulli",
    "multinomial",
    "dropout",
    "empty",
    "index=i_3, axis=1",
    "sparse=True",
)
_DRAWING = ("Dropout", "dropout", "Transformer", "sparse=True")


def calls() -> Iterator[tuple[str, str]]:
    """Yield the constructor of a layer, or nothing, and the call."""
    for example in examples():
        if not any(word in example.text for word in _APART):
            yield "", example.text
    for constructor, given in CASES.items():
        if not any(word in constructor for word in _DRAWING):
            yield from ((constructor, f"layer({arguments})") for arguments in given)


def computed(paddle: ModuleType, constructor: str, call: str) -> Any:
    """Return the results of a call, the gradients of operands and of the layer's weights, and where gradients stop."""
    names = {"paddle": paddle, "nn": paddle.nn, "numpy": np}
    if constructor:
        layer = names["layer"] = eval(constructor, names)
        random = np.random.RandomState(5)
        for path, weight in sorted(layer.state_dict().items()):
            weight.set_value((np.abs(random.standard_normal(tuple(weight.shape))) * 0.5 + 0.1).astype(np.float32))
            assert path
    found = [
        node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name) and _OPERAND.fullmatch(node.id)
    ]
    operands = {
        name: paddle.to_tensor(drawn(name, call, False), stop_gradient=name[0] not in "fd")
        for name in dict.fromkeys(found)
    }
    outputs = list(leaves(eval(call, names, operands)))
    total = None
    for place, value in enumerate(outputs):
        if isinstance(value, paddle.Tensor) and not value.stop_gradient and "float" in str(value.dtype):
            weights = np.cos(np.arange(value.size) + place).reshape(value.shape).astype(value.numpy().dtype)
            part = (value * paddle.to_tensor(weights)).sum().astype("float64")
            total = part if total is None else total + part
    if total is not None and (constructor or any(not one.stop_gradient for one in operands.values())):
        with contextlib.suppress(RuntimeError):  # no operand led to it, where Paddle's gradient is None
            total.backward()
    gradients = [one.grad for one in operands.values()]
    if constructor:
        gradients += [weight.grad for _, weight in sorted(names["layer"].named_parameters())]
    stops = [getattr(value, "stop_gradient", None) for value in outputs]
    return [_array(value) for value in outputs], [_array(one) for one in gradients], stops


def _array(value: Any) -> Any:
    if value is None:
        return np.zeros(())
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _differs(first: Any, second: Any) -> bool:
    if len(first) != len(second):
        return True
    for a, b in zip(first, second, strict=True):
        if a.dtype.kind in "fiub" and b.dtype.kind in "fiub":
            zero = not a.any() and not b.any()  # none, or zeros
            if not zero and (a.shape != b.shape or not np.allclose(a, b, 1e-3, 1e-4, equal_nan=True)):
                return True
    return False


def main() -> None:
    """Print the calls that differ, and how many were compared."""
    wanted: list[tuple[str, str, tuple[Any, Any, Any]]] = []
    for constructor, call in calls():
        try:
            wanted.append((constructor, call, computed(stock, constructor, call)))
        except Exception as error:
            assert constructor.startswith(("nn.GRU(", "nn.LSTM(", "nn.SimpleRNN(")), (constructor, call, error)
    for name in [name for name in sys.modules if name.partition(".")[0] == "paddle"]:
        del sys.modules[name]
    install()
    import paddle

    assert paddle is not stock
    for constructor, call, (values, gradients, stops) in wanted:
        own, found, own_stops = computed(paddle, constructor, call)
        if _differs(values, own) or _differs(gradients, found):
            print("differs:", constructor, call)
        elif stops != own_stops:
            print("differs:", constructor, call, "stops", stops, own_stops)
    print(len(wanted), "compared")


if __name__ == "__main__":
    main()
