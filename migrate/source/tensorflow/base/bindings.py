"""Scopes and bindings of names, and the single value of a name that is bound once."""

from __future__ import annotations

import re

import libcst as cst
from libcst.metadata import Assignment, Scope

from migrate.source.flow import ValueFlow, assigned, stores
from migrate.source.project.combined_tree import Joined
from migrate.source.syntax.tree import Tree

Target = cst.BaseExpression
#: Names of objects that hold command line options or settings; they never hold a model.
SETTINGS = re.compile(r"_*(\w+_)?(flags?|args|arguments|opts?|options|hparams?|hps?|namespace)", re.IGNORECASE)


def assigned_value(tree: Tree, target: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the value assigned to `target`, also within `a, b = x, y`; None if it has no value of its own."""
    around = tree.parent(target)
    if isinstance(around, cst.Element):
        return _value_in_place(tree, around)
    if isinstance(around, (cst.AnnAssign, cst.NamedExpr)) and around.target is target:
        return around.value
    if not isinstance(around, cst.AssignTarget) or around.target is not target:
        return None
    assign = tree.parent(around)
    return assign.value if isinstance(assign, cst.Assign) else None


def _value_in_place(tree: Tree, element: cst.Element) -> cst.BaseExpression | None:
    """Return the value of one element of a tuple target, if both sides are displays of equal length."""
    listed = tree.parent(element)
    whole = assigned_value(tree, listed) if isinstance(listed, (cst.Tuple, cst.List)) else None
    if not isinstance(listed, (cst.Tuple, cst.List)) or not isinstance(whole, (cst.Tuple, cst.List)):
        return None
    plain = all(isinstance(e, cst.Element) for e in (*listed.elements, *whole.elements))
    if not plain or len(listed.elements) != len(whole.elements):
        return None
    return next(value.value for e, value in zip(listed.elements, whole.elements, strict=True) if e is element)


def is_captured(tree: Tree, node: cst.CSTNode) -> bool:
    """True for a name that a `match` pattern captures, such as the `x` of `case x:`."""
    around = tree.parent(node)
    if isinstance(around, (cst.MatchAs, cst.MatchStar)):
        return around.name is node
    return isinstance(around, cst.MatchMapping) and around.rest is node


def binders(tree: Tree, node: cst.CSTNode) -> list[cst.Name]:
    """Return the places that bind the name at `node`; empty for other expressions."""
    scope = scope_of_name(tree, node) if isinstance(node, cst.Name) else None
    names = local_names(tree, node.value, scope) if isinstance(node, cst.Name) and scope is not None else []
    return [one for one in names if tree.is_target(one) and not only_declares(tree, one)]


def only_declares(tree: Tree, target: cst.CSTNode) -> bool:
    """True for the target of an annotation without a value, such as `W: tf.Variable`."""
    around = tree.parent(target)
    return isinstance(around, cst.AnnAssign) and around.target is target and around.value is None


def scope_of_name(tree: Tree, node: cst.Name) -> Scope | None:
    """Return the scope that binds the name at `node`; None if it is unbound or bound in several scopes."""
    scope = tree.scope(node)
    if scope is None or node.value not in scope:
        return None
    owners = {a.scope for a in scope[node.value] if isinstance(a, Assignment)}
    return owners.pop() if len(owners) == 1 else None


def is_defined(tree: Tree, node: cst.Name) -> bool:
    """True if a function definition, class definition or import also binds the name."""
    scope = scope_of_name(tree, node)
    bound = [a for a in scope[node.value] if isinstance(a, Assignment)] if scope is not None else []
    return any(isinstance(a.node, (cst.FunctionDef, cst.ClassDef, cst.Import, cst.ImportFrom)) for a in bound)


def builtin(tree: Tree, node: cst.BaseExpression) -> str:
    """Return the name of the builtin that `node` refers to; empty if it may be anything else."""
    if not isinstance(node, cst.Name):
        return ""
    return node.value if tree.qualified_names(node) == {f"builtins.{node.value}"} else ""


def local_names(tree: Tree, name: str, scope: Scope) -> list[cst.Name]:
    """Return all occurrences of a variable, both reads and writes, including those in closures."""
    by_scope: dict[int, list[cst.Name]] | None = tree.answers.get(("local names", name))
    if by_scope is None:
        by_scope = tree.answers["local names", name] = {}
        for node in tree.names.get(name, ()):
            if is_variable(tree, node) and (owner := scope_of_name(tree, node)) is not None:
                by_scope.setdefault(id(owner), []).append(node)
    return [*by_scope.get(id(scope), ())]


def is_variable(tree: Tree, node: cst.Name) -> bool:
    """True if the name denotes a variable rather than an attribute, a keyword or a definition."""
    around = tree.parent(node)
    if isinstance(around, cst.Attribute):
        return around.value is node
    if isinstance(around, cst.Arg):
        return around.value is node
    return not isinstance(around, (cst.ImportAlias, cst.FunctionDef, cst.ClassDef))


def single_value(tree: Tree, node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the single value that the name or attribute at `node` may have there, or None."""
    if not isinstance(node, (cst.Name, cst.Attribute)):
        return None
    if tree.is_target(node):
        return assigned_value(tree, node) if is_fixed(tree, node) else None
    return assigned(analysed(tree), node) if _is_assigned(tree, node) else None


def _is_assigned(tree: Tree, node: cst.Name | cst.Attribute) -> bool:
    """False if the file has no assignment to it. This avoids the value flow analysis of most files."""
    if isinstance(tree, Joined):
        return True
    if isinstance(node, cst.Name):
        return any(assigned_value(tree, one) is not None for one in binders(tree, node))
    word = node.attr.value
    return any(tree.is_target(one) for one in (*tree.attributes.get(word, ()), *tree.names.get(word, ())))


def is_fixed(tree: Tree, node: cst.BaseExpression) -> bool:
    """True for a name, or an attribute of `self`, with a single binding, so that it has one meaning everywhere."""
    if isinstance(node, cst.Attribute):
        return self_class(tree, node) is not None and len(stores(analysed(tree), node)) == 1
    # libcst's scopes do not record the names that patterns capture
    matched = cst.MatchAs | cst.MatchStar | cst.MatchMapping
    names = tree.names.get(node.value, ()) if isinstance(node, cst.Name) else ()
    return len(binders(tree, node)) == 1 and not any(isinstance(tree.parent(one), matched) for one in names)


def self_name(function: cst.FunctionDef) -> str:
    """Return the name of a method's first parameter, usually `self`."""
    parameters = [*function.params.posonly_params, *function.params.params]
    return parameters[0].name.value if parameters else ""


def self_class(tree: Tree, node: cst.Attribute) -> cst.ClassDef | None:
    """Return the enclosing class if `node.value` is the `self` of the enclosing method; else None."""
    if not isinstance(node.value, cst.Name):
        return None
    method: cst.FunctionDef | None = None
    for around in tree.ancestors(node):
        if isinstance(around, cst.FunctionDef):
            method = around
        if isinstance(around, cst.ClassDef):
            return around if method is not None and self_name(method) == node.value.value else None
    return None


def resolve(tree: Tree, node: cst.BaseExpression, depth: int = 4) -> cst.BaseExpression:
    """Follow names with a single binding to the expression that defines them, at most `depth` times.

    Returns `node` itself if it has no single definition.
    """
    for _ in range(depth):
        value = single_value(tree, node) if isinstance(node, (cst.Name, cst.Attribute)) else None
        if value is None:
            return node
        node = value
    return node


#: Libraries that do not modify the lists, dicts and objects they receive.
NON_MUTATING = (
    "tensorflow", "tensorflow_core", "keras", "tf_keras", "numpy", "scipy", "pandas", "sklearn", "six", "absl", "tqdm",
    "horovod", "sparse_operation_kit",
)  # fmt: skip


def analysed(tree: Tree) -> ValueFlow:
    """Return the analysis of a file, or of all files that are analysed together with it."""
    answers = tree.parts.answers if isinstance(tree, Joined) else tree.answers
    if ("flow",) not in answers:
        answers["flow",] = _analysis(tree)
    flow: ValueFlow = answers["flow",]
    return flow


def forget(tree: Tree) -> None:
    """Drop the analysis of a file, or of files that are analysed together, about which nothing is asked any more."""
    answers = tree.parts.answers if isinstance(tree, Joined) else tree.answers
    flow: ValueFlow | None = answers.pop(("flow",), None)
    if flow is not None:
        flow.forget()


def _analysis(tree: Tree) -> ValueFlow:
    if isinstance(tree, Joined):
        return ValueFlow(list(tree.parts.trees.values()), tree.parts.outside, non_mutating=NON_MUTATING)
    return ValueFlow([tree], non_mutating=NON_MUTATING)
