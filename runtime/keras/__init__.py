"""Tables in Keras: `Embedding`, a replacement for `keras.layers.Embedding`, for Keras 2 and Keras 3.

`model.compile(optimizer=...)` needs no change. Importing this module lets the stock optimizers of Keras (`adapters`)
pass the gradient of a table to the native update, by wrapping `update_step`. Keras 2 and Keras 3 both call that method
for every variable, after loss scaling is undone and gradients are clipped, and it knows the learning rate; neither a
layer nor a variable sees the optimizer. Other variables are updated as before, and an optimizer without a native form
raises an error that names those with one. `StringLookup` and `IntegerLookup` give other words ids of their own.

To fit a model on several ranks (`runtime.ranks`): `DistributedOptimizer`, `BroadcastCallback`, `MetricAverageCallback`.
"""

from __future__ import annotations

from runtime.keras import adapters
from runtime.keras.distributed import BroadcastCallback, DistributedOptimizer, MetricAverageCallback
from runtime.keras.embedding import Embedding, embedding_class
from runtime.keras.free_ids import IntegerLookup, StringLookup
from runtime.keras.migrate import migrate
from runtime.keras.one_device import one_device
from runtime.keras.table_variable import TableVariable, table_variable
from runtime.table.table_rows import TableRows

__all__ = [
    "BroadcastCallback",
    "DistributedOptimizer",
    "Embedding",
    "IntegerLookup",
    "MetricAverageCallback",
    "StringLookup",
    "TableRows",
    "TableVariable",
    "adapters",
    "embedding_class",
    "migrate",
    "one_device",
    "table_variable",
]
