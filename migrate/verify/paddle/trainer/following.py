"""Follows the steps of the converted trainer with the original's optimizers.

Two programs that step by themselves drift apart for no other reason than rounding: Adam and Adagrad make full steps of
gradients that are 0 but for rounding, and a relu at 0 then opens in one of them only. So before each step the original
takes the weights that the converted trainer has, computes its own loss and gradients, which are compared, and its
optimizer applies the gradients that the converted trainer applied. What either of them keeps from step to step, such
as moments, it computes by itself. Thus a step shows what an optimizer does, by digits that rounding leaves alone, and
the loss and the gradients are compared at each weight on the way.

Where gradients differ, the original tells how sure it is of its own: see `_Noise`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import paddle

from migrate.verify.compare import TOLERANCE
from migrate.verify.paddle.patches import is_dense, of_rows, rows_term, textbook, trained_by
from migrate.verify.paddle.trainer.common import Array, dense, optimizer
from migrate.verify.recording import Moment, Recording, packed, unpacked


def followed(
    side: Any, weights: Mapping[str, Array], batches: Sequence[Any], job: Mapping[str, Any]
) -> tuple[dict[str, float], dict[str, list[Moment]]]:
    """Return the noise, and the original's steps of each optimizer that the converted trainer has stepped with.

    `side` is an `Original`. In the job, `moved` is the recording of the converted trainer, `rates` are the learning
    rates, and with `settles` the noise is measured in float64, too, at the first weights.
    """
    moved: Recording = job["moved"]
    noise, narrow = _Noise(side, moved.padding), side.dtype == "float32"
    for items, moment in zip(batches, moved.passes, strict=False) if narrow or job.get("settles") else ():
        side.model.clear_gradients()
        _backward(side, weights, items)
        noise.measure(weights, items, gradients_of(side.parameters), moment.gradients)
        side.model.clear_gradients()
    largest, result = dict(noise.largest), dict[str, list[Moment]]()
    for kind, rate in job["rates"].items():
        stepped = optimizer(paddle.optimizer, kind, rate, list(side.model.parameters()))
        result[kind] = list(_steps(side, weights, batches, stepped, moved.steps[kind], noise))
    if "own" in moved.steps and hasattr(side.trainer, "create_optimizer"):
        own = side.trainer.create_optimizer(side.model, side.config)
        if isinstance(own, paddle.optimizer.Optimizer):
            result["own"] = list(_steps(side, weights, batches, own, moved.steps["own"], noise))
    return largest, result


def _steps(
    side: Any,
    weights: Mapping[str, Array],
    batches: Sequence[Any],
    optimizer: Any,
    moved: Sequence[Moment],
    noise: _Noise,
) -> Iterator[Moment]:
    before, trained = weights, _trained(side, optimizer)
    with textbook():
        for number, step in enumerate(moved):
            items = batches[number % len(batches)]
            loss = _backward(side, before, items)
            gradients = gradients_of(trained)
            give_gradients(trained, step.gradients, is_dense(optimizer))
            optimizer.step()
            side.model.clear_gradients()  # of those that the optimizer does not have, too
            values = {name: value for name, value in side.values().items() if name not in side.again}
            after = {name: packed(value, before[name]) for name, value in values.items()}
            sure = noise.measure(before, items, gradients, step.gradients) if side.dtype == "float32" else {}
            yield Moment([loss], gradients=gradients, values=after, noise=sure)
            before = {name: unpacked(value, before[name]) for name, value in step.values.items()}


def _trained(side: Any, optimizer: Any) -> dict[str, Any]:
    """Return the parameters that an optimizer has been given, by name: one of the program's own may train a part."""
    trained = set(map(id, trained_by(optimizer)))
    return {name: one for name, one in side.parameters.items() if id(one) in trained}


def _backward(side: Any, weights: Mapping[str, Array], items: Any) -> Array:
    side.load(weights)
    _, loss = side.forward(items)
    loss.backward()
    values: Array = loss.numpy().reshape(-1)
    return values


#: How often the noise of a gradient is measured; a bias of one element has one number from each.
_TRIES = 4
#: How often at most, while a gradient is further off than noise tells. A relu whose input is 0 but for rounding opens
#: in one program only; weights that move by their last place open it in some tries, in others not.
_MOST_TRIES = 24


