"""The enums of DeepRec's `tensorflow.core.framework.embedding.config_pb2`, with its numbers."""

from __future__ import annotations

__all__ = ["CacheStrategy", "EmbeddingVariableType", "SlotType", "StorageType"]


class Enum:
    """Names of ints, as protobuf's `EnumTypeWrapper` gives them: `StorageType.DRAM`, `.Name(1)`, `.Value("DRAM")`."""

    def __init__(self, name: str, numbers: dict[str, int]) -> None:
        """Take the numbers by their names."""
        self._name, self._numbers = name, numbers

    def __getattr__(self, name: str) -> int:
        """Return the number of a name."""
        numbers: dict[str, int] = self.__dict__.get("_numbers", {})
        if name not in numbers:
            raise AttributeError(f"{self.__dict__.get('_name')} has no value {name}: it has {', '.join(numbers)}")
        return numbers[name]

    def Name(self, number: int) -> str:
        """Return the name of a number.

        Raises:
            ValueError: there is none.
        """
        for name, known in self._numbers.items():
            if known == number:
                return name
        raise ValueError(f"Enum {self._name} has no name defined for value {number!r}")

    def Value(self, name: str) -> int:
        """Return the number of a name.

        Raises:
            ValueError: there is none.
        """
        if name not in self._numbers:
            raise ValueError(f"Enum {self._name} has no value defined for name {name!r}")
        return self._numbers[name]

    def keys(self) -> list[str]:
        """Return the names."""
        return list(self._numbers)

    def values(self) -> list[int]:
        """Return the numbers."""
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        """Return names with their numbers."""
        return list(self._numbers.items())


StorageType = Enum(
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
CacheStrategy = Enum("CacheStrategy", {"LRU": 0, "LFU": 1})
SlotType = Enum("SlotType", {"EMBEDDING_VARIABLE": 0, "VARIABLE": 1})
EmbeddingVariableType = Enum("EmbeddingVariableType", {"IMMUTABLE": 0, "MUTABLE": 1})
