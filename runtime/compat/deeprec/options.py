"""DeepRec's option objects: their arguments, defaults and errors."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from runtime.compat.deeprec import config_pb2

__all__ = [
    "CBFFilter",
    "CheckpointOption",
    "CounterFilter",
    "EmbeddingVariableOption",
    "GlobalStepEvict",
    "InitializerOption",
    "L2WeightEvict",
    "StorageOption",
]

_log = logging.getLogger("runtime")
_TIER = 1024 * 1024 * 1024
_TIERS = 4
_Types = config_pb2.StorageType
# DeepRec only checks types without a second memory tier, and could not open the others.
_ON_DISK = [number for name, number in _Types.items() if "SSDHASH" in name or "LEVELDB" in name]
_COUNTERS = {tf.uint8: 8, tf.uint16: 16, tf.uint32: 32, tf.uint64: 64}
_COUNTERS |= {tf.int8: 8, tf.int16: 16, tf.int32: 32, tf.int64: 64}  # also used by programs


@dataclass(eq=False)
class StorageOption:
    """Storage of rows: a `config_pb2.StorageType`, the directory of its disk tier, the bytes of each tier."""

    storage_type: int | None = None
    storage_path: str | None = None
    storage_size: Any = None
    cache_strategy: int = config_pb2.CacheStrategy.LFU
    layout: Any = None

    def __post_init__(self) -> None:
        """Let each tier without a size have 1 GiB, and create the directory.

        Raises:
            ValueError: sizes are not a list of positive ints, the type or strategy is unknown, there is a path without
                a type, or a type with a disk tier without a path.
        """
        kind, path, sizes = self.storage_type, self.storage_path, self.storage_size
        sizes = [_TIER] if sizes is None else sizes
        if not isinstance(sizes, list):
            raise ValueError(f"storage_size should be list type: got {sizes!r}")
        if any(not isinstance(size, int) or isinstance(size, bool) or size < 1 for size in sizes):
            raise ValueError(f"storage_size {sizes!r} must hold the bytes of each tier, ints of 1 or more")
        if kind is not None and kind not in _Types.values():
            raise ValueError(f"storage_type {kind!r} is not a config_pb2.StorageType: {_Types.items()}")
        if self.cache_strategy not in config_pb2.CacheStrategy.values():
            known = config_pb2.CacheStrategy.items()
            raise ValueError(f"cache_strategy {self.cache_strategy!r} is no config_pb2.CacheStrategy: {known}")
        if path is not None and kind is None:
            raise ValueError("storage_type must not be None when storage_path is set")
        if path is None and kind in _ON_DISK:
            raise ValueError(f"storage_path must not be None when storage_type is {_Types.Name(kind)}")
        if path is not None:
            Path(path).mkdir(parents=True, exist_ok=True)
        # A copy: DeepRec extends the caller's list, and with it its own default.
        self.storage_size = sizes + [_TIER] * (_TIERS - len(sizes))


@dataclass(eq=False)
class InitializerOption:
    """Initial rows: row floor-mod(key, default_value_dim) of a matrix that is drawn once."""

    initializer: Any = None
    default_value_dim: int = 4096
    default_value_no_permission: float = 0.0

    def __post_init__(self) -> None:
        """Let a `default_value_dim` that is not positive become the default, with a warning."""
        if self.default_value_dim <= 0:
            _log.warning("default_value_dim %r must be positive: it becomes 4096", self.default_value_dim)
            self.default_value_dim = 4096


@dataclass(eq=False)
class CheckpointOption:
    """A checkpoint from which the init op takes rows with their frequencies and versions; slots start afresh.

    `ckpt_to_load_from` is its path, or a directory, whose latest checkpoint is used; `tensor_name_in_ckpt` is the
    variable's name there (None: its own). With `always_load_from_specific_ckpt`, a Saver that restores another
    checkpoint also takes the rows from this one.
    """

    ckpt_to_load_from: str | None = None
    tensor_name_in_ckpt: str | None = None
    always_load_from_specific_ckpt: bool = False
    init_data_source: Any = None


@dataclass(eq=False)
class GlobalStepEvict:
    """Saving drops rows that were not updated for more than `steps_to_live` global steps; None drops nothing."""

    steps_to_live: int | None = None


@dataclass(eq=False)
class L2WeightEvict:
    """Saving drops rows with a half squared norm below `l2_weight_threshold`; -1 drops nothing."""

    l2_weight_threshold: float = -1.0

    def __post_init__(self) -> None:
        """Let another threshold that is not above 0 drop nothing either, with a warning."""
        if self.l2_weight_threshold <= 0 and self.l2_weight_threshold != -1.0:
            _log.warning("l2_weight_threshold %r must be greater than 0: no row is evicted", self.l2_weight_threshold)
        self.l2_weight_threshold = self.l2_weight_threshold if self.l2_weight_threshold > 0 else -1.0


@dataclass(eq=False)
class CounterFilter:
    """A key gets a row once it has occurred `filter_freq` times; 0: at once."""

    filter_freq: int = 0


@dataclass(eq=False)
class CBFFilter:
    """A `CounterFilter` that counts by a counting Bloom filter; without a probability, keys are counted exactly."""

    filter_freq: int = 0
    max_element_size: int = 0
    false_positive_probability: float = -1.0
    counter_type: Any = tf.uint64

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: the probability is not above 0, there is one without elements or elements without one, or the
                counter type is not an int.
        """
        if self.false_positive_probability != -1.0:
            if self.false_positive_probability <= 0.0:
                raise ValueError("false_positive_probability must larger than 0")
            if self.max_element_size <= 0:
                raise ValueError("max_element_size must larger than 0 when false_positive_probability is not -1.0")
        elif self.max_element_size != 0:
            raise ValueError("max_element_size can't be set when false_positive_probability is not set")
        if self.counter_type not in _COUNTERS:
            raise ValueError(f"counter_type {self.counter_type!r} must be an int type of TensorFlow")

    @property
    def counter_bits(self) -> int:
        """The number of bits of a counter; one of 64 bits saturates at 2**32 - 1 here."""
        return min(32, _COUNTERS[self.counter_type])


class EmbeddingVariableOption:
    """All options of an EmbeddingVariable."""

    def __init__(
        self,
        ht_type: str = "",
        ht_partition_num: int = 1000,
        evict_option: Any = None,
        ckpt: CheckpointOption | None = None,
        filter_option: Any = None,
        storage_option: StorageOption | None = None,
        init_option: InitializerOption | None = None,
    ) -> None:
        """Take the options; `ht_type` and `ht_partition_num` configure a hash table that does not exist here."""
        self.ht_type = ht_type
        self.ht_partition_num = ht_partition_num
        self.evict = evict_option
        self.ckpt = ckpt
        self.filter_strategy = filter_option
        self.storage_option = StorageOption() if storage_option is None else storage_option
        self.init = InitializerOption() if init_option is None else init_option
