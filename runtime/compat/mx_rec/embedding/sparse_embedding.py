"""`create_table` and its classes of tables: all are tables of the runtime, with Rec SDK's properties."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import tensorflow as tf

from runtime import _validation
from runtime.compat.mx_rec.constants import ASCAnchorAttr
from runtime.compat.mx_rec.ranks.rank_ids import get_rank_size
from runtime.compat.mx_rec.state import ConfigInitializer, state_of
from runtime.storage.tiers import Device, Storage
from runtime.table import arguments
from runtime.table import arguments as table_arguments
from runtime.table.create import new_table
from runtime.table.status import status
from runtime.table.table import Table

__all__ = [
    "BaseSparseEmbedding",
    "ExternalStorageSparseEmbedding",
    "HBMDynamicSparseEmbedding",
    "HBMSparseEmbedding",
    "MergeableSparseEmbedding",
    "create_table",
]

_log = logging.getLogger("runtime")
_MERGED = "mergeable_table_"
#: Keywords of older releases, which are ignored.
_OLDER = {"optimizer_list", "mode", "apply_gradients_strategy", "use_merge_table", "use_dynamic_expansion"}


_device: Device | None = None
#: The default directory for rows on disk.
_SSD_DATA_PATH = (os.getcwd(),)  # noqa: PTH109
#: Defaults of arguments that are checked, and change nothing.
_NO_EFFECT = {"shard_num": 1, "fusion_optimizer_var": True, "hashtable_threshold": 0}


def place_rows(device: Device | None) -> None:
    """Set where tables without dynamic expansion that are made from now on have rows (`install(hbm_device=...)`)."""
    global _device
    _device = device


def _argument(name: str, what: str) -> Any:
    """Return a property: an argument of `create_table`."""
    return property(lambda self: self.created_with[name], doc=what)


def _slice_of(name: str, what: str) -> Any:
    """Return a property: the share that one rank has of a size."""

    def share(self: Any) -> int:
        size = int(getattr(self, name))
        return size if self.is_dp else -(-size // self.rank_size)

    return property(share, doc=what)


class BaseSparseEmbedding(Table):
    """A table with the properties of Rec SDK's tables."""

    is_hbm: ClassVar[bool] = True

    def __init__(self, arguments: table_arguments.TableArguments, *rest: Any) -> None:
        """Create the table; call `create_table` instead."""
        #: The arguments of `create_table`.
        self.created_with: Mapping[str, Any] = {}
        self.send_count = 0
        super().__init__(arguments, *rest)

    @property
    def ext_emb_size(self) -> int:
        """Values per row; if rows are moved with their slots, including those of the current optimizer."""
        optimizer = ConfigInitializer.get_instance().optimizer_config.optimizer_instance
        slots = 0 if self.is_hbm or optimizer is None else len(optimizer.starts)
        return self.dim * (1 + slots)

    @property
    def rank_size(self) -> int:
        """The number of processes."""
        return get_rank_size()

    @property
    def padding_keys_mask(self) -> bool:
        """Whether there are padding keys."""
        return bool(self.padding_keys)

    is_dp = _argument("is_dp", "Whether each rank has all rows.")
    padding_keys_len = _argument("padding_keys_len", "The most distinct ids of a batch, given with the padding keys.")
    ssd_vocabulary_size = _argument("ssd_vocabulary_size", "Rows on disk, over all ranks.")
    host_vocabulary_size = _argument("host_vocabulary_size", "Rows in host memory, over all ranks.")
    ssd_data_path = _argument("ssd_data_path", "The directories for rows on disk.")
    slice_device_vocabulary_size = _slice_of("device_vocabulary_size", "Rows on the device of one rank.")
    slice_host_vocabulary_size = _slice_of("host_vocabulary_size", "Rows in host memory of one rank.")
    slice_ssd_vocabulary_size = _slice_of("ssd_vocabulary_size", "Rows on disk of one rank.")

    @property
    def multi_lookup_times(self) -> dict[bool, int]:
        """The number of lookups for training (True) and for evaluation (False) in the table's graph."""
        counted = state_of(self.graph).lookups
        return {mode: counted.get((self.table_name, mode), 0) for mode in (True, False)}

    @property
    def use_static(self) -> bool:
        """Whether all batches have the same shape (`init(use_dynamic=False)`)."""
        return ConfigInitializer.get_instance().use_static

    @property
    def most_rows(self) -> int | None:
        """The maximum number of rows in this process; None means no limit."""
        return None

    def count(self) -> tf.Tensor:
        """Return the number of rows as an int64 scalar, counted when the tensor is evaluated."""
        return super().size()

    def size(self) -> Any:
        """Return the number of rows in use as an int, counted now in all sessions of the process with this table."""
        counts = [one.rows for one in status().tables if one.name == self.table_name]
        return counts[-1] if counts else 0

    @staticmethod
    def get_anchor_attribute(anchor: Any, attr: Any) -> Any:
        """Return an attribute of the ids of a lookup with `modify_graph=True`.

        Raises:
            TypeError: `anchor` is not a tensor.
            ValueError: `attr` is not an ASCAnchorAttr.
            KeyError: no lookup reads this tensor, or the attribute is unknown.
        """
        if not isinstance(anchor, tf.Tensor):
            raise TypeError(f"an anchor must be a tensor of ids: got {anchor!r}")
        if not isinstance(attr, ASCAnchorAttr):
            raise ValueError(f"attr must be a member of ASCAnchorAttr: got {attr!r}")
        known = state_of(anchor.graph).anchors.get(anchor.name)
        if known is None or attr.value not in known:
            raise KeyError(f"{attr.value!r} of {anchor.name} is unknown: give the ids of a lookup")
        return known[attr.value]


