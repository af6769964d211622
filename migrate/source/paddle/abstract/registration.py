"""Which weights of a model train: what Paddle registers, what it does not, and what no loss reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from migrate.source.paddle.abstract.gradients import reached, tensors_in
from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.run import Place, Replaced
from migrate.source.paddle.abstract.values import Layer, LayerValue, Tensor, Weight


class Why(Enum):
    """Why weights do not train."""

    REPLACED = "another layer or parameter took their name"
    UNREGISTERED = "no layer of the model holds them"
    UNUSED = "the layer is never called, or the parameter never read"
    UNREACHED = "the loss does not depend on them"


@dataclass(frozen=True)
class Untrained:
    """Weights made at one place that do not train, although nothing says that they should not."""

    why: Why
    place: Place  #: where they are made
    kind: str  #: Paddle's name of the layer, or an empty text for a parameter
    names: tuple[str, ...]  #: paths in the model; empty if no layer of the model holds them
    count: int  #: how many layers or parameters
    by: Replaced | None = None  #: what took the name of the first of them


@dataclass(frozen=True)
class _Made:
    """A weight, and the layer of Paddle that has made it."""

    weight: Weight
    layer: Layer | None
    place: Place


def untrained(program: Program) -> list[Untrained]:
    """Return the weights that Paddle does not train: in order of creation, those of one place and reason together."""
    model, loss = program.model, loss_of(program)
    if not isinstance(model, LayerValue) or loss is None:
        return []
    paths = {id(weight): path for path, weight in named_parameters(model).items()}
    with_gradient = reached([loss])
    lost = _lost(program)
    groups: dict[tuple[Why, Place, str], list[_Made]] = {}
    for made in _all(program):
        weight = made.weight
        if not weight.trains:
            continue
        why = _why(made, id(weight) in paths, id(weight) in with_gradient, lost)
        if why is not None:
            kind = made.layer.name if made.layer is not None else ""
            groups.setdefault((why, made.place, kind), []).append(made)
    return [_group(*key, found, paths, lost) for key, found in groups.items()]


def loss_of(program: Program) -> Tensor | None:
    """Return the loss, which is the first tensor that `train_forward` returns."""
    return next(tensors_in(program.results.get("train_forward")), None)


def _why(made: _Made, held: bool, with_gradient: bool, lost: dict[int, Replaced]) -> Why | None:
    if held:
        unused = made.layer is not None and not made.layer.calls and not made.layer.whole_reads
        return None if with_gradient else Why.UNUSED if unused else Why.UNREACHED
    if not with_gradient:  # made and given up: it has no effect
        return None
    return Why.REPLACED if id(made.weight) in lost else Why.UNREGISTERED


def _group(
    why: Why, place: Place, kind: str, found: list[_Made], paths: dict[int, str], lost: dict[int, Replaced]
) -> Untrained:
    names = tuple(paths[id(made.weight)] for made in found if id(made.weight) in paths)
    count = len({id(made.layer or made.weight) for made in found})
    return Untrained(why, place, kind, names, count, lost.get(id(found[0].weight)) if why is Why.REPLACED else None)


def _all(program: Program) -> Iterator[_Made]:
    """Go through all weights that the program makes, each once."""
    seen: set[int] = set()
    for layer in program.run.made:
        own = layer if isinstance(layer, Layer) else None
        for _, part in named_layers(layer) if own is not None else ():
            for weight in part.weights.values():
                if id(weight) not in seen:
                    seen.add(id(weight))
                    yield _Made(weight, own, (layer.path, layer.span))
    yield from (_Made(weight, None, weight.place) for weight in program.run.parameters)


def _lost(program: Program) -> dict[int, Replaced]:
    """Return id of a weight -> the registration that took its name, or that of a layer above it."""
    found: dict[int, Replaced] = {}
    for replaced in program.run.replaced:
        layers = [] if isinstance(replaced.old, Weight) else [layer for _, layer in named_layers(replaced.old)]
        weights = [weight for layer in layers for weight in layer.weights.values()]
        for weight in [replaced.old] if isinstance(replaced.old, Weight) else weights:
            found[id(weight)] = replaced
    return found


def named_parameters(model: LayerValue) -> dict[str, Weight]:
    """Return path -> weight as `named_parameters` of Paddle lists them: each once, by the first of its paths."""
    found: dict[str, Weight] = {}
    seen: set[int] = set()
    for path, layer in named_layers(model):
        for name, weight in layer.weights.items():
            if id(weight) not in seen:
                seen.add(id(weight))
                found[f"{path}.{name}" if path else name] = weight
    return found


def state_dict(model: LayerValue, prefix: str = "") -> dict[str, Weight]:
    """Return path -> weight as `state_dict` of Paddle does: what has several paths is there under each of them."""
    found = {prefix + name: weight for name, weight in model.weights.items()}
    for name, layer in model.sublayers.items():
        found |= state_dict(layer, f"{prefix}{name}.")
    return found
