"""Counts the calls of `tf.function`s that train."""

from __future__ import annotations

from typing import Any

from .patching import wrap
from .steps import Steps


def install(steps: Steps) -> None:
    """Have TensorFlow's functions tell of their calls, of which Keras' `fit` makes one for each batch."""
    from tensorflow.python.eager import context
    from tensorflow.python.eager.polymorphic_function import concrete_function, polymorphic_function

    def around(original: Any, function: Any, *arguments: Any, **settings: Any) -> Any:
        if not context.executing_eagerly() or not steps.enter(function):
            return original(function, *arguments, **settings)
        done = False
        try:
            result = original(function, *arguments, **settings)
            done = True
        finally:
            steps.leave(function, done)
        return result

    def traced(original: Any, function: Any, *arguments: Any, **settings: Any) -> Any:
        """A function that is made to a concrete one trains in the calls of that one."""
        entered = steps.enter(function)
        try:
            made = original(function, *arguments, **settings)
        finally:
            if entered:
                steps.leave(function, False)
        if id(function) in steps.training:
            steps.training.add(id(made))
            function._recmigrate_keeps = [*getattr(function, "_recmigrate_keeps", ()), made]
        return made

    wrap(polymorphic_function.Function, "__call__", around)
    wrap(concrete_function.ConcreteFunction, "__call__", around)
    wrap(polymorphic_function.Function, "get_concrete_function", traced)
