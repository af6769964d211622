"""Sessions and functions that run graphs as they were built: to optimize each new graph is a third of a test's time.

`make test` runs so on TensorFlow 2.15; on 2.21, and in `make soak`, Grappler optimizes graphs as it does for users.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def run_graphs_as_built() -> None:
    """Switch Grappler off where a program does not say itself whether it wants it."""
    from tensorflow.python.client import session

    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    stock = session.BaseSession.__init__

    def made(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        own = tf.compat.v1.ConfigProto()
        if isinstance(config, tf.compat.v1.ConfigProto):
            own.CopyFrom(config)
        own.graph_options.rewrite_options.disable_meta_optimizer = True
        stock(self, target, graph, config if config is not None and type(config) is not type(own) else own)

    session.BaseSession.__init__ = made
