"""Variables composed of several: rows in blocks, of which a key has a variable number, and multi-hash variables."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.compat.deeprec.creation import get_embedding_variable
from runtime.compat.deeprec.variable import tables_of
from runtime.lookup import counted
from runtime.lookup.counted import int_keys

v1: Any = tf.compat.v1
_OPERATIONS = ("add", "mul", "mult", "concat")


class Composed:
    """A variable whose rows `tf.nn.embedding_lookup` composes."""

    name: str

    def rows(self, ids: Any, blocknums: Any) -> tf.Tensor:
        """Return the rows of ids of any shape: float32, ids.shape + [dim]."""
        raise NotImplementedError


class DynamicEmbeddingVariable(Composed):
    """EmbeddingVariables `<name>/block<i>`; each lookup says how many blocks a key has."""

    def __init__(self, name: str, blocks: list[Any]) -> None:
        """Take the blocks."""
        self.name, self.blocks = name, blocks

    def mainev(self) -> Any:
        """Return the first block."""
        return self.blocks[0]

    def rows(self, ids: Any, blocknums: Any) -> tf.Tensor:
        """Return the first `blocknums` blocks of each id's row, and zeros for others, which are not looked up.

        Raises:
            ValueError: `blocknums` is missing.
        """
        if blocknums is None:
            raise ValueError(
                f"embedding_lookup of the variable `{self.name}` needs `blocknums`, the number of blocks of each id: "
                "give integers in the shape of the ids"
            )
        keys = int_keys(ids)
        numbers = tf.broadcast_to(tf.convert_to_tensor(blocknums), tf.shape(keys))
        return tf.concat([self._block(keys, numbers, at) for at in range(len(self.blocks))], -1)

    def _block(self, keys: tf.Tensor, numbers: tf.Tensor, at: int) -> tf.Tensor:
        tables = tables_of(self.blocks[at])
        assert tables is not None
        places = tf.where(numbers > at)
        block = counted.lookup(tables, tf.gather_nd(keys, places))
        dim = tables[0].dim
        spread = tf.scatter_nd(places, block, tf.cast(tf.concat([tf.shape(keys), [dim]], 0), tf.int64))
        spread.set_shape(keys.shape.concatenate([dim]))
        return spread


class MultiHashVariable(Composed):
    """Two variables: the row of an id is composed of those of its quotient and of its remainder."""

    def __init__(self, name: str, quotients: Any, remainders: Any, sizes: tuple[int, int], operation: str) -> None:
        """Take the variables and the divisors."""
        self.name, self.val_list, self._sizes, self._operation = name, [quotients, remainders], sizes, operation

    def rows(self, ids: Any, blocknums: Any) -> tf.Tensor:
        """Return rows `id // size` and `id mod size` of the two variables, composed by the operation."""
        del blocknums
        keys = int_keys(ids)
        first = v1.nn.embedding_lookup(self.val_list[0], keys // self._sizes[0])
        second = v1.nn.embedding_lookup(self.val_list[1], tf.math.floormod(keys, self._sizes[1]))
        if self._operation == "concat":
            return tf.concat([first, second], -1)
        return first + second if self._operation == "add" else first * second


def get_dynamic_dimension_embedding_variable(
    name: str, embedding_block_dimension: int, embedding_block_num: int, **settings: Any
) -> DynamicEmbeddingVariable:
    """Create a variable of `embedding_block_num` blocks; other arguments are those of `get_embedding_variable`.

    Raises:
        ValueError: a number is below 1, or `get_embedding_variable` refuses an argument.
    """
    _validation.integer("embedding_block_num", embedding_block_num, 1, 1000)
    dim = int(embedding_block_dimension)  # programs often compute it by a division, which returns a float
    names = [f"{name}/block{number}" for number in range(embedding_block_num)]
    return DynamicEmbeddingVariable(name, [get_embedding_variable(one, dim, **settings) for one in names])


def get_multihash_variable(
    name: str,
    dims: Any,
    num_of_partitions: int = 2,
    complementary_strategy: str = "Q-R",
    operation: str = "add",
    dtype: Any = tf.float32,
    **settings: Any,
) -> MultiHashVariable:
    """Create variables `<name>_Q` and `<name>_R` with the shapes in `dims`; other arguments are `tf.get_variable`'s.

    Id i has row i // dims[0][0] of the first and row i mod dims[1][0] of the second.

    Raises:
        ValueError: DeepRec does not have the strategy, operation or number of parts, or shapes do not fit it.
    """
    if complementary_strategy != "Q-R" or num_of_partitions != 2:
        raise ValueError(
            f"the multi-hash variable `{name}` has strategy {complementary_strategy!r} and {num_of_partitions!r} parts:"
            ' only "Q-R" with 2 parts is supported'
        )
    if operation not in _OPERATIONS:
        raise ValueError(f"operation {operation!r} of the multi-hash variable `{name}` must be one of {_OPERATIONS}")
    shapes = [tuple(int(size) for size in shape) for shape in dims]
    if len(shapes) != 2 or any(len(shape) != 2 for shape in shapes):
        raise ValueError(f"dims {dims!r} of the multi-hash variable `{name}` must be two shapes [rows, dim]")
    if operation != "concat" and shapes[0][1] != shapes[1][1]:
        raise ValueError(f"dims {dims!r} of the multi-hash variable `{name}` must have one dim to {operation}")
    dtype = tf.float32 if dtype is float else dtype
    first, second = (
        v1.get_variable(f"{name}_{part}", shape, dtype, **settings) for part, shape in zip("QR", shapes, strict=True)
    )
    return MultiHashVariable(name, first, second, (shapes[0][0], shapes[1][0]), operation)
