"""Worker that runs a trainer in Paddle, in one precision: `run(job)`."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.base.layer_helper_base import LayerHelperBase

from migrate.errors import MigrateError
from migrate.verify.paddle import double
from migrate.verify.paddle.trainer.common import (
    EPSILON,
    Array,
    mask,
    metrics_of,
    started_weights,
    tensors_in,
    trainer_of,
)
from migrate.verify.paddle.trainer.kernels import textbook_adam
from migrate.verify.settings import Settings


class Original:
    """The trainer and its model."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Make the model, and record its initial weights."""
        self.dtype, self.config = job["dtype"], dict(job["config"])
        paddle.seed(1)
        np.random.seed(1)
        random.seed(1)
        if self.dtype == "float64":
            paddle.set_default_dtype("float64")
            double.complete()
        self.masks = _Masks()
        self.trainer = trainer_of(job["path"])
        with _recorded() as made:
            self.model = self.trainer.create_model(self.config)
        self.metrics = metrics_of(self.trainer)
        self.state = dict(self.model.state_dict())
        self.parameters = dict(self.model.named_parameters())
        held = {id(tensor) for tensor in self.state.values()}
        for layer in self.model.sublayers():  # recurrent layers have all their weights a second time, as one vector
            held |= {id(tensor) for tensor in getattr(layer, "_flat_weight", None) or ()}
        self.loose = [tensor for tensor in made if id(tensor) not in held]  #: weights that no layer of the model holds

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
        if isinstance(items, np.ndarray):
            wide = self.dtype == "float64" and items.dtype == np.float32
            return paddle.to_tensor(items.astype("float64") if wide else items)
        return [self.batch(item) for item in items]

    def forward(self, items: Any, training: bool = True) -> tuple[list[Any], Any]:
        """Run `train_forward` or `infer_forward`; return the tensors that the model returned, and the loss."""
        (self.model.train if training else self.model.eval)()
        outputs: list[Any] = []
        stock = self.model.forward

        def watched(*given: Any, **named: Any) -> Any:
            returned = stock(*given, **named)
            outputs.extend(tensors_in(returned, paddle.Tensor))
            return returned

        self.model.forward = watched
        self.masks.number = 0
        try:
            with self.masks.given():
                method = self.trainer.train_forward if training else self.trainer.infer_forward
                returned = method(self.model, self.metrics, self.batch(items), self.config)
        finally:
            del self.model.forward
        loss = returned[0] if training else None
        return outputs, loss


@contextlib.contextmanager
def _recorded() -> Iterator[list[Any]]:
    """Record the parameters that are made inside, in their order."""
    made: list[Any] = []
    stock = LayerHelperBase.create_parameter

    def create(self: Any, *given: Any, **named: Any) -> Any:
        parameter = stock(self, *given, **named)
        if parameter is not None:
            made.append(parameter)
        return parameter

    LayerHelperBase.create_parameter = create
    try:
        yield made
    finally:
        LayerHelperBase.create_parameter = stock


