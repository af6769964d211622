"""SOK's optimizers: the wrapper of TensorFlow's, and its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.compat.sok import forms
from runtime.compat.sok.counting import steps_of_a_wrapper
from runtime.compat.sok.dynamic import DynamicVariable
from runtime.optimizers import stock
from runtime.optimizers.stock import Form

v1: Any = tf.compat.v1


class OptimizerWrapper(_tf_private.Parent):
    """Trains variables of SOK by an optimizer of Keras (legacy or not) or of `tf.compat.v1.train`.

    Static variables are updated by the optimizer itself. Rows of DynamicVariables are updated by its formula, only for
    rows of the batch: Adam is lazy on them. The wrapper counts its steps from 0, separately from the optimizer, which
    may also be used itself for other variables. `tf.train.Checkpoint` of either saves both counters. Other attributes
    are those of the optimizer.
    """

    def __init__(self, optimizer: Any) -> None:
        """Take the optimizer.

        Raises:
            TypeError: it is not an optimizer.
        """
        if not hasattr(optimizer, "apply_gradients"):
            raise TypeError(f"sok.OptimizerWrapper needs an optimizer: got {type(optimizer).__name__}")
        self._optimizer = optimizer
        self._steps = steps_of_a_wrapper(optimizer)

    def children(self) -> dict[str, Any]:
        """Return what checkpoints save: the optimizer, which has the wrapper's counters as a part."""
        return {"optimizer": self._optimizer} if isinstance(self._optimizer, _tf_private.Trackable) else {}

    @property
    def optimizer(self) -> Any:
        """The optimizer that was given."""
        return self._optimizer

    @property
    def iterations(self) -> Any:
        """The step counter of this wrapper, if the optimizer is one of Keras."""
        return self._steps.iterations

    @property
    def variables(self) -> Any:
        """The variables of the optimizer and of the wrapper's counters, as a list that may also be called."""
        variables = self._optimizer.variables
        return _Variables([*(variables() if callable(variables) else variables), *self._steps.children().values()])

    @property
    def lr(self) -> Any:
        """The learning rate."""
        rate = getattr(self._optimizer, "learning_rate", None)
        return getattr(self._optimizer, "_learning_rate", None) if rate is None else rate

    @lr.setter
    def lr(self, rate: Any) -> None:
        """Set the learning rate of the optimizer."""
        if isinstance(self._optimizer, v1.train.Optimizer):
            raise AttributeError("the learning rate of an optimizer of tf.compat.v1.train is set when it is created")
        self._optimizer.learning_rate = rate

    learning_rate = lr

    def counting(self) -> contextlib.AbstractContextManager[None]:
        """Let the optimizer use the wrapper's counters."""
        return self._steps.counting()

    @_tf_private.as_written
    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None, **kwargs: Any
    ) -> Any:
        """Update the variables; in a v1 graph, return the op. Without any gradient, it does not count as a step.

        Raises:
            TypeError: the optimizer cannot train DynamicVariables, or an argument is unknown.
        """
        pairs = [pair for pair in grads_and_vars if pair[0] is not None]
        if not pairs:
            return None if tf.executing_eagerly() else tf.no_op()
        with self.counting():
            if isinstance(self._optimizer, v1.train.Optimizer):
                pairs = [(gradient, _unwrapped(variable)) for gradient, variable in pairs]
                return self._optimizer.apply_gradients(pairs, global_step=global_step, name=name, **kwargs)
            return self._apply_by_keras(pairs, global_step, {"name": name, **kwargs})

    def _apply_by_keras(self, pairs: list[tuple[Any, Any]], global_step: Any, settings: dict[str, Any]) -> Any:
        dynamic = [pair for pair in pairs if isinstance(pair[1], DynamicVariable)]
        others = [pair for pair in pairs if not isinstance(pair[1], DynamicVariable)]
        named = {key: value for key, value in settings.items() if value is not None}
        if not others:
            _check_without_effect(named)
        updates = self._update_dynamic(dynamic)
        with tf.control_dependencies([one for one in updates if one is not None]):
            done = self._optimizer.apply_gradients(others, **named) if others else self.iterations.assign_add(1)
            if global_step is not None:
                global_step.assign_add(1)
        return done

    def _update_dynamic(self, pairs: list[tuple[Any, Any]]) -> list[Any]:
        if not pairs:
            return []
        form = forms.form_of(self._optimizer)
        return [stock.update(self._optimizer, variable, gradient, form) for gradient, variable in pairs]

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Any:
        """Return (gradient, variable) pairs of an optimizer of `tf.compat.v1.train`."""
        return self._optimizer.compute_gradients(loss, var_list, **kwargs)

    def minimize(
        self,
        loss: Any,
        var_list: Any = None,
        global_step: Any = None,
        name: str | None = None,
        grad_loss: Any = None,
        tape: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Compute gradients and apply them: of a tensor for v1 optimizers, else of a callable or of a tape's tensor.

        Raises:
            TypeError: an argument is unknown, or the optimizer does not support it.
        """
        if isinstance(self._optimizer, v1.train.Optimizer):
            arguments = {**kwargs, "grad_loss": grad_loss}
            if tape is not None:
                raise TypeError("minimize of an optimizer of tf.compat.v1.train has no `tape`: leave it out")
            return self.apply_gradients(self.compute_gradients(loss, var_list, **arguments), global_step, name)
        if kwargs:
            raise TypeError(f"minimize of a Keras optimizer has no argument {min(kwargs)!r}")
        with tape or tf.GradientTape() as recorded:
            value = loss() if callable(loss) else loss
        variables = var_list() if callable(var_list) else var_list
        gradients = recorded.gradient(value, variables, grad_loss)
        return self.apply_gradients(zip(gradients, variables, strict=True), global_step, name)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the optimizer."""
        if name in ("_optimizer", "_steps") or name.startswith("_self_"):  # the latter belong to Trackable
            raise AttributeError(name)
        return getattr(self._optimizer, name)


class _Variables(list[Any]):
    """A list that returns itself when called, because variables of Keras' optimizers used to be a method."""

    def __call__(self) -> list[Any]:
        return self


def _check_without_effect(settings: dict[str, Any]) -> None:
    """Refuse unknown arguments; gradients of rows are summed over all ranks already."""
    unknown = sorted(settings.keys() - {"name", "experimental_aggregate_gradients", "skip_gradients_aggregation"})
    if unknown:
        raise TypeError(f"apply_gradients of sok.OptimizerWrapper has no argument {unknown[0]!r}")


class _TakesWeights(v1.train.Optimizer):  # type: ignore[misc]
    """An optimizer of TensorFlow 1 that accepts weights of Keras 3's layers."""

    @_tf_private.as_written
    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> Any:
        """Update the variables, including those wrapped by Keras 3: the weights of SOK's layers."""
        pairs = [(gradient, _unwrapped(variable)) for gradient, variable in grads_and_vars]
        return super().apply_gradients(pairs, global_step=global_step, name=name)


class SGD(_TakesWeights, v1.train.GradientDescentOptimizer):  # type: ignore[misc]
    """Gradient descent on variables of SOK and others."""

    def __init__(self, lr: Any) -> None:
        """Take the learning rate."""
        super().__init__(lr, name="SGD")

    @property
    def lr(self) -> Any:
        """The learning rate."""
        return self._learning_rate


class LazyAdamOptimizer(_TakesWeights, v1.train.AdamOptimizer):  # type: ignore[misc]
    """Adam whose moments move only for the rows of the batch, of variables and tables; its beta powers always move."""

    def table_form(self, variable: Any) -> Form:
        """Return the native form."""
        del variable
        return stock.FORMS[v1.train.AdamOptimizer](self)

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        del scatter_add
        return self._resource_apply_sparse(grad, var, indices)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        power1, power2 = (tf.cast(power, grad.dtype) for power in self._get_beta_accumulators())
        beta1, beta2 = tf.cast(self._beta1_t, grad.dtype), tf.cast(self._beta2_t, grad.dtype)
        rate = tf.cast(self._lr_t, grad.dtype) * tf.sqrt(1 - power2) / (1 - power1)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        first = beta1 * tf.gather(m, indices) + (1 - beta1) * grad
        second = beta2 * tf.gather(v, indices) + (1 - beta2) * grad * grad
        step = rate * first / (tf.sqrt(second) + tf.cast(self._epsilon_t, grad.dtype))
        with tf.control_dependencies([step]):
            slots = [_set(m, indices, first), _set(v, indices, second)]
            moved = var.scatter_sub(tf.IndexedSlices(step, indices))
        return tf.group(*slots, *([] if tf.executing_eagerly() else [moved]))


def _unwrapped(variable: Any) -> Any:
    """Return TensorFlow's variable inside of a Keras 3 variable; others unchanged."""
    kind = getattr(tf.keras, "Variable", None)
    return variable.value if kind is not None and isinstance(variable, kind) else variable


def _set(variable: Any, indices: Any, rows: Any) -> Any:
    done = variable.scatter_update(tf.IndexedSlices(rows, indices))
    return tf.no_op() if tf.executing_eagerly() else done


@contextlib.contextmanager
def OptimizerScope(trainable_variables: Any) -> Iterator[None]:
    """Do nothing: SOK needs it around stock optimizers, which work with all variables here.

    Raises:
        ValueError: the variables are not a list or tuple.
    """
    if not isinstance(trainable_variables, (list, tuple)):
        raise ValueError(f"sok.OptimizerScope needs a list of variables: got {type(trainable_variables).__name__}")
    yield
