"""Worker that runs a converted static model in a TensorFlow v1 graph: `run(job)`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.verify.paddle.static.common import outputs_of, trainer_of
from migrate.verify.paddle.trainer.common import EPSILON, Array
from migrate.verify.progress import counted
from migrate.verify.settings import Settings
from runtime import nn
from runtime.nn import masks
from runtime.nn.optimizer.base import Optimizer
from runtime.nn.static.lod import LoDTensor
from runtime.nn.weights.arrays import _ops as rows_of
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Weight

v1 = tf.compat.v1


class Converted:
    """The model's graphs for training and evaluation, with one set of weights."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Build all graphs; nothing is run."""
        np.random.seed(1)
        self.trainer = trainer_of(job["path"], dict(job["config"]))
        self.feeds = list(self.trainer.create_feeds())
        self._known: list[Any] = []
        asked: list[tuple[Any, Any]] = []
        stock = Optimizer.minimize
        with nn.static.Program() as program, masks.drawn_by(lambda shape, p: tf.ones(shape, tf.bool)):
            fetches = self.trainer.net(list(self.feeds))
            self.outputs = self._outputs(fetches)
            with mock.patch.object(Optimizer, "minimize", lambda own, loss: asked.append((own, loss))):
                self.trainer.create_optimizer()
            if len(asked) != 1:
                raise MigrateError("create_optimizer must call `minimize` of one optimizer with the loss; correct it")
            own, self.loss = asked[0]
            step = stock(own, self.loss)
        self.updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        self.weights = _renamed(program.weights, job["weights"])
        trained = {name: weight.variable for name, weight in self.weights.items() if weight.trainable}
        slopes = tf.gradients(self.loss, list(trained.values()), stop_gradients=nn.stopped())
        self.gradients = {name: one for name, one in zip(trained, slopes, strict=True) if one is not None}
        self.steps = {kind: self._optimizer(kind, rate).minimize(self.loss) for kind, rate in job["rates"].items()}
        self.steps["own"] = step
        self.evaluated: list[Any] = []
        if hasattr(self.trainer, "infer_net"):
            with contextlib.suppress(NotImplementedError), nn.static.Program(training=False):
                self._known = list(vars(self.trainer).values())  # of training
                fetches = self.trainer.infer_net(list(self.feeds))
                self.evaluated = self._outputs(fetches)

    def _outputs(self, fetches: Any) -> list[tf.Tensor]:
        found = outputs_of(self.trainer, fetches, (tf.Tensor, LoDTensor), self._compared)
        return [tf.convert_to_tensor(one) for _, one in found]

    def _compared(self, value: Any) -> bool:
        fed = any(value is one for one in (*self.feeds, *self._known))
        return bool(value.dtype == tf.float32) and not fed  # Paddle takes an area (float64) for int64

    def _optimizer(self, kind: str, rate: float) -> Any:
        parameters = list(self.weights.values())
        if kind == "sgd":
            return nn.optimizer.SGD(rate, parameters)
        if kind == "adam":
            return nn.optimizer.Adam(rate, epsilon=EPSILON, parameters=parameters)
        return nn.optimizer.Adagrad(rate, epsilon=1e-6, parameters=parameters, initial_accumulator_value=0.0)

    def feed(self, items: Sequence[Any]) -> dict[tf.Tensor, Array]:
        """Return what is fed for a batch."""
        found: dict[tf.Tensor, Array] = {}
        for feed, value in zip(self.feeds, items, strict=True):
            if isinstance(feed, LoDTensor):
                found |= {feed.values: value[0], feed.row_splits: np.concatenate([[0], np.cumsum(value[1])])}
            else:
                found[feed] = value
        return found

    def load(self, weights: Mapping[str, Array], session: Any) -> None:
        """Set all weights by name; of tables, the rows that the original's matrices have."""
        for name, weight in self.weights.items():
            value = weights[name]
            if isinstance(weight, TableWeight):
                rows, keys = rows_of(weight.table), np.arange(len(value))
                session.run(rows.write, {rows.keys: keys, rows.values: _padded(weight, value)})
            else:
                weight.variable.load(value, session)

    def values(self, like: Mapping[str, Array], session: Any) -> dict[str, Array]:
        """Return all weights by name."""
        found = {}
        for name, weight in self.weights.items():
            if isinstance(weight, TableWeight):
                rows = rows_of(weight.table)
                found[name] = _padded(weight, session.run(rows.read, {rows.keys: np.arange(len(like[name]))}))
            else:
                found[name] = session.run(weight.variable)
        return found


