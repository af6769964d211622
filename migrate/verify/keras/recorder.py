"""Records the training of a Keras program as plain arrays.

The first step of the program only serves to find its variables and set their values. The next steps are passes, whose
gradients are recorded but not applied, so that all of them start from the same values. Then training steps follow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from migrate.verify.recording import Moment
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.interceptor import Stop
from migrate.verify.tensorflow.measure import LARGE
from runtime.policy.base import put_matrix

#: Called with the variables that a step trains for the first time; sets their values and returns their names.
Begin = Callable[[list[Any]], list[str]]


@dataclass
class Cycle:
    """What was recorded in one training step, which is one call of each optimizer."""

    losses: list[float] = field(default_factory=list)
    inputs: list[tuple[str, Any]] = field(default_factory=list)
    lookups: dict[str, list[Any]] = field(default_factory=dict)
    gradients: dict[str, Any] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)  #: ids of the optimizers that were called


class Recorder:
    """Records a program until it has enough batches and steps, and then stops it."""

    def __init__(self, settings: Settings, begin: Begin, lead: Sequence[Moment] = ()) -> None:
        """Take how much to record, the function that names and sets variables, and the original's steps.

        These lead: each step begins with the weights of theirs, so that rounding does not add up.
        """
        self.settings, self.begin, self._lead = settings, begin, lead
        self.names: dict[int, str] = {}  #: id of a variable -> its name
        self.variables: dict[str, Any] = {}
        self.optimizers: dict[str, str] = {}  #: variable -> class name of its optimizer
        self.passes: list[Moment] = []
        self.steps: list[tuple[Cycle, dict[str, Any], dict[str, Any]]] = []  #: what it has seen, `values` after it
        self.layers: list[Any] = []
        self.vectors: set[str] = set()  #: names of looked-up variables with one number for each id
        self._known: dict[int, Any] = {}  # optimizers by id, kept alive so that ids are not reused
        self._cycle = Cycle()
        self._seen: list[tuple[Any, Any]] = []
        self._forward = self._reads = False

    def on_tape(self) -> None:
        """Discard lookups outside of a tape, e.g. of an evaluation."""
        if not self._forward:
            self._seen.clear()
        self._forward = self._reads = True

    def on_call(self, layer: Any, inputs: Any) -> None:
        """Record what the first layer on a tape is given: the batch, as the program has read it."""
        if self._reads:
            self._reads = False
            self._cycle.inputs += arrays_of(inputs, f"input of {layer.name}")

    def on_loss(self, target: Any) -> None:
        """Record the value of the loss."""
        self._cycle.losses.append(float(sum_of(target)))

    def on_lookup(self, layer: Any, rows: Any) -> None:
        """Record the rows."""
        self._seen.append((layer, rows.flat_values if isinstance(rows, tf.RaggedTensor) else rows))

    def on_built(self, layer: Any) -> None:
        """Record the layer."""
        self.layers.append(layer)

    def on_apply(self, optimizer: Any, pairs: list[tuple[Any, Any]], apply: Callable[[], Any]) -> Any:
        """Record a step; apply it if all passes are done, and not if it trains a variable for the first time."""
        self._known[id(optimizer)] = optimizer
        self._forward = False
        if self.began(optimizer, pairs):
            self._cycle = Cycle()
            return None
        cycle = self._cycle
        for layer, rows in self._seen:
            name = self.names.get(id(rows_of(layer)))
            cycle.lookups.setdefault(name or "", []).append(np.asarray(rows))
        self._seen.clear()
        for gradient, variable in pairs:
            name = self.names[id(variable)]
            cycle.gradients[name] = _array(gradient, variable, name in self.vectors)
        cycle.done.add(id(optimizer))
        taken = len(self.passes) >= self.settings.batches
        result = apply() if taken else None
        if cycle.done >= self._known.keys():
            self._close(cycle, taken)
        return result

    def began(self, optimizer: Any, pairs: list[tuple[Any, Any]]) -> bool:
        """Name and set the variables that a step is the first to train or to read; return whether there are any."""
        trained = [variable for _, variable in pairs if id(variable) not in self.names]
        rows = {id(one): one for one in map(rows_of, self.untrained()) if one is not None}
        fresh = [*trained, *(one for key, one in rows.items() if key not in self.names)]
        if fresh:
            names = self.begin(fresh)
            # Setting a table draws random numbers, and setting a variable none: what follows is the same in both.
            tf.keras.utils.set_random_seed(self.settings.seed + 3000 + len(self.names))
            self.names |= {id(variable): name for variable, name in zip(fresh, names, strict=True)}
            self.variables |= dict(zip(names, fresh, strict=True))
            self.optimizers |= dict.fromkeys(names[: len(trained)], stock_name(optimizer))
        return bool(fresh)

    def untrained(self) -> list[Any]:
        """Return the layers that are looked up and not trained."""
        return [one for one, _ in self._seen if not isinstance(one, tf.Variable) and not one.trainable_weights]

    def _close(self, cycle: Cycle, taken: bool) -> None:
        self._cycle = Cycle()
        if not taken:
            self.passes.append(Moment(cycle.losses, {"forward": cycle.lookups}, cycle.gradients, inputs=cycle.inputs))
            return
        self._stepped(cycle, len(self.steps) + 1 == self.settings.steps)

    def _stepped(self, cycle: Cycle, last: bool) -> None:
        """Record what a step has left, and let the next begin with the weights of the original."""
        self.steps.append((cycle, *self.values(last)))
        if last:
            raise Stop
        values = self._lead[len(self.steps) - 1].values if len(self.steps) <= len(self._lead) else {}
        for name, variable in self.variables.items():
            if name in values and (table := table_of(variable)) is None:
                variable.assign(values[name].reshape(variable.shape))
            elif name in values and not table.has_base:
                put_matrix(table, values[name])

    def values(self, last: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values of variables, large ones after the last step only, and those of tables."""
        variables, tables = {}, {}
        for name, variable in self.variables.items():
            table = table_of(variable)
            if table is not None:
                tables[name] = tuple(part.numpy() for part in table.snapshot())
            elif last or np.prod(variable.shape) <= LARGE:
                variables[name] = as_rows(variable.numpy(), name in self.vectors)
        return variables, tables


