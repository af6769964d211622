"""Worker that runs a converted trainer in a TensorFlow v1 graph: `run(job)`."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.values import mapped
from migrate.verify import program_files
from migrate.verify.paddle.graph_side import GraphSide, ran
from migrate.verify.paddle.trainer.common import Array, metrics_of, own_metrics, recorded, trainer_of, watched
from migrate.verify.paddle.trainer.graph_random_numbers import drawn
from migrate.verify.without_buckets import clips_by_norm
from runtime import nn
from runtime.nn.weights.weight import Weight

v1 = tf.compat.v1


class Converted(GraphSide):
    """The trainer's graphs for training and evaluation, with one set of weights."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Build all graphs; nothing is run."""
        self.config = dict(job["config"])
        np.random.seed(1)
        random.seed(1)
        self.trainer = trainer_of(job["path"])
        program_files.enter(job.get("data") or job["path"])  # a trainer may read data of its own
        with recorded(Weight, "__init__") as weights:
            self.model = self.trainer.create_model(self.config)
        held = {id(weight) for _, weight in self.model.named_weights()}
        self.model.build("model")
        self.metrics = metrics_of(self.trainer)
        self.items = _placeholders(job["batches"], self.config.get("runner.train_batch_size") == 1)
        outputs, self.loss = self._graph(training=True)
        self.outputs = {"output": outputs}
        self.updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        own = own_metrics(self.metrics, nn.metric.Metric, lambda metric: isinstance(metric, nn.metric.Sums))
        self.counted = nn.metric.updates() if own else []  #: with one of the program's own, what training adds
        self.measures = {type(one).__name__: one.accumulate() for one in own}
        self.resets = [one.reset() for one in own]
        self.weights = dict(self.model.named_parameters())
        self.parameters = frozenset(self.weights)
        self.train(job["rates"], self.model.parameters())
        if hasattr(self.trainer, "create_optimizer"):
            own = self.trainer.create_optimizer(self.model, self.config)
            if hasattr(own, "minimize"):
                self.steps["own"] = self._own_step(own)
                self.by_norm = clips_by_norm(own)
        if hasattr(self.trainer, "infer_forward"):
            try:
                with contextlib.suppress(NotImplementedError):  # it may not be converted
                    self.evaluated = self._graph(training=False)[0]
            except Exception as error:  # its batches may have other parts than those of training
                self.failure = f"{type(error).__name__}: {error}"
        #: the values of all weights at the start, and the variables of those that no layer of the model holds
        self.start, self.loose = job["weights"], _loose([one for one in weights if id(one) not in held], job["loose"])

    def _graph(self, training: bool) -> tuple[list[tf.Tensor], Any]:
        (self.model.train if training else self.model.eval)()
        with watched(self.model, tf.Tensor) as outputs, drawn():
            # Lists and dicts are of its own, as the program may change them.
            method = self.trainer.train_forward if training else self.trainer.infer_forward
            returned = method(self.model, self.metrics, mapped(lambda item: item, self.items), self.config)
        return outputs, returned[0] if training else None

    def _own_step(self, optimizer: Any) -> tuple[tf.Operation, dict[str, Any]]:
        """Return the op of the program's own training step, and by path the very gradients that it applies."""
        applied: dict[int, Any] = {}
        stock = optimizer.apply_gradients

        def watched(pairs: Any) -> tf.Operation:
            applied.update({id(weight): gradient for weight, gradient in pairs if gradient is not None})
            return stock(pairs)

        optimizer.apply_gradients = watched
        step = optimizer.minimize(self.loss)
        return step, {name: applied[id(w)] for name, w in self.weights.items() if id(w) in applied}

    def feed(self, items: Any) -> dict[tf.Tensor, Array]:
        """Return what is fed for a batch."""
        fed: dict[tf.Tensor, Array] = {}
        mapped(fed.__setitem__, self.items, items)
        return fed

    def load(self, session: Any) -> None:
        """Set all weights, those that no layer holds as well."""
        for variable, value in self.loose:
            variable.load(value, session)
        nn.load_weights(self.model, self.start, session)

    def values(self, session: Any) -> dict[str, Array]:
        """Return all weights by path."""
        return nn.read_weights(self.model, session)

    def padding(self) -> dict[str, int]:
        """Return the padding rows by path: Paddle trains those of `sparse=True`; of a table they are always zero."""
        layers = [one for one in self.model.sublayers(include_self=True) if isinstance(one, nn.Embedding)]
        paddings = {
            id(one.weight): one.padding
            for one in layers
            if one.padding is not None and (one.weight.sparse or one.weight.is_table)
        }
        return {name: paddings[id(weight)] for name, weight in self.weights.items() if id(weight) in paddings}


def _placeholders(batches: Sequence[Any], one_by_one: bool) -> Any:
    """Return placeholders like the batches, with a size that is not known for the first dimension.

    It is known to be 1 where samples are taken one by one: then the converted program may rely on it.
    """

    def placeholder(*values: Array) -> Any:
        ranks = {value.ndim for value in values}
        if len(ranks) > 1:
            raise MigrateError("items of the batches differ in their number of dimensions; reshape them in the reader")
        sizes = [{value.shape[axis] for value in values} for axis in range(ranks.pop())]
        varies = [len(found) > 1 or (axis == 0 and not one_by_one) for axis, found in enumerate(sizes)]
        shape = [None if more else found.pop() for more, found in zip(varies, sizes, strict=True)]
        return v1.placeholder(values[0].dtype, shape)

    return mapped(placeholder, *batches)


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure the same as `original.run`, with the same weights, batches and masks."""
    side, recording = ran(Converted, job)
    return {"recording": recording, "failure": side.failure}


def _loose(weights: Sequence[Weight], values: Sequence[Array]) -> list[tuple[Any, Array]]:
    """Return the variables of weights that no layer holds, with the values of the original's, in order of creation."""
    if [weight.declared_shape for weight in weights] != [value.shape for value in values]:
        shapes = [[weight.declared_shape for weight in weights], [value.shape for value in values]]
        raise MigrateError(
            f"weights outside of layers are {shapes[0]} in the converted model, {shapes[1]} in the original; please "
            "report this"
        )
    return [(weight.variable, value) for weight, value in zip(weights, values, strict=True) if weight.built]
