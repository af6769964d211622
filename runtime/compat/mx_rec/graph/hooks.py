"""Rec SDK's session hooks."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import runtime
from runtime import _validation
from runtime.compat import graph_modifier
from runtime.compat.mx_rec.constants import ASCEND_CUTTING_POINT_INITIALIZER
from runtime.compat.mx_rec.graph import pipeline
from runtime.compat.mx_rec.state import ConfigInitializer, state_of

_Hook: Any = tf.compat.v1.train.SessionRunHook
_ITERATORS = ("MakeIterator", "OneShotIterator")


class GraphModifierHook(_Hook):  # type: ignore[misc]
    """Modifies the graph before its session; with `modify_graph=False` it only starts the pipeline."""

    def __init__(self, dump_graph: bool = False, modify_graph: bool = True) -> None:
        """Register the hook; without one, no session starts on a graph with `modify_graph=True`.

        Raises:
            ValueError: an argument is not a bool.
        """
        _validation.boolean("dump_graph", dump_graph)
        self._modify_graph = _validation.boolean("modify_graph", modify_graph)
        self._inner = graph_modifier.part("GraphModifierHook")(dump_graph, modify_graph, tables=[])
        self._iterator_type = ""
        ConfigInitializer.get_instance().train_params_config.is_graph_modify_hook_running = True

    def begin(self) -> None:
        """Modify the current graph and start.

        Raises:
            ValueError: the ids come from an iterator of another kind.
            ValueError, RuntimeError: see `modify_graph_and_start_emb_cache`.
        """
        state = state_of()
        if self._modify_graph:
            pipeline.prepare(state)
            self._inner.begin()
            pipeline.finish(state)
            self._iterator_type = ConfigInitializer.get_instance().train_params_config.iterator_type
            if self._iterator_type and self._iterator_type not in _ITERATORS:
                raise ValueError(f"the iterator type {self._iterator_type!r} is not one of {', '.join(_ITERATORS)}")
        else:
            pipeline.start_asc_pipeline()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Initialize the iterators of the lookups."""
        if self._modify_graph:
            session.run(list(dict.fromkeys(tf.compat.v1.get_collection(ASCEND_CUTTING_POINT_INITIALIZER))))

    def before_run(self, run_context: Any) -> Any:
        """Refuse feeds of tensors that moved ids are computed from."""
        return self._inner.before_run(run_context)


class LookupSubgraphSlicerHook(_Hook):  # type: ignore[misc]
    """Lets datasets compute ids that depend on ops of given types; must come before GraphModifierHook."""

    def __init__(self, op_types: list[str]) -> None:
        """Take op types, such as `["StringToNumber"]`.

        Raises:
            ValueError: it is not a list of op types, or it is empty.
        """
        self._inner = graph_modifier.part("LookupSubgraphSlicerHook")(op_types)

    def begin(self) -> None:
        """Move the ids in the current graph."""
        self._inner.begin()

    def before_run(self, run_context: Any) -> Any:
        """Refuse feeds of tensors that moved ids are computed from."""
        return self._inner.before_run(run_context)


class OrphanLookupKeySlicerHook(_Hook):  # type: ignore[misc]
    """Accepts lookups whose ids come from no dataset; must come before GraphModifierHook."""

    def begin(self) -> None:
        """Allow the graph to be modified in spite of such ids."""
        state_of().orphans_allowed = True


class ACGPushOpsToDatasetHook(_Hook):  # type: ignore[misc]
    """The slicers in older releases: ids from no dataset are accepted, the others move with the modifier."""

    def __init__(self, dump_graph: bool = False) -> None:
        """Take an argument without effect.

        Raises:
            ValueError: it is not a bool.
        """
        _validation.boolean("dump_graph", dump_graph)

    def begin(self) -> None:
        """Allow the graph to be modified in spite of such ids."""
        state_of().orphans_allowed = True


class EvictHook(runtime.EvictHook):
    """Deletes old ids during training from every table whose lookups have an eviction threshold."""
