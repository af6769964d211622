"""Runs one function in Paddle and in TensorFlow on the same values, and compares values, shapes, dtypes, gradients.

Of TensorFlow all cases of a table are in one graph and one session: each second with known sizes, the others with a
first size that is known only when they run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


@dataclass(frozen=True)
class Case:
    """A call of the function `name`, or of `call(namespace, *tensors)`, in which arrays are tensors."""

    name: str
    arguments: tuple[Any, ...]
    named: dict[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    tolerance: float = 1e-5
    open_batch: bool = True
    gradient: bool = True
    static: bool = True

    def result(self, namespace: Any, convert: Callable[[np.ndarray], Any]) -> Any:
        """Return what the function gives."""
        arguments = [_converted(argument, convert) for argument in self.arguments]
        named = {name: _converted(argument, convert) for name, argument in self.named.items()}
        function = getattr(namespace, self.name) if self.call is None else lambda *a, **k: self.call(namespace, *a, **k)
        return function(*arguments, **named)


def case(
    name: str,
    *arguments: Any,
    call: Any = None,
    tolerance: float = 1e-5,
    open_batch: bool = True,
    gradient: bool = True,
    static: bool = True,
    **named: Any,
) -> Case:
    """Return a case; not `open_batch`: it is run with known sizes only; not `gradient`: only values are compared.

    Not `static`: sizes of the result are known when it runs, even where those of the arguments are known before.
    """
    return Case(name, arguments, named, call, tolerance, open_batch, gradient, static)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    """Return float32 numbers that are not near 0."""
    values = np.random.RandomState(seed + 7).uniform(0.2, 2.0, shape)
    signs = np.random.RandomState(seed + 11).choice([-1.0, 1.0], shape)
    return (values * signs).astype(np.float32)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    """Return float32 numbers in (0.1, 0.9)."""
    return np.random.RandomState(seed + 3).uniform(0.1, 0.9, shape).astype(np.float32)


def _converted(value: Any, convert: Callable[[np.ndarray], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return convert(value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, np.ndarray) for item in value):
        return type(value)(_converted(item, convert) for item in value)
    return value


class PaddleNames:
    """Paddle's functions by name, with Python's operators under `operators`."""

    operators = operator

    def __getattr__(self, name: str) -> Any:
        """Return the function of paddle, of paddle.nn.functional, or the tensor method."""
        import paddle

        for module in (paddle, paddle.nn.functional, paddle.Tensor):
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(name)


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _weights(shape: Any, place: int) -> np.ndarray:
    return np.asarray(np.random.RandomState(place).uniform(0.5, 1.5, tuple(shape)))


def in_paddle(one: Case) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the values and the gradients of all float arguments."""
    import paddle

    tensors = []

    def convert(array: np.ndarray) -> Any:
        tensor = paddle.to_tensor(array, stop_gradient=array.dtype.kind != "f")
        tensors.append(tensor)
        return tensor

    results = _listed(one.result(PaddleNames(), convert))
    losses = [
        (result * paddle.to_tensor(_weights(result.shape, i).astype(result.numpy().dtype))).sum().astype("float64")
        for i, result in enumerate(results)
        if result.numpy().dtype.kind == "f" and not result.stop_gradient
    ]
    if losses and one.gradient:
        sum(losses[1:], losses[0]).backward()
    gradients = [
        np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()
        for tensor in tensors
        if not tensor.stop_gradient
    ]
    return [result.numpy() for result in results], gradients


@dataclass
class Built:
    """A case in the graph."""

    results: list[Any]
    trained: list[Any]
    losses: list[Any]
    gradients: list[Any] = field(default_factory=list)


def built(one: Case, namespace: Any, open_batch: bool, feeds: dict[Any, Any], shapes: list[Any]) -> Built:
    """Add a case to the graph; with `open_batch` the first size of each tensor is not known."""
    tensors = []

    def convert(array: np.ndarray) -> Any:
        shape: list[Any] = list(array.shape)
        if open_batch and shape:
            shape[0] = None
        tensor = v1.placeholder(tf.as_dtype(array.dtype), shape)
        feeds[tensor] = array
        tensors.append(tensor)
        return tensor

    results = [tf.convert_to_tensor(result) for result in _listed(one.result(namespace, convert))]
    losses = [
        tf.cast(tf.reduce_sum(result * tf.constant(_weights(shape, i), result.dtype)), tf.float64)
        for i, (result, shape) in enumerate(zip(results, shapes, strict=False))
        if result.dtype.is_floating
    ]
    return Built(results, [tensor for tensor in tensors if tensor.dtype.is_floating] if one.gradient else [], losses)


def _add_gradients(graphs: list[Built]) -> None:
    """Add the gradients of all cases at once, which is faster than one after the other."""
    losses = [loss for graph in graphs for loss in graph.losses]
    trained = [x for graph in graphs for x in graph.trained]
    gradients = iter(tf.gradients(losses, trained) if losses and trained else [None] * len(trained))
    for graph in graphs:
        for x in graph.trained:
            slope = next(gradients)
            graph.gradients.append(tf.zeros_like(x) if slope is None else tf.convert_to_tensor(slope))


