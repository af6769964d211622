"""What both sides share: the trainer's class, its configuration, and what each call draws by its number."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.values import tensors_in
from migrate.verify import compare, program_files
from migrate.verify.program_files import class_in
from migrate.verify.weights import moved_weights

TRAINER, CLASS = "dygraph_model.py", "DygraphModel"
#: Learning rates of the compared steps.
RATES = {"sgd": 0.05, "adagrad": 0.003, "adam": 0.001}
#: The epsilon of Adam: with the default, gradients that are 0 but for rounding would make full steps anywhere.
EPSILON = 1e-5
#: Samples of a batch at most, whatever the configuration says; models compute the same for larger ones.
MOST = 128
Array = NDArray[Any]


def trainer_of(folder: str) -> Any:
    """Import the trainer of a folder and make it; the folder is where it runs."""
    return class_of(folder, TRAINER, CLASS, ("create_model", "train_forward"))()


def class_of(folder: str, file: str, name: str, wanted: tuple[str, str]) -> Any:
    """Import the class of a program by its name or its methods; the folder is where it runs.

    Raises:
        MigrateError: there is none.
    """
    program_files.enter(folder)
    sys.path.insert(0, str(Path(folder).resolve()))
    chosen = class_in(Path(folder) / file, name, lambda owner: all(hasattr(owner, method) for method in wanted))
    if chosen is None:
        raise MigrateError(f"{folder}/{file}: has no class with `{wanted[0]}` and `{wanted[1]}`; add one")
    return chosen


def optimizer(framework: Any, kind: str, rate: float, parameters: Any = None) -> Any:
    """Return the optimizer of a kind of `RATES`, from `paddle.optimizer` or `runtime.nn.optimizer`.

    A static program gives no parameters to train.
    """
    if kind == "sgd":
        return framework.SGD(rate, parameters)
    if kind == "adam":
        return framework.Adam(rate, epsilon=EPSILON, parameters=parameters)
    return framework.Adagrad(rate, epsilon=1e-6, parameters=parameters, initial_accumulator_value=0.0)


def metrics_of(trainer: Any) -> Any:
    """Return the metrics that the trainer makes, as its `train_forward` gets them."""
    metrics = trainer.create_metrics() if hasattr(trainer, "create_metrics") else []
    return metrics[0] if isinstance(metrics, tuple) else metrics


def own_metrics(held: Any, base: type, stock: Callable[[Any], bool]) -> list[Any]:
    """Return the metrics that the program defines itself: of class `base`, but not of the framework's."""
    listed = held if isinstance(held, list | tuple) else []
    return [metric for metric in listed if isinstance(metric, base) and not stock(metric)]


@contextlib.contextmanager
def recorded(owner: type, name: str) -> Iterator[list[Any]]:
    """Yield a list that is filled with what a method returns inside; with the objects themselves for `__init__`."""
    returned: list[Any] = []
    stock = getattr(owner, name)

    def call(self: Any, *args: Any, **named: Any) -> Any:
        result = stock(self, *args, **named)
        returned.extend([self] if name == "__init__" else [] if result is None else [result])
        return result

    with mock.patch.object(owner, name, call):
        yield returned


@contextlib.contextmanager
def watched(model: Any, kind: type) -> Iterator[list[Any]]:
    """Yield a list that is filled with the tensors that the model returns where it is called inside."""
    outputs: list[Any] = []
    stock = model.forward

    def forward(*args: Any, **named: Any) -> Any:
        returned = stock(*args, **named)
        outputs.extend(tensors_in(returned, kind))
        return returned

    model.forward = forward
    try:
        yield outputs
    finally:
        del model.forward


def dense(gradient: Any, shape: Sequence[int], dtype: Any = np.float64) -> Array:
    """Return a gradient as an array [*shape]; it may be a pair of rows' numbers, which may repeat, and their values.

    `dtype` is that of the sums of rows that repeat.
    """
    if not isinstance(gradient, tuple):
        return np.asarray(gradient)
    return compare.scatter(gradient[0], gradient[1], shape[0], dtype)


def mask(number: int, shape: tuple[int, ...], p: float) -> Array:
    """Return the mask of the dropout that is called as the `number`-th: True where an element is kept."""
    drawn: Array = np.random.RandomState(1000 + number).random_sample(shape) >= p
    return drawn


def started_weights(initial: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Return the weights from which both programs start; running values keep theirs, as no variance is negative."""
    moved = {name: value for name, value in initial.items() if not name.endswith(("_mean", "_variance"))}
    return {**initial, **moved_weights(moved, seed)}


def uniform(number: int, shape: Sequence[int]) -> Array:
    """Return floats in [0, 1); the float32 nearest to each is below 1."""
    drawn: Array = _state(number).randint(0, 1 << 24, tuple(shape)) / float(1 << 24)
    return drawn


def normal(number: int, shape: Sequence[int]) -> Array:
    """Return floats of mean 0 and deviation 1."""
    drawn: Array = _state(number).standard_normal(tuple(shape))
    return drawn


def integers(number: int, shape: Sequence[int], low: int, high: int) -> Array:
    """Return ints in [low, high)."""
    drawn: Array = _state(number).randint(low, high, tuple(shape))
    return drawn


def permutation(number: int, count: int) -> Array:
    """Return the ints below `count`."""
    drawn: Array = _state(number).permutation(count)
    return drawn


def choices(number: int, weights: Array, count: int, replacement: bool) -> Array:
    """Return for each row of weights [b, n] `count` indices, drawn in proportion to them."""
    state = _state(number)
    single = weights.astype(np.float32).astype(np.float64)  # the same for the float64 reference
    if replacement:
        sums = single.cumsum(axis=1)
        places = state.random_sample((len(single), count)) * sums[:, -1:]
        rows = zip(sums, places, strict=True)
        return np.stack([np.searchsorted(sum_, place, "right") for sum_, place in rows])
    with np.errstate(divide="ignore"):
        keys = np.log(single) - np.log(-np.log(state.uniform(1e-20, 1.0, single.shape)))
    return np.argsort(-keys, axis=1, kind="stable")[:, :count]


def _state(number: int) -> Any:
    return np.random.RandomState(2000 + number)
