"""The batch that Paddle's `DataLoader` makes of samples, as abstract tensors."""

from __future__ import annotations

import numbers

import numpy as np

from migrate.source.paddle.abstract.values import Refuse, Shape, Tensor, Value

_DTYPES = frozenset(
    ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
)


def collate(samples: list[Value], batched: bool) -> Value:
    """Return the batch of samples: tensors, in the lists or dicts that the samples are.

    Args:
        samples: at least one sample, each of the same structure.
        batched: whether each is a batch, whose first dimension is the batch's; else a dimension is added in front.

    Raises:
        Refuse: an item is neither a number nor an array, or the samples differ in structure.
    """
    first = samples[0]
    if isinstance(first, np.ndarray | np.generic | numbers.Number):
        return _tensor(samples, batched)
    if isinstance(first, dict):
        if any(not isinstance(item, dict) or item.keys() != first.keys() for item in samples):
            raise Refuse("the samples of the reader are dicts with different keys")
        return {key: collate([item[key] for item in samples], batched) for key in first}
    if isinstance(first, list | tuple):
        if any(not isinstance(item, list | tuple) or len(item) != len(first) for item in samples):
            raise Refuse("the samples of the reader are lists of different lengths")
        return [collate(list(items), batched) for items in zip(*samples, strict=True)]
    raise Refuse(f"the reader gives {type(first).__name__}, which is no number or array")


def _tensor(items: list[Value], batched: bool) -> Tensor:
    arrays = [np.asarray(item) for item in items if isinstance(item, np.ndarray | np.generic | numbers.Number)]
    if len(arrays) != len(items):
        raise Refuse("the samples of the reader differ in structure")
    kinds = {item.dtype for item in arrays}
    dtype = (np.result_type(*kinds) if all(kind.name in _DTYPES for kind in kinds) else next(iter(kinds))).name
    if dtype not in _DTYPES:
        raise Refuse(f"the reader gives an array of dtype `{dtype}`, which is no tensor")
    shape = _common([item.shape for item in arrays])
    if shape is None:
        return Tensor(None, dtype)
    return Tensor((None, *shape[1:]) if batched and shape else shape if batched else (None, *shape), dtype)


def _common(shapes: list[tuple[int, ...]]) -> Shape | None:
    """Return the shape with None where the sizes differ; None if the ranks differ."""
    if len({len(shape) for shape in shapes}) > 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True))
