"""Makes dense variables equal on all ranks: after a program's init op, and in sessions with hooks at their creation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import ranks
from runtime.compat.mx_rec.state import state_of


def broadcasting(stock: Callable[[], tf.Operation]) -> Callable[[], tf.Operation]:
    """Return a `global_variables_initializer` whose op, in a training graph, copies rank 0's values to all ranks."""

    @functools.wraps(stock)
    def global_variables_initializer() -> tf.Operation:
        initialized = stock()
        if not _trains_together():
            return initialized
        with tf.control_dependencies([initialized]):
            return tf.group(initialized, ranks.broadcast(tf.compat.v1.global_variables()))

    return global_variables_initializer


def creating(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a `ChiefSessionCreator.create_session` that does so in the session, whether initialized or restored."""

    @functools.wraps(stock)
    def create_session(self: Any) -> Any:
        op = getattr(self, "_recmigrate_broadcast", None)  # when a session is created again, the graph is final
        if op is None and _trains_together():
            op = self._recmigrate_broadcast = ranks.broadcast(tf.compat.v1.global_variables())
        session = stock(self)
        if op is not None:
            session.run(op)
        return session

    return create_session


def _trains_together() -> bool:
    """Whether the current graph looks up tables for training and there are several ranks."""
    return ranks.size() > 1 and any(is_train for _, is_train in state_of().lookups)
