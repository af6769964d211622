"""Notes the Embedding layers that Keras builds outside of v1 graphs, with the verdict of `rewriter.install` on each."""

from __future__ import annotations

import inspect
import traceback
from typing import Any
from weakref import WeakKeyDictionary

from .patching import wrap
from .program import Program
from .sessions import Sessions


class Layers:
    """Their variables, as records of a graph have them; no graph holds them."""

    def __init__(self, program: Program, sessions: Sessions, variables: dict[str, dict[str, Any]]) -> None:
        """`sessions` keeps faults of ours from the program; `variables` get what is noted, by names."""
        self._program, self._sessions, self._variables = program, sessions, variables
        #: The lines that made each layer: the program builds it later, in another file, when it first calls the model.
        self._made: WeakKeyDictionary[Any, list[tuple[str, int]]] = WeakKeyDictionary()

    def install(self) -> None:
        """Have the layers of TensorFlow's Keras tell that they are made, and built."""
        import tensorflow as tf

        kind = tf.keras.layers.Embedding
        wrap(kind, "__init__", self._initialized)
        # Keras 3 asks for the arguments by `inspect.getfullargspec`, to which `functools.wraps` tells nothing.
        kind.__init__.__signature__ = inspect.signature(kind.__init__)
        wrap(kind, "build", self._built)

    def _initialized(self, original: Any, layer: Any, *arguments: Any, **named: Any) -> None:
        original(layer, *arguments, **named)
        with self._sessions.unharmed():
            self._made[layer] = self._lines()

    def _lines(self) -> list[tuple[str, int]]:
        return self._program.lines((one.filename, one.lineno) for one in traceback.extract_stack())

    def _built(self, original: Any, layer: Any, *arguments: Any, **named: Any) -> Any:
        done = original(layer, *arguments, **named)
        with self._sessions.unharmed():
            self._note(layer)
        return done

    def _note(self, layer: Any) -> None:
        import tensorflow as tf

        variable = getattr(layer.embeddings, "_value", layer.embeddings)  # that of Keras 3 holds one of TensorFlow
        if variable is None or not tf.compat.v1.executing_eagerly_outside_functions():
            return
        from rewriter.installation.keras_layers import name_of, why_it_stays  # now: other programs do not need it

        name, reason = name_of(layer, variable), why_it_stays(tf.keras, layer, variable)
        self._variables[name] = {
            "name": name,
            "shape": variable.shape.as_list(),
            "dtype": variable.dtype.base_dtype.name,
            "created": self._made.get(layer) or self._lines(),
            "uses": [],
            "table": "" if reason else name,
            "stays": reason or "",
        }
