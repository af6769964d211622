"""Embedding layers of Keras in eager code: their variables become tables when they are built."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from rewriter.facts import Refusal, Table
from rewriter.graph.view import Tensor
from rewriter.installation.options import Options
from rewriter.installation.usage import Usage
from rewriter.plan.stay_lines import stay_lines
from runtime.keras.embedding import embedding_class
from runtime.keras.replaceable import reason_to_stay
from runtime.keras.whole_variable import created_as, in_place_of

__all__ = ["KerasLayers"]

_log = logging.getLogger("rewriter")


class KerasLayers:
    """What became of the Embedding layers that were built since."""

    def __init__(self, options: Callable[[], Options], usage: Usage) -> None:
        """`options` returns those of now."""
        self._options, self._usage = options, usage
        self.tables: dict[str, Table] = {}
        self.stay: dict[str, Refusal] = {}
        self._undo: list[tuple[Any, str, Any]] = []
        self._said: set[str] = set()

    def watch(self, keras: Any) -> None:
        """Let the Embedding layers of a Keras module have tables."""
        embedding_class(keras)  # adapts optimizers
        stock = keras.layers.Embedding
        self._wrap(stock, "build", functools.partial(self._build, keras))

    def end(self) -> None:
        """Leave layers that are built from now on as they are."""
        while self._undo:
            setattr(*self._undo.pop())

    def _wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def wrapped(*arguments: Any, **named: Any) -> Any:
            return around(original, *arguments, **named)

        self._undo.append((owner, name, original))
        setattr(owner, name, wrapped)

    def _build(self, keras: Any, original: Callable[..., Any], layer: Any, *arguments: Any, **named: Any) -> Any:
        reason = reason_to_stay(keras, layer, True)

        def moved(stock: tf.Variable) -> tf.Variable:
            name = stock.name.removesuffix(":0")
            if reason:
                self._stays(Refusal(name, reason, (), tuple(stock.shape)))
                return stock
            rows, dim = stock.shape
            self.tables[name] = Table(name, rows, dim, Tensor("", 0), "", (dim,), ())
            _log.info("`%s` [%d, %d] becomes a table: a layer of Keras", name, rows, dim)
            if hasattr(keras, "Variable"):
                layer.supports_jit = False
            return in_place_of(stock)

        with created_as(moved):
            return original(layer, *arguments, **named)

    def _stays(self, refusal: Refusal) -> None:
        self.stay[refusal.table] = refusal
        (line,) = stay_lines([refusal])
        _log.warning("%s", line)