def _padded(weight: TableWeight, rows: Array) -> Array:
    if weight.padding is None:
        return rows
    return np.where((np.arange(len(rows)) == weight.padding)[:, np.newaxis], np.float32(0), rows)


def _renamed(weights: Mapping[str, Weight], like: Mapping[str, Array]) -> dict[str, Weight]:
    """Return the weights by the names of the original's, in order of creation; tables may have more rows."""
    own = [one.declared_shape[-1:] if one.is_table else one.declared_shape for one in weights.values()]
    given = [value.shape[-len(shape) :] if shape else () for shape, value in zip(own, like.values(), strict=False)]
    if len(weights) != len(like) or own != given:
        told = [{name: w.declared_shape for name, w in weights.items()}, {n: v.shape for n, v in like.items()}]
        raise MigrateError(f"the weights are {told[0]}, and the original's {told[1]}; report this")
    return dict(zip(like, weights.values(), strict=True))


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure the same as `original.run`, with the same weights and batches."""
    settings: Settings = job["settings"]
    with tf.Graph().as_default():
        v1.set_random_seed(1)
        side = Converted(job)
        initializer = v1.group(v1.global_variables_initializer(), v1.local_variables_initializer())
        with v1.Session() as session:
            session.run(initializer)
            like, batches = job["weights"], job["batches"]
            tables = {name: w for name, w in side.weights.items() if isinstance(w, TableWeight)}
            result: dict[str, Any] = {
                "initial": side.values(like, session),
                "padding": {name: w.padding for name, w in tables.items() if w.padding is not None},
                "batches": [],
            }
            for items in counted(batches[: settings.batches]):
                result["batches"].append(_passes(side, session, initializer, like, side.feed(items)))
            for kind, step in side.steps.items():
                session.run(initializer)
                side.load(like, session)
                result[kind] = []
                for number in counted(range(settings.steps)):
                    feed = side.feed(batches[number % len(batches)])
                    loss = session.run(side.loss, feed)
                    session.run(step, feed)
                    result[kind].append({"loss": np.reshape(loss, -1), "values": side.values(like, session)})
        return result


def _passes(side: Converted, session: Any, initializer: Any, like: Mapping[str, Array], feed: Any) -> dict[str, Any]:
    session.run(initializer)
    side.load(like, session)
    outputs, loss, gradients, _ = session.run((side.outputs, side.loss, side.gradients, side.updates), feed)
    found = {
        "outputs": outputs,
        "loss": np.reshape(loss, -1),
        "gradients": {name: _scattered(value, like[name].shape) for name, value in gradients.items()},
        "metrics": {},  # those of a graph are fetched
        "running": {n: v for n, v in side.values(like, session).items() if not side.weights[n].trainable},
    }
    session.run(initializer)
    side.load(like, session)
    if side.evaluated:
        found["evaluated"] = session.run(side.evaluated, feed)
    return found


def _scattered(gradient: Any, shape: Sequence[int]) -> Array:
    if isinstance(gradient, np.ndarray | np.generic):
        return np.asarray(gradient)
    dense = np.zeros(shape, np.float64)
    np.add.at(dense, gradient.indices, gradient.values)
    return dense.astype(np.float32)