class HBMSparseEmbedding(BaseSparseEmbedding):
    """A table with all rows in memory, up to the size that it was created with."""

    @property
    def most_rows(self) -> int | None:
        """The maximum number of rows on this rank."""
        return int(self.slice_device_vocabulary_size)


class HBMDynamicSparseEmbedding(BaseSparseEmbedding):
    """A table that is trained by addresses (`init(use_dynamic_expansion=True)`)."""

    def capacity(self) -> int:
        """Return the number of rows in use; the only limit is memory."""
        return int(self.size())


class MergeableSparseEmbedding(HBMDynamicSparseEmbedding):
    """A table that Rec SDK would merge with others of its kind; here each has its own rows."""


class ExternalStorageSparseEmbedding(BaseSparseEmbedding):
    """A table with rows in memory and, with `ssd_vocabulary_size`, on disk."""

    is_hbm: ClassVar[bool] = False

    def capacity(self) -> int:
        """Return the number of rows that host memory and disk are configured for."""
        return int(self.host_vocabulary_size + self.ssd_vocabulary_size)


def create_table(
    key_dtype: Any,
    dim: Any,
    name: str,
    emb_initializer: Any,
    device_vocabulary_size: int = 1,
    host_vocabulary_size: int = 0,
    ssd_vocabulary_size: int = 0,
    ssd_data_path: Sequence[str] = _SSD_DATA_PATH,
    is_save: bool = True,
    is_dp: bool = False,
    init_param: float = 1.0,
    all2all_gradients_op: str = "sum_gradients",
    enable_merge: bool = False,
    padding_keys: Any = None,
    padding_keys_mask: bool = False,
    padding_keys_len: int | None = None,
    value_dtype: Any = tf.float32,
    shard_num: int = 1,
    fusion_optimizer_var: bool = True,
    hashtable_threshold: int = 0,
    **older: Any,
) -> BaseSparseEmbedding:
    """Create a table in the current v1 graph; its class says where its rows are.

    Keywords of older releases (`optimizer_list` and others) are ignored.

    Raises:
        ValueError: an argument has a wrong type, range or combination, or the graph already has the name.
        RuntimeError: `enable_merge` without dynamic expansion, or eager mode is on.
        EnvironmentError: before `init`, or a new name after the pipeline was started.
        TypeError: a keyword is unknown.
    """
    arguments = {key: value for key, value in locals().items() if key != "older"}
    unknown = sorted(set(older) - _OLDER)
    if unknown:
        raise TypeError(f"create_table() got an unexpected keyword argument {unknown[0]!r}")
    instance = ConfigInitializer.get_instance()
    _check(arguments)
    if value_dtype != tf.float32:
        raise ValueError(f"`value_dtype` must be tf.float32: got {value_dtype!r}")
    if isinstance(emb_initializer, type) or not callable(emb_initializer):
        raise ValueError(
            f"Invalid parameter type of para `emb_initializer`: got {emb_initializer!r}, must be an instance of a "
            "TensorFlow initializer"
        )
    kind = _kind(arguments, instance.use_dynamic_expansion)
    clean = _free_name(name, kind, instance)
    if tf.executing_eagerly():
        raise RuntimeError(
            f"the table `{clean}` cannot be created in eager mode: call tf.compat.v1.disable_eager_execution() first, "
            "as Rec SDK's programs do"
        )
    table = new_table(_arguments({**arguments, "name": clean}, kind, instance.use_dynamic_expansion), kind)
    assert isinstance(table, BaseSparseEmbedding)
    table.created_with = arguments
    instance.sparse_embed_config.insert(table)
    collection = instance.train_params_config.ascend_global_hashtable_collection
    if table.variable not in tf.compat.v1.get_collection(collection):
        tf.compat.v1.add_to_collection(collection, table.variable)
    return table


