"""Uses of variables of eager code: what stays as it is with a table, what reads the matrix, and what keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.flow import Holder
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.bindings import builtin, is_target
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, is_inherited, symbol_of
from migrate.source.tensorflow.facts.variables.eager_variables import RULE, EagerVariable, lookup_at, tape_sources
from migrate.source.tensorflow.keras.layer_uses import blocker_at, only_trains
from migrate.source.tensorflow.keras.matrix_reads import NEVER, refused_use

_DISPLAYS = cst.List | cst.Tuple | cst.Dict | cst.Set
#: Kinds of values that hold variables as entries.
_COLLECTIONS = {"list", "dict", "record"}
#: Functions of Python that only put values together, which are followed from there.
_GATHERING = {"dict", "enumerate", "list", "reversed", "tuple", "zip"}
#: Methods of collections whose result, or argument, is followed.
_FOLLOWED = {"append", "extend", "get", "insert", "items", "keys", "setdefault", "update", "values"}
#: Methods that write or read files of weights, and objects whose methods of these names know tables.
_STORING = {"save", "save_weights", "load_weights", "export"}
_KNOWN = ("train.Checkpoint", "train.CheckpointManager")


def check_uses(file: File, variables: Sequence[EagerVariable]) -> None:
    """Judge all uses of the variables: note reads of the whole matrix, and block what is not understood."""
    for variable in variables:
        for node in variable.uses:
            _check_use(file, variable, node)
        _check_collections(file, variable)
        _check_texts(file, variable)
    _check_shared(file, variables)


def _check_use(file: File, variable: EagerVariable, node: cst.BaseExpression) -> None:
    if lookup_at(file, node) is not None or _is_passed_on(file, node) or _is_trained(file, node):
        return
    key = refused_use(file, node)
    if key == "" and file.tree.module_of(node) is not file.tree.module_of(variable.call):
        variable.block(node, "read-elsewhere", text=file.tree.excerpt(node))
    elif key == "":
        variable.reads.append(node)
    else:
        around = file.tree.parent(node)
        shown = around if isinstance(around, cst.BaseExpression) else file.tree.parent(around or node)
        variable.block(node, "matrix" if key == NEVER else "matrix-trained", text=file.tree.excerpt(shown or node))


def _is_passed_on(file: File, node: cst.BaseExpression) -> bool:
    """True where the value only goes to a name, an attribute, an entry or a parameter, which has uses of its own."""
    around = file.tree.parent(node)
    if isinstance(around, cst.BinaryOperation | cst.AugAssign | cst.Attribute) or _is_iterated(file, node):
        return False
    if isinstance(around, cst.Comparison | cst.ComparisonTarget):
        return _is_identified(file, node)
    held = isinstance(around, cst.Element | cst.DictElement) and isinstance(file.tree.parent(around), _DISPLAYS)
    return held or isinstance(around, cst.Expr) or _moves(file, node)


def _is_iterated(file: File, node: cst.BaseExpression) -> bool:
    """True where the rows are read one by one."""
    around = file.tree.parent(node)
    if isinstance(around, cst.For | cst.CompFor | cst.StarredElement):
        return True
    if isinstance(around, cst.Assign):
        return any(isinstance(one.target, cst.Tuple | cst.List) for one in around.targets)
    call = file.tree.parent(around) if isinstance(around, cst.Arg) and around.keyword is None else None
    return isinstance(call, cst.Call) and builtin(file.tree, call.func) in _GATHERING


def _is_identified(file: File, node: cst.BaseExpression) -> bool:
    """True where the object is compared, as in `v is model.users`, and no row is read."""
    around = file.tree.parent(node)
    whole = around if isinstance(around, cst.Comparison) else file.tree.parent(around or node)
    kinds = (cst.Is, cst.IsNot, cst.In, cst.NotIn) if isinstance(around, cst.Comparison) else (cst.Is, cst.IsNot)
    return isinstance(whole, cst.Comparison) and all(isinstance(one.operator, kinds) for one in whole.comparisons)


def _moves(file: File, node: cst.BaseExpression) -> bool:
    """True where a value is assigned, returned, or given to a function of the program."""
    flow, around = flow_of(file), file.tree.parent(node)
    if not flow.hands_on(node) or flow.leaves(node) or isinstance(around, cst.GeneratorExp):
        return False
    call = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return True
    name = builtin(file.tree, call.func)
    return name in _GATHERING if name else bool(flow.runs(call))


def _is_trained(file: File, node: cst.BaseExpression) -> bool:
    """True for what a tape watches, or takes the gradient of."""
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return False
    watched = isinstance(call.func, cst.Attribute) and call.func.attr.value == "watch"
    return watched or tape_sources(file.tree, call) is arg


def _check_collections(file: File, variable: EagerVariable) -> None:
    """Block a variable in a list or dict that is used as a whole for more than training."""
    flow = flow_of(file)
    pending, seen = [*variable.values], list[object]()
    while pending:
        for holder, _ in flow.held(pending.pop()):
            if not isinstance(holder, Holder) or holder.kind not in _COLLECTIONS or holder in seen:
                continue
            seen.append(holder)
            pending.append(holder)
            for node in flow.mentions(holder):
                if not is_target(file.tree, node) and not _is_followed(file, node):
                    variable.block(node, "collection", text=file.tree.excerpt(file.tree.parent(node) or node))


def _check_texts(file: File, variable: EagerVariable) -> None:
    """Block a variable that code may reach by a text, or by a list of all attributes, of what holds it."""
    flow = flow_of(file)
    holders = {one for value in variable.values for one in flow.holders(value)}
    for call in file.tree.calls:
        name, first = builtin(file.tree, call.func), call.args[0].value if call.args else None
        texts = [string(arg.value) for arg in call.args[1:2]] if name == "getattr" else [None]
        unread = name in {"getattr", "vars"} and first is not None and None in texts
        if unread and first is not None and not holders.isdisjoint(flow.values(first)):
            variable.block(call, "by-text", text=file.tree.excerpt(call))
    for read in file.tree.attributes.get("__dict__", ()):
        if not holders.isdisjoint(flow.values(read.value)):
            variable.block(read, "by-text", text=file.tree.excerpt(read))


def _is_followed(file: File, node: cst.BaseExpression) -> bool:
    """True for a use of a collection that reads its entries one by one, keeps it, or trains them."""
    tree, around = file.tree, file.tree.parent(node)
    if isinstance(around, cst.Attribute) and around.value is node:
        call = tree.parent(around)
        if not isinstance(call, cst.Call) or call.func is not around or around.attr.value not in _FOLLOWED:
            return False
        return around.attr.value not in {"items", "values"} or _is_followed(file, call)
    if isinstance(around, cst.For | cst.CompFor):
        return around.iter is node
    if isinstance(around, cst.Subscript):
        return around.value is node
    listed = tree.parent(around) if isinstance(around, cst.Element) else None
    if isinstance(listed, cst.Tuple | cst.List) and tree.parent(node) is around:
        return _is_followed(file, listed)
    call = tree.parent(around) if isinstance(around, cst.Arg) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in {"list", "tuple"}:
        return _is_followed(file, call)
    if isinstance(around, cst.BinaryOperation) and isinstance(around.operator, cst.Add):
        return _is_followed(file, around)
    pairs = isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
    if pairs and call.func.attr.value == "apply_gradients":  # type: ignore[union-attr]
        return True
    entry = node.elements[0].value if isinstance(node, cst.List) and len(node.elements) == 1 else None
    looked_up = entry is not None and lookup_at(file, entry) is not None
    return looked_up or isinstance(around, cst.Expr) or only_trains(file, node) or _moves(file, node)


def _check_shared(file: File, variables: Sequence[EagerVariable]) -> None:
    """Block variables whose matrix is read where something else may be: another variable that stays, or a tensor."""
    flow, changed = flow_of(file), True
    while changed:
        changed = False
        moving = {value for one in variables if not one.blockers for value in one.values}
        for variable in variables:
            for node in variable.reads if not variable.blockers else ():
                if any(value not in moving and not is_inherited(value) for value in flow.values(node)):
                    variable.block(node, "other-value", text=file.tree.excerpt(node))
                    changed = True
                    break


def storing(file: File) -> Iterator[Blocker]:
    """Block where a model is stored otherwise than by a checkpoint of TensorFlow."""
    for call in file.tree.calls:
        func = call.func
        method = func.attr.value if isinstance(func, cst.Attribute) else ""
        if file.names.of(func) in {"saved_model.save", "keras.callbacks.ModelCheckpoint"} or (
            method in _STORING and isinstance(func, cst.Attribute) and not _knows_tables(file, call, func.value)
        ):
            yield blocker_at(file, call, "stored", RULE)


def _knows_tables(file: File, call: cst.Call, receiver: cst.BaseExpression) -> bool:
    """True for a checkpoint of TensorFlow, and for code that is no object of TensorFlow at all."""
    imported, other = file.tree.imported_names(call.func)
    if imported and not other:
        return not any(name.startswith(("tensorflow", "keras")) for name in imported)
    values = flow_of(file).values(receiver)
    return bool(values) and all((symbol_of(one) or "") in _KNOWN for one in values)
