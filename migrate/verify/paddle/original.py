"""Worker that runs the original Paddle model in one precision: `run(job)`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import paddle
from numpy.typing import NDArray

from migrate.errors import MigrateError
from migrate.schema import Schema
from migrate.verify.distributions import Distribution
from migrate.verify.loading import load_module
from migrate.verify.paddle import float64_model
from migrate.verify.paddle.driver import Driver
from migrate.verify.paddle.initial import watched_laws
from migrate.verify.paddle.inputs import random_batches, random_weights, raw_input
from migrate.verify.paddle.loss import Loss, find_loss
from migrate.verify.paddle.trainer.common import optimizer, watched
from migrate.verify.settings import Settings

Array = NDArray[Any]


class Original:
    """The original model and its loss, in one precision."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Import the file, build the model, and record its initial values and their distributions."""
        path, self.dtype = job["path"], job["dtype"]
        paddle.set_default_dtype(self.dtype)
        paddle.seed(1)
        if self.dtype == "float64":
            float64_model.complete()
        module = load_module(path)
        sys.modules["net"] = module  # the name that trainers import
        model_class = getattr(module, job["class"])
        self.driver = Driver(path, job["config"], job["layout"])
        with watched_laws() as distributions:
            if self.driver.has("create_model"):
                self.model = self.driver.create_model(model_class, job["arguments"])
            else:
                self.model = build(model_class, path, job["arguments"])
        self.optimizer, self.beyond = self.driver.beyond(self.model)
        self.parameters = dict(self.model.named_parameters())
        self.initial = self.values()
        self.distributions = {
            name: distributions[p.name][0]
            for name, p in self.parameters.items()
            if self._is_as_drawn(name, distributions)
        }
        self.loss, self.loss_note = self._loss(job)

    def _is_as_drawn(self, name: str, distributions: Mapping[str, tuple[Distribution, Array]]) -> bool:
        """Return False for a parameter that `create_model` changed after its random initialization."""
        found = distributions.get(self.parameters[name].name)
        return found is not None and np.array_equal(found[1], self.initial[name])

    def _loss(self, job: Mapping[str, Any]) -> tuple[Loss | None, str]:
        if not self.driver.has("train_forward"):
            return find_loss(self.driver.trainer, job["path"], job["schema"])
        names = ("create_model", "create_feeds", "train_forward")
        used = ", ".join(name for name in names if self.driver.has(name))
        return None, f"the original is run by its trainer: {used} of dygraph_model.py"

    def values(self) -> dict[str, Array]:
        """Return all parameters by path."""
        return {name: parameter.numpy() for name, parameter in self.parameters.items()}

    def load(self, weights: Mapping[str, Array]) -> None:
        """Set all parameters by path."""
        for name, parameter in self.parameters.items():
            parameter.set_value(weights[name].astype(self.dtype))

    def forward(self, x: Array, labels: Array) -> tuple[list[Any], Any]:
        """Return outputs [B, ...] and the scalar loss as Paddle tensors."""
        given = paddle.to_tensor(x.astype(self.dtype)), paddle.to_tensor(labels.astype(self.dtype))
        if self.loss is None:
            return self.driver.step(self.model, *given)
        with watched(self.model, paddle.Tensor) as outputs:
            self.model(given[0])
        return outputs, self.loss(outputs, given[1])

    def gradients(self, loss: Any) -> dict[str, Array | None]:
        """Return the gradient of each parameter; None if the loss does not depend on it."""
        self.model.clear_gradients()
        loss.backward()
        return {name: None if p.grad is None else p.grad.numpy() for name, p in self.parameters.items()}


def build(model_class: Any, path: str, arguments: Mapping[str, object]) -> Any:
    """Call the constructor; raises MigrateError if it fails."""
    try:
        return model_class(**arguments)
    except Exception as error:
        raise MigrateError(
            f"{path}: {model_class.__name__}({', '.join(map(str, arguments))}) fails with {type(error).__name__}: "
            f"{error}; correct `model.arguments` in the schema"
        ) from error


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure initial values and distributions; then, from random weights, outputs, losses, gradients and steps."""
    settings: Settings = job["settings"]
    schema: Schema = job["schema"]
    side = Original(job)
    weights = random_weights({name: v.shape for name, v in side.initial.items()}, schema.input, settings.seed)
    drawn = random_batches(schema, settings.drawn, settings.batch_size, settings.seed)
    batches = [(raw_input(schema.input, batch), batch.labels) for batch in drawn]
    training = _deterministic(side, weights, batches[0])
    return {
        "training": training,
        "initial": side.initial,
        "distributions": side.distributions,
        "weights": weights,
        "notes": (side.loss_note,),
        "optimizer": side.optimizer,
        "beyond": side.beyond,
        "batches": [_passes(side, weights, batch) for batch in batches[: settings.batches]],
        **{kind: _steps(side, weights, batches[: settings.steps], kind, rate) for kind, rate in job["rates"].items()},
    }


def _deterministic(side: Original, weights: Mapping[str, Array], batch: tuple[Array, Array]) -> bool:
    """Return True if training mode is deterministic; else (dropout) switch to evaluation mode and return False."""
    side.model.train()
    side.load(weights)
    first, again = (side.forward(*batch)[1].numpy() for _ in range(2))
    if not np.array_equal(first, again):
        side.model.eval()
        return False
    return True


def _passes(side: Original, weights: Mapping[str, Array], batch: tuple[Array, Array]) -> dict[str, Any]:
    side.load(weights)
    outputs, loss = side.forward(*batch)
    return {
        "outputs": [output.numpy() for output in outputs],
        "loss": loss.numpy().reshape(()),
        "gradients": side.gradients(loss),
    }


def _steps(
    side: Original,
    weights: Mapping[str, Array],
    batches: Sequence[tuple[Array, Array]],
    kind: str,
    rate: float,
) -> list[dict[str, Any]]:
    side.load(weights)
    stepped = optimizer(paddle.optimizer, kind, rate, list(side.parameters.values()))
    steps = []
    for batch in batches:
        stepped.clear_grad()  # Paddle accumulates gradients
        _, loss = side.forward(*batch)
        loss.backward()
        stepped.step()
        steps.append({"loss": loss.numpy().reshape(()), "values": side.values()})
    return steps
