"""Admission and eviction thresholds of a table as data, parsed from an `access_and_evict_config`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runtime import _validation

_KEYS = (
    "access_threshold",
    "access_probability",
    "eviction_threshold",
    "faae_coefficient",
    "bloom_filter",
    "timestamp",
)


@dataclass(frozen=True)
class CountingBloom:
    """Counts keys without a row in fixed memory (a counting Bloom filter).

    It never undercounts, and overcounts only few of up to `max_element_size` keys. It has -max_element_size ·
    ln(false_positive_probability) / 0.48 counters of `counter_bits` bits. Keys that lost their row keep their count.
    """

    max_element_size: int
    false_positive_probability: float = 0.01
    counter_bits: int = 32

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range.
        """
        _validation.integer("max_element_size", self.max_element_size, 1, 2**40)
        _validation.real("false_positive_probability", self.false_positive_probability, 1e-9, 0.5)
        _validation.option("counter_bits", self.counter_bits, (8, 16, 32))


@dataclass(frozen=True)
class AdmissionRules:
    """The thresholds of a table; None means off."""

    access_threshold: int | None = None
    eviction_threshold: int | None = None
    faae_coefficient: int = 1
    bloom_filter: CountingBloom | None = None
    access_probability: float = 1.0  #: with which each occurrence admits a key whose count has reached the threshold

    @property
    def delays(self) -> bool:
        """Whether a key may occur without getting a row."""
        return (self.access_threshold or 0) > 1 or self.access_probability < 1

    def agrees(self, other: AdmissionRules) -> bool:
        """Whether lookups with these and those rules may share a table; the count per occurrence may differ."""
        return self == other or replace(self, faae_coefficient=1) == replace(other, faae_coefficient=1)


OFF = AdmissionRules()


def parse(config: Mapping[str, Any]) -> AdmissionRules:
    """Return the rules in an `access_and_evict_config`.

    A threshold of 0 or more is on; -1 and None are off. `access_probability`, `bloom_filter` and `timestamp` are this
    runtime's own keys; a probability stands in place of an `access_threshold`, which is then 1.

    Raises:
        ValueError: a key is unknown, a value has a wrong type or range, there is eviction without admission, or a
            probability beside a threshold or a Bloom filter.
    """
    _validation.kind("access_and_evict_config", config, Mapping, "a dict or None")
    unknown = sorted(str(key) for key in config if key not in _KEYS)
    if unknown:
        raise ValueError(f"access_and_evict_config has no key {unknown[0]!r}: its keys are {', '.join(_KEYS)}")
    access = _threshold("access_threshold", config)
    eviction = _threshold("eviction_threshold", config)
    coefficient = config.get("faae_coefficient", 1)
    bloom = config.get("bloom_filter")
    probability = config.get("access_probability")
    if probability is not None:
        _check_probability(probability, access, bloom)
        access = 1
    if eviction is not None and access is None:
        raise ValueError(
            "`eviction_threshold` needs an `access_threshold`: give one; 0 admits every key without counting"
        )
    if bloom is not None:
        _validation.kind("bloom_filter", bloom, CountingBloom, "a runtime.CountingBloom or None")
        if access is not None and access >= 2**bloom.counter_bits:
            raise ValueError(
                f"`access_threshold` {access} is more than Bloom counters of {bloom.counter_bits} bits can count: "
                "give them more bits"
            )
    return AdmissionRules(
        access,
        eviction,
        _validation.integer("faae_coefficient", coefficient, 1),
        bloom if access is not None else None,
        1.0 if probability is None else float(probability),
    )


def _check_probability(probability: Any, access: int | None, bloom: Any) -> None:
    _validation.real("access_probability", probability, 1e-6, 1)
    if access is not None:
        raise ValueError("`access_probability` and `access_threshold` are two ways to admit keys: give one of them")
    if bloom is not None:
        raise ValueError("`access_probability` needs the exact count of each key: give no `bloom_filter`")


def _threshold(name: str, config: Mapping[str, Any]) -> int | None:
    value = config.get(name)
    if value is None:
        return None
    value = _validation.integer(name, value, -1)
    return None if value == -1 else value
