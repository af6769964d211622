"""Tables in Keras: `Embedding`, which takes the place of `keras.layers.Embedding`, for Keras 2 and Keras 3.

`model.compile(optimizer=...)` stays as it is. Importing this module lets the stock optimizers of Keras (`adapters`)
hand the gradient of a table to the native update, by a wrapper around `update_step`: the one place that Keras 2 and
Keras 3 both call for every variable, after loss scales are undone and gradients clipped, and that knows the learning
rate. Neither a layer nor a variable gets to see the optimizer, so nothing less would do. Other variables are
updated as before, and an optimizer that has no native form raises and names one that has.

Several ranks (`runtime.ranks`) fit a model with `DistributedOptimizer`, `BroadcastCallback`, `MetricAverageCallback`.
"""

from __future__ import annotations

from runtime.keras import adapters
from runtime.keras.distributed import BroadcastCallback, DistributedOptimizer, MetricAverageCallback
from runtime.keras.embedding import Embedding, embedding_class

__all__ = [
    "BroadcastCallback",
    "DistributedOptimizer",
    "Embedding",
    "MetricAverageCallback",
    "adapters",
    "embedding_class",
]
