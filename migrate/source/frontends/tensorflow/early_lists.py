"""Lists of all trainable variables that are taken before the step which trains them.

What is made in between is not in such a list, but would be among what the split step lists where it stands. A table of
a Keras layer is there from where the layer is made, the variable of the layer from its first call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.frontends.tensorflow.dense import makes_variable
from migrate.source.frontends.tensorflow.facts import Stop, Table
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.talk import spoken
from migrate.source.frontends.tensorflow.training_facts import RULE
from migrate.source.frontends.tensorflow.values import builtin, is_target, local_names, scope_of_name

#: Functions of TensorFlow that make variables, besides those that `makes_variable` knows.
MAKERS = {"get_variable", "Variable", "input_layer", "linear_model", "make_template"}


def early_list(file: File, step: cst.Call, lists: Sequence[cst.Call], tables: Sequence[Table]) -> Stop | None:
    """Return why a step stays that is given one of these `lists`, where variables may be made after it."""
    tree = file.tree
    for call in lists:
        if tree.statement(call) is tree.statement(step) or tree.module_of(call) is not tree.module_of(step):
            continue
        start, end = tree.span(call)[1], tree.span(step)[0]
        between = [one for one in file.part(call).tree.calls if start <= tree.span(one)[0] < end]
        maker = next((one for one in between if _may_make(file, one, tables, set())), None)
        if maker is not None:
            shown, text = (" ".join(tree.source(one).split()) for one in (call, maker))
            text = text if len(text) <= 60 else text[:57] + "..."
            reason = f"`{text}` may make variables after that, which are not in the list"
            action = "list the variables where the step is made"
            return Stop(call, RULE, f"`{shown}` lists what is trained before all is made", reason, action)
    return None


def _may_make(file: File, call: cst.Call, tables: Sequence[Table], seen: set[int]) -> bool:
    """True for a call that may make a variable, itself or by the code of the program that it runs."""
    part = file.part(call)
    name, func = part.names.of(call.func), call.func
    if makes_variable(part, call, set()):
        return True
    if name is not None:
        return name.rpartition(".")[2] in MAKERS
    if builtin(part.tree, func) or spoken(part, call) is call:
        return False
    if any(call is lookup.call for table in tables for lookup in table.lookups):
        return True  # a layer
    word = func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
    found = [one for one in _defined(part, call, word) if id(one) not in seen] if word else []
    seen |= {id(one) for one in found}
    inside = (one for place in found for one in file.part(place).tree.calls if file.tree.contains(place, one))
    return any(_may_make(file, one, tables, seen) for one in inside) or _is_object(part, func)


def _defined(file: File, call: cst.Call, name: str) -> Iterator[cst.CSTNode]:
    """Yield the functions, methods and classes of that name that `call` may mean."""
    kinds = cst.FunctionDef | cst.ClassDef
    for part in file.program(call):
        yield from (one for one in part.tree.nodes() if isinstance(one, kinds) and one.name.value == name)


def _is_object(file: File, func: cst.BaseExpression) -> bool:
    """True for what is bound to an object: layers, templates and models make variables when they are called."""
    if isinstance(func, cst.Attribute):
        return any(is_target(file.tree, one) for one in file.tree.attributes.get(func.attr.value, ()))
    scope = scope_of_name(file.tree, func) if isinstance(func, cst.Name) else None
    if scope is None or not isinstance(func, cst.Name):
        return not isinstance(func, cst.Name)
    return any(is_target(file.tree, one) for one in local_names(file.tree, func.value, scope))
