"""`USE_COMBINE_FAAE=1`: all tables that admit ids by count share one count per id.

The counts are in a hidden table of the graph, which is saved in the checkpoint's own files.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.compat.mx_rec import environment
from runtime.compat.mx_rec.constants import INVALID
from runtime.compat.mx_rec.ranks import rank_ids
from runtime.compat.mx_rec.state import state_of
from runtime.policy import admission
from runtime.table.admission_rules import AdmissionRules
from runtime.table.anchor import HASHTABLE_COLLECTION
from runtime.table.arguments import TableArguments
from runtime.table.create import made
from runtime.table.table import Table

NAME = "mx_rec_combined_history"
_Config = dict[str, Any]


def admitted(keys: tf.Tensor, config: _Config | None, is_train: bool) -> tuple[tf.Tensor, _Config | None]:
    """Return the keys, with -1 for those not seen often enough in all tables, and what the table itself counts.

    Without the switch, or without a threshold above 0, both are returned unchanged. A table with eviction still records
    when it saw its own keys.
    """
    if not environment.combines_counters() or not config or (config.get("access_threshold") or -1) < 1:
        return keys, config
    rank_ids.refuse_several("USE_COMBINE_FAAE=1", "leave it out, so that each table counts its own ids")
    rules = AdmissionRules(config["access_threshold"], None, config.get("faae_coefficient") or 1)
    counter = _counter()
    if is_train:
        time = {"timestamp": config.get("timestamp")}  # the collection may have one of each mode, or the same one twice
        _, seen = admission.counting_lookup(counter, keys, rules, time)
    else:
        _, seen = admission.reading_lookup(counter, keys, rules)
    seen = tf.reshape(seen, [-1])
    evicts = config.get("eviction_threshold") not in (None, -1)
    return tf.where(seen, keys, tf.constant(INVALID, keys.dtype)), {**config, "access_threshold": 1} if evicts else None


def _counter() -> Table:
    """Return the table that counts for all tables of the graph."""
    state = state_of()
    if state.counter is None:
        state.counter = made(TableArguments(tf.int64, 1, NAME, tf.compat.v1.zeros_initializer(), 1, True, 1.0))
        state.counter.is_grad = False  # optimizers must not expect a gradient for it
        listed = tf.compat.v1.get_collection_ref(HASHTABLE_COLLECTION)
        listed[:] = [one for one in listed if one is not state.counter.variable]
    return state.counter
