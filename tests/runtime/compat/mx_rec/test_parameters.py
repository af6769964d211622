"""Each argument of Rec SDK's functions has its effect, is refused, or is written down with a reason why not."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

from runtime.compat.mx_rec import modules, state
from runtime.compat.mx_rec.embedding import sparse_embedding
from runtime.compat.mx_rec.ranks import hccl, rank_ids
from tests.support.runtime.ignored import ignored
from tests.support.runtime.unread import unread

pytestmark = pytest.mark.one_version

_IGNORED = ignored("rec_sdk.md", "Without effect")

#: Their bodies name no arguments: `locals()` does, and a class that TensorFlow's takes all.
_TAKEN_TOGETHER = {"create_table", "averaging"}


def _functions() -> Iterator[tuple[str, str, Any]]:
    """Yield of the façade's functions the name in the list, that which scripts use, and the function."""
    for contents in modules.CONTENTS.values():
        for name, value in contents.items():
            if not getattr(value, "__module__", "").startswith("runtime.compat.mx_rec"):
                continue
            if inspect.isfunction(value):
                own = name if name.startswith("create_") else value.__name__
                yield (
                    own.removesuffix("ess").replace("_by_addr_", "_by_addr") if "_by_addr" in own else own,
                    name,
                    value,
                )
            elif inspect.isclass(value):
                for method in ("__init__", *(key for key in vars(value) if not key.startswith("_"))):
                    found = vars(value).get(method)
                    if inspect.isfunction(found):
                        own = name if method == "__init__" else f"{name}.{method}"
                        yield own, own, found
    pipeline_ops = type(modules.get_host_pipeline_ops())
    for method in ("set_threshold", "return_timestamp", "clear_channel"):
        yield f"PipelineOps.{method}", method, getattr(pipeline_ops, method)


def test_no_argument_is_dropped_without_a_word() -> None:
    dropped = {
        f"{own}({parameter})"
        for own, _, function in _functions()
        if own not in _TAKEN_TOGETHER
        for parameter in unread(function) - _IGNORED.get(own, set())
        # Hooks get what TensorFlow gives all of them.
        if parameter not in {"coord", "run_context", "run_values", "session"}
    }
    assert dropped == set(), "use each, refuse it, or say in docs/rec_sdk.md why it has no effect"


class _MadeError(Exception):
    """Has what a table would be made with."""


_DISK = {"host_vocabulary_size": 9, "ssd_vocabulary_size": 9}
_PADDING = {"padding_keys": 1, "padding_keys_mask": True, "padding_keys_len": 9}
#: Another value than that of `_PLAIN`, beside what it needs.
_OTHER: dict[str, tuple[Any, dict[str, Any]]] = {
    "key_dtype": (tf.int32, {}),
    "dim": (3, {}),
    "name": ("item", {}),
    "emb_initializer": (tf.compat.v1.ones_initializer(), {}),
    "device_vocabulary_size": (7, {}),
    "ssd_vocabulary_size": (7, {"host_vocabulary_size": 9}),
    "ssd_data_path": (["elsewhere"], _DISK),
    "is_save": (False, {}),
    "is_dp": (True, {}),
    "init_param": (0.5, {}),
    "all2all_gradients_op": ("sum_gradients_and_div_by_ranksize", {}),
    "enable_merge": (True, {}),
    "padding_keys": (2, _PADDING),
    "padding_keys_mask": (True, {}),
    "padding_keys_len": (0, _PADDING),
}
_PLAIN = {"key_dtype": tf.int64, "dim": 2, "name": "user", "emb_initializer": tf.compat.v1.zeros_initializer()}


def _made_with(given: dict[str, Any]) -> str:
    with tf.Graph().as_default():
        try:
            sparse_embedding.create_table(**_PLAIN | given)
        except _MadeError as made:
            return str(made)
        except (ValueError, RuntimeError) as error:
            return f"refused: {error}"
    raise AssertionError


def test_an_argument_of_a_table_has_its_effect_or_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*given: Any) -> None:
        raise _MadeError(given)

    monkeypatch.setattr(sparse_embedding, "new_table", made)
    monkeypatch.setattr(state.ConfigInitializer, "_instance", None)
    every = inspect.signature(sparse_embedding.create_table).parameters.keys()
    assert _OTHER.keys() == every - _IGNORED["create_table"]
    state.init()
    try:
        for argument, (value, needed) in _OTHER.items():
            found = _made_with({**needed, argument: value})
            assert found != _made_with(needed), argument
            assert not found.startswith("refused") or argument in found, found
    finally:
        state.forget()


@pytest.mark.parametrize("call", [hccl.allreduce, hccl.allgather, hccl.broadcast, hccl.reduce_scatter])
def test_other_groups_than_all_ranks_are_refused(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class _Two:
        size, rank = 2, 0

    monkeypatch.setattr(hccl, "current", _Two)
    monkeypatch.setattr("runtime.ranks.size", lambda: 2)
    for place in ({"group": "half"}, {"group": None, "fusion": 1}):
        if place["group"] is not None:
            with pytest.raises(ValueError, match="the group 'half'"):
                call([1.0], **place)
    with pytest.raises(ValueError, match="the group 'half'"):
        rank_ids.get_rank_id("half")
