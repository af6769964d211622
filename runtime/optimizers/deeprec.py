"""DeepRec's v1 optimizers that TensorFlow lacks, for variables and, by `table_form`, for tables.

AdagradDecay is Adagrad whose accumulators decay every so many steps, AdamAsync is Adam with separate beta powers for
each variable, and AdamW is Adam that subtracts a share of the weights before each step. Except AdamW on variables, they
only move rows that occur in a sparse gradient.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.optimizers.stock import FORMS, Form

__all__ = ["AdagradDecayOptimizer", "AdagradDecayOptimizerV2", "AdamAsyncOptimizer", "AdamWOptimizer"]

_v1: Any = tf.compat.v1
_Ftrl: Any = tf.compat.v1.train.FtrlOptimizer


class _RowWise(_v1.train.Optimizer):  # type: ignore[misc]
    """An optimizer with the same update for a whole variable and for some of its rows."""

    def _stepped(self, gradient: tf.Tensor, variable: Any, rows: tf.Tensor | None) -> tf.Operation:
        raise NotImplementedError

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        return self._stepped(grad, var, None)

    def _resource_apply_dense(self, grad: tf.Tensor, handle: Any) -> tf.Operation:
        return self._stepped(grad, handle, None)

    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> tf.Operation:
        return self._stepped(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: tf.Tensor, handle: Any, indices: tf.Tensor) -> tf.Operation:
        return self._stepped(grad, handle, indices)


def _read(variable: Any, rows: tf.Tensor | None) -> tf.Tensor:
    return tf.identity(variable) if rows is None else tf.gather(variable, rows)


def _write(variable: Any, rows: tf.Tensor | None, value: tf.Tensor) -> tf.Operation:
    done = variable.assign(value) if rows is None else variable.scatter_update(tf.IndexedSlices(value, rows))
    return getattr(done, "op", done)


class AdagradDecayOptimizer(_RowWise):
    """Adagrad with decay: `s = max(s * rate, start)` once for each `accumulator_decay_step` global steps.

    A row that was not touched catches up one period per update. Then `s += g**2; w -= lr * g / sqrt(s)`.
    """

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_accumulator_value: float = 0.1,
        accumulator_decay_step: int = 100000,
        accumulator_decay_rate: float = 0.9,
        use_locking: bool = False,
        name: str = "AdagradDecay",
    ) -> None:
        """Take the settings; `global_step` is the variable that counts the steps.

        Raises:
            ValueError: the accumulator or the number of steps is not positive, or the rate is not in (0, 1).
        """
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        if accumulator_decay_step <= 0:
            raise ValueError(f"accumulator_decay_step must be positive: {accumulator_decay_step}")
        if not 0.0 < accumulator_decay_rate < 1.0:
            raise ValueError(f"accumulator_decay_rate must be in (0.0, 1.0): {accumulator_decay_rate}")
        super().__init__(use_locking, name)
        self._learning_rate, self._global_step = learning_rate, global_step
        self._start, self._period, self._factor = (
            float(initial_accumulator_value),
            accumulator_decay_step,
            accumulator_decay_rate,
        )

    def table_form(self, variable: Any) -> Form:
        """Return the native form."""
        return Form("adagrad_decay", [self._rate, self._periods, self._factor, self._start], (self._start, 0.0))

    def _create_slots(self, var_list: Any) -> None:
        for variable in var_list:
            shape, kind = variable.get_shape(), variable.dtype.base_dtype
            for name, initial, dtype in (
                ("accumulator", _v1.constant_initializer(self._start), kind),
                ("accumulator_decay_power", _v1.zeros_initializer(), tf.int64),
            ):
                self._get_or_make_slot_with_initializer(variable, initial, shape, dtype, name, self._name)

    def _prepare(self) -> None:
        self._rate = tf.convert_to_tensor(self._call_if_callable(self._learning_rate))
        # The current step counts: the first decay comes with update number `accumulator_decay_step`.
        self._periods = (tf.cast(tf.identity(self._global_step), tf.int64) + 1) // self._period

    def _stepped(self, gradient: tf.Tensor, variable: Any, rows: tf.Tensor | None) -> tf.Operation:
        sums, powers = self.get_slot(variable, "accumulator"), self.get_slot(variable, "accumulator_decay_power")
        before, taken = _read(sums, rows), _read(powers, rows)
        behind = taken < self._periods
        shrunk = tf.maximum(before * tf.cast(self._factor, before.dtype), tf.cast(self._start, before.dtype))
        after = tf.where(behind, shrunk, before) + gradient * gradient
        weights = _read(variable, rows) - tf.cast(self._rate, before.dtype) * gradient / tf.sqrt(after)
        with tf.control_dependencies([before, taken, weights]):
            return tf.group(
                _write(sums, rows, after),
                _write(powers, rows, taken + tf.cast(behind, tf.int64)),
                _write(variable, rows, weights),
            )


class AdagradDecayOptimizerV2(AdagradDecayOptimizer):
    """Same as AdagradDecayOptimizer; in DeepRec the two differ in the shape of a slot."""


class AdamAsyncOptimizer(_RowWise):
    """Adam with separate beta powers for each variable, which its update advances.

    With `apply_sparse_rmsprop`, the update for sparse gradients is `v = beta2 v + (1 - beta2) g**2`,
    `m = beta1 m + lr g / sqrt(v + epsilon)` and `w -= m`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        apply_sparse_rmsprop: bool = False,
        name: str = "AdamAsync",
    ) -> None:
        """Take the settings."""
        super().__init__(use_locking, name)
        self._learning_rate, self._betas, self._epsilon = learning_rate, (float(beta1), float(beta2)), float(epsilon)
        self._rmsprop = apply_sparse_rmsprop

    def table_form(self, variable: Any) -> Form:
        """Return the native form for one variable."""
        if self._rmsprop:
            return Form("rmsprop", [self._rate, self._betas[1], self._betas[0], self._epsilon], (0.0, 0.0))
        powers = [tf.identity(power) for power in self._powers_of(variable)]
        return Form("lazy_adam", [self._rate, *powers, *self._betas, self._epsilon], (0.0, 0.0))

    def after_table(self, variable: Any, update: tf.Operation) -> tf.Operation:
        """Return an op that waits for the update of a table and advances its beta powers."""
        with tf.control_dependencies([update]):
            return update if self._rmsprop else self._advanced(variable)

    def _powers_of(self, variable: Any) -> list[Any]:
        graph = None if tf.executing_eagerly() else variable.graph
        name = variable.op.name
        return [self._get_non_slot_variable(f"{name}/beta{n}_power", graph=graph) for n in (1, 2)]

    def _advanced(self, variable: Any) -> tf.Operation:
        powers = self._powers_of(variable)
        return tf.group(*(power.assign(power * beta).op for power, beta in zip(powers, self._betas, strict=True)))

    def _create_slots(self, var_list: Any) -> None:
        for variable in var_list:
            for number, beta in enumerate(self._betas, start=1):
                name = f"{variable.op.name}/beta{number}_power"
                self._create_non_slot_variable(initial_value=beta, name=name, colocate_with=variable)
            for slot in ("m", "v"):
                self._zeros_slot(variable, slot, self._name)

    def _prepare(self) -> None:
        self._rate = tf.convert_to_tensor(self._call_if_callable(self._learning_rate))

    def _stepped(self, gradient: tf.Tensor, variable: Any, rows: tf.Tensor | None) -> tf.Operation:
        m, v = self.get_slot(variable, "m"), self.get_slot(variable, "v")
        beta1, beta2 = (tf.constant(beta, gradient.dtype) for beta in self._betas)  # so 1 - beta is rounded likewise
        first, second = _read(m, rows), beta2 * _read(v, rows) + (1 - beta2) * gradient * gradient
        rate = tf.cast(self._rate, gradient.dtype)
        if self._rmsprop and rows is not None:
            first = beta1 * first + rate * gradient / tf.sqrt(second + self._epsilon)
            weights = _read(variable, rows) - first
            advanced = tf.no_op()
        else:
            power1, power2 = (tf.identity(power) for power in self._powers_of(variable))
            step = rate * tf.sqrt(1 - power2) / (1 - power1)
            first = beta1 * first + (1 - beta1) * gradient
            weights = _read(variable, rows) - step * first / (tf.sqrt(second) + self._epsilon)
            with tf.control_dependencies([weights]):
                advanced = self._advanced(variable)
        with tf.control_dependencies([first, second, weights]):
            written = [_write(m, rows, first), _write(v, rows, second), _write(variable, rows, weights)]
        return tf.group(*written, advanced)


