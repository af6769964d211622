"""Whether a training step has dense variables to train besides the tables.

A model that consists of tables only, such as a matrix factorization, has no dense half. A stock optimizer raises an
error for an empty list of variables.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import libcst as cst

from migrate.source.tensorflow.base.arguments import by_keyword, literal
from migrate.source.tensorflow.base.bindings import is_captured, is_variable
from migrate.source.tensorflow.base.rule_kinds import File, cached_query
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.optimizers.external_libraries import LIBRARIES
from migrate.source.tensorflow.facts.optimizers.training_model import owner

#: Namespaces whose functions and classes create variables.
MAKERS = ("layers.", "keras.", "contrib.", "nn.rnn_cell.", "nn.dynamic_rnn", "nn.bidirectional_dynamic_rnn")
#: Names in these namespaces that create none.
_PLAIN = tuple(f"keras.{part}." for part in ("activations", "constraints", "initializers", "losses", "regularizers"))
_PLAIN_ENDS = ("_initializer", "_regularizer")
#: Layers without variables, in lower case and without `_`.
_PLAIN_LAYERS = re.compile(
    r"activation|add|average|concatenate|dot|dropout|flatten|lambda|leakyrelu|masking|maximum|minimum|multiply|permute"
    r"|relu|repeatvector|reshape|softmax|spatialdropout\dd|subtract|(global)?(average|max)pool(ing)?\d?d?"
)


#: Names that IPython binds.
_OF_NOTEBOOKS = {"display", "get_ipython"}
#: The position of `trainable` among the arguments of calls that create variables.
_TRAINABLE = {"Variable": 1, "get_variable": 5}


def trains_dense(file: File, step: cst.Call, tables: set[int]) -> bool:
    """False if nothing in the program of `step` creates a dense variable; `tables` are ids of converted creations."""
    if called_elsewhere(file, step):
        return True  # the calling file may create variables of its own
    # The loss, or its model, may come from any function or class of the program, of which a part may be missing.
    program = file.program(step)
    return any(map(_is_fragment, program)) or any(
        makes_variable(part, call, tables) for part in program for call in part.tree.calls
    )


def called_elsewhere(file: File, step: cst.Call) -> bool:
    """True for a step in a function that its own file does not mention."""
    home = owner(file, step)
    return isinstance(home, cst.FunctionDef) and len(file.tree.names[home.name.value]) < 2


def _is_fragment(file: File) -> bool:
    """True if a file reads a name that is bound nowhere, so that a part of the model is missing."""
    return any(
        (scope := file.tree.scope(use)) is not None and name not in scope
        for name, uses in file.tree.names.items()
        if name not in _OF_NOTEBOOKS and not any(is_captured(file.tree, use) for use in uses)  # scopes lack these
        for use in uses
        if is_variable(file.tree, use)
    )


@cached_query
def reachable(file: File, start: cst.CSTNode) -> Collection[cst.CSTNode]:
    """Return `start` and the top-level definitions that it mentions, directly or transitively."""
    return set(reached(start, file.tree.mentioned))


def reaches(file: File, start: cst.CSTNode, goal: cst.CSTNode) -> bool:
    """True if the code of `start` mentions `goal`, directly or through other definitions of the file."""
    return goal in reachable(file, start)


def makes_variable(file: File, call: cst.Call, tables: set[int]) -> bool:
    """True for a call that creates a dense variable, or whose code is not analysed."""
    name = file.names.of(call.func)
    if id(call) in tables:
        return False
    if name in {"get_variable", "Variable"}:
        return not any(literal(value) is False for value in _trainable(call, name))
    if name is not None:
        plain = name.startswith(_PLAIN) or name.endswith(_PLAIN_ENDS)
        layer = "layers." in name and _PLAIN_LAYERS.fullmatch(name.rpartition(".")[2].replace("_", "").lower())
        return name.startswith(MAKERS) and not plain and not layer
    if file.tree.is_inside(call.func):
        return False  # the code of the callee is examined separately
    imported, _ = file.tree.imported_names(call.func)
    return any(module.split(".")[0] not in LIBRARIES for module in imported)


def _trainable(call: cst.Call, name: str | None) -> list[cst.BaseExpression]:
    """Return the argument `trainable` of a call, by its keyword or its position; empty if it is not given."""
    named = by_keyword(call, "trainable")
    position = _TRAINABLE.get(name or "", len(call.args))
    starred = any(arg.star or arg.keyword is not None for arg in call.args[: position + 1])
    plain = call.args[position : position + 1] if not starred else ()
    return [arg.value for arg in ([named] if named is not None else plain)]
