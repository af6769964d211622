"""`FeatureSpec`: the ids of one lookup as an entry of the dataset's batch."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from runtime import _validation
from runtime.table import admission_rules
from runtime.table.arguments import table_name as clean_name

_numbers = itertools.count()


class FeatureSpec:
    """Where the ids for a table are in the batch, and the thresholds of the table."""

    #: Whether a dataset for training, or for evaluation, has a timestamp.
    use_timestamp_train: ClassVar[bool] = False
    use_timestamp_eval: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        table_name: str | None = None,
        index_key: str | int | None = None,
        access_threshold: int | None = None,
        eviction_threshold: int | None = None,
        is_timestamp: bool | None = None,
        batch_size: int | None = None,
        faae_coefficient: int = 1,
        **older: Any,
    ) -> None:
        """Take Rec SDK's arguments; `feat_count` of older releases is ignored.

        Args:
            name: a number is appended to make it unique.
            table_name: default: the name; characters that a table's name cannot have are removed.
            index_key: the key of the ids in a dict (str), or their position in a tuple (int); default: the name.
            access_threshold: in [-1, 2**31 - 1]: occurrences until an id gets a row; -1 and None are off.
            eviction_threshold: seconds; needs an `access_threshold`.
            is_timestamp: marks the feature as the batch's time instead of ids.
            batch_size: overwritten by the batch's.
            faae_coefficient: the count of one occurrence.

        Raises:
            ValueError: a type or range is wrong, or there is eviction without admission.
            TypeError: an argument is unknown.
        """
        unknown = sorted(set(older) - {"feat_count"})
        if unknown:
            raise TypeError(f"FeatureSpec() got an unexpected keyword argument {unknown[0]!r}")
        _validation.text("name", name)
        self.table_name = clean_name(_validation.text("table_name", name if table_name is None else table_name)[:100])
        self.index_key = name if index_key is None else _index_key(index_key)
        if is_timestamp is not None:
            _validation.boolean("is_timestamp", is_timestamp)
        if batch_size is not None:
            _validation.integer("batch_size", batch_size, 1)
        rules = {
            "access_threshold": access_threshold,
            "eviction_threshold": eviction_threshold,
            "faae_coefficient": faae_coefficient,
        }
        admission_rules.parse(rules)
        self.access_threshold, self.eviction_threshold = access_threshold, eviction_threshold
        self.faae_coefficient = faae_coefficient
        self.is_timestamp, self.batch_size = is_timestamp, batch_size
        #: Derived from the batch: values per sample, values per batch (None if it varies), shape.
        self.feat_cnt: int | None = None
        self.split: int | None = None
        self.dims: list[int] | None = None
        self.name = f"{name}_{next(_numbers)}"

    @property
    def rules(self) -> dict[str, Any]:
        """The thresholds as a lookup's `access_and_evict_config`; empty if they are off."""
        if self.access_threshold in (None, -1):
            return {}
        return {
            "access_threshold": self.access_threshold,
            "eviction_threshold": self.eviction_threshold,
            "faae_coefficient": self.faae_coefficient,
        }

    def set_shape(self, dims: list[int | None] | None) -> None:
        """Record the shape of the ids in a batch.

        Raises:
            ValueError: it has no dimension, or differs from the static shape of an earlier batch.
        """
        if dims is not None and not dims:
            raise ValueError(f"the ids of the FeatureSpec `{self.name}` are a scalar: they must have a dimension")
        if dims is None or None in dims:
            self.feat_cnt = 1
            return
        known = [int(one) for one in dims if one is not None]
        if self.dims is not None and self.dims != known:
            raise ValueError(
                f"the FeatureSpec `{self.name}` has ids of shape {known} but had {self.dims}: use one for each dataset"
            )
        self.dims, self.batch_size = known, known[0]
        self.split = self.feat_cnt = 1
        for dim in known:
            self.split *= dim
        for dim in known[1:]:
            self.feat_cnt *= dim


def _index_key(key: Any) -> str | int:
    if isinstance(key, str):
        return _validation.text("index_key", key)
    return _validation.integer("index_key", key, 0, 255)
