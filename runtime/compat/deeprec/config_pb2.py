"""The enums of DeepRec's `tensorflow.core.framework.embedding.config_pb2`, with its numbers."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.internal import enum_type_wrapper

__all__ = ["CacheStrategy", "EmbeddingVariableType", "SlotType", "StorageType"]


def _enum(name: str, numbers: dict[str, int]) -> Any:
    """Return protobuf's wrapper of an enum with these numbers: `StorageType.DRAM`, `.Name(1)`, `.Value("DRAM")`."""
    file = descriptor_pb2.FileDescriptorProto(name=f"recmigrate/{name}.proto", package="recmigrate")
    enum = file.enum_type.add(name=name)
    for value, number in numbers.items():
        enum.value.add(name=value, number=number)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return enum_type_wrapper.EnumTypeWrapper(pool.FindEnumTypeByName(f"recmigrate.{name}"))


StorageType = _enum(
    "StorageType",
    {
        "DEFAULT": 0,
        "DRAM": 1,
        "PMEM_MEMKIND": 2,
        "PMEM_LIBPMEM": 3,
        "SSDHASH": 4,
        "LEVELDB": 5,
        "HBM": 6,
        "DRAM_PMEM": 11,
        "DRAM_SSDHASH": 12,
        "HBM_DRAM": 13,
        "DRAM_LEVELDB": 14,
        "DRAM_PMEM_SSDHASH": 101,
        "HBM_DRAM_SSDHASH": 102,
        # DeepRec planned these and gave them no numbers.
        "HBM_DRAM_PMEM": 1001,
        "HBM_DRAM_LEVELDB": 1002,
        "HBM_DRAM_PMEM_LEVELDB": 1003,
        "HBM_DRAM_PMEM_SSDHASH": 1004,
        "DRAM_PMEM_LEVELDB": 1005,
    },
)
CacheStrategy = _enum("CacheStrategy", {"LRU": 0, "LFU": 1})
SlotType = _enum("SlotType", {"EMBEDDING_VARIABLE": 0, "VARIABLE": 1})
EmbeddingVariableType = _enum("EmbeddingVariableType", {"IMMUTABLE": 0, "MUTABLE": 1})
