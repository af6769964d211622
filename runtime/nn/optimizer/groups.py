"""What an optimizer trains, and how: groups of weights with settings of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.nn.optimizer.clip import ClipGradBase
from runtime.nn.regularizer import L2Decay, WeightDecayRegularizer
from runtime.nn.weights.weight import Weight


@dataclass
class Group:
    """Weights with the settings of an optimizer for them."""

    weights: list[Weight]
    #: Hyperparameters by the names of the optimizer's arguments, and `grad_clip`.
    settings: dict[str, Any]
    #: What decays the weights that have no regularizer of their own.
    decay: WeightDecayRegularizer | None
    #: Whether `decay` and `rate` count in place of what the weights' attributes say.
    own_decay: WeightDecayRegularizer | None = None
    rate: float | None = None

    def regularizer(self, weight: Weight) -> Any:
        """Return what decays a weight, or None."""
        first = weight.attr.regularizer if self.rate is None else self.own_decay
        return first if first is not None else self.decay

    def factor(self, weight: Weight) -> float:
        """Return by what the learning rate is multiplied for a weight."""
        return float(weight.attr.learning_rate if self.rate is None else self.rate)


def groups_of(kind: str, parameters: Any, settings: Mapping[str, Any], decay: Any, decoupled: bool) -> list[Group]:
    """Return the groups that `parameters`, weights or dictionaries with `params`, stand for.

    Args:
        kind: name of the optimizer, for messages.
        parameters: the argument.
        settings: what holds for a group that does not say otherwise.
        decay: the optimizer's `weight_decay`.
        decoupled: whether `weight_decay` is one of the settings instead of a regularizer (AdamW).

    Raises:
        ValueError: there are no parameters, one is not a weight, is given twice, or a setting is unknown.
    """
    if parameters is None or isinstance(parameters, Mapping | Weight):
        raise ValueError(f"{kind} got {parameters!r} for parameters: give a list, such as model.parameters()")
    listed = list(parameters)
    common = None if decoupled else decay_of(kind, decay)
    groups = (
        [_group(kind, one, settings, common, decoupled) for one in listed]
        if listed and isinstance(listed[0], Mapping)
        else [Group(listed, dict(settings), common)]
    )
    _check(kind, [weight for group in groups for weight in group.weights])
    for group in groups:
        clip = group.settings["grad_clip"]
        if clip is not None and not isinstance(clip, ClipGradBase):
            raise ValueError(f"{kind} got grad_clip={clip!r}: give an nn.ClipGradByValue, ByNorm or ByGlobalNorm")
    return groups


def decay_of(kind: str, decay: Any) -> WeightDecayRegularizer | None:
    """Return the regularizer that a `weight_decay` stands for: a number is that of an L2Decay.

    Raises:
        ValueError: it is neither a number, a regularizer nor None.
    """
    if decay is None or isinstance(decay, WeightDecayRegularizer):
        return decay
    if isinstance(decay, int | float) and not isinstance(decay, bool):
        return L2Decay(decay)
    raise ValueError(f"{kind} got weight_decay={decay!r}: give a float, nn.regularizer.L1Decay or L2Decay, or None")


def _group(
    kind: str, group: Any, settings: Mapping[str, Any], decay: WeightDecayRegularizer | None, decoupled: bool
) -> Group:
    if not isinstance(group, Mapping) or "params" not in group:
        raise ValueError(f"a group of parameters of {kind} is {group!r}: give a dict with `params`, a list of weights")
    params = group["params"]
    own = {name: value for name, value in group.items() if name not in ("params", "learning_rate")}
    own_decay = None if decoupled else decay_of(kind, own.pop("weight_decay", None))
    unknown = sorted(set(own) - set(settings))
    if unknown:
        raise ValueError(f"a group of parameters of {kind} has `{unknown[0]}`: it may have {', '.join(settings)}")
    weights = [params] if isinstance(params, Weight) else list(params)
    rate = float(group.get("learning_rate", 1.0))
    if decoupled:  # regularizers of the weights stay
        return _Decoupled(weights, {**settings, **own}, None, None, rate)
    return Group(weights, {**settings, **own}, decay, own_decay, rate)


class _Decoupled(Group):
    def regularizer(self, weight: Weight) -> Any:
        return weight.attr.regularizer


def _check(kind: str, weights: list[Any]) -> None:
    seen: set[int] = set()
    if not weights:
        raise ValueError(f"{kind} got no parameters: give model.parameters() of a model that has weights")
    for weight in weights:
        if not isinstance(weight, Weight):
            raise ValueError(f"{kind} got the parameter {weight!r}: give weights, such as model.parameters()")
        if id(weight) in seen:
            raise ValueError(f"{kind} got the weight `{weight.label}` twice: give each weight once")
        seen.add(id(weight))