class _Masks:
    """Gives dropout its masks by number."""

    def __init__(self) -> None:
        self.number = 0

    @contextlib.contextmanager
    def given(self) -> Iterator[None]:
        stock = F.dropout
        F.dropout = paddle.nn.functional.common.dropout = self._dropout
        try:
            yield
        finally:
            F.dropout = paddle.nn.functional.common.dropout = stock

    def _dropout(
        self,
        x: Any,
        p: float = 0.5,
        axis: Any = None,
        training: bool = True,
        mode: str = "upscale_in_train",
        name: Any = None,
    ) -> Any:
        if p == 0 or (mode == "upscale_in_train" and not training):
            return x
        if not training:
            return x * (1 - p)
        axes = None if axis is None else [axis] if isinstance(axis, int) else list(axis)
        shape = tuple(size if axes is None or i in axes else 1 for i, size in enumerate(x.shape))
        kept = paddle.to_tensor(mask(self.number, shape, p).astype(str(x.dtype).rpartition(".")[2]))
        self.number += 1
        return x * kept * (1 / (1 - p) if mode == "upscale_in_train" else 1.0)


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure outputs, loss, gradients and steps from the given weights, or from the model's own with some noise."""
    settings: Settings = job["settings"]
    side = Original(job)
    for tensor, value in zip(side.loose, job.get("loose", ()), strict=False):
        tensor.set_value(value.astype(side.dtype))
    initial = side.values()
    weights = job.get("weights") or started_weights(
        {name: value.shape for name, value in initial.items()}, initial, settings.seed
    )
    batches = job["batches"]
    result: dict[str, Any] = {
        "initial": initial,
        "weights": weights,
        "loose": [tensor.numpy() for tensor in side.loose],
        "trained": [name for name, p in side.parameters.items() if not p.stop_gradient],
        "batches": [_passes(side, weights, items) for items in batches[: settings.batches]],
    }
    for kind, rate in job["rates"].items():
        result[kind] = _steps(side, weights, _cycled(batches, settings.steps), _optimizer(kind, rate, side))
    own = side.trainer.create_optimizer(side.model, side.config) if hasattr(side.trainer, "create_optimizer") else None
    if isinstance(own, paddle.optimizer.Optimizer):
        result["own"] = _steps(side, weights, _cycled(batches, settings.steps), own)
    return result


def _cycled(batches: Sequence[Any], count: int) -> list[Any]:
    return [batches[i % len(batches)] for i in range(count)]


def _passes(side: Original, weights: Mapping[str, Array], items: Any) -> dict[str, Any]:
    side.load(weights)
    outputs, loss = side.forward(items)
    if not isinstance(loss, paddle.Tensor):
        raise MigrateError("train_forward must return the loss first; correct it")
    side.model.clear_gradients()
    loss.backward()
    found = {
        "outputs": [output.numpy() for output in outputs],
        "loss": loss.numpy().reshape(-1),
        "gradients": {name: None if p.grad is None else _dense(p.grad, p.shape) for name, p in side.parameters.items()},
        "running": {name: value for name, value in side.values().items() if name not in side.parameters},
    }
    side.model.clear_gradients()
    side.load(weights)
    if hasattr(side.trainer, "infer_forward"):
        found |= _evaluated(side, items)
    return found


def _evaluated(side: Original, items: Any) -> dict[str, Any]:
    """Return the outputs of `infer_forward`, or why it fails: it may want another batch than training."""
    try:
        with paddle.no_grad():
            return {"evaluated": [output.numpy() for output in side.forward(items, training=False)[0]]}
    except Exception as error:
        return {"not evaluated": f"{type(error).__name__}: {error}"}


def _dense(gradient: Any, shape: Sequence[int]) -> Array:
    """Return a gradient as an array; of a sparse embedding Paddle has only the rows that were looked up."""
    if not gradient.is_selected_rows():
        values: Array = gradient.numpy()
        return values
    dense = np.zeros(shape, np.float64)
    np.add.at(dense, np.asarray(gradient.rows()), gradient.numpy())
    return dense


def _steps(
    side: Original, weights: Mapping[str, Array], batches: Sequence[Any], optimizer: Any
) -> list[dict[str, Any]]:
    side.load(weights)
    steps = []
    with textbook_adam(side.model, optimizer):
        for items in batches:
            _, loss = side.forward(items)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            steps.append({"loss": loss.numpy().reshape(-1), "values": side.values()})
    return steps


def _optimizer(kind: str, rate: float, side: Original) -> Any:
    parameters = list(side.model.parameters())
    if kind == "sgd":
        return paddle.optimizer.SGD(rate, parameters)
    if kind == "adam":
        return paddle.optimizer.Adam(rate, epsilon=EPSILON, parameters=parameters)
    return paddle.optimizer.Adagrad(rate, epsilon=1e-6, parameters=parameters, initial_accumulator_value=0.0)
