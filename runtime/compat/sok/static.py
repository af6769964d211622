"""`sok.Variable`: a matrix whose rows the ranks share; each rank's part is an ordinary variable."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf

from runtime import _tf_private, ranks
from runtime._assertions import checked
from runtime.compat.sok import placing
from runtime.compat.sok.starting import require_init

_numbers = itertools.count()
#: Initializers whose values for a row do not depend on other rows or the number of rows.
_ROW_BY_ROW = {"Zeros", "Ones", "Constant", "RandomUniform", "RandomNormal", "TruncatedNormal"}


def Variable(*args: Any, mode: str | None = None, **kwargs: Any) -> SharedVariable:
    """Create a matrix shared by the ranks; the arguments are `tf.Variable`'s, or `shape` and `initializer`.

    Args:
        args: as `tf.Variable`.
        mode: None or "distributed" (row k is on rank k mod ranks), or "localized:" and the rank that has all rows.
        kwargs: as `tf.Variable`, and `initializer`.

    Raises:
        RuntimeError: `sok.init()` was not called, or the mode is unknown.
        ValueError: the initial value is not a matrix or vector.
    """
    require_init("sok.Variable")
    placement = placing.placement_of(mode)
    kind = DistributedVariable if placing.target_rank(placement) < 0 else LocalizedVariable
    return kind(*args, placement=placement, **kwargs)


class SharedVariable(_tf_private.CheckpointedVariable, _tf_private.SaveableObject):  # type: ignore[misc]
    """This rank's rows, [local rows, dim], of a matrix that all ranks share; optimizers update it like any variable.

    A v1 Saver first checks whether an item is a SaveableObject; otherwise it would save one rank's rows as all rows.
    """

    optional_restore = False

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        initializer: Any = None,
        *,
        placement: str,
    ) -> None:
        """Take the arguments of `tf.Variable` with the whole initial value; call `Variable` instead."""
        if variable_def is not None or import_scope is not None:
            raise NotImplementedError("a sok.Variable cannot be created from a `variable_def`: create another one")
        part, whole = _first_values(initial_value, shape, initializer, dtype, placement)
        #: The placement of the rows, as for the runtime's tables.
        self.placement = placement
        self._whole = whole
        #: The tensors that a Saver writes, by the reason why it must not.
        self._save_specs: dict[str | None, list[_tf_private.SaveSpec]] = {}
        super().__init__(
            initial_value=part,
            trainable=trainable,
            validate_shape=validate_shape,
            name=name or f"sok_static_Variable_{next(_numbers)}",
            dtype=dtype,
            constraint=constraint,
        )

    @property
    def m_var_name(self) -> str:
        """The name by which SOK 1.x knows the variable."""
        return str(self.name).removesuffix(":0")

    @property
    def global_shape(self) -> tf.TensorShape:
        """The shape of the matrix of all ranks."""
        return self._whole

    @property
    def target_gpu(self) -> int:
        """The rank that has all rows; -1 if they are distributed."""
        return placing.target_rank(self.placement)

    @property
    def num_gpus(self) -> int:
        """The number of ranks."""
        return ranks.size()

    def rows(self, keys: tf.Tensor) -> tf.Tensor:
        """Return the rows of keys int64 [n] that this rank holds; the gradient has each row once."""
        keys, places = tf.unique(keys)
        return _expanded(tf.gather(self, placing.local_rows(keys, self.placement)), places)

    def checkpoint_tensors(self) -> dict[str, tf.Tensor]:
        """Return the value for tf.train.Checkpoint, if this is the only rank.

        Raises:
            RanksError: there are several ranks: another rank would restore these rows as its own.
        """
        self._refuse_a_part()
        return {"VARIABLE_VALUE": self.read_value()}

    def restore_tensors(self, restored: dict[str, tf.Tensor]) -> Any:
        """Restore a value."""
        self._refuse_a_part()
        return self.assign(restored["VARIABLE_VALUE"])

    @property
    def specs(self) -> list[_tf_private.SaveSpec]:
        """The tensors that a v1 Saver writes: the rows; with several ranks, saving fails."""
        refused = self._why_not_a_part("sok.Saver") if ranks.size() > 1 else None
        if refused not in self._save_specs:
            with tf.control_dependencies(None):
                rows = self.read_value()
                if refused:
                    with tf.control_dependencies([checked(tf.constant(False), refused, tf.constant(0))]):
                        rows = tf.identity(rows)
            name = self.name.removesuffix(":0")
            self._save_specs[refused] = [_tf_private.SaveSpec(rows, "", name, device=self.device)]
        return self._save_specs[refused]

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: list[tf.TensorShape] | None) -> tf.Operation:
        """Restore the rows of a v1 Saver's checkpoint; with several ranks, restoring fails."""
        if ranks.size() > 1:
            return checked(tf.constant(False), self._why_not_a_part("sok.Saver"), tf.constant(0))
        return self.assign(restored_tensors[0], read_value=False)

    def _refuse_a_part(self) -> None:
        if ranks.size() > 1:
            raise ranks.RanksError(self._why_not_a_part("sok.dump and sok.load"))

    def _why_not_a_part(self, instead: str) -> str:
        return (
            f"the rows of the sok.Variable `{self.name}` are distributed over {ranks.size()} ranks, and a checkpoint "
            f"would only have those of one: save and restore it with {instead}, on every rank"
        )

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Refuse: the copy would only have this rank's part."""
        raise TypeError(f"the sok.Variable `{self.name}` cannot be copied: create another one from sok.export")


