"""Why what trains a variable is no step that a table has, in the words of those who chose the optimizer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewriter.facts import Assignment, Lookup
from rewriter.graph.view import GraphView
from rewriter.patterns.branches import READS, computed_from
from rewriter.patterns.fused import DENSE
from rewriter.patterns.matching import Mismatch
from runtime.native.update_rules import UPDATE_RULES

_KNOWN = "SGD, Momentum, Adagrad, RMSProp, FTRL, Adadelta or Adam of tf.compat.v1.train"
_OWN = "or change its rows by tf.gather and tf.compat.v1.scatter_update"
_STEP = re.compile("(?:Resource)?(?:Sparse)?Apply(.+)")
#: Optimizers name the scope of what they do to a variable after themselves.
_SCOPE = re.compile("(?:.*/)?([^/]+)/update_")
_TITLES = {rule.name: rule.title for rule in UPDATE_RULES.values()} | {"lazy_adam": "Adam", "momentum": "Momentum"}


def rule_name(rule: str) -> str:
    """Return what those who chose an optimizer call the rule of its steps."""
    return _TITLES.get(rule) or rule


def why_no_optimizer(kind: str, op: str) -> str | None:
    """Return why an op of a type that no table knows keeps the variable that it writes; None if it is no step."""
    step = _STEP.fullmatch(kind)
    if step is None:
        return None
    return f"{step[1]} `{op}` trains it, and tables do not have this optimizer: train it with {_KNOWN}"


def why_fetched(view: GraphView, op: str) -> str | None:
    """Return why a write of rows keeps a variable that no op waits for: the program fetches it, and so the variable."""
    writes = [op, *(one for one in view.waiting(op) if view.type(one) in READS and not view.users(one))]
    if any(view.users(one) or set(view.waiting(one)) - set(writes) for one in writes):
        return None
    return (
        f"no op depends on `{op}`, so the program fetches it, and its value is all rows: put it into tf.group, and "
        "fetch that"
    )


def why_not_a_step(view: GraphView, op: str, mismatch: Mismatch) -> str:
    """Return why an op that writes rows, or all of them, is not the step of an optimizer that tables have."""
    kind, scope = view.type(op), _SCOPE.match(op)
    owner = f" of {scope[1]}" if scope else ""
    if kind in DENSE:
        return f"its optimizer's `{op}` gets a gradient for all rows: at `{mismatch.op}` {mismatch.reason}"
    return (
        f"{kind} `{op}`{owner} changes all its rows in a way that no optimizer of tables does: train it with "
        f"{_KNOWN}, {_OWN}"
    )


def why_stepped_whole(view: GraphView, lookups: Sequence[Lookup], sets: Sequence[Assignment]) -> tuple[str, str] | None:
    """Return why a step that assigns all rows keeps a variable, with the op: a table would write them all, too."""
    ops = {one.op for one in lookups}
    for names in sets:
        if not ops.isdisjoint(computed_from(view, [names.value])):
            return (
                f"`{names.op}` assigns all its rows at every step, so a table would save nothing: train it with "
                f"{_KNOWN}, and replace a softmax over all rows by tf.nn.sampled_softmax_loss",
                names.op,
            )
    return None
