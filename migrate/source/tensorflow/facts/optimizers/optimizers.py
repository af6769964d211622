"""Stock optimizers of TensorFlow 1, their counterparts for tables, and the optimizer object of a training call."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, dropped, is_none, literal, number
from migrate.source.tensorflow.base.bindings import (
    assigned_value,
    local_names,
    resolve,
    scope_of_name,
    self_class,
)
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import partials
from migrate.source.tensorflow.facts.calls.object_attributes import relatives
from migrate.source.tensorflow.facts.calls.sinks import TRAINING

RULE = "tf-optimizer"
#: Attributes and methods of an optimizer that train nothing.
HARMLESS = {"get_slot", "get_slot_names", "get_name", "_lr", "_learning_rate"}
_FTRL = (
    "learning_rate", "learning_rate_power", "initial_accumulator_value", "l1_regularization_strength",
    "l2_regularization_strength", "use_locking", "name", "accum_name", "linear_name",
    "l2_shrinkage_regularization_strength", "beta",
)  # fmt: skip
_L1_L2 = ("l1_regularization_strength", "l2_regularization_strength")
_ADAM = ("learning_rate", "beta1", "beta2", "epsilon", "use_locking", "name")


class IdleRows(Enum):
    """How rows without a gradient fare in a table, where a stock step with a gradient of the whole matrix moves all."""

    SAME = "they do not move, or move in the table as well"
    REPLAYED = "they take the steps later, one after the other, where the table is told to (`all_rows`)"
    LEFT = "they stay, which differs"


@dataclass(frozen=True)
class Stock:
    """A stock optimizer: its parameters, and its counterpart for tables."""

    module: str  #: the module in `runtime.optimizers`
    parameters: tuple[str, ...]
    idle_rows: IdleRows
    defaults: tuple[tuple[str, str], ...] = ()  #: written out even if the source omits them
    stateful: bool = True
    counts: bool = False  #: each step counts for every variable, as in Adam's bias correction
    zeros: tuple[str, ...] = ()  #: parameters that must be zero, since the optimizer of tables has no counterpart


_RATE, _START = (("learning_rate", "0.001"),), (("initial_accumulator_value", "0.1"),)
_LAST = ("use_locking", "name")
STOCK = {
    "train.GradientDescentOptimizer": Stock(
        "gradient_descent", ("learning_rate", *_LAST), IdleRows.SAME, stateful=False
    ),
    "train.AdagradOptimizer": Stock(
        "adagrad", ("learning_rate", "initial_accumulator_value", *_LAST), IdleRows.SAME, _START
    ),
    "train.AdamOptimizer": Stock("adam", _ADAM, IdleRows.SAME, _RATE, counts=True),
    "train.MomentumOptimizer": Stock(
        "momentum", ("learning_rate", "momentum", *_LAST, "use_nesterov"), IdleRows.REPLAYED
    ),
    "train.RMSPropOptimizer": Stock(
        "rmsprop",
        ("learning_rate", "decay", "momentum", "epsilon", "use_locking", "centered", "name"),
        IdleRows.REPLAYED,
    ),
    "train.AdadeltaOptimizer": Stock("adadelta", ("learning_rate", "rho", "epsilon", *_LAST), IdleRows.REPLAYED),
    "train.FtrlOptimizer": Stock("ftrl", _FTRL, IdleRows.REPLAYED),
    "train.ProximalGradientDescentOptimizer": Stock(
        "gradient_descent", ("learning_rate", *_L1_L2, *_LAST), IdleRows.SAME, stateful=False, zeros=_L1_L2
    ),
    "train.ProximalAdagradOptimizer": Stock(
        "adagrad", ("learning_rate", "initial_accumulator_value", *_L1_L2, *_LAST), IdleRows.SAME, _START, zeros=_L1_L2
    ),
    "contrib.opt.LazyAdamOptimizer": Stock("lazy_adam", _ADAM, IdleRows.LEFT, _RATE, counts=True),
}
#: The counterparts of those with `zeros` where the target has them, and they need not be zero.
WITHOUT_ZEROS = {
    "train.ProximalAdagradOptimizer": Stock(
        "proximal_adagrad", ("learning_rate", "initial_accumulator_value", *_L1_L2, *_LAST), IdleRows.REPLAYED
    ),
}
#: Arguments that do not affect what the optimizer computes.
NOT_CARRIED = {"use_locking", "name", "accum_name", "linear_name"}
OPTIMIZER = re.compile(
    r"(contrib\.opt\.|train\.)(experimental\.)?\w*Optimizer|contrib\.opt\.\w+|(keras\.)?optimizers\.\w+"
)


@dataclass
class OptimizerCall:
    """A call that creates an optimizer."""

    call: cst.Call
    name: str  #: the canonical name
    #: the arguments carried over to the optimizer of the tables
    arguments: dict[str, cst.BaseExpression] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()  #: the arguments that only the dense optimizer gets
    without_zeros: bool = False  #: the target has a counterpart whatever the `zeros` are

    @property
    def stock(self) -> Stock:
        """What is known about this class."""
        return (WITHOUT_ZEROS if self.without_zeros else STOCK)[self.name]


@dataclass
class Optimizer:
    """The object on which a training method is called."""

    receiver: cst.BaseExpression
    makers: list[OptimizerCall]
    blockers: list[Blocker] = field(default_factory=list)

    @property
    def inline(self) -> bool:
        """True if it is created in place, as in `tf.train.AdagradOptimizer(0.1).minimize(loss)`."""
        return any(call is self.receiver for call in self.calls)

    @property
    def calls(self) -> list[cst.Call]:
        """The calls of classes that create it beside its name."""
        return [maker.call for maker in self.makers]


def optimizer_of(file: File, receiver: cst.BaseExpression) -> Optimizer:
    """Return what is known about the optimizer at `receiver`, by the assignments to its own name, or by its call.

    What is not understood is recorded in its `blockers`.
    """
    optimizer = Optimizer(receiver, [])
    values = [receiver] if isinstance(receiver, cst.Call) else _values(file, receiver, optimizer)
    for value in values:
        name = file.names.of(value.func) if isinstance(value, cst.Call) else None
        if isinstance(value, cst.Call) and name in STOCK:
            optimizer.makers.append(_maker(file, value, name, optimizer))
        else:
            optimizer.blockers.append(_foreign(file, value, name))
    _drop_wrapped(file, optimizer)
    if not values and not optimizer.blockers:
        optimizer.blockers.append(_foreign(file, receiver, None))
    return optimizer


def _drop_wrapped(file: File, optimizer: Optimizer) -> None:
    """For `o = wrap(o)`, keep only the blocker of the wrapper, and drop that of the wrapped name."""
    values = [each.node for each in optimizer.blockers if isinstance(each.node, cst.Call)]
    inside = [s for s in optimizer.blockers if any(file.tree.contains(v, s.node) and v is not s.node for v in values)]
    optimizer.blockers[:] = [each for each in optimizer.blockers if all(each is not one for one in inside)]


def _foreign(file: File, node: cst.BaseExpression, name: str | None) -> Blocker:
    """Return the blocker for a value that is not a stock optimizer; `name` is its canonical name, if it has one."""
    text = file.tree.one_line(node.func if isinstance(node, cst.Call) else node)
    if name is not None and OPTIMIZER.fullmatch(name):
        short = name.rpartition(".")[2]
        return blocker(node, RULE, "no-table-optimizer", text=text, short=short)
    return blocker(node, RULE, "unknown", text=text)


def _maker(file: File, call: cst.Call, name: str, optimizer: Optimizer) -> OptimizerCall:
    """Return the maker for a call of a stock optimizer; arguments that tables do not support are blockers."""
    bound = bind(call, STOCK[name].parameters)
    if bound is None or partials(file, call.func):
        optimizer.blockers.append(blocker(call, RULE, "unread-arguments", text=file.tree.source(call)))
        return OptimizerCall(call, name)
    whole = WITHOUT_ZEROS.get(name)
    without_zeros = whole is not None and whole.module in file.target.optimizers(file.switches)
    stock = whole if whole is not None and without_zeros else STOCK[name]
    for zero in stock.zeros:
        if zero in bound and number(resolve(file.tree, bound[zero].value)) != 0:
            optimizer.blockers.append(_foreign(file, call, name))
    left = {*NOT_CARRIED, *stock.zeros}
    carried = {k: arg.value for k, arg in bound.items() if k not in left and not is_none(arg)}
    return OptimizerCall(
        call, name, carried, dropped=dropped(bound, {*carried, *stock.zeros}), without_zeros=without_zeros
    )


def _values(file: File, receiver: cst.BaseExpression, optimizer: Optimizer) -> list[cst.BaseExpression]:
    """Return every value that is assigned to the name of an optimizer."""
    values: list[cst.BaseExpression] = []
    if isinstance(receiver, cst.Name) and (target := _declared(file, receiver)) is not None:
        text = file.tree.one_line(file.tree.statement(target) or target)
        optimizer.blockers.append(blocker(target, RULE, "other-function", text=text))
    for node in _mentions(file, receiver):
        value = assigned_value(file.tree, node)
        if value is not None:
            values += [value] if literal(value) is not None else []
        elif file.tree.is_target(node) or not _harmless(file, node):
            text = file.tree.source(file.tree.parent(node) or node).strip()
            if isinstance(file.tree.parent(node), cst.Param):
                optimizer.blockers.append(blocker(node, RULE, "parameter", text=text))
                continue
            key = "variables-listed" if text.endswith(".variables") else "handed-on"
            optimizer.blockers.append(blocker(node, RULE, key, text=text))
    return values


def _mentions(file: File, receiver: cst.BaseExpression) -> list[cst.Name] | list[cst.Attribute]:
    """Return the mentions of a name, or of an attribute of `self`, that holds an optimizer."""
    if isinstance(receiver, cst.Name):
        scope = scope_of_name(file.tree, receiver)
        return local_names(file.tree, receiver.value, scope) if scope is not None else []
    if isinstance(receiver, cst.Attribute) and (cls := self_class(file.tree, receiver)):
        return _attributes(file, receiver, cls)
    return []


def _declared(file: File, receiver: cst.Name) -> cst.Name | None:
    """Return a `global` or `nonlocal` assignment that creates the optimizer in a function other than its owner."""
    tree, owner = file.tree, scope_of_name(file.tree, receiver)
    names = local_names(tree, receiver.value, owner) if owner is not None else []
    assigned = [(name, value) for name in names if (value := assigned_value(tree, name)) is not None]
    idle = {id(name) for name, value in assigned if literal(value) is None}
    scopes = {id(tree.scope(name)) for name in names if id(name) not in idle}
    away = [name for name, _ in assigned if id(name) not in idle and tree.scope(name) is not owner]
    return away[0] if away and len(scopes) > 1 else None


def _attributes(file: File, receiver: cst.Attribute, cls: cst.ClassDef) -> list[cst.Attribute]:
    """Return the mentions of `self.optimizer` on objects of `cls`, and of related classes if only one of them sets it.

    If several classes set it, a step of a base class may use any of them, depending on the object.
    """
    same = [(a, self_class(file.tree, a)) for a in file.tree.attributes[receiver.attr.value]]
    own = [a for a, holder in same if holder is cls]
    family = relatives(file, cls)
    all_of_them = [a for a, holder in same if holder is not None and any(holder is one for one in family)]
    text = file.tree.source(receiver)
    if sum(file.tree.is_target(a) for a in all_of_them) == 1 and all(file.tree.source(a) == text for a in all_of_them):
        return all_of_them
    return own


def _harmless(file: File, node: cst.BaseExpression) -> bool:
    """True for a mention that reads or trains by an attribute of the optimizer, without passing it on."""
    around = file.tree.parent(node)
    if not isinstance(around, cst.Attribute) or file.tree.is_target(around):
        return False
    called = file.tree.call_of(around) is not None
    return around.attr.value in HARMLESS or (called and around.attr.value in TRAINING)
