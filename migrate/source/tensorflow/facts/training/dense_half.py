"""Whether a training step has anything to train besides tables.

A model of nothing but tables (matrix factorisation) has no dense half: a stock optimizer refuses an empty list.
"""

from __future__ import annotations

import re

import libcst as cst

from migrate.source.tensorflow.base.arguments import literal
from migrate.source.tensorflow.base.bindings import is_variable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.object_attributes import relatives
from migrate.source.tensorflow.facts.optimizers.external_libraries import LIBRARIES
from migrate.source.tensorflow.facts.optimizers.training_model import owner

#: Namespaces whose functions and classes make variables of their own.
MAKERS = ("layers.", "keras.", "contrib.", "nn.rnn_cell.", "nn.dynamic_rnn", "nn.bidirectional_dynamic_rnn")
#: What is in them and makes none.
_PLAIN = tuple(f"keras.{part}." for part in ("activations", "constraints", "initializers", "losses", "regularizers"))
_PLAIN_ENDS = ("_initializer", "_regularizer")
#: Layers without variables, as they are called in lower case and without `_`.
_PLAIN_LAYERS = re.compile(
    r"activation|add|average|concatenate|dot|dropout|flatten|lambda|leakyrelu|masking|maximum|minimum|multiply|permute"
    r"|relu|repeatvector|reshape|softmax|spatialdropout\dd|subtract|(global)?(average|max)pool(ing)?\d?d?"
)


def trains_dense(file: File, step: cst.Call, tables: set[int]) -> bool:
    """True unless nothing in the program of `step` makes a variable; `tables` are the ids of the calls that move."""
    if called_elsewhere(file, step):
        return True  # that file may make variables of its own
    # The loss, or the model that has it, may be handed to a function or a class from anywhere in the program.
    places: list[cst.CSTNode] = [part.tree.module for part in file.program(step)]
    return _hold_dense(file, places, tables)


def called_elsewhere(file: File, step: cst.Call) -> bool:
    """True for the step of a function that its own file does not mention."""
    home = owner(file, step)
    return isinstance(home, cst.FunctionDef) and len(file.tree.names[home.name.value]) < 2


def is_doubtful(file: File, step: cst.Call, tables: set[int]) -> bool:
    """True for the step of a class that makes tables alone, in a file that makes other variables elsewhere.

    It may be a model of its own, with nothing but tables to train, or be handed what comes from those variables.
    """
    home = owner(file, step)
    if not isinstance(home, cst.ClassDef) or len(file.program(step)) > 1:
        return False
    places = [place for member in relatives(file, home) for place in reachable(file, member)]
    own = any(id(c) in tables and file.tree.contains(place, c) for place in places for c in file.tree.calls)
    return own and not _hold_dense(file, places, tables) and trains_dense(file, step, tables)


def _hold_dense(file: File, places: list[cst.CSTNode], tables: set[int]) -> bool:
    """True when code makes a variable that is no table, or is not all of the code."""
    for place in places:
        part = file.part(place)  # the lists of names and calls are those of one file
        inside = [call for call in part.tree.calls if part.tree.contains(place, call)]
        if _is_fragment(part, place) or any(makes_variable(part, call, tables) for call in inside):
            return True
    return False


def _is_fragment(file: File, place: cst.CSTNode) -> bool:
    """True when the code reads a name that is bound nowhere: the rest of the model is somewhere else."""
    return any(
        (scope := file.tree.scope(use)) is not None and name not in scope
        for name, uses in file.tree.names.items()
        for use in uses
        if is_variable(file.tree, use) and file.tree.contains(place, use)
    )


def reachable(file: File, start: cst.CSTNode) -> list[cst.CSTNode]:
    """Return `start` and the top-level definitions it mentions, directly or through each other."""
    pending: list[cst.CSTNode] = [start]
    seen: list[cst.CSTNode] = []
    known = {id(start)}
    while pending:
        current = pending.pop()
        seen.append(current)
        for node in file.tree.mentioned(current):
            if id(node) not in known:
                known.add(id(node))
                pending.append(node)
    return seen


def reaches(file: File, start: cst.CSTNode, goal: cst.CSTNode) -> bool:
    """True when the code of `start` mentions `goal`, directly or through other definitions of the file."""
    return any(place is goal for place in reachable(file, start))


def makes_variable(file: File, call: cst.Call, tables: set[int]) -> bool:
    """True for a call that makes a variable which is no table, or whose code is not seen."""
    name = file.names.of(call.func)
    if id(call) in tables:
        return False
    if name in {"get_variable", "Variable"}:
        return not _fixed(call)
    if name is not None:
        plain = name.startswith(_PLAIN) or name.endswith(_PLAIN_ENDS)
        layer = "layers." in name and _PLAIN_LAYERS.fullmatch(name.rpartition(".")[2].replace("_", "").lower())
        return name.startswith(MAKERS) and not plain and not layer
    if file.tree.is_inside(call.func):
        return False  # its own code is looked at
    imported, _ = file.tree.imported_names(call.func)
    return any(module.split(".")[0] not in LIBRARIES for module in imported)


def surely_makes_variable(file: File, call: cst.Call, tables: set[int]) -> bool:
    """True when such a call makes a variable that is trained, whatever happens at run time."""
    name = file.names.of(call.func)
    frozen = any(
        arg.keyword and arg.keyword.value == "trainable" and literal(arg.value) is not True for arg in call.args
    )
    return name is not None and not frozen and makes_variable(file, call, tables)


def _fixed(call: cst.Call) -> bool:
    """True for a variable made with `trainable=False`, such as the global step."""
    return any(arg.keyword and arg.keyword.value == "trainable" and literal(arg.value) is False for arg in call.args)
