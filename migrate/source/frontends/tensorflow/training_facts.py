"""Training steps of a file as data, and the words that all who look at them share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.optimizers import Optimizer

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
UNCLEAR = "a table would not be trained as the variable was"


@dataclass
class Step:
    """One `minimize` or `apply_gradients` that trains every variable of its graph."""

    call: cst.Call
    optimizer: Optimizer
    arguments: dict[str, cst.Arg]
    sources: list[cst.Call] = field(default_factory=list)  #: where its gradients are taken (empty for `minimize`)
    filters: list[cst.ListComp] = field(default_factory=list)  #: where pairs without a gradient are dropped

    @property
    def is_minimize(self) -> bool:
        """True for `minimize`."""
        return not self.sources


@dataclass
class Training:
    """All steps of a file, and what about them is not understood."""

    steps: list[Step] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    understood: set[int] = field(default_factory=set)
    dense: list[cst.Call] = field(default_factory=list)  #: steps of listed variables that are no tables


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


def dense_only(arg: cst.Arg | None, tables: set[int]) -> bool:
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