def arrays_of(inputs: Any, label: str) -> list[tuple[str, Any]]:
    """Return the arrays that a layer is given, each with its key, or this label."""
    if isinstance(inputs, dict):
        return [pair for key, value in inputs.items() for pair in arrays_of(value, str(key))]
    parts = tf.nest.flatten(inputs, expand_composites=True)
    return [(label, np.asarray(part)) for part in parts if isinstance(part, np.ndarray) or hasattr(part, "numpy")]


def sum_of(target: Any) -> Any:
    """Return the sum of all numbers of a loss, in float64."""
    return tf.add_n([tf.reduce_sum(tf.cast(part, tf.float64)) for part in tf.nest.flatten(target)])


def table_of(variable: Any) -> Any:
    """Return the table whose anchor a variable is, or None."""
    from runtime.table.anchor import Anchor

    inner = inner_of(variable)
    return inner.table if isinstance(inner, Anchor) else None


def inner_of(variable: Any) -> Any:
    """Return TensorFlow's variable of one of Keras 3; one of Keras 2 is TensorFlow's own."""
    return variable if isinstance(variable, tf.Variable) else getattr(variable, "value", variable)


def rows_of(layer: Any) -> Any:
    """Return the variable that an optimizer trains for a layer's rows, or that holds them without being trained."""
    if isinstance(layer, tf.Variable):
        return layer
    variables = layer.trainable_weights or layer.weights
    return variables[0] if variables else None


def stock_name(optimizer: Any) -> str:
    """Return the name of the stock class that an optimizer is, wraps, or inherits from."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    names: Mapping[type, str] = {
        kind: name for name in dir(tf.keras.optimizers) if isinstance(kind := getattr(tf.keras.optimizers, name), type)
    }
    return next((names[kind] for kind in type(inner).__mro__ if kind in names), type(inner).__name__)


def as_rows(values: Any, is_vector: bool) -> Any:
    """Return the numbers of ids as rows of width 1, which a table has for them; other values as they are."""
    return values[:, None] if is_vector else values


def _array(gradient: Any, variable: Any, is_vector: bool) -> Any:
    """Return a gradient as an array, (keys, rows), or None."""
    if isinstance(gradient, tf.IndexedSlices):
        table = table_of(variable)
        if table is not None and table.has_terms:
            from runtime.lookup.whole_table import written_out

            gradient = written_out(table, gradient)
        keys = gradient.indices.numpy()
        if table is not None and table.arguments.base_buckets:
            keys = table.arguments.base_buckets.row_of(keys)
        return keys, as_rows(gradient.values.numpy(), is_vector)
    return None if gradient is None else as_rows(np.asarray(gradient), is_vector)


class Traced(Recorder):
    """Records steps outside of functions until there are enough, and then stops the program."""

    def __init__(self, settings: Settings, begin: Begin, lead: Sequence[Moment] = ()) -> None:
        super().__init__(settings, begin, lead)
        self._made = tf.Variable(0, trainable=False)
        self._losses = tf.Variable(tf.zeros([settings.steps], tf.float64), trainable=False)
        self._recorded = self._calling = 0
        self.by_turns = False  #: whether variables are trained first after others were: until then they have own values

    def on_loss(self, target: Any) -> None:
        """Add the loss to those of its step."""
        self._losses.assign_add(tf.one_hot(self._made, self.settings.steps, dtype=tf.float64) * sum_of(target))

    def on_call(self, layer: Any, inputs: Any) -> None:
        """Record nothing: inputs of a graph have no values."""

    def on_lookup(self, layer: Any, rows: Any) -> None:
        """Record nothing: rows of a graph have no values."""

    def on_apply(self, optimizer: Any, pairs: list[tuple[Any, Any]], apply: Callable[[], Any]) -> Any:
        """Apply a step, but not one whose gradients are of other values than those that its variables begin with."""
        others = bool(self.names)
        with tf.init_scope():
            begun = self.began(optimizer, pairs)
        self.by_turns |= begun and others
        if begun and tf.executing_eagerly():
            self._losses.assign(tf.zeros_like(self._losses))
            return None
        result = apply()
        self._made.assign_add(1)
        self._close_call()
        return result

    @contextlib.contextmanager
    def in_function(self) -> Iterator[None]:
        """Record what the call of a function inside has changed, once the outermost has ended."""
        self._calling += 1
        try:
            yield
        finally:
            self._calling -= 1
        self._close_call()

    def untrained(self) -> list[Any]:
        """Return the layers that are built and not trained."""
        return [one for one in self.layers if not isinstance(one, tf.Variable) and not one.trainable_weights]

    def _close_call(self) -> None:
        if self._calling or not tf.executing_eagerly() or int(self._made) == self._recorded:
            return
        before, self._recorded = self._recorded, int(self._made)
        losses = [float(self._losses.numpy()[before : self._recorded].sum())]
        self._stepped(Cycle(losses), self._recorded >= self.settings.steps)
