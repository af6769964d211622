"""Constant properties of a table, under the names that programs use."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.native.base_keys import FIRST_BASE_KEY
from runtime.table.arguments import TableArguments


class TableFacts:
    """The properties of a table that never change."""

    arguments: TableArguments

    @property
    def table_name(self) -> str:
        """The table's name, which is also the anchor's."""
        return self.arguments.name

    @property
    def name(self) -> str:
        """The name as that of a variable: `w:0`."""
        return f"{self.arguments.name}:0"

    @property
    def dim(self) -> int:
        """Values per row."""
        return self.arguments.dim

    @property
    def shape(self) -> tf.TensorShape:
        """The shape as that of a variable: [device_vocabulary_size, dim]. The table may hold fewer or more rows."""
        return tf.TensorShape([self.arguments.device_vocabulary_size, self.arguments.dim])

    def get_shape(self) -> tf.TensorShape:
        """Return `shape`."""
        return self.shape

    @property
    def trainable(self) -> bool:
        """Whether lookups have a gradient for it."""
        return self.arguments.trainable

    @property
    def expands(self) -> bool:
        """Whether training lookups return rows and their addresses (`init(use_dynamic_expansion=True)`)."""
        return self.arguments.expands

    def require_whole_rows(self, what: str) -> None:
        """Refuse what needs whole rows of a table that is cut by columns.

        Raises:
            ValueError: this table has a part of the columns.
        """
        whole = self.arguments.columns_of
        if whole:
            raise ValueError(
                f"{what} needs whole rows, and the table `{whole}` is cut by columns: create it with create_table and "
                "another placement"
            )

    def check_rule(self, rule: str) -> None:
        """Refuse an update rule that needs whole rows, if this table has a part of them; see `require_whole_rows`."""
        if rule == "group_ftrl":
            self.require_whole_rows("FTRL with a term on the norm of rows")

    @property
    def placement(self) -> str:
        """Which of several ranks holds a row: "distributed", "replicated", or "localized:" and the rank."""
        return self.arguments.placement

    @property
    def has_base(self) -> bool:
        """Whether its rows may begin as those of buckets (runtime.policy.base)."""
        return self.arguments.base_buckets is not None

    @property
    def first_key(self) -> int:
        """The key of row 0 of a variable that it takes the place of: with a base, rows are those of buckets."""
        return FIRST_BASE_KEY if self.has_base else 0

    @property
    def tiered(self) -> bool:
        """Whether rows may be in storage tiers below memory."""
        return self.arguments.storage is not None and self.arguments.storage.tiered

    @property
    def emb_size(self) -> int:
        """Rec SDK's name of `dim`."""
        return self.arguments.dim

    @property
    def embedding_size(self) -> tf.TensorShape:
        """`dim` as a shape of rank 1."""
        return tf.TensorShape([self.arguments.dim])

    @property
    def key_dtype(self) -> tf.DType:
        """The declared key type; ids may be int32 or int64 in any case, and keys are int64 internally."""
        return self.arguments.key_dtype

    @property
    def value_dtype(self) -> tf.DType:
        """How values are stored; lookups give float32 in any case."""
        return self.arguments.value_dtype

    @property
    def emb_initializer(self) -> Any:
        """The initializer given to `create_table`."""
        return self.arguments.emb_initializer

    @property
    def init_param(self) -> float:
        """The factor on all initial values."""
        return self.arguments.init_param

    @property
    def is_save(self) -> bool:
        """Whether checkpoints save the rows."""
        return self.arguments.is_save

    @property
    def padding_keys(self) -> tuple[int, ...]:
        """The keys whose rows are never updated."""
        return self.arguments.padding_keys

    @property
    def device_vocabulary_size(self) -> int:
        """The number of rows to reserve memory for; not a limit."""
        return self.arguments.device_vocabulary_size

    def capacity(self) -> int:
        """Return the number of rows that memory is reserved for; the table grows beyond it."""
        return self.arguments.device_vocabulary_size