def in_tensorflow(
    cases: list[Case], namespace: Any, shapes: list[list[Any]], optimized: bool = True
) -> list[dict[str, Any]]:
    """Return of each case what was computed, by "known" or "open" as the first size was, or the exception.

    Args:
        cases: the calls.
        namespace: where their functions are.
        shapes: of each case the shapes of its results.
        optimized: rewrite the graph before it runs, as sessions do; it takes time, and may cost digits.
    """
    feeds: dict[Any, Any] = {}
    with tf.Graph().as_default():
        graphs: list[dict[str, Any]] = []
        for place, (one, wanted) in enumerate(zip(cases, shapes, strict=True)):
            open_batch = one.open_batch and place % 2 == 1
            label = "open" if open_batch else "known"
            try:
                graphs.append({label: built(one, namespace, open_batch, feeds, wanted)})
            except Exception as error:
                graphs.append({label: error})
        _add_gradients([graph for row in graphs for graph in row.values() if isinstance(graph, Built)])
        fetches = [
            {label: (b.results, b.gradients) for label, b in row.items() if isinstance(b, Built)} for row in graphs
        ]
        with v1.Session(config=_settings(optimized)) as session:
            try:
                values = session.run(fetches, feeds)
            except tf.errors.OpError:
                values = [_alone(session, fetch, feeds) for fetch in fetches]
    return [
        {label: value.get(label, row[label]) if isinstance(value, dict) else value for label in row}
        | {"shapes": {label: _shapes(b) for label, b in row.items() if isinstance(b, Built)}}
        for row, value in zip(graphs, values, strict=True)
    ]


def _settings(optimized: bool) -> Any:
    settings = v1.ConfigProto()
    settings.graph_options.rewrite_options.disable_meta_optimizer = not optimized
    if not optimized:
        settings.graph_options.optimizer_options.opt_level = -1
    return settings


def _alone(session: Any, fetch: Any, feeds: Any) -> Any:
    try:
        return session.run(fetch, feeds)
    except tf.errors.OpError as error:
        return error


def _shapes(graph: Built) -> list[Any]:
    return [result.shape for result in graph.results]


def differences(one: Case, computed: dict[str, Any], oracle: Any) -> list[str]:
    """Return what differs from what Paddle computed, in words."""
    if isinstance(oracle, Exception):
        return [f"Paddle: {str(oracle).strip().splitlines()[-1]}"]
    values, gradients = oracle
    found = []
    for label in computed.keys() - {"shapes"}:
        if isinstance(computed[label], Exception):
            found.append(f"{label}: {type(computed[label]).__name__}: {str(computed[label])[:400]}")
            continue
        results, slopes = computed[label]
        for kind, ours, theirs in (("value", results, values), ("gradient", slopes, gradients))[: 1 + one.gradient]:
            if len(ours) != len(theirs):
                found.append(f"{label}: {len(ours)} {kind}s instead of {len(theirs)}")
            for mine, wanted in zip(ours, theirs, strict=False):
                found += [f"{label} {kind}: {text}" for text in _apart(mine, wanted, one.tolerance, kind == "value")]
        for shape, wanted in zip(computed["shapes"][label], values, strict=False):
            unknown = label == "known" and one.static and not shape.is_fully_defined()
            if shape.rank is None or unknown or not shape.is_compatible_with(wanted.shape):
                found.append(f"{label}: static shape {shape}, of {wanted.shape}")
    return found


def _apart(mine: Any, wanted: Any, tolerance: float, with_dtype: bool) -> list[str]:
    mine = np.asarray(mine)
    if mine.shape != wanted.shape:
        return [f"shape {mine.shape} instead of {wanted.shape}"]
    if with_dtype and mine.dtype != wanted.dtype:
        return [f"dtype {mine.dtype} instead of {wanted.dtype}"]
    if mine.dtype.kind == "f" and not np.allclose(mine, wanted, tolerance, tolerance, equal_nan=True):
        return [f"{mine.tolist()} instead of {wanted.tolist()}"]
    if mine.dtype.kind != "f" and not np.array_equal(mine, wanted):
        return [f"{mine.tolist()} instead of {wanted.tolist()}"]
    return []


def _caught(one: Case) -> Any:
    try:
        return in_paddle(one)
    except Exception as error:
        return error


class Table:
    """Cases of one file."""

    def __init__(self, cases: list[Case], optimized: bool = False) -> None:
        """Keep the cases; nothing is computed yet. See `in_tensorflow` for `optimized`."""
        self.cases, self.optimized = cases, optimized

    def differences(self) -> list[str]:
        """Return what differs from Paddle, with the place and name of the case."""
        from runtime.nn import functional

        oracles = [_caught(one) for one in self.cases]
        shapes = [[] if isinstance(of, Exception) else [value.shape for value in of[0]] for of in oracles]
        computed = in_tensorflow(self.cases, functional, shapes, self.optimized)
        return [
            f"{place}-{one.name}: {text}"
            for place, (one, ours, theirs) in enumerate(zip(self.cases, computed, oracles, strict=True))
            for text in differences(one, ours, theirs)
        ]
