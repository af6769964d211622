"""From what each tensor was computed, as far as gradients flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from migrate.source.paddle.abstract.values import Tensor, Value

#: Ops whose results do not depend on their operands, or through which no gradient flows.
_CUTS = frozenset(
    [
        *("paddle.Tensor.detach", "paddle.Tensor.numpy", "paddle.to_tensor", "paddle.ones_like"),
        *("paddle.zeros_like", "paddle.full_like", "paddle.empty_like", "paddle.bernoulli", "paddle.multinomial"),
        *("paddle.nn.functional.one_hot",),
    ]
)


def derive(result: Value, given: Value, op: str = "") -> None:
    """Record that the tensors in a result were computed from those in `given`."""
    inputs = tuple(tensors_in(given))
    _extend(result, inputs)
    if op in _CUTS:
        return
    known = set(map(id, inputs))
    for leaf in tensors_in(result):
        if id(leaf) not in known:
            leaf.sources = inputs if not leaf.sources else (*leaf.sources, *inputs)


def _extend(result: Value, inputs: tuple[Tensor, ...]) -> None:
    """Record what the unknown sizes of a result are, where its op has not: as those of the inputs, if all are alike."""
    given = {one.extent or 1 for one in inputs if one.shape is None or None in one.shape}
    for leaf in tensors_in(result):
        if leaf.extent is None and leaf.shape is not None and None in leaf.shape and given - {1}:
            leaf.extent = given.pop() if len(given) == 1 else object()


def tensors_in(value: Value) -> Iterator[Tensor]:
    """Go through the tensors in nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, slice):
        yield from tensors_in([value.start, value.stop, value.step])


def reached(results: Iterable[Tensor]) -> set[int]:
    """Return the ids of all tensors that get a gradient from one of `results`."""
    seen: set[int] = set()
    waiting = list(results)
    while waiting:
        item = waiting.pop()
        if id(item) in seen or item.stopped or not (item.floating or item.dtype is None):
            continue
        seen.add(id(item))
        waiting.extend(item.sources)
    return seen