def _arguments(
    arguments: Mapping[str, Any], kind: type[BaseSparseEmbedding], expands: bool
) -> table_arguments.TableArguments:
    """Return the arguments of the runtime's table."""
    own = {
        "max_bytes": None,
        "when_full": "error",
        "device": None if expands else _device,
        "storage": _storage(arguments) if kind is ExternalStorageSparseEmbedding else None,
        "placement": "replicated" if arguments["is_dp"] else "distributed",
    }
    return dataclasses.replace(table_arguments.checked({**arguments, **own}), expands=expands)


def _kind(arguments: Mapping[str, Any], expands: bool) -> type[BaseSparseEmbedding]:
    """Return the class for the settings, checked in Rec SDK's order."""
    if arguments["enable_merge"]:
        if not expands:
            raise RuntimeError("enable_merge=True needs init(use_dynamic_expansion=True)")
        return MergeableSparseEmbedding
    if expands:
        return HBMDynamicSparseEmbedding
    return ExternalStorageSparseEmbedding if arguments["host_vocabulary_size"] else HBMSparseEmbedding


def _free_name(name: str, kind: type[BaseSparseEmbedding], instance: ConfigInitializer) -> str:
    clean = table_arguments.table_name(name)
    if kind is MergeableSparseEmbedding and clean.startswith(_MERGED):
        raise ValueError(f"a table with enable_merge=True must not be called {_MERGED}...: rename `{name}`")
    if instance.hybrid_manager_config.freeze and clean not in instance.sparse_embed_config.names:
        raise OSError(f"the pipeline was started without the table `{clean}`: create all tables before it")
    return clean


def _storage(arguments: Mapping[str, Any]) -> Storage | None:
    """Return the storage for rows on disk; rows that Rec SDK keeps in host memory are in memory."""
    if not arguments["ssd_vocabulary_size"]:
        return None
    rows = arguments["device_vocabulary_size"] + arguments["host_vocabulary_size"]
    (folder, *others) = arguments["ssd_data_path"] or (Path.cwd(),)
    if others:
        _log.warning("create_table(%r): only %r of ssd_data_path is used", arguments["name"], folder)
    width = arguments["dim"].as_list()[0] if isinstance(arguments["dim"], tf.TensorShape) else arguments["dim"]
    values_and_slots = 3 * width * 4
    return Storage("dram_ssdhash", path=str(folder), sizes=[max(1 << 20, rows * values_and_slots)])


def _check(values: Mapping[str, Any]) -> None:
    """Check all arguments; those that have no effect are logged.

    Raises:
        ValueError: a type, range or combination is wrong.
    """
    arguments.check_rules(values)
    _validation.integer("host_vocabulary_size", values["host_vocabulary_size"], 0, arguments.MAX_ROWS)
    _validation.integer("ssd_vocabulary_size", values["ssd_vocabulary_size"], 0, arguments.MAX_ROWS)
    if values["ssd_vocabulary_size"] > 0 and values["host_vocabulary_size"] == 0:
        raise ValueError(
            "`ssd_vocabulary_size` needs a `host_vocabulary_size` above 0, because the SSD tier is below the host's"
        )
    _validation.integer("shard_num", values["shard_num"], 1, 8192)
    _validation.integer("hashtable_threshold", values["hashtable_threshold"], 0)
    for flag in ("is_dp", "enable_merge", "padding_keys_mask", "fusion_optimizer_var"):
        _validation.boolean(flag, values[flag])
    _validation.kind("ssd_data_path", values["ssd_data_path"], (list, tuple), "a list or tuple of str")
    for path in values["ssd_data_path"]:
        _validation.text("ssd_data_path", path, 1024)
    _check_padding(values)
    for argument, default in _NO_EFFECT.items():
        if values[argument] != default:
            _log.info("create_table(%r): %s has no effect in this runtime", values["name"], argument)


def _check_padding(values: Mapping[str, Any]) -> None:
    keys, length = values["padding_keys"], values["padding_keys_len"]
    if keys is not None and length is None:
        raise ValueError("`padding_keys` needs `padding_keys_len`: give the largest number of distinct ids of a batch")
    if (keys is not None) != values["padding_keys_mask"]:
        raise ValueError("`padding_keys_mask` must be True if and only if `padding_keys` is given")
    if length is not None:
        _validation.integer("padding_keys_len", length, 1)
