"""Losses as layers: they compute what the function does."""

from __future__ import annotations

from migrate.source.paddle.layers.spec import LayerSpec, computes
from migrate.source.paddle.ops import registry

_END = "reduction='mean', name=None)"
#: Constructor -> function of `paddle.nn.functional`.
_FUNCTIONS = {
    "MSELoss(reduction='mean')": "mse_loss",
    f"L1Loss({_END}": "l1_loss",
    "SmoothL1Loss(reduction='mean', delta=1.0, name=None)": "smooth_l1_loss",
    f"BCELoss(weight=None, {_END}": "binary_cross_entropy",
    "BCEWithLogitsLoss(weight=None, reduction='mean', pos_weight=None, name=None)": "binary_cross_entropy_with_logits",
    "CrossEntropyLoss(weight=None, ignore_index=-100, reduction='mean', soft_label=False, axis=-1, use_softmax=True, "
    "label_smoothing=0.0, name=None)": "cross_entropy",
    f"NLLLoss(weight=None, ignore_index=-100, {_END}": "nll_loss",
    "KLDivLoss(reduction='mean')": "kl_div",
    f"MarginRankingLoss(margin=0.0, {_END}": "margin_ranking_loss",
}
SPECS: tuple[LayerSpec, ...] = tuple(
    LayerSpec("paddle.nn." + signature, computes(registry.OPS["paddle.nn.functional." + function]))
    for signature, function in _FUNCTIONS.items()
)
