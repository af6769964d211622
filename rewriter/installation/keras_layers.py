"""Embedding layers of Keras in eager code: their variables become tables when they are built.

A layer stays what it is, an object of its class: `WholeVariable` takes the place of its variable alone. Those of v1
graphs are left: the graph is rewritten.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tensorflow as tf

from rewriter._tf_private_sessions import Wraps
from rewriter.after_import import after_import
from rewriter.apply.table_options import table_options
from rewriter.facts import Bound, Lookup, Refusal, Table, Update
from rewriter.graph.source_trace import line_here
from rewriter.graph.view import Tensor
from rewriter.installation.hashed_ids import HashedIds, bound_of
from rewriter.installation.options import Options
from rewriter.installation.usage import Usage
from rewriter.plan.lines import stay_lines
from rewriter.table_settings import TableSettings, settings_of
from runtime import _tf_private
from runtime.keras.embedding import embedding_class
from runtime.keras.replaceable import reason_to_stay
from runtime.keras.whole_variable import WholeVariable, created_as, in_place_of

_log = logging.getLogger("rewriter")
#: The package of Keras 2 beside Keras 3.
_SECOND = "tf_keras"
_BEFORE = "its layer was built before `rewriter.install()`: call that at the top of the program"
_ALL_ROWS = (
    "a layer of Keras has all its rows from the beginning, but its settings ask for rows that begin on demand; "
    "leave first_rows, admit_after and max_bytes out for it"
)
_OWN = (
    "eager code looks its rows up, and it does not belong to an `Embedding` layer; use a `keras.layers.Embedding` "
    "in its place, whose variable becomes a table"
)
_UNPROVEN = (
    "`verify` compares graphs, and eager code has none: run `migrate trial -- python train.py`, which compares the "
    "losses of original and moved Keras models"
)


class KerasLayers:
    """What became of the Embedding layers that were built since."""

    def __init__(self, options: Callable[[], Options], usage: Usage) -> None:
        """`options` returns those of now."""
        self._options, self._usage = options, usage
        self.tables: dict[str, Table] = {}
        self.stay: dict[str, Refusal] = {}
        self.record: Callable[[], None] = lambda: None
        self._wraps = Wraps()
        self._stop_waiting: Callable[[], None] = lambda: None
        self._said: set[str] = set()
        self._hashed = HashedIds(self._decided, functools.partial(self._say, logging.WARNING))
        #: What bounds the ids with which a layer is called that has no rows yet.
        self._bound = Bound("unknown")
        #: Layers that were built since, and those of before that were called.
        self._judged: weakref.WeakSet[Any] = weakref.WeakSet()

    def begin(self) -> None:
        """Let Embedding layers that are built from now on have tables."""
        self._watch(tf.keras)
        self._stop_waiting = after_import(_SECOND, self._watch)
        self._wraps.wrap(_tf_private.ResourceVariable, "sparse_read", self._looks_up)

    def end(self) -> None:
        """Leave layers that are built from now on as they are."""
        self._wraps.end()
        self._stop_waiting()

    def _watch(self, keras: Any) -> None:
        embedding_class(keras)  # adapts optimizers
        self._wraps.wrap(keras.layers.Embedding, "build", functools.partial(self._build, keras))
        # Not that of Embedding, which inherits another in graphs of TensorFlow 1.
        self._wraps.wrap(keras.layers.Layer, "__call__", functools.partial(self._called, keras))

    def _called(self, keras: Any, original: Callable[..., Any], layer: Any, *arguments: Any, **named: Any) -> Any:
        """Say of a layer that was built before that it stays; let wide ids go along with buckets."""
        kind = keras.layers.Embedding
        if isinstance(layer, kind) and layer.built and layer not in self._judged:
            self._judged.add(layer)
            for rows in map(_plain, layer.weights[:1]):
                eager = hasattr(getattr(rows, "handle", None), "numpy")
                if eager and self._wants(name_of(layer, rows), layer):
                    self._stays(Refusal(name_of(layer, rows), _BEFORE, (), tuple(rows.shape)))
        if isinstance(layer, kind):
            self._bounded(layer, bound_of(keras, arguments[0] if arguments else None, layer.input_dim))
        if not any(one.unbucket for one in self._options().settings.values()):
            return original(layer, *arguments, **named)
        if isinstance(layer, kind):
            with self._hashed.call(layer, arguments[0] if arguments else None):
                return original(layer, *arguments, **named)
        result = original(layer, *arguments, **named)
        inputs = arguments[0] if arguments else None
        self._hashed.returned(keras, layer, result, inputs, lambda wide: original(wide, *arguments, **named))
        return result

    def _bounded(self, layer: Any, bound: Bound | None) -> None:
        """Note what bounds the ids of a call; one that is called with ids of several sources has no known bound."""
        if not layer.built:
            self._bound = bound or Bound("unknown")
            return
        for name in (name_of(layer, rows) for rows in map(_plain, layer.weights[:1]) if bound is not None):
            if name in self.tables and bound != self.tables[name].bound:
                self.tables[name] = replace(self.tables[name], bound=Bound("unknown"))
                self.record()

    def _wants(self, name: str, layer: Any) -> bool:
        wanted = self._options().tables
        return wanted == "auto" or name in wanted or layer.name in wanted

    def _build(self, keras: Any, original: Callable[..., Any], layer: Any, *arguments: Any, **named: Any) -> Any:
        def moved(stock: tf.Variable) -> tf.Variable:
            name = name_of(layer, stock)
            settings = settings_of(name, self._options().settings)
            reason = why_it_stays(keras, layer, stock) or (_ALL_ROWS if settings.begins_empty else None)
            if not self._wants(name, layer):
                return stock
            if reason:
                self._stays(Refusal(name, reason, (), tuple(stock.shape)))
                return stock
            return self._moves(name, stock, layer, settings, _symbol(keras))

        self._judged.add(layer)
        with created_as(moved):
            done = original(layer, *arguments, **named)
        for weight in layer.weights if hasattr(keras, "Variable") else ():
            if weight._value is None:  # Keras makes it later
                weight._initialize = functools.partial(_initialized, weight, weight._initialize, moved)
        return done

    def _moves(self, name: str, stock: tf.Variable, layer: Any, settings: TableSettings, symbol: type) -> tf.Variable:
        rows, dim = stock.shape
        kept = dataclasses.replace(settings, unbucket=False)
        dry = self._options().dry_run
        self.stay.pop(name, None)
        line, nothing = line_here() or "", Tensor("", 0)
        lookup = Lookup(name, nothing, nothing, True, "layer `Embedding` of Keras", line)
        self.tables[name] = Table(
            name, rows, dim, nothing, "", (dim,), (lookup,), source=line, settings=kept, bound=self._bound
        )
        self._bound = Bound("unknown")
        self.record()
        self._say(
            logging.INFO,
            f"{'would move: ' if dry else ''}`{name}` [{rows}, {dim}] becomes a table: a layer `Embedding` of Keras"
            + (f"; {kept.text}" if kept.text else ""),
        )
        if dry:
            return stock
        layer.supports_jit = False  # of Keras 3, which would let XLA compile the model
        variable = in_place_of(stock, **table_options(kept) | {"base_buckets": rows if settings.unbucket else None})
        if settings.unbucket:
            variable.ids_of = functools.partial(self._hashed.ids_of, name, weakref.ref(layer), variable, symbol)
        if self._options().verify:
            self._say(logging.WARNING, _UNPROVEN)
        variable.not_compiled = self._not_compiled
        variable.trained_by = functools.partial(self._trained, name)
        self._usage.call(variable.table.table_name, name)
        return variable

    def _decided(self, name: str, reason: str) -> None:
        """Say whether a table gives up the buckets of its ids."""
        table = self.tables[name]
        settings = replace(table.settings, unbucket=not reason)
        bound = table.bound if reason else Bound()
        self.tables[name] = replace(table, settings=settings, buckets_kept=reason, bound=bound)
        self.record()
        kept = f"`{name}` keeps the buckets of its ids: {reason}"
        self._say(
            logging.INFO, kept if reason else f"each id of `{name}` has a row of its own, in place of its bucket's"
        )

    def _stays(self, refusal: Refusal) -> None:
        if refusal.table not in self.tables:
            line = line_here() or ""
            self.stay[refusal.table] = replace(refusal, source=line, built=line)
            self.record()
        (line,) = stay_lines([refusal])
        self._say(logging.WARNING, line)

    def _looks_up(self, original: Callable[..., Any], variable: Any, *arguments: Any, **named: Any) -> Any:
        """Say that a variable which is trained, and no layer's, stays: no graph is there that could be rewritten."""
        name, wanted = str(variable.name).removesuffix(":0"), self._options().tables
        known = name in self.stay or name in self.tables or isinstance(variable, WholeVariable)
        known = known or (wanted != "auto" and name not in wanted)
        eager = tf.compat.v1.executing_eagerly_outside_functions()
        if eager and not known and variable.trainable and variable.shape.rank:
            self._stays(Refusal(name, _OWN, (), tuple(variable.shape)))
        return original(variable, *arguments, **named)

    def _trained(self, name: str, optimizer: str, whole: bool) -> None:
        table, update = self.tables[name], Update(optimizer, None, None, (), (), (), ())
        if update not in table.updates:
            self.tables[name] = replace(table, updates=(*table.updates, update))
            self.record()
        if whole:
            self._say(
                logging.WARNING,
                f"`{name}` is trained by the code of {optimizer}, which reads and sets all rows in each step: train it "
                "with SGD, Adagrad, Adam or AdamW of Keras, or leave it out by tables=[...]",
            )

    def _say(self, level: int, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            _log.log(level, "%s", line)

    def _not_compiled(self, function: str) -> None:
        self._say(
            logging.WARNING,
            f"`{function}` is not compiled by XLA, which does not support tables: jit_compile=True has no effect",
        )


def _initialized(weight: Any, initialize: Callable[..., Any], moved: Callable[..., Any], value: Any) -> None:
    """Make the variable of a weight of Keras 3."""
    del weight._initialize
    with created_as(moved):
        initialize(value)


def _plain(weight: Any) -> Any:
    """Return the variable of TensorFlow of a weight."""
    return weight if isinstance(weight, tf.Variable) else getattr(weight, "value", weight)


def _symbol(keras: Any) -> type:
    """Return the class of what functional models are built of."""
    kind: type = keras.KerasTensor if hasattr(keras, "KerasTensor") else keras.__internal__.KerasTensor
    return kind


def name_of(layer: Any, stock: tf.Variable) -> str:
    """Return the name by which the variable of a layer is asked for."""
    name: str = stock.name.removesuffix(":0")
    if hasattr(layer, "path"):  # Keras 3, which may make the variable outside of the layer's scope
        return f"{layer.path}/{name.rpartition('/')[2]}"
    return name


def why_it_stays(keras: Any, layer: Any, stock: tf.Variable) -> str | None:
    """Return why the variable of a layer stays, or None."""
    if tf.distribute.has_strategy():
        return (
            "it is created in the scope of a tf.distribute strategy, and a table is trained in one process; "
            "leave the strategy out"
        )
    if layer.compute_dtype != "float32":
        return f"its layer computes in {layer.compute_dtype}; leave mixed precision out for this layer"
    if _tf_private.compiled_by_xla():
        return "its layer is created in a function that XLA compiles; leave jit_compile=True out"
    if stock.shape.rank != 2 or tuple(stock.shape) != (layer.input_dim, layer.output_dim):
        return "it is not the matrix of the layer's rows"
    return reason_to_stay(keras, layer, True)
