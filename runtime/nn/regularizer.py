"""Weight decay as a term of the gradient: an optimizer's `weight_decay`, or the `regularizer` of a `ParamAttr`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class WeightDecayRegularizer:
    """Base class: something that is added to the gradient of a weight."""

    def __init__(self, coeff: float = 0.0) -> None:
        """Take the factor of the term."""
        self.coeff = float(coeff)

    def term(self, weight: Any) -> tf.Tensor:
        """Return what is added to the gradient of a weight."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.coeff})"


class L1Decay(WeightDecayRegularizer):
    """Adds `coeff` times the sign of the weight."""

    def term(self, weight: Any) -> tf.Tensor:
        """Return `coeff * sign(weight)`."""
        return self.coeff * tf.sign(tf.convert_to_tensor(weight))


class L2Decay(WeightDecayRegularizer):
    """Adds `coeff` times the weight."""

    def term(self, weight: Any) -> tf.Tensor:
        """Return `coeff * weight`."""
        return self.coeff * tf.convert_to_tensor(weight)
