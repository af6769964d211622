"""Whether code of a Keras program runs where no gradient is taken: apart from tapes, and from what Keras calls itself.

Keras takes gradients in `fit`, through methods of models and layers, and through symbolic tensors of a functional
model. All other gradients are taken by a tape, of what runs within its `with` statement.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from migrate.source.flow import Class
from migrate.source.project.module_resolution import is_library
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.keras.training_flag import is_guarded

_TAPE = "GradientTape"
#: Through these a program gets tensors that stand for the inputs and outputs of models.
_SYMBOLIC = ("Input", "InputLayer", "KerasTensor")
_ENDS = ("input", "output", "inputs", "outputs", "get_input_at", "get_output_at", "placeholder")
#: Methods that Keras calls itself.
_HOOKS = frozenset(
    {
        "__call__", "build", "call", "compute_loss", "compute_mask", "compute_metrics", "compute_output_shape",
        "compute_output_spec", "predict_step", "stateless_call", "test_step", "train_step", "update_state",
    }
)  # fmt: skip
_DEEP = 5  # calls from the read outwards
#: Base classes all of whose methods that Keras runs while it takes a gradient are among `_HOOKS`.
_BASES = frozenset(
    {
        "Module", "keras.Layer", "keras.Model", "keras.Sequential", "keras.layers.Layer", "keras.models.Model",
        "keras.models.Sequential",
    }
)  # fmt: skip
#: Those of which it runs the other methods where no gradient is taken.
_OUTSIDE = ("keras.callbacks.", "keras.metrics.")
#: By these a program reaches a function without its name.
_BY_TEXT = ("eval", "exec", "getattr", "globals", "locals", "methodcaller", "vars")


def runs_apart(file: File, node: cst.CSTNode, depth: int = _DEEP, hooks: bool = True) -> bool:
    """True if the code at `node` surely runs where no gradient is taken through what it computes.

    With `hooks` that may be a part of a method that Keras calls.
    """
    tree = file.tree
    if _in_tape(tree, node) or not once(file, ("plain tapes",), lambda: _has_plain_tapes(tree)):
        return False
    if depth == _DEEP and once(file, ("symbolic tensors",), lambda: _is_symbolic(tree)):
        return False
    around = tuple(tree.ancestors(node))
    function = next((one for one in around if isinstance(one, cst.FunctionDef | cst.Lambda)), None)
    if any(isinstance(one, cst.GeneratorExp) for one in around):
        return False  # it runs where its entries are read
    if function is None:
        return True
    if not isinstance(function, cst.FunctionDef) or not depth:
        return False
    if function.name.value in _HOOKS:
        if not hooks or tree.names.get(_TAPE):
            return False
        return is_guarded(file, node, function, lambda one: runs_apart(file, one, hooks=False))
    question = ("runs apart", id(function), depth, hooks)
    return once(file, question, lambda: _is_run_apart(file, function, depth, hooks))


def _is_run_apart(file: File, function: cst.FunctionDef, depth: int, hooks: bool) -> bool:
    """True if a function that Keras does not call is surely run where no gradient is taken."""
    tree, name = file.tree, function.name.value
    uses = _uses(tree, function)
    if not all(_compiles(file, one) for one in function.decorators) or uses is None or _yields(function):
        return False
    if (name.startswith("__") and name.endswith("__")) or _is_by_text(file, function):
        return False
    if not (uses or _completes_nothing(file, function)):
        return False
    return all(runs_apart(file, use, depth - 1, hooks) for use in uses)


def _compiles(file: File, one: cst.Decorator) -> bool:
    """True for `tf.function`, which runs the same code where the function is called."""
    node = one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator
    return file.names.of(node) == "function"


def _completes_nothing(file: File, function: cst.FunctionDef) -> bool:
    """True if a function without a use completes no class of a library, whose code would run it."""
    cls = next((one for one in file.tree.ancestors(function) if isinstance(one, cst.ClassDef | cst.FunctionDef)), None)
    return not isinstance(cls, cst.ClassDef) or all(_is_known(file, base.value) for base in cls.bases)


def _is_by_text(file: File, function: cst.FunctionDef) -> bool:
    """True if a call may reach a function by a text: one of its names, or one that is only known when it runs."""
    names = {None, function.name.value, *file.tree.other_names(function)}
    return not names.isdisjoint(once(file, ("texts that are read",), lambda: {*_read_by_text(file)}))


def _read_by_text(file: File) -> Iterator[str | None]:
    """Yield the texts by which calls may reach functions of the program; None for one that is not known."""
    for call in file.tree.calls:
        func = call.func
        reader = (
            func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
        )
        if reader not in _BY_TEXT:
            continue
        if reader == "getattr" and call.args and _is_of_library(file, call.args[0].value):
            continue
        texts = [string(arg.value) for arg in call.args[reader == "getattr" :][:1]]
        yield texts[0] if texts else None


def _is_of_library(file: File, node: cst.BaseExpression) -> bool:
    """True for a name that an import binds to something of a library, which has none of the program's functions."""
    names = file.tree.imported_names(node)[0] if isinstance(node, cst.Name | cst.Attribute) else ()
    return bool(names) and all(map(is_library, names))


def _is_known(file: File, base: cst.BaseExpression) -> bool:
    """True for a base class whose methods of other names are run where no gradient is taken, if at all."""
    values = flow_of(file).values(base)
    if values and all(isinstance(one, Class) for one in values):
        nodes = [one.node for one in values]
        return all(
            _is_known(file, above.value) for one in nodes if isinstance(one, cst.ClassDef) for above in one.bases
        )
    name = file.names.of(base) or ""
    return name in _BASES or name.startswith(_OUTSIDE) or m.matches(base, m.Name("object"))


def _yields(node: cst.CSTNode) -> bool:
    """True if code has a `yield`: it runs on where its user does, as that of a generator or a context manager."""
    return bool(m.findall(node, m.Yield()))


def _uses(tree: Tree, function: cst.FunctionDef) -> list[cst.CSTNode] | None:
    """Return the calls of a function of the program, by any of its names; None where it is used otherwise."""
    own = function.name.value
    found: list[cst.CSTNode] = []
    for name in (own, *sorted(tree.other_names(function))):
        for use in tree.names.get(name, ()):
            around = tree.parent(use)
            if use is function.name or isinstance(around, cst.ImportAlias | cst.AsName):
                continue
            whole = around if isinstance(around, cst.Attribute) and around.attr is use else use
            refers = name == own or tree.refers(whole, function)
            call = tree.parent(whole)
            if refers is None or (refers and not (isinstance(call, cst.Call) and call.func is whole)):
                return None
            found += [call] if refers and call is not None else []
    return found


def _in_tape(tree: Tree, node: cst.CSTNode) -> bool:
    return any(isinstance(one, cst.With) and _opens_tape(one) for one in tree.ancestors(node))


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
