"""Worker that runs a trainer in Paddle, in one precision: `run(job)`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any
from unittest import mock

import numpy as np
import paddle
from paddle.base.layer_helper_base import LayerHelperBase
from paddle.nn.layer.rnn import RNNBase

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.values import mapped
from migrate.verify.paddle import patches
from migrate.verify.paddle.patches import distributions_of, watched_distributions
from migrate.verify.paddle.trainer.common import (
    Array,
    metrics_of,
    own_metrics,
    recorded,
    started_weights,
    trainer_of,
    watched,
)
from migrate.verify.paddle.trainer.following import followed, gradients_of
from migrate.verify.paddle.trainer.random_tensors import Chance
from migrate.verify.recording import Moment, Recording
from migrate.verify.settings import Settings


class Original:
    """The trainer and its model."""

    varied = False  #: see `Recording`

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Make the model, and record its initial weights."""
        self._begin(job)
        self.trainer = trainer_of(job["path"])
        vectors: list[Any] = []  # recurrent layers, also replaced ones, have all their weights again, as one vector
        flatten = RNNBase.flatten_parameters

        def flattening(layer: Any) -> None:
            flatten(layer)
            vectors.extend(getattr(layer, "_flat_weight", None) or ())

        with (
            recorded(LayerHelperBase, "create_parameter") as fresh,
            watched_distributions() as drawn,
            mock.patch.object(RNNBase, "flatten_parameters", flattening),
        ):
            self.model = self.trainer.create_model(self.config)
        self.metrics = metrics_of(self.trainer)
        self.own = own_metrics(
            self.metrics, paddle.metric.Metric, lambda metric: type(metric).__module__.startswith("paddle.")
        )
        self.state = dict(self.model.state_dict())
        self.parameters = dict(self.model.named_parameters())
        self.distributions = distributions_of(drawn, self.parameters, self.values())
        first = {id(tensor): name for name, tensor in reversed(self.state.items())}
        first |= {id(tensor): name for name, tensor in self.parameters.items()}
        #: second path of a weight -> its first, where a layer stands in two attributes
        self.again = {name: first[id(tensor)] for name, tensor in self.state.items() if first[id(tensor)] != name}
        held = {*first, *map(id, vectors)}
        self.loose = [tensor for tensor in fresh if id(tensor) not in held]  #: weights that no layer of the model holds

    def _begin(self, job: Mapping[str, Any]) -> None:
        """Seed what draws, and choose the precision."""
        self.dtype, self.config = job["dtype"], dict(job["config"])
        self.chance, self.not_evaluated = Chance(), ""
        paddle.seed(1)
        np.random.seed(1)
        random.seed(1)
        if self.dtype == "float64":
            paddle.set_default_dtype("float64")
            patches.complete()

    def values(self) -> dict[str, Array]:
        """Return all weights by path."""
        return {name: tensor.numpy() for name, tensor in self.state.items()}

    def load(self, weights: Mapping[str, Array]) -> None:
        """Set all weights by path."""
        for name, tensor in self.state.items():
            kind = self.dtype if "float" in str(tensor.dtype) else str(tensor.dtype).rpartition(".")[2]
            tensor.set_value(weights[name].astype(kind))

    def batch(self, items: Any) -> Any:
        """Return a batch as the reader's loader gives it."""

        def tensor(item: Array) -> Any:
            wide = self.dtype == "float64" and item.dtype == np.float32
            return paddle.to_tensor(item.astype("float64") if wide else item)

        return mapped(tensor, items)

    def forward(self, items: Any, training: bool = True) -> tuple[list[Any], Any]:
        """Run `train_forward` or `infer_forward`; return the tensors that the model returned, and the loss."""
        (self.model.train if training else self.model.eval)()
        self.chance.number = 0
        with watched(self.model, paddle.Tensor) as outputs, self.chance.replacing():
            loss = self._loss_of(items, training, outputs)
        return outputs, loss

    def _loss_of(self, items: Any, training: bool, outputs: list[Any]) -> Any:
        """Run the trainer, which fills the `outputs` of its model, and return the loss."""
        method = self.trainer.train_forward if training else self.trainer.infer_forward
        returned = method(self.model, self.metrics, self.batch(items), self.config)
        return returned[0] if training else None


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure the original in a process of its own; see `measured`."""
    return measured(Original(job), job)


def measured(side: Original, job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure what the job asks for: with `passes` outputs, loss and gradients; with `moved`, as `followed`, steps.

    `weights` and `loose` are where it starts, by default the model's own with some noise.
    """
    settings: Settings = job["settings"]
    for tensor, value in zip(side.loose, job.get("loose", ()), strict=False):
        tensor.set_value(value.astype(side.dtype))
    initial = side.values()
    weights = job.get("weights") or started_weights(initial, settings.seed)
    weights = {**weights, **{name: weights[first] for name, first in side.again.items()}}
    batches = job["batches"]
    own = {name: value for name, value in initial.items() if name not in side.again}
    result = Recording(own, weights=weights, distributions=side.distributions, follows=True, varied=side.varied)
    if job["passes"]:
        result.passes = [passes(side, weights, items) for items in batches[: settings.batches]]
    if "moved" in job:
        result.noise, result.steps = followed(side, weights, batches, job)
    return {"recording": result, "loose": [one.numpy() for one in side.loose], "not evaluated": side.not_evaluated}


def _measured(metric: Any) -> Array:
    value = metric.accumulate()
    if value is None:
        raise MigrateError(f"accumulate of the metric `{type(metric).__name__}` returned None: let it return a number")
    return np.reshape(value, -1)


def passes(side: Original, weights: Mapping[str, Array], items: Any) -> Moment:
    """Return what the model computes of a batch with these weights: in training, and where it can in evaluation."""
    side.load(weights)
    for metric in side.own:
        metric.reset()
    outputs, loss = side.forward(items)
    if not isinstance(loss, paddle.Tensor):
        raise MigrateError("train_forward must return the loss first; correct it")
    side.model.clear_gradients()
    loss.backward()
    skipped = {*side.parameters, *side.again}
    by_stage: dict[str, Any] = {
        "forward": {"output": [output.numpy() for output in outputs]},
        "metrics": {type(one).__name__: _measured(one) for one in side.own},
        "running": {name: value for name, value in side.values().items() if name not in skipped},
    }
    result = Moment([loss.numpy().reshape(-1)], by_stage, gradients_of(side.parameters))
    side.model.clear_gradients()
    side.load(weights)
    if hasattr(side.trainer, "infer_forward"):
        try:
            with paddle.no_grad():
                evaluated = [output.numpy() for output in side.forward(items, training=False)[0]]
            by_stage["evaluation"] = {"evaluated output": evaluated}
        except Exception as error:  # its batches may have other parts than those of training
            side.not_evaluated = f"{type(error).__name__}: {error}"
    return result
