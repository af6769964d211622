"""Worker that runs a converted static model in a TensorFlow v1 graph: `run(job)`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.verify.paddle.graph_side import GraphSide, ran
from migrate.verify.paddle.static.common import minimized, outputs_of, trainer_of
from migrate.verify.paddle.trainer.common import Array
from migrate.verify.without_buckets import clips_by_norm
from runtime import nn
from runtime.nn import masks
from runtime.nn.optimizer.base import Optimizer
from runtime.nn.static.lod import LoDTensor
from runtime.nn.weights.arrays import read_rows, write_rows
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Weight

v1 = tf.compat.v1


class Converted(GraphSide):
    """The model's graphs for training and evaluation, with one set of weights."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Build all graphs; nothing is run."""
        np.random.seed(1)
        self.trainer = trainer_of(job["path"], dict(job["config"]))
        self.feeds = list(self.trainer.create_feeds())
        self._known: list[Any] = []
        with nn.static.Program() as program, masks.drawn_by(lambda shape, p: tf.ones(shape, tf.bool)):
            fetches = self.trainer.net(list(self.feeds))
            self.outputs = {"output": self._outputs(fetches)}
            own, self.loss = minimized(self.trainer, Optimizer)
            step = own.minimize(self.loss)
        self.updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        self.weights = _renamed(program.weights, job["weights"])
        self.start: Mapping[str, Array] = job["weights"]
        self.parameters = frozenset(name for name, weight in self.weights.items() if weight.trainable)
        self.train(job["rates"], list(self.weights.values()))
        self.steps["own"], self.by_norm = (step, {}), clips_by_norm(own)
        if hasattr(self.trainer, "infer_net"):
            with contextlib.suppress(NotImplementedError), nn.static.Program(training=False):
                self._known = list(vars(self.trainer).values())  # of training
                fetches = self.trainer.infer_net(list(self.feeds))
                self.evaluated = self._outputs(fetches)

    def _outputs(self, fetches: Any) -> list[tf.Tensor]:
        outputs = outputs_of(self.trainer, fetches, (tf.Tensor, LoDTensor), self._compared)
        return [tf.convert_to_tensor(one) for _, one in outputs]

    def _compared(self, value: Any) -> bool:
        fed = any(value is one for one in (*self.feeds, *self._known))
        return bool(value.dtype == tf.float32) and not fed  # Paddle takes an area (float64) for int64

    def feed(self, items: Sequence[Any]) -> dict[tf.Tensor, Array]:
        """Return what is fed for a batch."""
        fed: dict[tf.Tensor, Array] = {}
        for feed, value in zip(self.feeds, items, strict=True):
            if isinstance(feed, LoDTensor):
                fed |= {feed.values: value[0], feed.row_splits: np.concatenate([[0], np.cumsum(value[1])])}
            else:
                fed[feed] = value
        return fed

    def load(self, session: Any) -> None:
        """Set all weights; of tables, the rows that the original's matrices have."""
        for name, weight in self.weights.items():
            if isinstance(weight, TableWeight):
                write_rows(weight, self.start[name], session)
            else:
                weight.variable.load(self.start[name], session)

    def values(self, session: Any) -> dict[str, Array]:
        """Return all weights by name."""
        return {
            name: read_rows(weight, len(self.start[name]), session)
            if isinstance(weight, TableWeight)
            else session.run(weight.variable)
            for name, weight in self.weights.items()
        }

    def padding(self) -> dict[str, int]:
        """Return the padding rows of tables."""
        tables = {name: one for name, one in self.weights.items() if isinstance(one, TableWeight)}
        return {name: one.padding for name, one in tables.items() if one.padding is not None}


def _renamed(weights: Mapping[str, Weight], like: Mapping[str, Array]) -> dict[str, Weight]:
    """Return the weights by the names of the original's, in order of creation; tables may have more rows."""
    own = [one.declared_shape[-1:] if one.is_table else one.declared_shape for one in weights.values()]
    shapes = [value.shape[-len(shape) :] if shape else () for shape, value in zip(own, like.values(), strict=False)]
    if len(weights) != len(like) or own != shapes:
        sides = [{name: w.declared_shape for name, w in weights.items()}, {n: v.shape for n, v in like.items()}]
        raise MigrateError(
            f"the converted model has the weights {sides[0]}, the original {sides[1]}; please report this"
        )
    return dict(zip(like, weights.values(), strict=True))


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure the same as `original.run`, with the same weights and batches."""
    return {"recording": ran(Converted, job)[1]}
