"""Base class of the optimizers: which gradients are applied, in which order, and the variables for it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import tensorflow as tf

from runtime.nn.no_grad import stopped
from runtime.nn.optimizer.eager_steps import EagerSteps, kind_of
from runtime.nn.optimizer.groups import Group, groups_of
from runtime.nn.optimizer.scheduler import LRScheduler
from runtime.nn.weights.table_weight import TableWeight, hold_as_variable
from runtime.nn.weights.weight import Weight, holders
from runtime.optimizers.by_rule import record_updates, update_by_rule

v1 = tf.compat.v1
#: Stands for eager code, which has no graph.
_EAGER = tf.Graph()


class Step(NamedTuple):
    """One weight in one step."""

    weight: Weight
    #: A tensor, or IndexedSlices if the weight is a table.
    gradient: Any
    #: The learning rate of this weight, a scalar of the gradient's dtype.
    rate: tf.Tensor
    #: The hyperparameters of the weight's group.
    settings: Mapping[str, Any]
    #: Which rows of a variable have a gradient, bool [rows, 1, …], where Paddle's gradient is of chosen rows only.
    touched: tf.Tensor | None
    #: Whether Paddle's gradient is of chosen rows.
    sparse: bool


class TableRule(NamedTuple):
    """A rule of the native library, its hyperparameters in its order, and the first values of its slots."""

    rule: str
    hyper: Sequence[Any]
    starts: tuple[float, ...] = ()
    #: By what Paddle's slots are multiplied in the table.
    unit: float = 1.0


class Optimizer:
    """Base class. `minimize` returns the op that Paddle's `backward`, `step` and `clear_grad` amount to."""

    #: Whether `weight_decay` shrinks the weights themselves instead of being a part of the gradient.
    decoupled = False
    #: Why each step changes every row, so that a table cannot be trained; empty for an optimizer that has a rule.
    every_row = ""

    def __init__(
        self,
        learning_rate: Any,
        parameters: Any,
        weight_decay: Any,
        grad_clip: Any,
        name: str | None,
        settings: Mapping[str, Any],
    ) -> None:
        """Take what all optimizers have, and the hyperparameters of this one.

        Args:
            learning_rate: a float or a scheduler of `lr`.
            parameters: weights, or dictionaries with `params` and settings that differ for them.
            weight_decay: a float for L2Decay, or a regularizer.
            grad_clip: of `runtime.nn`, such as `ClipGradByGlobalNorm`.
            name: of the variables.
            settings: the hyperparameters by name.

        Raises:
            ValueError: an argument is something else, or `groups_of` refuses the parameters.
        """
        kind = type(self).__name__
        if not isinstance(learning_rate, int | float | LRScheduler) or isinstance(learning_rate, bool):
            raise ValueError(
                f"{kind} got learning_rate={learning_rate!r}: give a float or a scheduler of nn.optimizer.lr"
            )
        self._name = name or kind
        self._learning_rate = learning_rate
        every = {**settings, "grad_clip": grad_clip} | ({"weight_decay": weight_decay} if self.decoupled else {})
        #: Without parameters, those of the program that is being built when the optimizer is asked for a step.
        self._late = (every, weight_decay) if parameters is None and holders else None
        self._groups = [] if self._late else groups_of(kind, parameters, every, weight_decay, self.decoupled)
        if tf.executing_eagerly():
            self._hold_as_variables()
        self._slots: WeakKeyDictionary[tf.Graph, dict[tuple[int, str], Any]] = WeakKeyDictionary()
        self._eager = EagerSteps(self._update)
        self._rules: WeakKeyDictionary[tf.Graph, dict[int, tuple[TableWeight, TableRule]]] = WeakKeyDictionary()

    def _hold_as_variables(self) -> None:
        """Let embeddings of eager code that this optimizer cannot train as tables be variables."""
        for group in self._groups:
            for weight in group.weights:
                if isinstance(weight, TableWeight) and (because := self.why_no_table(weight, group)):
                    hold_as_variable(weight, because)

    def get_lr(self) -> Any:
        """Return the learning rate: a float, or of a scheduler a float32 scalar tensor."""
        rate = self._learning_rate
        if isinstance(rate, LRScheduler):
            return rate.value()
        return float(rate)

    def step(self) -> None:
        """Apply the gradients that the weights hold, in eager code."""
        weights = [weight for group in self._groups for weight in group.weights]
        pairs = [
            (weight, weight.accumulated) for weight in weights if weight.trainable and weight.accumulated is not None
        ]
        if pairs:
            self._eager.make(pairs, self._kind(), tf.convert_to_tensor(self.get_lr(), tf.float32))

    def _kind(self) -> Hashable | None:
        """Return all that the ops of a step depend on, weights and gradients aside; None: code of the program."""
        kinds = [kind_of(group) for group in self._groups]
        if None in kinds or not type(self).__module__.startswith("runtime.nn."):
            return None
        return tuple(kinds), tuple(map(self._choices, self._groups))

    def _choices(self, group: Group) -> Hashable:
        """Return what functions of the program say of the weights of a group."""
        del group
        return ()

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Forget the gradients that the weights hold, in eager code; `set_to_zero` has no effect."""
        del set_to_zero
        for group in self._groups:
            for weight in group.weights:
                weight.clear_grad()

    clear_gradients = clear_grad

    def minimize(self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None) -> Any:
        """Return the op of a training step: what normalizing layers keep up to date, then the weights.

        In eager code, `step`, as in Paddle: `backward` came before.

        Args:
            loss: a tensor; one with several elements counts as their sum.
            startup_program: has no effect.
            parameters: weights, if not all of this optimizer are to be trained.
            no_grad_set: weights that are left alone.

        Raises:
            ValueError: no weight has a gradient.
        """
        del startup_program
        if tf.executing_eagerly():
            return self.step()
        self._take_program()
        if holders:
            holders[-1].losses.append(loss)
        chosen = None if parameters is None else {id(weight) for weight in parameters}
        left = {id(weight) for weight in no_grad_set or ()}
        weights = [
            weight
            for group in self._groups
            for weight in group.weights
            if weight.trainable and id(weight) not in left and (chosen is None or id(weight) in chosen)
        ]
        gradients = tf.gradients(loss, [weight.variable for weight in weights], stop_gradients=stopped())
        with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
            return self.apply_gradients(list(zip(weights, gradients, strict=True)))

    def _take_program(self) -> None:
        """Take all weights of the program that is being built, if none were given."""
        if self._late is not None and holders:
            every, decay = self._late
            held = list(holders[-1].weights.values())
            self._groups = groups_of(type(self).__name__, held, every, decay, self.decoupled)

    def apply_gradients(self, params_grads: Sequence[tuple[Weight, Any]]) -> tf.Operation:
        """Return the op that applies gradients, given as pairs (weight, gradient); None is no gradient.

        Raises:
            ValueError: there is no gradient, or a weight does not belong to this optimizer.
        """
        gradients = {id(weight): gradient for weight, gradient in params_grads if gradient is not None}
        known = {id(weight) for group in self._groups for weight in group.weights}
        strange = [weight for weight, _ in params_grads if id(weight) not in known]
        if strange:
            raise ValueError(f"{self._name} does not have the weight `{strange[0].label}`: give it to the optimizer")
        if not gradients:
            raise ValueError(f"{self._name} has nothing to train: the loss depends on none of its weights")
        return self._update(gradients, tf.convert_to_tensor(self.get_lr(), tf.float32))

    def _update(self, gradients: Mapping[int, Any], rate: tf.Tensor) -> tf.Operation:
        with v1.name_scope(self._name):
            steps = [step for group in self._groups for step in self._steps(group, gradients, rate)]
            # No weight changes before all gradients are known, whichever of them is computed first.
            with tf.control_dependencies([_tensor(gradient) for gradient in gradients.values()]):
                ops = [self._on_table(step) if step.weight.is_table else self._on_variable(step) for step in steps]
            tables = [(op, step.weight) for op, step in zip(ops, steps, strict=True)]
            record_updates([(op, weight.table) for op, weight in tables if isinstance(weight, TableWeight)])
            with tf.control_dependencies(ops):
                done = tf.group(*ops, *(op for step in steps for op in self._advance(step)), name="step")
        if not tf.executing_eagerly():
            v1.add_to_collection(v1.GraphKeys.TRAIN_OP, done)
        return done

    def _steps(self, group: Group, gradients: Mapping[int, Any], rate: tf.Tensor) -> list[Step]:
        pairs = [(weight, gradients[id(weight)]) for weight in group.weights if id(weight) in gradients]
        clip = group.settings["grad_clip"]
        dense = [(weight, one if weight.is_table else tf.convert_to_tensor(one)) for weight, one in pairs]
        # Paddle's sparse gradient becomes dense by a regularizer.
        sparse = [weight.sparse and group.regularizer(weight) is None for weight, _ in pairs]
        rows = [
            _touched(weight, one) if chosen and not weight.is_table else None
            for (weight, one), chosen in zip(pairs, sparse, strict=True)
        ]
        clipped = dense if clip is None else clip(dense)
        steps = []
        for (weight, gradient), touched, chosen in zip(clipped, rows, sparse, strict=True):
            self._check(weight, group)
            own = tf.cast(rate, weight.dtype) * group.factor(weight) if group.factor(weight) != 1.0 else rate
            regular = self._regularized(weight, gradient, group.regularizer(weight), group.settings)
            steps.append(Step(weight, regular, tf.cast(own, weight.dtype), group.settings, touched, chosen))
        return steps

    def _check(self, weight: Weight, group: Group) -> None:
        """Refuse what Paddle refuses, and what a table cannot do."""
        because = self.why_no_table(weight, group) if weight.is_table else ""
        if because:
            raise ValueError(
                f"{self._name} cannot train the table `{weight.label}`, because {because}, and a step changes "
                "only the rows of a table that were looked up: create the embedding with Embedding(..., "
                "table=False)"
            )

    def why_no_table(self, weight: Weight, group: Group) -> str:
        """Return why this optimizer has no exact form for a table; empty where it has one."""
        decay = group.regularizer(weight)
        decays = decay is not None and decay.coeff != 0.0
        return f"{decay!r} changes every row at each step" if decays else self.every_row

    def _regularized(self, weight: Weight, gradient: Any, decay: Any, settings: Mapping[str, Any]) -> Any:
        del settings
        return gradient if decay is None or weight.is_table else gradient + decay.term(weight)

    def _on_table(self, step: Step) -> tf.Operation:
        """Return the op that updates the rows of a table."""
        assert isinstance(step.weight, TableWeight)
        rule = self.table_rule(step)
        self._rules.setdefault(_graph(), {})[id(step.weight)] = step.weight, rule
        return update_by_rule(step.weight.table, step.gradient, rule.rule, rule.hyper, rule.starts, owner=self)

    def table_rule(self, step: Step) -> TableRule:
        """Return how rows of a table are updated; not asked where `every_row` says why they cannot be."""
        raise NotImplementedError

    def rule_of(self, weight: TableWeight) -> TableRule:
        """Return how rows of a table will be updated, before the first step."""
        group = next(group for group in self._groups if any(one is weight for one in group.weights))
        sparse = weight.sparse and group.regularizer(weight) is None
        return self.table_rule(Step(weight, None, tf.zeros([], weight.dtype), group.settings, None, sparse))

    def _on_variable(self, step: Step) -> tf.Operation:
        """Return the op that updates a variable."""
        raise NotImplementedError

    def _advance(self, step: Step) -> list[tf.Operation]:
        """Return ops that run after all updates of a step, such as the count of steps."""
        del step
        return []

    def slot(self, weight: Weight, name: str, start: Any = 0.0, shape: Sequence[int] | None = None) -> tf.Variable:
        """Return a variable that belongs to a weight, created at the first call; `shape` is the weight's by default."""
        slots = self._slots.setdefault(_graph(), {})
        key = (id(weight), name)
        if key not in slots:
            sizes = weight.declared_shape if shape is None else shape
            owner = weight.table.graph_name if isinstance(weight, TableWeight) else weight.variable.name.split(":")[0]
            with tf.init_scope(), v1.name_scope(None):
                slots[key] = v1.Variable(
                    tf.fill(sizes, tf.cast(start, weight.dtype)),
                    trainable=False,
                    name=f"{owner}/{self._name}/{name}",
                    use_resource=True,
                )
        return slots[key]

    def slots(self) -> dict[tuple[int, str], Any]:
        """Return the variables of the current graph that belong to weights, by (id of the weight, name)."""
        return dict(self._slots.get(_graph(), {}))

    def rules(self) -> list[tuple[TableWeight, TableRule]]:
        """Return the tables that are trained in the current graph, and how."""
        return list(self._rules.get(_graph(), {}).values())


def _graph() -> tf.Graph:
    """Return the graph that a session runs; in eager code and its functions, what stands for it."""
    with tf.init_scope():
        graph: tf.Graph = _EAGER if tf.executing_eagerly() else v1.get_default_graph()
        return graph


def _tensor(gradient: Any) -> tf.Tensor:
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


def _touched(weight: Weight, gradient: Any) -> tf.Tensor | None:
    if not isinstance(gradient, tf.IndexedSlices):
        return None
    rows = weight.declared_shape[0]
    touched = tf.scatter_nd(gradient.indices[:, tf.newaxis], tf.ones_like(gradient.indices), [rows]) > 0
    return tf.reshape(touched, [rows] + [1] * (len(weight.declared_shape) - 1))
