"""What convolutions and poolings share: arguments in Paddle's spellings, padding, and where the channels are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

#: Zeros or the like before and after each spatial dimension; or "SAME", which depends on the sizes.
Padding = Sequence[tuple[Any, Any]] | str


def size(x: tf.Tensor, axis: int) -> Any:
    """Return a size: an int where it is known, else a tensor."""
    known = x.shape[axis]
    return tf.shape(x)[axis] if known is None else known


def numbers(value: Any, count: int, name: str) -> list[int]:
    """Return `count` numbers: those of a sequence, or one number for all dimensions.

    Raises:
        ValueError: the sequence has another length.
    """
    sizes = [int(one) for one in value] if isinstance(value, Sequence) else [int(value)] * count
    if len(sizes) != count:
        raise ValueError(f"{name} has {len(sizes)} numbers, {value}: give one, or {count}, one for each dimension")
    return sizes


def padding_of(padding: Any, dims: int, channel_last: bool) -> Padding:
    """Return what a `padding` argument says, in one of Paddle's five spellings.

    Args:
        padding: "same" or "valid"; a number; one for each spatial dimension; two for each, before and after; or pairs
            for all dimensions, those of batch and channel zero.
        dims: how many spatial dimensions there are.
        channel_last: whether the channel is the last dimension.

    Raises:
        ValueError: it is none of them.
    """
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(f"padding={padding!r} is not known: give 'same', 'valid' or numbers")
        return "SAME" if padding.upper() == "SAME" else [(0, 0)] * dims
    if not isinstance(padding, Sequence):
        pairs = [(int(padding), int(padding))] * dims
    elif len(padding) == dims + 2 and isinstance(padding[0], Sequence):
        pairs = [(int(before), int(after)) for before, after in padding]
        others = (pairs.pop(0), pairs.pop(-1 if channel_last else 0))
        if others != ((0, 0), (0, 0)):
            raise ValueError(f"padding={padding} pads the batch or the channels: let their pairs be zero")
    elif len(padding) == 2 * dims:
        pairs = [(int(padding[2 * dim]), int(padding[2 * dim + 1])) for dim in range(dims)]
    elif len(padding) == dims:
        pairs = [(int(one), int(one)) for one in padding]
    else:
        raise ValueError(f"padding={padding} has {len(padding)} numbers: give one, {dims}, or {2 * dims}")
    if min(min(pair) for pair in pairs) < 0:
        raise ValueError(f"padding={padding} has a negative number: give numbers from 0")
    return pairs


def pairs_of(padding: Padding, sizes: Sequence[Any], kernel: Sequence[int], stride: Sequence[int]) -> list[Any]:
    """Return the pairs (before, after) for inputs of these sizes."""
    if not isinstance(padding, str):
        return list(padding)
    pairs = []
    for length, width, step in zip(sizes, kernel, stride, strict=True):
        needed = ((length + step - 1) // step - 1) * step + width - length
        total = max(needed, 0) if isinstance(needed, int) else tf.maximum(needed, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def padded(x: tf.Tensor, pairs: Sequence[tuple[Any, Any]], value: Any = 0) -> tf.Tensor:
    """Pad the spatial dimensions of a tensor whose channel is last."""
    if is_none(pairs):
        return x
    return tf.pad(x, [(0, 0), *pairs, (0, 0)], constant_values=value)


def is_none(pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether it is known that nothing is padded."""
    return all(isinstance(one, int) and one == 0 for pair in pairs for one in pair)


def channels_last(x: tf.Tensor) -> tf.Tensor:
    """Move the channels from the second place to the last: CPU kernels of TensorFlow have no other layout."""
    return tf.transpose(x, [0, *range(2, x.shape.rank), 1])


def channels_second(x: tf.Tensor) -> tf.Tensor:
    """Undo `channels_last`."""
    last = x.shape.rank - 1
    return tf.transpose(x, [0, last, *range(1, last)])


def last_is_channel(data_format: str, first: str, last: str, function: str) -> bool:
    """Return whether a layout has the channel at its end.

    Raises:
        ValueError: it is another layout.
    """
    if data_format not in (first, last):
        raise ValueError(f"{function} got data_format={data_format!r}: give {first} or {last}")
    return data_format == last


def with_rank(x: Any, rank: int, function: str) -> tf.Tensor:
    """Return the tensor of an input.

    Raises:
        ValueError: it has another number of dimensions.
    """
    tensor = tf.convert_to_tensor(x)
    if tensor.shape.rank != rank:
        raise ValueError(f"{function} got a tensor of shape {tensor.shape}: give one of {rank} dimensions")
    return tensor