class _Noise:
    """How far gradients and running values of the original move when each weight does by at most one last place.

    That is as sure as float32 is of them: weights were rounded by as much when they were stored. It is only measured
    where a given gradient is not that of the original; else there is nothing to excuse. What was found before is taken
    where it is enough. In float64 the last place is that of float64: what is not sure then is a tie in the program.
    """

    def __init__(self, side: Any, padding: Mapping[str, int]) -> None:
        self.side, self.padding = side, padding
        self.largest: dict[str, float] = {}  #: the largest of each weight

    def measure(
        self, weights: Mapping[str, Array], items: Any, own: Mapping[str, Any], converted: Mapping[str, Any]
    ) -> dict[str, float]:
        """Return the noise by path, where a pass from these weights over the batch has the gradients `own`.

        Those `converted` are the converted trainer's. All gradients of the parameters are zero afterwards.
        """
        arrays = self._arrays(own)
        far = {name: self._far(name, value, converted.get(name)) for name, value in arrays.items()}
        arrays |= self._running(arrays)
        if all(far[name] <= 2 * self.largest.get(name, 0.0) for name in far):
            return {name: self.largest.get(name, 0.0) for name in arrays}
        random, noise = np.random.RandomState(5), dict.fromkeys(arrays, 0.0)
        for number in range(_MOST_TRIES):
            if number >= _TRIES and all(far[name] <= noise[name] for name in far):
                break
            self.side.model.clear_gradients()
            moved_weights = {name: nudged(self._wide(value), random) for name, value in weights.items()}
            _backward(self.side, moved_weights, items)
            moved = self._arrays(gradients_of(self.side.parameters))
            for name, value in {**moved, **self._running(moved)}.items():
                apart = np.abs(np.subtract(value, arrays[name], dtype=np.float64))  # a weight may be boolean
                noise[name] = max(noise[name], float(apart.max(initial=0.0)))
        self.side.model.clear_gradients()
        self.largest = {name: max(value, self.largest.get(name, 0.0)) for name, value in noise.items()}
        return noise

    def _wide(self, value: Array) -> Array:
        return value.astype(self.side.dtype) if value.dtype.kind == "f" else value

    def _running(self, gradients: Mapping[str, Array]) -> dict[str, Array]:
        """Return the values of what has no gradient: a pass may change running values."""
        return {name: value for name, value in self.side.values().items() if name not in gradients}

    def _arrays(self, gradients: Mapping[str, Any]) -> dict[str, Array]:
        shapes = {name: parameter.shape for name, parameter in self.side.parameters.items()}
        return {name: dense(value, shapes[name]) for name, value in gradients.items() if value is not None}

    def _far(self, name: str, own: Array, converted: Any) -> float:
        """Return how far the given gradient is off, but for the padding row; 0 if it is equal."""
        difference = np.abs(own - (0.0 if converted is None else dense(converted, own.shape)))
        if name in self.padding:
            difference[self.padding[name]] = 0.0
        distance = float(difference.max(initial=0.0))
        return distance if distance > TOLERANCE * float(np.abs(own).max(initial=0.0)) else 0.0


def nudged(value: Array, random: np.random.RandomState) -> Array:
    """Return floats moved by at most one last place each; other values as they are."""
    if value.dtype.kind != "f":
        return value
    moved: Array = (value + np.spacing(value) * random.randint(-1, 2, value.shape)).astype(value.dtype)
    return moved


def gradients_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the gradients by path: an array, None, or rows that were looked up and their values, as a pair."""
    return {name: None if p.grad is None else _rows(p.grad) for name, p in parameters.items()}


def _rows(gradient: Any) -> Any:
    chosen = gradient.is_selected_rows()
    return (np.asarray(gradient.rows()), gradient.numpy()) if chosen else packed(gradient.numpy())


def give_gradients(parameters: Mapping[str, Any], gradients: Mapping[str, Any], without_rows: bool = False) -> None:
    """Let each parameter that has a gradient have the given one, or zeros where none is given.

    Chosen rows stay such, in order, except `without_rows`, where gradients become dense.
    """
    terms = []
    for name, parameter in parameters.items():
        if parameter.grad is None:
            continue
        value, kind = gradients.get(name), str(parameter.dtype).rpartition(".")[2]
        known = np.asarray(parameter.grad.rows()) if of_rows(parameter) and not without_rows else None
        parameter.clear_gradient(False)
        if known is not None:
            rows, values = value if isinstance(value, tuple) else (known, _chosen(value, known, parameter.shape))
            terms.append(rows_term(parameter, rows, values))
        else:
            # In the parameter's dtype, so that the float64 reference shows what adding rows in float32 leaves of them.
            whole = np.zeros(parameter.shape) if value is None else dense(value, parameter.shape, kind)
            terms.append((parameter * paddle.to_tensor(whole.astype(kind))).sum())
    if terms:
        paddle.add_n(terms).backward()


def _chosen(value: Any, rows: Array, shape: Sequence[int]) -> Array:
    chosen: Array = np.zeros([len(rows), *shape[1:]]) if value is None else np.asarray(value)[rows]
    return chosen
