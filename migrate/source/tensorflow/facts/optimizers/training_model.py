"""The data model of training steps, and helpers for all modules that examine them."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.tensorflow.base.arguments import method_of
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.symbols import leftmost
from migrate.source.tensorflow.facts.optimizers.optimizers import Optimizer

RULE = "tf-training-step"
MINIMIZE = [
    "loss", "global_step", "var_list", "gate_gradients", "aggregation_method", "colocate_gradients_with_ops", "name",
    "grad_loss",
]  # fmt: skip
APPLY = ("grads_and_vars", "global_step", "name")
#: Functions and classes that train by themselves.
HELPERS = {
    "contrib.layers.optimize_loss", "contrib.slim.learning.create_train_op", "contrib.training.create_train_op",
    "contrib.slim.learning.train", "keras.Model", "keras.models.Model", "keras.Sequential", "keras.models.Sequential",
}  # fmt: skip
#: Packages with a `minimize` or `compute_gradients` of their own, unrelated to TensorFlow variables.
OTHERS = {
    "autograd", "cvxpy", "iminuit", "jax", "lmfit", "numpy", "paddle", "pymc", "scipy", "sklearn", "skopt", "torch",
}  # fmt: skip
STEPPING = re.compile(r"(train\.(experimental\.)?|contrib\.opt\.)\w*Optimizer")


@dataclass(frozen=True)
class Listed:
    """The contents of a `var_list`: tables, and variables known to be dense."""

    node: cst.BaseExpression
    tables: frozenset[int]  #: ids of the calls that create them
    dense: tuple[cst.BaseExpression, ...]  #: the other members
    fixed: bool = True  #: nothing is added later or conditionally


@dataclass
class Step:
    """A `minimize` or `apply_gradients` that trains all variables of its graph, or those of a list."""

    call: cst.Call
    optimizer: Optimizer
    arguments: dict[str, cst.Arg]
    #: where its gradients are computed (empty for `minimize`): calls, and explicit lists outside of these calls
    sources: list[cst.BaseExpression] = field(default_factory=list)
    filters: list[cst.ListComp] = field(default_factory=list)  #: comprehensions that drop pairs without a gradient
    listed: Listed | None = None  #: what it trains; None for all variables
    is_zip: bool = False  #: the applied gradients may be a `zip` object, which has no length
    lambda_body: cst.Lambda | None = None  #: the lambda whose body it is, which becomes a function

    @property
    def is_minimize(self) -> bool:
        """True for `minimize`."""
        return method_of(self.call) == "minimize"

    def trains(self, table: Table) -> bool:
        """True if it trains all variables that are trainable, or this table."""
        return not table.creation.frozen if self.listed is None else id(table.creation.call) in self.listed.tables

    def shares(self, other: Step) -> bool:
        """True if both may train the same table."""
        if self.listed is None or other.listed is None:
            return True
        return bool(self.listed.tables & other.listed.tables)


@dataclass
class Training:
    """All training steps of a file, and what blocks their conversion."""

    steps: list[Step] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)
    understood: set[int] = field(default_factory=set)
    dense: list[tuple[cst.Call, Optimizer]] = field(default_factory=list)  #: steps that train dense variables only
    norms: list[cst.Call] = field(default_factory=list)  #: calls that clip gradients, each by its own norm


def is_elsewhere(file: File, call: cst.Call) -> bool:
    """True for `scipy.optimize.minimize` and similar calls, which do not train TensorFlow variables."""
    imported = file.tree.imported_names(call.func)[0] if leftmost(call.func) is not None else ()
    return bool(imported) and all(name.split(".")[0] in OTHERS for name in imported)


def dense_only(arg: cst.Arg | None, tables: Container[int]) -> bool:
    """True if a `var_list` is a literal list of expressions that are not tables."""
    if arg is None or not isinstance(arg.value, (cst.List, cst.Tuple)):
        return False
    elements = [e.value for e in arg.value.elements]
    plain = all(isinstance(e, (cst.Name, cst.Attribute, cst.Subscript)) for e in elements)
    return plain and not any(id(e) in tables for e in elements)


def owner(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the top-level function or class around `node`, or the module."""
    kinds = (cst.FunctionDef, cst.ClassDef)
    return next((a for a in reversed([*file.tree.ancestors(node)]) if isinstance(a, kinds)), file.tree.module_of(node))
