"""Base class of all table optimizers: a v1 Optimizer with native updates."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.table import control_dependencies
from runtime.table.anchor import Anchor
from runtime.table.create import tables
from runtime.table.replicas import refuse_copies
from runtime.table.slot_sets import trainer_number
from runtime.table.table import Table, stacked

_MAX_LEARNING_RATE = 10
_WITHOUT_SLOTS = -1
_BY_ADDRESS = ("lazy_adam", "adagrad", "sgd")

#: Start of the message if a table and its optimizer disagree on dynamic expansion; Rec SDK's programs look for it.
INCOMPATIBLE = "The dynamic expansion mode is not compatible with the optimizer"


def is_schedule(rate: Any) -> bool:
    """Whether it is a LearningRateSchedule of Keras 2 or 3, by class name: `tf.keras` may be missing or differ."""
    return any(kind.__name__ == "LearningRateSchedule" for kind in type(rate).__mro__)


def session_graph() -> tf.Graph | None:
    """Return the graph that a session runs (not that of a tf.cond branch), or None in eager mode."""
    with tf.init_scope():
        return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def record_updates(updates: Iterable[tuple[tf.Operation, Table]]) -> None:
    """Make new updates of tables in a graph run after the lookups of their step."""
    # Rows on a device have an order of their own.
    in_graph = [(update, table) for update, table in updates if table.graph is not None and table.on_device is None]
    control_dependencies.updates_added([(update, table.lookups) for update, table in in_graph])
    for update, table in in_graph:
        table.updates.append(update)


def _check_step(global_step: Any) -> None:
    if global_step is not None and not hasattr(global_step, "assign_add"):
        raise ValueError(f"`global_step` must be an integer scalar variable or None: got {global_step!r}")


class TableOptimizer(_tf_private.Parent, tf.compat.v1.train.Optimizer):  # type: ignore[misc]
    """Updates rows of tables; `compute_gradients`, `apply_gradients` and `minimize` work as in any v1 Optimizer.

    Without a `var_list` it trains every table of the graph, and nothing else.
    """

    def __init__(self, learning_rate: Any, use_locking: bool, name: str, nonfinite: str = "error") -> None:
        """Take a learning rate in [0, 10]: a number, a scalar tensor or variable, or a callable that returns one.

        A Keras LearningRateSchedule is called with the step: `global_step`, the graph's global step, or a counter of
        this optimizer.

        Raises:
            ValueError: the type or range is wrong.
        """
        _validation.boolean("use_locking", use_locking)
        _validation.text("name", name, 200)
        if not callable(learning_rate) and not isinstance(learning_rate, (tf.Tensor, tf.Variable)):
            _validation.real("learning_rate", learning_rate, 0, _MAX_LEARNING_RATE, whole=True)
        _validation.option("nonfinite", nonfinite, ("error", "skip"))
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._nonfinite = nonfinite
        self._made: dict[tf.Graph | None, dict[str, tf.Variable]] = {}
        #: Who trains: an eager table has the slots of one optimizer, and begins them anew when another one comes, so
        #: each update says whose it is (`trainer_number`). It is the program's optimizer where an adapter stands
        #: between, and None where that adapter has announced itself to the table before the update.
        self.trainer: Any = self

    def compute_gradients(
        self, loss: tf.Tensor, var_list: Any = None, *args: Any, **kwargs: Any
    ) -> list[tuple[Any, Any]]:
        """Return (gradient, variable) pairs.

        The default `var_list` is the anchors of all tables of the current graph, except those whose lookups all have
        `is_grad=False`.

        Raises:
            ValueError: there is no `var_list` and no table to train, or a table uses dynamic expansion.
        """
        if var_list is None:
            known = [table for table in tables() if table.trainable and not table.reads_each_step]
            if not known:
                raise ValueError(
                    f"{self.get_name()} has nothing to train: the graph has no trainable table, create one"
                )
            var_list = [table.variable for table in known if table.is_grad is not False]
            if not var_list:
                self._refuse_frozen(known)
        for variable in tf.nest.flatten(var_list):
            if isinstance(variable, Table):
                self._table(variable)
            if isinstance(variable, Anchor) and variable.table.expands:
                self._table(variable)  # raises with a better message than TensorFlow's for a gradient of None
        pairs: list[tuple[Any, Any]] = super().compute_gradients(loss, var_list, *args, **kwargs)
        return pairs

    @_tf_private.as_written
    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        """Return the op that updates the tables, then adds 1 to `global_step` if it is given.

        Raises:
            ValueError: a variable is not the anchor of a table, all lookups of its table have `is_grad=False`, a
                gradient is dense, there is no gradient at all, or the learning rate is not a real scalar.
            RuntimeError: inside of a tf.distribute strategy with several replicas, or that trains eagerly.
            tf.errors.InvalidArgumentError: when the op runs, and another optimizer has trained an eager table since.
        """
        refuse_copies(self.get_name())
        listed = _validation.pairs("grads_and_vars", grads_and_vars, "pairs (gradient, table.variable)")
        if not listed:
            raise ValueError(f"{self.get_name()} has nothing to apply: give it pairs (gradient, table.variable)")
        _check_step(global_step)
        pairs = [(gradient, self._table(variable)) for gradient, variable in listed]
        for _, table in pairs:
            table.require_here()
        self._refuse_frozen([table for gradient, table in pairs if gradient is None and table.is_grad is False])
        slices = [(self._slices(gradient, table), table) for gradient, table in pairs if gradient is not None]
        if not slices:
            known = [table.table_name for _, table in pairs]
            raise ValueError(
                f"No gradients provided for any variable: {known}; the loss must depend on a sparse_lookup of one"
            )
        global_step = self._counted_by(global_step)
        self._prepare()
        with tf.name_scope(name or self.get_name()) as scope, tf.device("/device:CPU:0"):
            rate = self._rate(global_step)
            if slices[0][1].graph is not None:
                control_dependencies.rate_computed(rate)
            updates = self._update_tables(slices, rate)
            done = self._end(updates, global_step, scope)
        if slices[0][1].graph is not None:
            self._collect(done)
        return done

    def _end(self, updates: list[tf.Operation], global_step: Any, scope: str) -> tf.Operation:
        """Return an op that waits for the updates and increments the step counters."""
        done = self._finish(updates, "update" if global_step is not None else scope)
        if global_step is None:
            return done
        with tf.control_dependencies([done]):
            return global_step.assign_add(1, name=scope, read_value=False)

    @staticmethod
    def _collect(done: tf.Operation) -> None:
        train_ops = tf.compat.v1.get_collection_ref(tf.compat.v1.GraphKeys.TRAIN_OP)
        if done not in train_ops:
            train_ops.append(done)

    def _counted_by(self, global_step: Any) -> Any:
        """Return what to add 1 to: `global_step`, or for a schedule without one a counter of its own."""
        if global_step is not None or not is_schedule(self._learning_rate):
            return global_step
        if tf.compat.v1.train.get_global_step() is not None:
            return None
        return self._counting("iterations")[0]

    def _counters(self) -> dict[str, Any]:
        """Return what the optimizer counts with, by name: the value before the first step."""
        return {"iterations": np.int64(0)} if is_schedule(self._learning_rate) else {}

    def _counting(self, *names: str) -> list[tf.Variable]:
        """Return counters of the current graph, or of all eager code."""
        counters = self._made.setdefault(session_graph(), {})
        missing = [name for name in names if name not in counters]
        if missing:
            # Named after the optimizer, unlike stock Adam's: a second optimizer must not rename these.
            with tf.init_scope(), tf.compat.v1.name_scope(None), tf.name_scope(self.get_name()):
                for name in missing:
                    start = self._counters()[name]
                    counters[name] = tf.compat.v1.Variable(start, trainable=False, name=name, use_resource=True)
            for name in missing:
                _tf_private.fill_from_restored(self, name, counters[name])
        return [counters[name] for name in names]

    def children(self) -> dict[str, tf.Variable]:
        """Return the counters that the current graph has, or eager code."""
        return dict(self._made.get(session_graph(), {}))

    def part(self, name: str) -> Any:
        """Return the counter of a checkpoint: eager code makes it now, as the next save may come before a step."""
        makes = session_graph() is None and name in self._counters()
        return self._counting(name)[0] if makes else super().part(name)

    def variables(self) -> list[tf.Variable]:
        """Return the counters of the current graph."""
        return list(self.children().values())

    def _rate(self, global_step: Any) -> tf.Tensor:
        """Return the learning rate of this step as a float32 scalar."""
        if is_schedule(self._learning_rate):
            step = tf.compat.v1.train.get_global_step() if global_step is None else global_step
            return self._scalar(self._learning_rate(step))
        return self._scalar(self._learning_rate() if callable(self._learning_rate) else self._learning_rate)

    def _refuse_frozen(self, frozen: list[Table]) -> None:
        if frozen:
            raise ValueError(
                f"{self.get_name()} cannot train {[table.table_name for table in frozen]}: all their lookups have "
                "is_grad=False; leave their anchors out, or look up with is_grad=True"
            )

    def update_table(self, table: Table, gradient: Any, rate: Any) -> tf.Operation:
        """Update one table with learning rate `rate`, for an adapter that has clipped, unscaled and counted by itself.

        Raises:
            ValueError: the gradient is dense, or the rate is not a real scalar.
        """
        with tf.device("/device:CPU:0"):
            return self._update_tables([(self._slices(gradient, table), table)], self._scalar(rate))[0]

    def _update_tables(self, slices: list[tuple[tf.IndexedSlices, Table]], rate: tf.Tensor) -> list[tf.Operation]:
        """Update many eager tables in one op, because separate ops would run one by one; graphs do not need this."""
        distinct = {id(table): table for _, table in slices}
        for table in distinct.values():
            table.check_rule(self.rule)
        if len(distinct) < max(len(slices), 2) or any(table.graph is not None for _, table in slices):
            # Servers get one message for all tables; separate reads of counters would be one for each.
            sent = stacked(self._hyper(rate)) if any(table.parts for _, table in slices) else None
            updates = [self._update_table(table, gradient, rate, sent) for gradient, table in slices]
            record_updates(zip(updates, (table for _, table in slices), strict=True))
            return updates
        with contextlib.ExitStack() as stack:
            for _, table in slices:
                stack.enter_context(table.written())
            return [
                native.ops().rec_apply_group(
                    [table.handle for _, table in slices],
                    [tf.cast(gradient.indices, tf.int64) for gradient, _ in slices],
                    [tf.cast(gradient.values, tf.float32) for gradient, _ in slices],
                    stacked(self._hyper(rate)),
                    optimizer=self.rule,
                    starts=self.starts,
                    on_nonfinite=self._nonfinite,
                    whole_table=any(table.has_terms for _, table in slices),
                    squares_apart=self.squares_apart,
                    trainer=self._trainer_number(),
                )
            ]

    def _update_table(
        self, table: Table, gradient: tf.IndexedSlices, rate: tf.Tensor, hyper: tf.Tensor | None = None
    ) -> tf.Operation:
        with tf.name_scope("update_" + table.table_name):
            keys = tf.cast(gradient.indices, tf.int64)
            values = tf.cast(gradient.values, tf.float32)
            with table.written():
                return self._native_update(table, keys, values, self._hyper(rate) if hyper is None else hyper)

    #: The native rule, and the initial values of its slots.
    rule: str
    starts: tuple[float, ...] = ()
    #: Whether the gradients of equal keys are squared one by one, as in Keras 3, not as their sum.
    squares_apart = False

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        """Return the rule's hyperparameters in its order: floats and float32 scalar tensors."""
        raise NotImplementedError

    def _native_update(
        self, table: Table, keys: tf.Tensor, values: tf.Tensor, hyper: Sequence[Any] | tf.Tensor
    ) -> tf.Operation:
        """Update the rows of keys int64 [n] by gradients float [n, dim]; duplicates are summed by the op."""
        more: dict[str, Any] = {"squares_apart": True} if self.squares_apart else {}
        if table.graph is None:
            more["trainer"] = self._trainer_number()
        elif slot_set := self._slot_set(table):
            more["slot_set"] = slot_set
        return table.updated(
            keys,
            values,
            hyper,
            optimizer=self.rule,
            starts=self.starts,
            on_nonfinite=self._nonfinite,
            **more,
        )

    def _slot_set(self, table: Table) -> int:
        """Return which of the table's sets of slots are this optimizer's, as each optimizer of a variable has its own.

        Optimizers without slots share a set.
        """
        return table.slot_sets.number_of(self if self.starts else self.rule)

    def _trainer_number(self) -> int:
        """Return who updates eager tables, whose slots start anew with each other; all without slots are one."""
        if self.trainer is None:
            return 0
        return trainer_number(self.trainer) if self.starts else _WITHOUT_SLOTS

    def _table(self, variable: Any) -> Table:
        if isinstance(variable, Table):
            raise ValueError(
                f"{self.get_name()} got the table `{variable.table_name}` itself: give its variable, table.variable"
            )
        if not isinstance(variable, Anchor):
            raise ValueError(
                f"{self.get_name()} updates tables, and `{getattr(variable, 'name', variable)}` is not one: apply "
                "its gradient with the dense optimizer (get_dense_and_sparse_variable() separates them)"
            )
        if variable.table.reads_each_step:
            raise ValueError(
                f"{self.get_name()} does not train the counted table `{variable.table.table_name}`: train it like a "
                "variable, by an optimizer of tf.compat.v1.train or of runtime.optimizers.deeprec"
            )
        if variable.table.expands:
            other = (
                "" if self.rule in _BY_ADDRESS else "; or leave use_dynamic_expansion False: it has no form by address"
            )
            raise ValueError(
                f"{INCOMPATIBLE} {self.get_name()}: the table `{variable.table.table_name}` expands, train "
                "it by addresses with create_hash_optimizer_by_address (runtime.optimizers.lazy_adam_by_addr, "
                f"adagrad_by_addr or gradient_descent_by_addr){other}"
            )
        return variable.table

    def _slices(self, gradient: Any, table: Table) -> tf.IndexedSlices:
        if not isinstance(gradient, tf.IndexedSlices):
            raise ValueError(
                f"the gradient of the table `{table.table_name}` is no longer tf.IndexedSlices but {gradient!r}: "
                "process `gradient.values` and keep `gradient.indices`, and look up before a tf.while_loop"
            )
        indices, values = gradient.indices, gradient.values
        owner = f"of the gradient of the table `{table.table_name}`"
        if not indices.dtype.is_integer or not indices.shape.is_compatible_with([None]):
            raise ValueError(
                f"the indices {owner} are {indices.dtype.name} of shape {indices.shape}: they must be keys, int64 [n]"
            )
        wanted = [indices.shape.num_elements(), table.dim]
        if not values.dtype.is_floating or not values.shape.is_compatible_with(wanted):
            raise ValueError(
                f"the values {owner} are {values.dtype.name} of shape {values.shape}: they must be floats of shape "
                f"{wanted}, one row for each key"
            )
        return gradient

    @staticmethod
    def _scalar(rate: Any) -> tf.Tensor:
        try:
            tensor = tf.convert_to_tensor(rate)
        except (TypeError, ValueError) as error:
            raise ValueError(f"`learning_rate` must be a real scalar: got {rate!r}") from error
        if not (tensor.dtype.is_floating or tensor.dtype.is_integer) or tensor.shape.rank not in (0, None):
            raise ValueError(f"`learning_rate` must be a real scalar: got {rate!r}")
        return tf.cast(tensor, tf.float32)


class RuleOptimizer(TableOptimizer):
    """A table optimizer whose rule takes the learning rate, then numbers that stay the same."""

    def __init__(
        self,
        rule: str,
        numbers: Iterable[float],
        starts: tuple[float, ...],
        learning_rate: Any,
        use_locking: bool,
        name: str,
        nonfinite: str = "error",
    ) -> None:
        """Take a native rule, its hyperparameters behind the rate, and the initial values of its slots."""
        super().__init__(learning_rate, use_locking, name, nonfinite)
        self.rule, self.starts, self._numbers = rule, starts, list(numbers)

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [rate, *self._numbers]


def accumulator_start(value: Any) -> float:
    """Return an `initial_accumulator_value` in (0, 1].

    Raises:
        ValueError: its type or range is wrong.
    """
    start = _validation.real("initial_accumulator_value", value, 0, 1, whole=True)
    if start == 0:
        raise ValueError(f"`initial_accumulator_value` is less than or equal to 0: got {value!r}")
    return start
