"""Translates TensorFlow's initializer objects to the text from which the native table computes initial rows.

A row's initial value is a function of (table seed, key), so TensorFlow's initializer cannot draw it; distribution and
parameters are the same. The text is `width:kind:a:b` for each block of columns, joined by `;`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _validation, ranks

# Standard deviation of a standard normal truncated at two standard deviations; TensorFlow divides by it as well.
_CUT_STDDEV = 0.87962566103423978
_MODULES = ("tensorflow", "keras", "tf_keras")


@dataclass(frozen=True)
class ColumnBlocks:
    """One initializer per block of columns, as `(width, initializer)` pairs from left to right."""

    blocks: tuple[tuple[int, Any], ...]


@dataclass(frozen=True)
class _Distribution:
    """A distribution: its name in the text, and two parameters."""

    kind: str
    a: float
    b: float

    def scaled(self, factor: float) -> _Distribution:
        if self.kind == "uniform":
            return _Distribution(self.kind, *sorted((self.a * factor, self.b * factor)))
        return _Distribution(self.kind, self.a * factor, self.b * abs(factor))

    def text(self, width: int) -> str:
        return f"{width}:{self.kind}:{float(self.a)!r}:{float(self.b)!r}"


def column_blocks(blocks: Sequence[tuple[int, Any]]) -> ColumnBlocks:
    """Initialize blocks of columns differently: `column_blocks([(8, zeros), (4, normal)])` for dim 12.

    Initializers that depend on fan-in or fan-out (Glorot, He, Lecun) are not accepted, because the fan of a block is
    unknown: use a uniform or normal initializer with explicit limits instead.

    Raises:
        ValueError: there is no block, or a width is below 1. Widths that do not sum to `dim` fail in `create_table`.
    """
    pairs = _validation.pairs("blocks", blocks, "pairs (width, initializer)")
    if not pairs or any(not isinstance(w, (int, np.integer)) or isinstance(w, bool) or w < 1 for w, _ in pairs):
        raise ValueError(f"column_blocks needs (width, initializer) pairs with widths of at least 1: got {blocks!r}")
    return ColumnBlocks(tuple((int(width), initializer) for width, initializer in pairs))


def initializer_text(initializer: Any, rows: int, dim: int, factor: float = 1.0) -> str:
    """Return the native text of `initializer` for a table of `rows` by `dim`, with all values multiplied by `factor`.

    Raises:
        ValueError: a table cannot compute the initializer by key, or column widths do not sum to `dim`.
    """
    if not isinstance(initializer, ColumnBlocks):
        return _distribution(_instance(initializer), (rows, dim)).scaled(factor).text(dim)
    total = sum(width for width, _ in initializer.blocks)
    if total != dim:
        raise ValueError(f"column_blocks widths sum to {total} but the table's dim is {dim}: make them equal")
    return ";".join(
        _distribution(_instance(part), None).scaled(factor).text(width) for width, part in initializer.blocks
    )


def holds_matrix(initializer: Any) -> bool:
    """True for a constant initializer of TensorFlow or Keras with an array: a value of its own for each row."""
    own = _instance(initializer)
    known = type(own).__module__.split(".")[0] in _MODULES
    named = any(base.__name__ == "Constant" for base in type(own).__mro__)
    return known and named and np.ndim(own.value) > 0


def column_parts(initializer: Any, rows: int, dim: int, parts: int) -> list[Any]:
    """Return initializers for `parts` equally wide parts of columns of a table of `rows` by `dim`.

    Seeds are kept, but each part has a table of its own and draws other values than the whole table.

    Raises:
        ValueError: see `initializer_text`.
    """
    width = dim // parts
    if not isinstance(initializer, ColumnBlocks):
        own = _instance(initializer)
        distribution = _distribution(own, (rows, dim))
        drawing: dict[str, Callable[..., Any]] = {
            "constant": lambda a, b, seed: tf.constant_initializer(a),
            "uniform": tf.random_uniform_initializer,
            "normal": tf.random_normal_initializer,
            "truncated_normal": tf.compat.v1.truncated_normal_initializer,
        }
        return [drawing[distribution.kind](distribution.a, distribution.b, seed=_plain(_seed(own)))] * parts
    initializer_text(initializer, rows, dim)  # checks the widths
    columns = [part for count, part in initializer.blocks for _ in range(count)]
    return [ColumnBlocks(_runs(columns[i : i + width])) for i in range(0, dim, width)]


def table_seed(initializer: Any, table_name: str, graph_seed: int | None) -> int:
    """Return a seed in [0, 2**63): a function of the given seeds and the table's name, or random if none is given."""
    parts = [part for _, part in initializer.blocks] if isinstance(initializer, ColumnBlocks) else [initializer]
    seeds = [_plain(_seed(_instance(part))) for part in parts]
    graph_seed = _plain(graph_seed)
    if graph_seed is None and all(seed is None for seed in seeds):
        graph_seed = ranks.current().seed  # a shared table must have the same initial rows on all ranks
        if graph_seed is None:
            return secrets.randbits(63)
    digest = hashlib.sha256(repr((graph_seed, seeds, table_name)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def _runs(columns: Sequence[Any]) -> tuple[tuple[int, Any], ...]:
    """Return each run of the same initializer, with its length."""
    runs: list[tuple[int, Any]] = []
    for column in columns:
        same = bool(runs) and runs[-1][1] is column
        runs[-1:] = [(runs[-1][0] + 1, column)] if same else [*runs[-1:], (1, column)]
    return tuple(runs)


def _instance(initializer: Any) -> Any:
    return initializer() if isinstance(initializer, type) else initializer


def _seed(initializer: Any) -> Any:
    config = initializer.get_config() if hasattr(initializer, "get_config") else {}
    return config.get("seed")


def _plain(seed: Any) -> Any:
    """Convert numpy integers to Python's, whose text form does not depend on numpy's version."""
    return int(seed) if isinstance(seed, np.integer) else seed


def _distribution(initializer: Any, shape: tuple[int, int] | None) -> _Distribution:
    if type(initializer).__module__.split(".")[0] in _MODULES:
        for base in type(initializer).__mro__:
            if base.__name__ in _FAN_FREE:
                return _checked(base.__name__, _FAN_FREE[base.__name__](initializer))
            if base.__name__ in _WITH_FAN:
                return _checked(base.__name__, _WITH_FAN[base.__name__](initializer, _known(base.__name__, shape)))
    raise ValueError(
        f"the initializer {initializer!r} cannot initialize rows by key: use a TensorFlow or Keras Constant, Zeros, "
        "Ones, RandomUniform, RandomNormal, "
        "TruncatedNormal or VarianceScaling (Glorot, He, Lecun) object, or column_blocks"
    )


def _checked(name: str, distribution: _Distribution) -> _Distribution:
    for value in (distribution.a, distribution.b):
        if not abs(value) <= float(np.finfo(np.float32).max):  # also true for NaN
            raise ValueError(f"{name}: {value!r} is not a float32 number; give another")
    if distribution.kind == "uniform" and distribution.b < distribution.a:
        raise ValueError(
            f"{name}: the upper limit {distribution.b} is below the lower limit {distribution.a}; exchange them"
        )
    if distribution.kind.endswith("normal") and distribution.b < 0:
        raise ValueError(f"{name}: the standard deviation {distribution.b} is negative; give a positive one")
    return distribution


def _known(name: str, shape: tuple[int, int] | None) -> tuple[int, int]:
    if shape is None:
        raise ValueError(f"{name} inside column_blocks has no fan: use a uniform or normal with explicit limits")
    return shape


def _constant(initializer: Any) -> _Distribution:
    value = np.asarray(initializer.value)
    if value.ndim != 0:
        raise ValueError(
            f"a constant initializer of shape {value.shape} cannot initialize a growing table: use a scalar, "
            "and set rows with values of their own by import_rows"
        )
    return _Distribution("constant", _number(value), 0.0)


def _uniform(initializer: Any) -> _Distribution:
    high = 1.0 if initializer.maxval is None else initializer.maxval
    return _Distribution("uniform", _scalar(initializer.minval), _scalar(high))


def _normal(kind: str) -> Callable[[Any], _Distribution]:
    return lambda initializer: _Distribution(kind, _scalar(initializer.mean), _scalar(initializer.stddev))


def _scalar(value: Any) -> float:
    if isinstance(value, (tf.Tensor, tf.Variable)) or np.ndim(value) != 0:
        raise ValueError(f"an initializer's parameter must be a Python number: got {value!r}")
    return _number(value)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"an initializer's parameter must be a Python number: got {value!r}") from error


def _variance_scaling(initializer: Any, shape: tuple[int, int]) -> _Distribution:
    rows, dim = shape
    fan = {"fan_in": rows, "fan_out": dim, "fan_avg": (rows + dim) / 2.0}[initializer.mode]
    variance = initializer.scale / max(1.0, fan)
    if initializer.distribution == "uniform":
        return _Distribution("uniform", -((3.0 * variance) ** 0.5), (3.0 * variance) ** 0.5)
    if initializer.distribution == "untruncated_normal":
        return _Distribution("normal", 0.0, variance**0.5)
    return _Distribution("truncated_normal", 0.0, variance**0.5 / _CUT_STDDEV)


def _unit_scaling(initializer: Any, shape: tuple[int, int]) -> _Distribution:
    limit = (3.0 / max(1.0, shape[0])) ** 0.5 * initializer.factor
    return _Distribution("uniform", -limit, limit)


_FAN_FREE: Mapping[str, Callable[[Any], _Distribution]] = {
    "Constant": _constant,
    "Zeros": lambda initializer: _Distribution("constant", 0.0, 0.0),
    "Ones": lambda initializer: _Distribution("constant", 1.0, 0.0),
    "RandomUniform": _uniform,
    "RandomNormal": _normal("normal"),
    "TruncatedNormal": _normal("truncated_normal"),
}

_WITH_FAN: Mapping[str, Callable[[Any, tuple[int, int]], _Distribution]] = {
    "VarianceScaling": _variance_scaling,
    "UniformUnitScaling": _unit_scaling,
}
