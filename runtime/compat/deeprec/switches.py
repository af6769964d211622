"""DeepRec's fields of `tf.ConfigProto`, which stock TensorFlow's message lacks: `tf.ConfigProto()` wraps it.

Most fields only make DeepRec faster and are accepted; `micro_batch_num` changes what a step computes.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.compat.deeprec import micro_batches

v1: Any = tf.compat.v1
_stock: Any = v1.ConfigProto
_Message: Any = _stock.__mro__[1]
_FASTER = "it changes no result, and has nothing to speed up here"
#: Fields without effect, by name, with the reason.
TAKEN: dict[str, str] = {
    "do_op_fusion": _FASTER,
    "do_smart_stage": _FASTER,
    "do_smart_stage_gpu": _FASTER,
    "stage_subgraph_on_cpu": _FASTER,
    "stage_multi_stream": _FASTER,
    "use_multi_stream": _FASTER,
    "executor_policy": _FASTER,
    "session_stage_subgraph_thread_pool": _FASTER,
    "do_async_embedding": "rows are looked up in the step itself, so they are never those of the previous step",
    "async_embedding_options": "as `do_async_embedding`",
}
#: Fields that change what a step computes, with the function that is told of the value.
_HEEDED: dict[str, Callable[[Any], None]] = {"micro_batch_num": micro_batches.wanted}


class ExecutorPolicy:
    """DeepRec's policies to run the ops of a graph; they have no effect."""

    USE_NORMAL_EXECUTOR, USE_COST_MODEL_EXECUTOR, USE_INLINE_EXECUTOR = range(3)


class _Options:
    """Options without effect; any field can be set."""


class _Wrapped:
    """A protobuf message with DeepRec's fields in addition to its own."""

    def __init__(self, message: Any) -> None:
        vars(self).update(_message=message, _more={})

    def __getattr__(self, name: str) -> Any:
        message, more = vars(self)["_message"], vars(self)["_more"]
        if name in message.DESCRIPTOR.fields_by_name or not (name in TAKEN or name in _HEEDED):
            value = getattr(message, name)
            return more.setdefault(name, _Wrapped(value)) if isinstance(value, _Message) else value
        return more.setdefault(name, _Options() if name.endswith("options") else 0)

    def __setattr__(self, name: str, value: Any) -> None:
        fields = vars(self)["_message"].DESCRIPTOR.fields_by_name
        if name in _HEEDED and name not in fields:
            _HEEDED[name](value)
        elif name not in TAKEN or name in fields:
            setattr(vars(self)["_message"], name, value)
            return
        vars(self)["_more"][name] = value

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        wrapped = type(self)(copy.deepcopy(vars(self)["_message"], memo))
        return wrapped

    def __repr__(self) -> str:
        return repr(vars(self)["_message"])

    def __eq__(self, other: object) -> bool:
        return bool(_plain(self) == _plain(other))

    __hash__ = None  # type: ignore[assignment]  # as in messages


class ConfigProto(_Wrapped):
    """TensorFlow's ConfigProto that also accepts DeepRec's fields."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the message's fields, or a message."""
        if args:
            super().__init__(args[0])
            return
        own = {name: kwargs.pop(name) for name in list(kwargs) if name in TAKEN or name in _HEEDED}
        super().__init__(_stock(**{name: _plain(value) for name, value in kwargs.items()}))
        for name, value in own.items():
            setattr(self, name, value)

    @property
    def __class__(self) -> Any:
        """The class of the message, for code that checks it."""
        return _stock

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError(f"the class of a tf.ConfigProto cannot become {value!r}")


def unwrapping(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Return an `__init__` that unwraps arguments which wrap a message."""

    @functools.wraps(stock)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        stock(self, *map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})
        if isinstance(self, v1.Session | v1.InteractiveSession):
            for argument in (*args, *kwargs.values()):
                micro_batches.require(self.graph, _micro_batches(argument))

    return init


def _micro_batches(value: Any) -> int:
    """Return the number of batches of a step that a configuration asks for."""
    for name in ("graph_options", "optimizer_options"):
        value = vars(value)["_more"].get(name) if issubclass(type(value), _Wrapped) else None
    return 0 if value is None else int(value.micro_batch_num)


def _plain(value: Any) -> Any:
    return vars(value)["_message"] if issubclass(type(value), _Wrapped) else value
