"""Training steps of a file as data, and the words that all who look at them share."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.optimizers.optimizers import Optimizer

RULE = "tf-training-step"
MINIMIZE = [
    "loss",
    "global_step",
    "var_list",
    "gate_gradients",
    "aggregation_method",
    "colocate_gradients_with_ops",
    "name",
    "grad_loss",
]
APPLY = ("grads_and_vars", "global_step", "name")
#: Helpers that train by themselves.
HELPERS = {
    "contrib.layers.optimize_loss", "contrib.slim.learning.create_train_op", "contrib.training.create_train_op",
    "contrib.slim.learning.train", "keras.Model", "keras.models.Model", "keras.Sequential", "keras.models.Sequential",
}  # fmt: skip
#: Packages with a `minimize` or `compute_gradients` of their own, which knows nothing of variables of TensorFlow.
OTHERS = {
    "autograd",
    "cvxpy",
    "iminuit",
    "jax",
    "lmfit",
    "numpy",
    "paddle",
    "pymc",
    "scipy",
    "sklearn",
    "skopt",
    "torch",
}
STEPPING = re.compile(r"(train\.(experimental\.)?|contrib\.opt\.)\w*Optimizer")


@dataclass(frozen=True)
class Listed:
    """The variables of a `var_list`, of which each is a table or known to be none."""

    node: cst.BaseExpression
    tables: frozenset[int]  #: ids of the calls that make them
    dense: tuple[cst.BaseExpression, ...]  #: the other members
    fixed: bool = True  #: nothing is added later, or under a condition
    calls: tuple[cst.Call, ...] = ()  #: those of its parts that list the variables of a scope
    beside: tuple[str, ...] = ()  #: the tables that were in these, and are in them no longer

    @property
    def certain(self) -> bool:
        """True when every member is there whenever the step is built: a scope may have tables alone."""
        return self.fixed and not self.calls


@dataclass
class Step:
    """One `minimize` or `apply_gradients` that trains every variable of its graph, or those of a list."""

    call: cst.Call
    optimizer: Optimizer
    arguments: dict[str, cst.Arg]
    #: where its gradients are taken (empty for `minimize`): calls, and a list wherever it stands besides
    sources: list[cst.BaseExpression] = field(default_factory=list)
    filters: list[cst.ListComp] = field(default_factory=list)  #: where pairs without a gradient are dropped
    listed: Listed | None = None  #: what it trains; None: every variable
    apart: bool = False  #: its gradients are taken in another function
    lazy: bool = False  #: what is applied may be a `zip`, which has no length

    @property
    def is_minimize(self) -> bool:
        """True for `minimize`."""
        return method_of(self.call) == "minimize"

    def trains(self, table: Table) -> bool:
        """True when it trains every variable, or names that one."""
        return self.listed is None or id(table.creation.call) in self.listed.tables

    def shares(self, other: Step) -> bool:
        """True when both may train one table."""
        if self.listed is None or other.listed is None:
            return True
        return bool(self.listed.tables & other.listed.tables)


@dataclass
class Training:
    """All steps of a file, and what about them is not understood."""

    steps: list[Step] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)
    understood: set[int] = field(default_factory=set)
    dense: list[tuple[cst.Call, Optimizer]] = field(default_factory=list)  #: steps of variables that are no tables


def method_of(call: cst.Call) -> str:
    """Return the name of the method that is called, empty for a plain call."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def is_elsewhere(file: File, call: cst.Call) -> bool:
    """True for `scipy.optimize.minimize` and the like, which train no variable of TensorFlow."""
    inner: cst.BaseExpression = call.func
    while isinstance(inner, cst.Attribute):
        inner = inner.value
    if not isinstance(inner, cst.Name):
        return False
    imported, _ = file.tree.imported_names(call.func)
    return bool(imported) and all(name.split(".")[0] in OTHERS for name in imported)


def dense_only(arg: cst.Arg | None, tables: Container[int]) -> bool:
    """True when a `var_list` is a literal list of expressions that are no tables."""
    if arg is None or not isinstance(arg.value, cst.List | cst.Tuple):
        return False
    elements = [e.value for e in arg.value.elements]
    plain = all(isinstance(e, cst.Name | cst.Attribute | cst.Subscript) for e in elements)
    return plain and not any(id(e) in tables for e in elements)


def owner(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the top-level function or class around `node`, else the module."""
    kinds = (cst.FunctionDef, cst.ClassDef)
    return next((a for a in reversed([*file.tree.ancestors(node)]) if isinstance(a, kinds)), file.tree.module_of(node))
