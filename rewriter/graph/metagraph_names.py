"""References from a MetaGraph to ops of its graph: collections, signatures, the Saver's names, assets."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError, Message
from tensorflow.core.framework import variable_pb2
from tensorflow.core.protobuf import queue_runner_pb2, saver_pb2

from rewriter.graph.control_flow import CONTEXTS

_KEYS = tf.compat.v1.GraphKeys
#: The message types in collections that do not hold variables.
_MESSAGES = {
    **CONTEXTS,
    _KEYS.QUEUE_RUNNERS: queue_runner_pb2.QueueRunnerDef,
    _KEYS.SAVERS: saver_pb2.SaverDef,
}


def named_ops(meta: Any, ops: Collection[str]) -> dict[str, str]:
    """Return which of `ops` a MetaGraphDef refers to from outside its graph, and what refers to each first.

    Membership in the context of a branch or loop does not count; being the op that begins or ends it does.
    """
    names: dict[str, str] = {}
    for text, where in _names(meta, ops):
        op = op_of(text)
        if op in ops:
            names.setdefault(op, where)
    return names


def op_of(name: str) -> str:
    """Return the op of a tensor name, a control input or an op name."""
    return name.removeprefix("^").partition(":")[0]


def variable_in(value: bytes) -> Any:
    """Return the VariableDef in the bytes of a collection item; None if they are something else."""
    try:
        definition = variable_pb2.VariableDef.FromString(value)
    except DecodeError:
        return None
    return definition if definition.variable_name and definition.initializer_name else None


def _names(meta: Any, ops: Collection[str]) -> Iterator[tuple[str, str]]:
    for key, signature in meta.signature_def.items():
        yield from ((text, f"the signature `{key}`") for text in _texts(signature))
    for key, collection in meta.collection_def.items():
        yield from ((text, f"the collection `{key}`") for text in _collected(key, collection, ops))
    for part, where in ((meta.saver_def, "the Saver"), *((asset, "an asset") for asset in meta.asset_file_def)):
        yield from ((text, where) for text in _texts(part))


def _collected(key: str, collection: Any, ops: Collection[str]) -> Iterator[str]:
    yield from collection.node_list.value
    for value in collection.any_list.value:
        yield from _mentioned(value.value, ops)
    for value in collection.bytes_list.value:
        message = _MESSAGES[key].FromString(value) if key in _MESSAGES else variable_in(value)
        yield from _mentioned(value, ops) if message is None else _texts(message)


def _mentioned(value: bytes, ops: Collection[str]) -> Iterator[str]:
    """Search bytes of unknown format for names of ops; it may find too many, never too few."""
    text = value.decode("utf-8", errors="replace")
    return (op for op in ops if op in text)


def _texts(message: Message) -> Iterator[str]:
    """Yield all strings in a message and its submessages."""
    for field, value in message.ListFields():
        if field.name == "values_def":
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            parts = list(value.values()) if hasattr(value, "values") else []
        else:
            parts = list(value) if _repeated(field, value) else [value]
        for part in parts:
            if isinstance(part, str):
                yield part
            elif isinstance(part, Message):
                yield from _texts(part)


def _repeated(field: Any, value: Any) -> bool:
    return not isinstance(value, (str, bytes, Message)) and hasattr(value, "__len__")