class GroupFtrlOptimizer(_Ftrl):  # type: ignore[misc]
    """FTRL with the L1 term on the norm of a table's row, as DeepRec's for EmbeddingVariables."""

    def table_form(self, variable: Any) -> Form:
        """Return the native form."""
        del variable
        stock = FORMS[_Ftrl](self)
        return Form("group_ftrl", stock.hyper, stock.starts)


class AdamWOptimizer(_v1.train.AdamOptimizer):  # type: ignore[misc]
    """Adam that first subtracts `weight_decay * w` from a variable, or from the rows of a sparse gradient."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        """Take the settings; `weight_decay` is not multiplied by the learning rate."""
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._weight_decay = weight_decay
        self._decayed: set[Any] | None = None

    def minimize(self, *args: Any, decay_var_list: Any = None, **kwargs: Any) -> Any:
        """Minimize as any v1 optimizer; `decay_var_list` are the variables to decay (default: all)."""
        self._choose(decay_var_list)
        return super().minimize(*args, **kwargs)

    def apply_gradients(self, *args: Any, decay_var_list: Any = None, **kwargs: Any) -> Any:
        """Apply gradients as any v1 optimizer; `decay_var_list` are the variables to decay."""
        if decay_var_list is not None:
            self._choose(decay_var_list)
        return super().apply_gradients(*args, **kwargs)

    def table_form(self, variable: Any) -> Form:
        """Return the native form, whose decay is multiplied by the learning rate."""
        powers = self._get_beta_accumulators()
        numbers = [self._lr_t, *powers, self._beta1_t, self._beta2_t, self._epsilon_t]
        if not self._decays(variable):
            return Form("lazy_adam", numbers, (0.0, 0.0))
        return Form("lazy_adamw", [*numbers, self._decay / self._lr_t], (0.0, 0.0))

    def _choose(self, variables: Any) -> None:
        self._decayed = None if not variables else {id(one) for one in variables}

    def _decays(self, variable: Any) -> bool:
        return self._decayed is None or id(variable) in self._decayed

    def _prepare(self) -> None:
        super()._prepare()
        self._decay = tf.convert_to_tensor(self._call_if_callable(self._weight_decay))

    def _shrunk(self, variable: Any, gradient: tf.Tensor, rows: tf.Tensor | None) -> tf.Operation:
        if not self._decays(variable):
            return tf.no_op()
        with tf.control_dependencies([gradient]):  # the forward pass must not read the decayed weights
            value = _read(variable, rows)
        return _write(variable, rows, value - tf.cast(self._decay, value.dtype) * value)

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        with tf.control_dependencies([self._shrunk(var, grad, None)]):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        with tf.control_dependencies([self._shrunk(var, grad, None)]):
            return super()._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> tf.Operation:
        with tf.control_dependencies([self._shrunk(var, grad.values, grad.indices)]):
            return super()._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad: tf.Tensor, var: Any, indices: tf.Tensor) -> tf.Operation:
        with tf.control_dependencies([self._shrunk(var, grad, indices)]):
            return super()._resource_apply_sparse(grad, var, indices)
