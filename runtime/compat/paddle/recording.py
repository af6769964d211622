"""Gradients as Paddle has them: all that is computed is recorded, and let go of when no tensor of it is left.

TensorFlow has the gradients of what a tape has recorded, and a tape keeps all of it. So a tape records one *segment*
of the program: from one call of a model, or one `backward`, to the next. A tensor keeps its segment alive; a later
segment that uses it notes it as an input, and `backward` goes on from the inputs into the segments that they are of.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from runtime import _tf_private_tapes
from runtime.nn.weights.weight import Weight, of_variables

_numbers = itertools.count()
#: Kinds of operands that no gradient goes through.
_DATA = (bool, int, float, complex, str, np.ndarray, np.generic, tf.DType, np.dtype, type, type(None), type(...))


class Tensor(Protocol):
    """What is recorded: a tensor, which knows the segment that computed it."""

    segment: Segment | None
    leaf: bool

    @property
    def value(self) -> tf.Tensor:
        """The value."""
        raise NotImplementedError

    def add_gradient(self, gradient: tf.Tensor) -> None:
        """Add to the gradient of a leaf."""


class _Input(NamedTuple):
    """A tensor of an earlier segment as it was when it was used: what changes it in place gives it another segment."""

    value: tf.Tensor
    tensor: Tensor
    segment: Segment | None
    leaf: bool


class Segment:
    """What one tape has recorded, and the tensors of earlier segments that were used in it."""

    def __init__(self) -> None:
        """Begin to record."""
        self.number = next(_numbers)
        self.tape = tf.GradientTape(persistent=True)
        self.inputs: dict[int, _Input] = {}
        self.tape.__enter__()

    def use(self, value: tf.Tensor, tensor: Tensor) -> None:
        """Note that the value of a tensor of an earlier segment, or of a leaf, is used here."""
        if id(value) not in self.inputs and value.dtype.is_floating:
            self.tape.watch(value)
            self.inputs[id(value)] = _Input(value, tensor, tensor.segment, tensor.leaf)

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Record nothing in the block."""
        if self is not _state.segment or _state.paused:
            yield
            return
        self.tape.__exit__(None, None, None)
        try:
            yield
        finally:
            self.tape.__enter__()


class _State(threading.local):
    segment: Segment | None = None
    paused = False


_state = _State()


def recording() -> bool:
    """Whether what is computed now is recorded: never in a graph, such as that of a `tf.function`."""
    return not _state.paused and tf.executing_eagerly()


def current() -> Segment | None:
    """Return the segment that is recorded now; None where nothing is."""
    if not recording():
        return None
    if _state.segment is None:
        _state.segment = Segment()
    return _state.segment


def leads(operand: Any) -> bool:
    """Whether a gradient may go through an operand: what is neither a tensor, a weight nor plain data may hold one."""
    stops = getattr(operand, "stop_gradient", None)
    if stops is not None:
        return not stops
    if isinstance(operand, list | tuple):
        return any(map(leads, operand))
    if isinstance(operand, dict):
        return any(map(leads, operand.values()))
    if isinstance(operand, slice):
        return any(map(leads, (operand.start, operand.stop, operand.step)))
    return not isinstance(operand, _DATA)


def new_segment() -> None:
    """End the segment; the next begins where it is needed."""
    if _state.segment is not None and not _state.paused:
        _state.segment.tape.__exit__(None, None, None)
        _state.segment = None


@contextlib.contextmanager
def stopped(pause: bool = True) -> Iterator[None]:
    """Record nothing of what is computed in the block, or with `pause=False` go on recording there."""
    before = _state.paused
    if pause == before:
        yield
        return
    new_segment()
    _state.paused = pause
    try:
        yield
    finally:
        if not pause:
            new_segment()
        _state.paused = before


def backward(tensors: Sequence[Tensor], factors: Sequence[Any]) -> None:
    """Add the gradients of tensors to `grad` of the trainable weights and leaves that they were computed from.

    Args:
        tensors: what is differentiated; of several elements, their sum.
        factors: of their elements, tensors of the same shape; None: ones.

    Raises:
        RuntimeError: no weight led to the tensors.
    """
    sources = _Sources()
    sources.follow(tensors, factors)
    if not sources.reached:
        raise RuntimeError(
            "backward() got a tensor without gradients: no trainable weight led to it, or it was computed in no_grad"
        )
    new_segment()


