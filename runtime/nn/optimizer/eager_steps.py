"""The steps of an optimizer in eager code: a kind of step that comes again is one graph of all its ops."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private_functions, _tf_private_tapes
from runtime.nn.optimizer.groups import Group
from runtime.nn.weights.weight import Weight

__all__ = ["EagerSteps", "kind_of"]

#: Updates weights, given their gradients by the `id` of the weight, and the learning rate.
Update = Callable[[Mapping[int, Any], tf.Tensor], Any]
Pairs = Sequence[tuple[Weight, Any]]
_OWN = "runtime.nn."


class EagerSteps:
    """Makes steps: the first of a kind op by op, the others by a graph, with the same bits.

    An eager op takes some 20 microseconds beside what it computes, and a step has dozens of ops for each weight.
    """

    def __init__(self, update: Update) -> None:
        """Take what updates weights, by the same ops in all steps of a kind."""
        self._update = update
        #: The graph of each kind, None after its first step, and its variables: while these are kept, no other one
        #: has the `id` of one of them.
        self._graphs: dict[Hashable, tuple[Callable[..., Any] | None, list[Any]]] = {}

    def make(self, pairs: Pairs, kind: Hashable | None, rate: tf.Tensor) -> None:
        """Update weights by gradients.

        Args:
            pairs: weights with their gradients.
            kind: all that the ops depend on, beside the weights and the forms of their gradients; None: on more.
            rate: the learning rate, a float32 scalar.
        """
        variables = [weight.variable for weight, _ in pairs]
        key = kind, tuple(map(id, variables)), tuple(isinstance(gradient, tf.IndexedSlices) for _, gradient in pairs)
        if kind is None or key not in self._graphs or _tf_private_tapes.records():
            self._update({id(weight): gradient for weight, gradient in pairs}, rate)
            self._graphs.setdefault(key, (None, variables))
            return
        graph, _ = self._graphs[key]
        with _tf_private_functions.called_as_written():
            if graph is None:
                graph = self._graph(pairs, rate)
                self._graphs[key] = graph, variables
            graph(rate, *(part for _, gradient in pairs for part in _parts(gradient)))

    def _graph(self, pairs: Pairs, rate: tf.Tensor) -> Callable[..., Any]:
        """Return the graph of a step: a function of the rate and of the parts of the gradients."""
        forms = [(weight, getattr(gradient, "dense_shape", None), _parts(gradient)) for weight, gradient in pairs]

        def step(rate: tf.Tensor, *flat: tf.Tensor) -> None:
            parts = iter(flat)
            gradients = {
                id(weight): next(parts) if len(own) == 1 else tf.IndexedSlices(next(parts), next(parts), shape)
                for weight, shape, own in forms
            }
            self._update(gradients, rate)

        specs = [_spec(part, len(own)) for _, _, own in forms for part in own]
        graph: Callable[..., Any] = tf.function(step, autograph=False).get_concrete_function(_spec(rate, 1), *specs)
        return graph


def kind_of(group: Group) -> Hashable | None:
    """Return all that a group says of its updates; None where code of the program decides."""
    clip, decays = group.settings["grad_clip"], [group.regularizer(weight) for weight in group.weights]
    if not all(part is None or type(part).__module__.startswith(_OWN) for part in (clip, *decays)):
        return None
    settings = tuple(item for item in group.settings.items() if item[0] != "grad_clip")
    limits = None if clip is None else (type(clip), tuple(vars(clip).items()))
    return settings, limits, tuple(map(repr, decays)), tuple(map(group.factor, group.weights))


def _parts(gradient: Any) -> tuple[tf.Tensor, ...]:
    if isinstance(gradient, tf.IndexedSlices):
        return gradient.values, gradient.indices
    return (tf.convert_to_tensor(gradient),)


def _spec(part: tf.Tensor, parts: int) -> tf.TensorSpec:
    """Return the form of one of the parts of a gradient; of rows there may be any number."""
    return tf.TensorSpec(part.shape if parts == 1 else [None, *part.shape[1:]], part.dtype)
