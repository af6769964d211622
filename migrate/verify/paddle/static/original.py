"""Worker that runs a static model in Paddle, in one precision: `run(job)`.

What needs a parameter server is replaced: a `sparse_embedding` looks up rows of a matrix, with Paddle's own op. Dropout
keeps all values, on both sides.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.base.layer_helper import LayerHelper

from migrate.verify.distributions import Distribution
from migrate.verify.paddle import patches
from migrate.verify.paddle.patches import textbook
from migrate.verify.paddle.static.common import IDS, minimized, outputs_of, trainer_of
from migrate.verify.paddle.trainer.common import Array, optimizer, started_weights
from migrate.verify.recording import Moment, Recording
from migrate.verify.settings import Settings

static = paddle.static
#: Op that draws the values of a weight -> the kind of its distribution, and the attributes that say which it is.
_DRAWS = {
    "uniform_random": ("uniform", "min", "max"),
    "gaussian_random": ("normal", "mean", "std"),
    "truncated_gaussian_random": ("truncated_normal", "mean", "std"),
}
_CAST = paddle.cast  #: itself, also where casts to float32 are casts to float64


class Original:
    """One program of the model, and what it is asked for."""

    def __init__(self, job: Mapping[str, Any], kind: str) -> None:
        """Build it: `kind` is "passes", "evaluated", "own" or an optimizer."""
        self.main, self.startup, self.scope = static.Program(), static.Program(), paddle.base.Scope()
        self.executor, self.dtype = static.Executor(paddle.CPUPlace()), job["dtype"]
        self.gradients: list[Any] = []
        paddle.seed(1)
        np.random.seed(1)
        with static.program_guard(self.main, self.startup), paddle.base.unique_name.guard():
            self.trainer = trainer_of(job["path"], dict(job["config"]))
            with _replaced(training=kind != "evaluated"):
                self.feeds = list(self.trainer.create_feeds())
                make = self.trainer.infer_net if kind == "evaluated" else self.trainer.net
                fetches = make(list(self.feeds))
            self.outputs = dict(outputs_of(self.trainer, fetches, static.Variable, self._compared))
            if kind != "evaluated":
                self._train(kind, job["rates"])

    def _compared(self, value: Any) -> bool:
        return value.dtype in (paddle.float32, paddle.float64) and not value.is_data

    def _train(self, kind: str, rates: Mapping[str, float]) -> None:
        own, self.loss = minimized(self.trainer, paddle.optimizer.Optimizer)
        lazy = kind == "own" and isinstance(own, paddle.optimizer.Adam) and own._lazy_mode
        rows = set()
        for op in self.main.global_block().ops:  # only a lazy Adam needs to know which rows a batch has
            if op.has_attr("is_sparse"):
                rows |= set(op.input("W")) if lazy and op.attr("is_sparse") else set()
                op._set_attr("is_sparse", bool(lazy and op.attr("is_sparse")))
        if kind == "passes":
            self.gradients = static.append_backward(self.loss)
        else:
            with textbook(lambda parameter: parameter.name in rows):
                step = own if kind == "own" else optimizer(paddle.optimizer, kind, rates[kind])
                step.minimize(self.loss)

    def parameters(self) -> list[Any]:
        """Return all weights, in order of creation, without vectors that repeat those of recurrent layers."""
        held = [op for op in self.startup.global_block().ops if op.type == "coalesce_tensor"]
        again = {name for op in held for name in op.output("FusedOutput")}
        return [one for one in self.main.all_parameters() if one.name not in again]

    def values(self) -> dict[str, Array]:
        """Return all weights by name."""
        return {one.name: np.array(self.scope.find_var(one.name).get_tensor()) for one in self.parameters()}

    def distributions(self) -> dict[str, Distribution]:
        """Return the distributions of the weights that the start-up program draws."""
        drawn = {}
        for op in self.startup.global_block().ops:
            if op.type in _DRAWS:
                kind, *names = _DRAWS[op.type]
                drawn[op.output("Out")[0]] = Distribution(kind, *(float(op.attr(name)) for name in names))
        return drawn

    def restart(self, weights: Mapping[str, Array] | None) -> None:
        """Begin anew, with weights by name."""
        self.executor.run(self.startup, scope=self.scope)
        for name, value in (weights or {}).items():
            tensor = self.scope.find_var(name).get_tensor()
            tensor.set(value.astype(np.array(tensor).dtype), paddle.CPUPlace())

    def run(self, items: Sequence[Any], wanted: Sequence[Any]) -> list[Array]:
        """Run the program with a batch."""
        feed = {one.name: self._fed(value) for one, value in zip(self.feeds, items, strict=True)}
        tensors = self.executor.run(self.main, feed, list(wanted), scope=self.scope, return_numpy=False)
        return [np.array(value) for value in tensors]

    def _fed(self, value: Any) -> Any:
        values, lengths = value if isinstance(value, list) else (value, None)
        values = values.astype("float64") if self.dtype == "float64" and values.dtype == np.float32 else values
        if lengths is None:
            return values
        return paddle.base.create_lod_tensor(values, [lengths.tolist()], paddle.CPUPlace())


@contextlib.contextmanager
def _replaced(training: bool) -> Iterator[None]:
    def dropout(x: Any, p: float = 0.5, axis: Any = None, training_: bool = True, mode: str = "", **named: Any) -> Any:
        del axis
        upscaled = (mode or named.get("mode") or "upscale_in_train") == "upscale_in_train"
        trains = training and named.get("training", training_)
        return x / (1 - p) if upscaled and trains else x if upscaled or trains else x * (1 - p)

    stock = static.data

    def data(name: str, shape: Any, dtype: Any = None, lod_level: int = 0) -> Any:
        wide = paddle.get_default_dtype() == "float64" and dtype in (None, "float32", paddle.float32)
        return stock(name, shape, "float64" if wide else dtype, lod_level)

    def single(metric: Any) -> Any:
        """Metrics have kernels for float32 only."""

        def computed(input: Any, label: Any, *rest: Any, **named: Any) -> Any:
            label = _CAST(label, "float32") if label.dtype == paddle.float64 else label
            return metric(_CAST(input, "float32"), label, *rest, **named)

        return computed if paddle.get_default_dtype() == "float64" else metric

    with (
        mock.patch.object(static, "auc", single(static.auc)),
        mock.patch.object(static, "ctr_metric_bundle", single(static.ctr_metric_bundle)),
        mock.patch.object(static.nn, "sparse_embedding", _sparse_embedding),
        mock.patch.object(static, "data", data),
        mock.patch.object(F, "dropout", dropout),
        mock.patch.object(paddle.nn.functional.common, "dropout", dropout),
    ):
        yield


def _sparse_embedding(
    input: Any,
    size: Sequence[int],
    padding_idx: int | None = None,
    is_test: bool = False,
    entry: Any = None,
    table_class: str = "",
    param_attr: Any = None,
    dtype: str = "float32",
    slot: Any = None,
) -> Any:
    del is_test, entry, table_class, slot
    helper = LayerHelper("sparse_embedding", param_attr=param_attr)
    dtype = paddle.get_default_dtype()
    usual = paddle.nn.initializer.XavierUniform(*size)  # as of the whole table
    shape = [min(size[0], IDS), size[1]]
    matrix = helper.create_parameter(helper.param_attr, shape, dtype, is_bias=False, default_initializer=usual)
    rows = helper.create_variable_for_type_inference(dtype)
    padding = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else size[0] + padding_idx
    helper.append_op(
        type="lookup_table",
        inputs={"Ids": input, "W": matrix},
        outputs={"Out": rows},
        attrs={"padding_idx": padding, "is_sparse": True, "is_distributed": False, "remote_prefetch": False},
    )
    return rows


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure outputs, loss, gradients and steps from the given weights, or from the model's own with some noise."""
    paddle.enable_static()
    if job["dtype"] == "float64":
        paddle.set_default_dtype("float64")
        patches.complete()
    settings: Settings = job["settings"]
    side = Original(job, "passes")
    side.restart(None)
    initial = side.values()
    weights = job.get("weights") or started_weights(initial, settings.seed)
    batches = job["batches"]
    passes = [_pass(side, weights, items) for items in batches[: settings.batches]]
    result = Recording(initial, passes, weights=weights, distributions=side.distributions())
    if hasattr(side.trainer, "infer_net"):
        evaluation = Original(job, "evaluated")
        for moment, items in zip(result.passes, batches, strict=False):
            evaluation.restart(weights)
            output = evaluation.run(items, list(evaluation.outputs.values()))
            moment.outputs = {**moment.outputs, "evaluation": {"evaluated output": output}}
    for kind in (*job["rates"], "own"):
        program = Original(job, kind)
        program.restart(weights)
        result.steps[kind] = []
        for number in range(settings.steps):
            (loss,) = program.run(batches[number % len(batches)], [program.loss])
            result.steps[kind].append(Moment([loss.reshape(-1)], values=program.values()))
    return {"recording": result}


def _pass(side: Original, weights: Mapping[str, Array], items: Any) -> Moment:
    side.restart(weights)
    names = [parameter.name for parameter, _ in side.gradients]
    wanted = [*side.outputs.values(), side.loss, *(gradient for _, gradient in side.gradients)]
    values = side.run(items, wanted)
    count = len(side.outputs)
    trained = {one.name for one in side.parameters() if one.trainable}
    running = {name: value for name, value in side.values().items() if name not in trained}
    outputs: dict[str, Any] = {
        "forward": {"output": values[:count]},
        "running": running,
    }  # metrics of a graph are fetched
    return Moment([values[count].reshape(-1)], outputs, dict(zip(names, values[count + 1 :], strict=True)))
