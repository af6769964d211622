"""Whether code of a Keras program runs where no gradient is taken: apart from tapes, and from what Keras calls itself.

Keras takes gradients in `fit`, through methods of models and layers, and through symbolic tensors of a functional
model. All other gradients are taken by a tape, of what runs within its `with` statement.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.rule_kinds import File

_TAPE = "GradientTape"
#: Through these a program gets tensors that stand for the inputs and outputs of models.
_SYMBOLIC = ("Input", "InputLayer", "KerasTensor")
_ENDS = ("input", "output", "inputs", "outputs")
#: Methods that Keras calls itself.
_HOOKS = frozenset(
    {
        "__call__", "build", "call", "compute_loss", "compute_mask", "compute_metrics", "compute_output_shape",
        "predict_step", "stateless_call", "test_step", "train_step", "update_state",
    }
)  # fmt: skip
_DEEP = 5  # calls from the read outwards
_FLAG = "training"


def runs_apart(file: File, node: cst.CSTNode, depth: int = _DEEP) -> bool:
    """True if the code at `node` surely runs where no gradient is taken through what it computes."""
    tree = file.tree
    if _in_tape(file, node) or not _has_plain_tapes(file):
        return False
    if depth == _DEEP and _is_symbolic(tree):
        return False
    around = tree.ancestors(node)
    function = next((one for one in around if isinstance(one, cst.FunctionDef | cst.Lambda)), None)
    if function is None:
        return True
    if not isinstance(function, cst.FunctionDef) or not depth:
        return False
    if function.name.value in _HOOKS:
        return _is_guarded(file, node, function)
    uses = _uses(tree, function)
    if function.decorators or uses is None:
        return False
    return all(runs_apart(file, use, depth - 1) for use in uses)


def _uses(tree: Tree, function: cst.FunctionDef) -> list[cst.CSTNode] | None:
    """Return the calls of a function of the program; None where it is used otherwise."""
    name = function.name.value
    names = [use for use in tree.names.get(name, ()) if use is not function.name]
    found: list[cst.CSTNode] = []
    for use in names:
        around = tree.parent(use)
        whole = around if isinstance(around, cst.Attribute) and around.attr is use else use
        call = tree.parent(whole)
        if isinstance(around, cst.ImportAlias):
            continue
        if not isinstance(call, cst.Call) or call.func is not whole:
            return None
        found.append(call)
    return found


def _in_tape(file: File, node: cst.CSTNode) -> bool:
    return any(isinstance(one, cst.With) and _opens_tape(one) for one in file.tree.ancestors(node))


def _opens_tape(node: cst.With) -> bool:
    return any(bool(m.findall(item.item, m.Name(_TAPE))) for item in node.items)


def _has_plain_tapes(file: File) -> bool:
    """True if every tape of the program is opened by a `with` statement."""
    for use in file.tree.names.get(_TAPE, ()):
        around = file.tree.ancestors(use)
        opened = next((one for one in around if isinstance(one, cst.WithItem | cst.With | cst.ImportAlias)), None)
        if opened is None or isinstance(opened, cst.With):
            return False
    return True


def _is_symbolic(tree: Tree) -> bool:
    """True where a program may have tensors of a functional model."""
    return any(tree.names.get(name) for name in _SYMBOLIC) or any(tree.attributes.get(name) for name in _ENDS)


def _is_guarded(file: File, node: cst.CSTNode, method: cst.FunctionDef) -> bool:
    """True for code of `call` that runs where `training` is false, in a program that leaves training to Keras."""
    tree = file.tree
    if method.name.value != "call" or tree.names.get(_TAPE) or not _has_flag(tree, method):
        return False
    inner: cst.CSTNode = node
    for around in tree.ancestors(node):
        if around is method:
            return False
        if isinstance(around, cst.If) and _is_left_out(tree, around, inner):
            return True
        if isinstance(around, cst.IndentedBlock) and _returned_before(tree, around, inner):
            return True
        inner = around
    return False


def _has_flag(tree: Tree, method: cst.FunctionDef) -> bool:
    """True if the method has the parameter `training` and does not set it."""
    given = [one.name.value for one in (*method.params.params, *method.params.kwonly_params)]
    uses = (use for use in tree.names.get(_FLAG, ()) if tree.contains(method.body, use))
    return _FLAG in given and not any(
        isinstance(tree.parent(use), cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.NamedExpr) for use in uses
    )


def _is_left_out(tree: Tree, choice: cst.If, inner: cst.CSTNode) -> bool:
    """True if a part of an `if` statement does not run in training."""
    within = tree.contains(choice.body, inner) or choice.body is inner
    if m.matches(choice.test, m.UnaryOperation(m.Not(), m.Name(_FLAG))):
        return within
    return m.matches(choice.test, m.Name(_FLAG)) and choice.orelse is inner


def _returned_before(tree: Tree, block: cst.IndentedBlock, inner: cst.CSTNode) -> bool:
    """True if a statement before `inner` in a block is `if training:` and ends with `return`."""
    for statement in block.body:
        if statement is inner:
            return False
        if isinstance(statement, cst.If) and m.matches(statement.test, m.Name(_FLAG)):
            last = statement.body.body[-1]
            if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return):
                return True
    return False
