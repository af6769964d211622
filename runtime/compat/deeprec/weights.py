"""`keep_weights` of variable scopes: layers compute in bfloat16 while their variables are stored in float32."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf


@contextlib.contextmanager
def keep_weights(scope: Any, dtype: Any = tf.float32) -> Iterator[Any]:
    """Open a `tf.variable_scope` whose floating-point variables have a dtype, whatever is asked for; yield the scope.

    Who asks for another dtype gets the variable's value as that dtype, so gradients reach the variable.
    """
    kept = tf.as_dtype(dtype)
    with scope as opened:
        before = opened.custom_getter

        def get(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
            asked = tf.as_dtype(kwargs.get("dtype") or tf.float32)
            if not asked.is_floating or asked == kept:
                return _by(before, getter, name, args, kwargs)
            variable = _by(before, getter, name, args, {**kwargs, "dtype": kept})
            return tf.cast(tf.convert_to_tensor(variable), asked)

        opened.set_custom_getter(get)
        try:
            yield opened
        finally:
            opened.set_custom_getter(before)


def _by(before: Any, getter: Any, name: str, args: Any, kwargs: Any) -> Any:
    return getter(name, *args, **kwargs) if before is None else before(getter, name, *args, **kwargs)
