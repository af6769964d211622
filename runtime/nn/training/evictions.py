"""Evicts rows of a model's tables while it is trained."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from runtime.policy.eviction import EvictHook
from runtime.table.create import tables


class Evictions:
    """Evicts what is due, in a plain session, from the tables of the graph whose lookups have an age."""

    def __init__(self) -> None:
        """Add the ops; rows are looked for as often as the smallest age says."""
        rules = [table.admission for table in tables() if table.admission is not None]
        ages = [rule.eviction_threshold for rule in rules if rule.eviction_threshold is not None]
        self._hook = EvictHook(bool(ages), max(min(ages, default=1), 1))
        self._hook.begin()

    def start(self, session: Any) -> None:
        """Start the clock."""
        self._hook.after_create_session(session, None)

    def after_step(self, session: Any) -> None:
        """Evict if it is time."""
        self._hook.after_run(SimpleNamespace(session=session), None)
