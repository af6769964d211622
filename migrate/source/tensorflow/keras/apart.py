"""Whether code of a Keras program runs where no gradient is taken: in a module, outside of tapes.

Keras takes gradients in `fit`, through methods of models and layers, and through symbolic tensors of a functional
model. All other gradients are taken by a tape, of what runs within its `with` statement.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File

_TAPE = "GradientTape"
#: Through these a program gets tensors that stand for the inputs and outputs of models.
_SYMBOLIC = ("Input", "InputLayer", "KerasTensor")
_ENDS = ("input", "output", "inputs", "outputs", "get_input_at", "get_output_at", "placeholder")
#: What runs where its callers, or the readers of its entries, are.
_LATER = cst.FunctionDef | cst.Lambda | cst.GeneratorExp


def runs_apart(file: File, node: cst.CSTNode) -> bool:
    """True for code of a module of which no gradient is taken; who calls a function is not asked."""
    tree = file.tree
    if any(isinstance(one, _LATER) for one in tree.ancestors(node)) or _in_tape(tree, node):
        return False
    return once(file, ("no gradients in modules",), lambda: _has_plain_tapes(tree) and not _is_symbolic(tree))


def _in_tape(tree: Tree, node: cst.CSTNode) -> bool:
    return any(isinstance(one, cst.With) and _opens_tape(one) for one in tree.ancestors(node))


def _yields(node: cst.CSTNode) -> bool:
    """True if code has a `yield`: it runs on where its user does, as that of a generator or a context manager."""
    return bool(m.findall(node, m.Yield()))


def _opens_tape(node: cst.With) -> bool:
    return any(bool(m.findall(item.item, m.Name(_TAPE))) for item in node.items)


def _has_plain_tapes(tree: Tree) -> bool:
    """True if every tape of the program is opened by a `with` statement, by its name, around all that it records."""
    return all(_is_plain(tree, use) for use in tree.names.get(_TAPE, ()))


def _is_plain(tree: Tree, use: cst.CSTNode) -> bool:
    kinds = cst.WithItem | cst.With | cst.ImportAlias
    opened = next((one for one in tree.ancestors(use) if isinstance(one, kinds)), None)
    if isinstance(opened, cst.ImportAlias):
        return opened.asname is None
    around = tree.enclosing(opened, cst.With) if isinstance(opened, cst.WithItem) else None
    return around is not None and not _yields(around)


def _is_symbolic(tree: Tree) -> bool:
    """True where a program may have tensors of a functional model."""
    return any(tree.names.get(name) for name in _SYMBOLIC) or any(tree.attributes.get(name) for name in _ENDS)
