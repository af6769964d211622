"""Private names of TensorFlow's Savers and their hooks; tests/runtime/test_private_names.py guards each of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from inspect import signature
from typing import Any

import tensorflow as tf
from tensorflow.python.training import checkpoint_utils, saver, warm_starting_util


def extend_warm_starts(
    complete: Callable[[Any, Any], list[tuple[str, Any]]],
    listed: Callable[[Any, dict[str, Any]], dict[str, Any]],
    remap: Callable[[list[Any], Any, str | None, dict[str, Any]], bool],
    name_of: Callable[[list[Any]], str | None],
) -> None:
    """Let `complete` return the pairs of `init_from_checkpoint`, and `listed` the variables of `WarmStartSettings`.

    `remap` starts variables by a vocabulary, given the checkpoint, the tensor's name there and the vocabulary; where it
    returns False, TensorFlow does it. `name_of` names several variables that TensorFlow does not know as one.
    """
    initialize: Any = checkpoint_utils._init_from_checkpoint
    by_vocabulary: Any = warm_starting_util._warm_start_var_with_vocab
    group: Any = warm_starting_util._get_grouped_variables
    info: Any = warm_starting_util._get_var_info

    def initialized(path: Any, assignment_map: Any) -> None:
        initialize(path, complete(path, assignment_map))

    def grouped(variables: Any) -> dict[str, Any]:
        return listed(variables, group(variables))

    def remapped(var: Any, *positional: Any, **named: Any) -> None:
        bound = signature(by_vocabulary).bind(var, *positional, **named)
        bound.apply_defaults()
        asked = bound.arguments
        vocabulary = {
            "new": asked["current_vocab_path"],
            "new_size": asked["current_vocab_size"],
            "old": asked["prev_vocab_path"],
            "old_size": asked["previous_vocab_size"],
            "buckets": asked["current_oov_buckets"],
            "missing": asked["initializer"],
            "axis": asked["axis"],
        }
        parts = var if isinstance(var, list) else [var]
        name = asked["prev_tensor_name"]
        if not name and not isinstance(parts[0], saver.BaseSaverBuilder.SaveableObject):
            name = warm_starting_util._infer_var_name(parts)
        if not remap(parts, asked["prev_ckpt"], name, vocabulary):
            by_vocabulary(var, *positional, **named)

    def named(variable: Any, name: str | None = None) -> tuple[str, Any]:
        known = name_of(variable) if isinstance(variable, list) else None
        pair: tuple[str, Any] = info(variable, name) if known is None else (name or known, variable)
        return pair

    warm_starting_util._get_var_info = named
    checkpoint_utils._init_from_checkpoint = initialized
    warm_starting_util._warm_start_var_with_vocab = remapped
    warm_starting_util._get_grouped_variables = grouped


def extend_savers(reader: Callable[[Any, list[Any]], dict[int, list[Any]]]) -> None:
    """Let `reader` provide the first tensors that Savers restore for some items, instead of reading them by name.

    It gets the checkpoint prefix and all items, and returns these tensors by the items' numbers.
    """
    builder: Any = saver.BulkSaverBuilder
    read_all = builder.bulk_restore

    def restored(self: Any, prefix: Any, items: Any, *settings: Any) -> list[Any]:
        first = reader(prefix, items)
        rest = [_Specs(item.specs[len(first.get(number, ())) :]) for number, item in enumerate(items)]
        tensors = iter(read_all(self, prefix, rest, *settings) if any(one.specs for one in rest) else ())
        return [
            tensor
            for number, one in enumerate(rest)
            for tensor in (*first.get(number, ()), *itertools.islice(tensors, len(one.specs)))
        ]

    builder.bulk_restore = restored


@dataclass(frozen=True)
class _Specs:
    """A saveable object reduced to its specs, which say what to read."""

    specs: list[Any]


def replace_saver(change: Callable[[Any, str, Any], None], kind: type) -> None:
    """Let TensorFlow's sessions and hooks create Savers of class `kind`, installed by `change(module, name, value)`."""
    change(saver, "Saver", kind)


def time_checkpoints(
    change: Callable[[Any, str, Any], None],
    timer: Callable[[int | None], Any],
    saving: Callable[[Any, Any], AbstractContextManager[None]],
) -> None:
    """Let `timer` return the timers of CheckpointSaverHooks (None: keep the hook's own), installed by `change`.

    It gets the number of steps between saves, or None if the hook saves by seconds. Hooks save inside of the context
    `saving(saver, timer)`.
    """
    hook: Any = tf.compat.v1.train.CheckpointSaverHook
    begin, save = hook.begin, hook._save

    @functools.wraps(begin)
    def begun(self: Any) -> None:
        begin(self)
        self._timer = timer(self._timer._every_steps) or self._timer

    @functools.wraps(save)
    def saved(self: Any, session: Any, step: int) -> Any:
        with saving(self._get_saver(), self._timer):
            return save(self, session, step)

    change(hook, "begin", begun)
    change(hook, "_save", saved)


def choose_exported_saver(change: Callable[[Any, str, Any], None], choose: Callable[[Any], Any]) -> None:
    """Let `choose` return, for a given Saver, the one that a SavedModel is written with; None keeps the given one."""
    builder: Any = tf.compat.v1.saved_model.Builder
    make = builder._maybe_create_saver

    @functools.wraps(make)
    def create_saver(self: Any, saver: Any = None) -> Any:
        return make(self, choose(saver))

    change(builder, "_maybe_create_saver", create_saver)


def change_exports(change: Callable[[Any], None]) -> None:
    """Let `change` edit the GraphDef of each SavedModel that a session writes, before it is stored."""
    builder: Any = tf.compat.v1.saved_model.Builder
    add = builder._tag_and_add_meta_graph

    @functools.wraps(add)
    def added(self: Any, meta_graph: Any, *settings: Any, **named: Any) -> Any:
        change(meta_graph.graph_def)
        return add(self, meta_graph, *settings, **named)

    builder._tag_and_add_meta_graph = added


def explain_restores(explain: Callable[[tf.Graph | None, list[Any], str, str], str | None]) -> None:
    """Let `explain` return why a Saver cannot restore a checkpoint, in one sentence, or None.

    It gets the graph (None in eager mode), what the Saver restores, the path, and TensorFlow's message, which the
    sentence replaces.
    """
    restore = saver.Saver.restore

    @functools.wraps(restore)
    def restored(self: Any, session: Any, path: Any) -> Any:
        try:
            return restore(self, session, path)
        except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError) as error:
            listed = self._var_list.values() if isinstance(self._var_list, dict) else self._var_list
            reason = explain(getattr(session, "graph", None), list(listed or ()), str(path), str(error))
            if reason is None:
                raise
            failed = type(error)
        # TensorFlow's own message ends with the stack that built the op, and would hide the sentence.
        raise failed(None, None, reason)

    saver.Saver.restore = restored