def gradients(tensors: Sequence[Tensor], factors: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    """Return the gradients of tensors with respect to tensors or weights, None where they do not depend on one."""
    sources = _Sources(wanted)
    sources.follow(tensors, factors)
    return [sources.gradients.get(id(source)) for source in wanted]


class _Sources:
    """One way back through the segments, the latest first."""

    def __init__(self, wanted: Sequence[Any] | None = None) -> None:
        """Take the tensors and weights whose gradients are wanted; None: those of all weights and leaves."""
        self.wanted = wanted
        self.gradients: dict[int, Any] = {}
        self.reached = False
        self._left: dict[Segment, list[tuple[tf.Tensor, Any]]] = defaultdict(list)

    def follow(self, tensors: Sequence[Tensor], factors: Sequence[Any]) -> None:
        """Go from tensors to all that they were computed from."""
        for tensor, factor in zip(tensors, factors, strict=True):
            if tensor.segment is not None:
                self._left[tensor.segment].append((tensor.value, factor))
        while self._left:
            segment = max(self._left, key=lambda left: left.number)
            self._through(segment, self._left.pop(segment))

    def _through(self, segment: Segment, targets: list[tuple[tf.Tensor, Any]]) -> None:
        known = [(variable, of_variables.get(id(variable))) for variable in segment.tape.watched_variables()]
        weights = [(variable, weight) for variable, weight in known if weight is not None]
        inputs = list(segment.inputs.values())
        own = [source for source in self.wanted or () if getattr(source, "segment", None) is segment]
        with segment.stopped():
            sources = [variable.handle for variable, _ in weights]
            computed = _tf_private_tapes.gradients(
                segment.tape,
                [value for value, _ in targets],
                [*sources, *(used.value for used in inputs), *(source.value for source in own)],
                [tf.ones_like(value) if factor is None else factor for value, factor in targets],
            )
        for variable, weight in weights:
            self._weight(weight, _of_matrix(weight, variable, computed.pop(0)))
        for used in inputs:
            self._input(used, computed.pop(0))
        for tensor, gradient in zip(own, computed, strict=True):
            self._add(tensor, gradient)

    def _weight(self, weight: Weight, gradient: Any) -> None:
        if self.wanted is not None:
            self._add(weight, gradient)
        elif weight.trainable and gradient is not None:
            self.reached = True
            before = weight.accumulated
            weight.accumulated = gradient if before is None else _sum(before, gradient)

    def _input(self, used: _Input, gradient: Any) -> None:
        if gradient is None:
            return
        if self.wanted is not None and used.segment is None:  # else its own segment counts it
            self._add(used.tensor, gradient)
        elif self.wanted is None and used.leaf:
            self.reached = True
            used.tensor.add_gradient(tf.convert_to_tensor(gradient))
        if used.segment is not None:
            self._left[used.segment].append((used.value, tf.convert_to_tensor(gradient)))

    def _add(self, source: Any, gradient: Any) -> None:
        if gradient is not None:
            before = self.gradients.get(id(source))
            self.gradients[id(source)] = gradient if before is None else _sum(before, gradient)


def _of_matrix(weight: Weight, variable: Any, gradient: Any) -> Any:
    """Return the gradient of rows that were looked up in a table, where the weight has become a variable since."""
    if isinstance(gradient, tf.IndexedSlices) and variable is not weight.variable:
        shape = tf.constant(weight.declared_shape, tf.int64)
        return tf.IndexedSlices(gradient.values, gradient.indices, shape)
    return gradient


def _sum(first: Any, second: Any) -> Any:
    """Return the sum of two gradients; of chosen rows, the rows of both, where equal indices count as their sum."""
    if isinstance(first, tf.IndexedSlices) and isinstance(second, tf.IndexedSlices):
        values, indices = tf.concat([first.values, second.values], 0), tf.concat([first.indices, second.indices], 0)
        return tf.IndexedSlices(values, indices, first.dense_shape)
    return tf.convert_to_tensor(first) + tf.convert_to_tensor(second)
