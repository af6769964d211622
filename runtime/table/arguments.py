"""Arguments of `create_table`, checked."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _validation, config
from runtime.ranks import placements
from runtime.ranks.planning.plan import Plan
from runtime.ranks.process_group import refuse_several
from runtime.storage.buckets import Buckets, buckets_of
from runtime.storage.tiers import KINDS, Device, Storage, device_of, log_compaction
from runtime.table.clusters.servers import Shard
from runtime.table.variable_places import checked_place

_log = logging.getLogger("runtime")

_MAX_DIM = 8192
MAX_ROWS = 10**9
_SUM, _MEAN = "sum_gradients", "sum_gradients_and_div_by_ranksize"


@dataclass(frozen=True)
class TableArguments:
    """The arguments that a table keeps."""

    key_dtype: tf.DType
    dim: int
    name: str
    emb_initializer: Any
    device_vocabulary_size: int
    is_save: bool
    init_param: float
    padding_keys: tuple[int, ...] = ()
    expands: bool = False
    max_bytes: int | None = None
    when_full: str = "error"
    storage: Storage | None = None
    placement: str = "distributed"
    device: Device | None = None
    value_dtype: tf.DType = tf.float32
    #: How ids divide into the rows of the base (runtime.policy.base); None: new rows begin with the initializer.
    base_buckets: Buckets | None = None
    #: Whether lookups divide the gradients of rows, which are summed over ranks, by the number of ranks.
    averages: bool = False
    #: Whether optimizers train it; else lookups have no gradient for it.
    trainable: bool = True
    #: The name of the table whose columns it has a part of; "" if its rows are whole.
    columns_of: str = ""
    #: The name of the `tf.Variable` that it replaces: as it was given, then as the graph has numbered it.
    in_place_of: str = ""
    #: Its shards on parameter servers: of a shard its own, of a table of this process none.
    servers: tuple[Shard, ...] = ()

    @property
    def options(self) -> str:
        """Further options of the native table, as `name=value;…`."""
        options = {
            "padding_keys": ",".join(map(str, self.padding_keys)),
            "expansion": "1" if self.expands else "",
            "max_bytes": str(self.max_bytes or ""),
            "when_full": "evict" if self.when_full == "evict" else "",
            "buckets": "" if self.base_buckets is None else self.base_buckets.option,
            "values": "" if self.value_dtype == tf.float32 else self.value_dtype.name,
            **({} if self.storage is None else self.storage.options),
            **({} if self.device is None else self.device.options(self.device_vocabulary_size)),
        }
        return ";".join(f"{name}={value}" for name, value in options.items() if value)


def checked(arguments: Mapping[str, Any]) -> TableArguments:
    """Return the checked arguments of `create_table`.

    Raises:
        ValueError: see `create_table`.
    """
    check_rules(arguments)
    return TableArguments(
        key_dtype=tf.as_dtype(arguments["key_dtype"]),
        dim=_dim(arguments["dim"]),
        name=table_name(arguments["name"]),
        emb_initializer=arguments["emb_initializer"],
        device_vocabulary_size=int(arguments["device_vocabulary_size"]),
        is_save=bool(arguments["is_save"]),
        init_param=_validation.real("init_param", arguments["init_param"], -10, 10),
        padding_keys=_padding_keys(arguments["padding_keys"]),
        expands=config.use_dynamic_expansion(),
        max_bytes=None
        if arguments["max_bytes"] is None
        else _validation.integer("max_bytes", arguments["max_bytes"], 1, 2**60),
        when_full=_when_full(arguments),
        storage=_storage(arguments),
        placement=_placement(arguments),
        device=_device(arguments),
        value_dtype=_value_dtype(arguments),
        base_buckets=buckets_of(arguments.get("base_buckets")),
        averages=arguments["all2all_gradients_op"] == _MEAN,
        trainable=_trainable(arguments),
        in_place_of=checked_place(arguments.get("in_place_of")),
    )


def checked_trainable(trainable: Any) -> bool:
    """Return whether a table is trainable; None means True, as for variables.

    Raises:
        ValueError: it is no bool, 0 or 1.
    """
    if trainable is None:
        return True
    _validation.kind("trainable", trainable, (bool, np.bool_, int), "a bool or None")
    return bool(trainable)


def _trainable(arguments: Mapping[str, Any]) -> bool:
    trainable = checked_trainable(arguments.get("trainable"))
    if not trainable and (arguments["device"] is not None or config.use_dynamic_expansion()):
        other = "`device`" if arguments["device"] is not None else "init(use_dynamic_expansion=True)"
        raise ValueError(f"`trainable=False` and {other} exclude each other: leave {other} out")
    return trainable


def _placement(arguments: Mapping[str, Any]) -> str:
    """Return the placement, perhaps of a plan."""
    placement = arguments["placement"]
    if isinstance(placement, Plan):
        name = table_name(arguments["name"])
        if name not in placement:
            raise ValueError(f"the plan has no table `{name}`: it has {', '.join(placement)}")
        placement = placement[name]
    return placements.check_placement(placement)


def check_rules(arguments: Mapping[str, Any]) -> None:
    """Check types and ranges that Rec SDK's tables and those of the runtime have in common.

    Raises:
        ValueError: a type or range is wrong.
    """
    if arguments["key_dtype"] not in (tf.int64, tf.int32):
        raise ValueError(f"`key_dtype` must be tf.int64 or tf.int32: got {arguments['key_dtype']!r}")
    _validation.integer("device_vocabulary_size", arguments["device_vocabulary_size"], 1, MAX_ROWS)
    _validation.boolean("is_save", arguments["is_save"])
    # In a single process both are equal, because the number of ranks is 1.
    _validation.option("all2all_gradients_op", arguments["all2all_gradients_op"], (_SUM, _MEAN))
    keys = arguments["padding_keys"]
    if keys is not None:
        _validation.kind("padding_keys", keys, (int, list), "an int or a list of int")
        for key in [keys] if isinstance(keys, int) else keys:
            _validation.integer("padding_keys", key, -(2**63), 2**63 - 1)


def table_name(name: Any) -> str:
    """Return the name without the characters that Rec SDK removes (all but letters, digits and underscore).

    Raises:
        ValueError: it is not a str of 1 to 100 characters, no character is left, or it starts with an underscore, which
            no op name may.
    """
    _validation.text("name", name, 100)
    clean = re.sub(r"[^0-9A-Za-z_]", "", name)
    if not clean:
        raise ValueError(f"the table name {name!r} has no letter, digit or underscore: choose another")
    if clean.startswith("_"):
        raise ValueError(
            f"the table name {name!r} starts with an underscore, which no TensorFlow op name may: choose another"
        )
    if clean != name:
        _log.warning("the table name %r has characters other than letters, digits and _: %r is used", name, clean)
    return clean


def _dim(dim: Any) -> int:
    if isinstance(dim, tf.TensorShape):
        if dim.rank != 1 or not dim.is_fully_defined():
            raise ValueError(f"`dim` must be an int or a TensorShape of one known dimension: got {dim}")
        (dim,) = dim.as_list()
    return _validation.integer("dim", dim, 1, _MAX_DIM)


def _padding_keys(keys: int | list[int] | None) -> tuple[int, ...]:
    if keys is None:
        return ()
    return tuple(dict.fromkeys([keys] if isinstance(keys, int) else map(int, keys)))


def _when_full(arguments: Mapping[str, Any]) -> str:
    choice: str = arguments["when_full"]
    _validation.option("when_full", choice, ("error", "evict"))
    if choice == "evict" and arguments["max_bytes"] is None:
        raise ValueError("`when_full='evict'` needs `max_bytes`: a table without a limit is never full")
    return choice


def _storage(arguments: Mapping[str, Any]) -> Storage | None:
    storage: Storage | None = arguments["storage"]
    if storage is None:
        return None
    _validation.kind("storage", storage, Storage, "a runtime.Storage or None")
    if storage.tiered and arguments["max_bytes"] is not None:
        raise ValueError("`max_bytes` and `storage` exclude each other: give the tiers their `sizes` instead")
    if storage.tiered and config.use_dynamic_expansion():
        raise ValueError(
            "`storage` with tiers and init(use_dynamic_expansion=True) exclude each other, because rows that move "
            "between tiers lose their addresses: use one of them"
        )
    if "log" in KINDS[storage.kind]:
        log_compaction()
    return storage


def _device(arguments: Mapping[str, Any]) -> Device | None:
    device = device_of(arguments["device"])
    if device is None:
        return None
    if arguments["max_bytes"] is not None:
        raise ValueError("`device` and `max_bytes` exclude each other: give `storage` a size of the host's memory")
    if config.use_dynamic_expansion():
        raise ValueError(
            "`device` and init(use_dynamic_expansion=True) exclude each other, because rows that move have no fixed "
            "address: use one of them"
        )
    refuse_several(arguments["name"], "has rows on a device")
    return device


def checked_value_dtype(dtype: Any) -> tf.DType:
    """Return the type that rows are stored as.

    Raises:
        ValueError: it is none of float32, bfloat16 and float16.
    """
    for known in (tf.float32, tf.bfloat16, tf.float16):
        if dtype in (known, known.name):
            return known
    raise ValueError(f"`value_dtype` must be tf.float32, tf.bfloat16 or tf.float16: got {dtype!r}")


def _value_dtype(arguments: Mapping[str, Any]) -> tf.DType:
    dtype = checked_value_dtype(arguments["value_dtype"])
    if dtype == tf.float32:
        return dtype
    if arguments["device"] is not None:
        raise ValueError(
            f"`value_dtype` {dtype.name} and `device` exclude each other, because rows on a device are float32: use "
            "one of them"
        )
    if config.use_dynamic_expansion():
        raise ValueError(
            f"`value_dtype` {dtype.name} and init(use_dynamic_expansion=True) exclude each other, because rows that "
            "have addresses are float32: use one of them"
        )
    return dtype
