"""Dropout, and the one place where its random masks are drawn: a proof gives two frameworks equal ones.

In a v1 graph a mask is drawn anew at each `session.run`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

#: From the shape of a mask, an int32 tensor, and the probability that an element is dropped, to booleans of that
#: shape: True where the element is kept.
Drawer = Callable[[tf.Tensor, float], tf.Tensor]

_MODES = ("upscale_in_train", "downscale_in_infer")


def random_mask(shape: tf.Tensor, p: float) -> tf.Tensor:
    """Draw a mask whose elements are False with the probability `p`, each on its own."""
    return tf.random.uniform(shape) >= p


_drawers: list[Drawer] = [random_mask]


@contextlib.contextmanager
def drawn_by(drawer: Drawer) -> Iterator[None]:
    """Let another function draw the masks of what is built inside, one call per dropout, in the order of the program.

    Args:
        drawer: from a shape, an int32 tensor, and a probability to a bool tensor: True where an element is kept.
    """
    _drawers.append(drawer)
    try:
        yield
    finally:
        _drawers.pop()


def dropout(
    x: Any,
    p: float = 0.5,
    axis: int | Sequence[int] | None = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> tf.Tensor:
    """Return x with elements set to zero at random, as Paddle's function of this name.

    Args:
        x: a tensor of floats.
        p: probability that an element is dropped, 0 to 1.
        axis: dimensions along which elements have masks of their own; along the others they share one. None: all.
        training: whether elements are dropped.
        mode: "upscale_in_train" divides what is kept by 1 - p; "downscale_in_infer" multiplies by 1 - p where
            `training` is False instead.
        name: has no effect.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout got p={p}: give a probability from 0 to 1")
    if mode not in _MODES:
        raise ValueError(f"dropout got mode={mode!r}: give one of {', '.join(_MODES)}")
    x = tf.convert_to_tensor(x)
    upscale = mode == "upscale_in_train"
    if p == 0 or (upscale and not training):
        return x
    if not training:
        return x * tf.constant(1 - p, x.dtype)
    if p == 1:
        return x * tf.zeros([], x.dtype)
    kept = _drawers[-1](_mask_shape(x, axis), float(p))
    scaled = x * tf.constant(1 / (1 - p), x.dtype) if upscale else x
    dropped = tf.where(kept, scaled, tf.zeros([], x.dtype))
    dropped.set_shape(x.shape)  # a drawer may not tell the shape of its mask
    return dropped


def _mask_shape(x: tf.Tensor, axis: int | Sequence[int] | None) -> tf.Tensor:
    if axis is None:
        return tf.shape(x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    rank = x.shape.rank
    if rank is None:
        raise ValueError("dropout with an axis got a tensor of unknown rank: give it a shape with tf.ensure_shape")
    if not axes or min(axes) < 0 or max(axes) >= rank:
        raise ValueError(f"dropout got axis={axis} for a tensor of {rank} dimensions: give some of 0 to {rank - 1}")
    sizes = tf.shape(x)
    return tf.stack([sizes[place] if place in axes else tf.constant(1) for place in range(rank)])