class DistributedVariable(SharedVariable):
    """A matrix with row k on rank k mod ranks."""


class LocalizedVariable(SharedVariable):
    """A matrix with all rows on one rank."""


def _first_values(value: Any, shape: Any, initializer: Any, dtype: Any, placement: str) -> tuple[Any, tf.TensorShape]:
    """Return this rank's initial rows, or a function that computes them, and the shape of the whole matrix."""
    if (value is None) == (initializer is None):
        raise ValueError("a sok.Variable needs either `initial_value`, or `shape` and `initializer`")
    if value is None:
        whole = _matrix(tf.TensorShape(shape))
        return _initialized(initializer, whole, dtype or tf.float32, placement), whole
    value = tf.convert_to_tensor(value() if callable(value) else value, dtype)
    return placing.local_part(value, placement), _matrix(value.shape)


def _matrix(shape: tf.TensorShape) -> tf.TensorShape:
    if shape.rank != 2 or not shape.is_fully_defined():
        raise ValueError(f"a sok.Variable must be a matrix of known shape, rows first: got the shape {shape}")
    return shape


def _initialized(initializer: Any, whole: tf.TensorShape, dtype: Any, placement: str) -> Callable[[], tf.Tensor]:
    """Return a function for this rank's rows: with a seed as in one process, else without creating the whole matrix."""
    if isinstance(initializer, type):
        initializer = initializer()
    config = initializer.get_config() if hasattr(initializer, "get_config") else {}
    graph_seed = _tf_private.global_seed() if tf.executing_eagerly() else tf.compat.v1.get_default_graph().seed
    scalar = np.ndim(config.get("value", 0)) == 0
    seeded = config.get("seed") is not None or graph_seed is not None
    if type(initializer).__name__ not in _ROW_BY_ROW or not scalar or seeded:
        return lambda: placing.local_part(initializer(whole, dtype=dtype), placement)
    rows = placing.local_count(whole[0], placement)
    return lambda: initializer([rows, *whole[1:]], dtype=dtype)


def _expanded(rows: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """Return rows[places]; unlike a gather's, its gradient is dense and summed per row."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def expand(rows: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        return tf.gather(rows, places), lambda gradient: tf.math.unsorted_segment_sum(
            tf.convert_to_tensor(gradient), places, tf.shape(rows)[0]
        )

    expanded: tf.Tensor = expand(rows)
    return expanded
