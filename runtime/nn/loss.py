"""Losses as layers: functions of `nn.functional` with arguments that they keep."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn import functional
from runtime.nn.layer import Layer


class _Loss(Layer):
    """A loss of `nn.functional`; its arguments are attributes."""

    function: str

    def __init__(self, reduction: str = "mean", name: str | None = None, **arguments: Any) -> None:
        super().__init__()
        kinds = ("sum", "mean", "none", *(("batchmean",) if self.function == "kl_div" else ()))
        if reduction not in kinds:
            raise ValueError(f"{type(self).__name__} got reduction={reduction!r}: give one of {', '.join(kinds)}")
        self.reduction, self.name = reduction, name
        self._arguments = arguments
        for key, value in arguments.items():
            setattr(self, key, value)

    def forward(self, input: Any, label: Any) -> tf.Tensor:
        """Return the loss of predictions, first, and labels."""
        return self._loss(input, label)

    def _loss(self, *tensors: Any) -> tf.Tensor:
        arguments = {key: getattr(self, key) for key in self._arguments}
        found: tf.Tensor = getattr(functional, self.function)(*tensors, reduction=self.reduction, **arguments)
        return found


class BCELoss(_Loss):
    """Cross entropy of probabilities and labels of 0 to 1."""

    function = "binary_cross_entropy"

    def __init__(self, weight: Any = None, reduction: str = "mean", name: str | None = None) -> None:
        """Keep the arguments; `weight` is a factor that is broadcast."""
        super().__init__(reduction, name, weight=weight)


class BCEWithLogitsLoss(_Loss):
    """Cross entropy of the sigmoid of logits and labels of 0 to 1."""

    function = "binary_cross_entropy_with_logits"

    def __init__(
        self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None, name: str | None = None
    ) -> None:
        """Keep the arguments; `pos_weight` is a factor of the term of positive labels."""
        super().__init__(reduction, name, weight=weight, pos_weight=pos_weight)

    def forward(self, logit: Any, label: Any) -> tf.Tensor:
        """Return the loss of logits and labels."""
        return self._loss(logit, label)


class CrossEntropyLoss(_Loss):
    """Cross entropy of the softmax of logits and classes."""

    function = "cross_entropy"

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        soft_label: bool = False,
        axis: int = -1,
        use_softmax: bool = True,
        label_smoothing: float = 0.0,
        name: str | None = None,
    ) -> None:
        """Keep the arguments of `nn.functional.cross_entropy`."""
        smoothing = {"label_smoothing": label_smoothing} if label_smoothing else {}
        super().__init__(
            reduction,
            name,
            weight=weight,
            ignore_index=ignore_index,
            soft_label=soft_label,
            axis=axis,
            use_softmax=use_softmax,
            **smoothing,
        )


class MSELoss(_Loss):
    """Square of the difference."""

    function = "mse_loss"

    def __init__(self, reduction: str = "mean") -> None:
        """Keep the argument."""
        super().__init__(reduction)


class L1Loss(_Loss):
    """Absolute value of the difference."""

    function = "l1_loss"

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(reduction, name)


class SmoothL1Loss(_Loss):
    """Square of small differences, absolute value of large ones."""

    function = "smooth_l1_loss"

    def __init__(self, reduction: str = "mean", delta: float = 1.0, name: str | None = None) -> None:
        """Keep the arguments; `delta` is where small ends."""
        super().__init__(reduction, name, delta=delta)


class NLLLoss(_Loss):
    """Logarithm of the probability of the class, with its sign changed."""

    function = "nll_loss"

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", name: str | None = None
    ) -> None:
        """Keep the arguments; `weight` is a factor for each class."""
        super().__init__(reduction, name, weight=weight, ignore_index=ignore_index)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence of logarithms of probabilities from probabilities."""

    function = "kl_div"

    def __init__(self, reduction: str = "mean") -> None:
        """Keep the argument."""
        super().__init__(reduction)


class MarginRankingLoss(_Loss):
    """max(-label * (input - other) + margin, 0)."""

    function = "margin_ranking_loss"

    def __init__(self, margin: float = 0.0, reduction: str = "mean", name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(reduction, name, margin=margin)

    def forward(self, input: Any, other: Any, label: Any) -> tf.Tensor:  # type: ignore[override]
        """Return the loss of two predictions and labels of 1, where the first should be larger, or -1."""
        return self._loss(input, other, label)
