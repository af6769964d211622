"""Uses of SOK's variables other than lookups: gradients, updates, lists of variables."""

from __future__ import annotations

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import bind, is_none
from migrate.source.tensorflow.base.bindings import builtin
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.sok.local_uses import read_local_use
from migrate.source.tensorflow.sok.lookups import read_layer_call
from migrate.source.tensorflow.sok.symbols import (
    FILTERS,
    LACKING,
    LOCAL,
    LOOKUP,
    PROGRAM,
    STORES,
    horovod_name,
    sok_calls,
    sok_name,
)
from migrate.source.tensorflow.sok.tables import Kind, Tables
from migrate.source.tensorflow.sok.tf_spelling import builds_graph
from migrate.source.tensorflow.sok.variables import Made

#: Methods that take variables, and the places of these among their arguments.
_TAKES = {"gradient": ("target", "sources"), "compute_gradients": ("loss", "var_list"), "gradients": ("ys", "xs")}
_MINIMIZES = ("loss", "global_step", "var_list")
#: Attributes that list all variables of an object; tables are not among them.
_LISTS = ("trainable_variables", "trainable_weights", "variables", "weights")
#: Members of a variable of SOK, and their counterparts in a table.
_INSTEAD = {
    "size": "count the rows of a rank by `table.size()`",
    "numpy": "read the keys and rows of a rank by `table.snapshot()`",
    "to_static": "leave it out: a table does not need it",
    "to_dynamic": "leave it out: a table does not need it",
    "assign": "write rows by `table.import_rows(keys, values)`",
}
_SUFFIX = ".variable"
#: Functions of SOK that other modules convert.
_ELSEWHERE = {*LACKING, *LOCAL, *STORES, *FILTERS, "lookup_sparse", "all2all_dense_embedding", "OptimizerScope"}


def read_filters(draft: Draft) -> None:
    """Replace calls that separate SOK's variables from others."""
    for call, name in sok_calls(draft.file):
        if name not in FILTERS:
            continue
        given = bind(call, ("variables",)) if name == FILTERS[1] else bind(call, ("vars",))
        names = _two_names(draft, call)
        if given is None or len(given) != 1:
            draft.block(call, LOOKUP, "unread-list", name=name)
        elif names is None:
            draft.block(call, LOOKUP, "unbound-lists", name=name)
        else:
            _write_filter(draft, call, next(iter(given.values())).value, names)


def _two_names(draft: Draft, call: cst.Call) -> tuple[cst.Name, cst.Name] | None:
    around = draft.tree.parent(call)
    target = around.targets[0].target if isinstance(around, cst.Assign) and len(around.targets) == 1 else None
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return None
    first, second = (one.value for one in target.elements)
    return (first, second) if isinstance(first, cst.Name) and isinstance(second, cst.Name) else None


def _write_filter(draft: Draft, call: cst.Call, listed: cst.BaseExpression, names: tuple[cst.Name, cst.Name]) -> None:
    """Replace a call with its two results swapped; tables are added to lists of all variables of a model."""
    tree, function = draft.tree, "get_dense_and_sparse_variable"
    for one, other in (names, names[::-1]):
        draft.edits.append(Edit(*tree.span(one), other.value))
    name = draft.file.names.of(listed.func) if isinstance(listed, cst.Call) else ""
    if name == "trainable_variables" and isinstance(listed, cst.Call) and not listed.args:
        arguments = []
    elif isinstance(listed, cst.Attribute) and listed.attr.value in _LISTS:
        shown = " ".join(tree.source(listed).split())
        draft.block(call, LOOKUP, "layer-variables", shown=shown)
        arguments = [f"[*{tree.source(listed)}, *{draft.function('tables')}()]"]
    else:
        arguments = [tree.source(listed)]
    draft.write(call, function, arguments)
    message = "the function that separates the variables returns the dense ones first"
    draft.parts.append(Part(call, LOOKUP, "use", "variables", message, f"{function}(...)"))


def read_uses(draft: Draft, tables: Tables, made: list[Made]) -> None:
    """Change the uses of variables of SOK, and block those that are not understood."""
    for node in tables.uses():
        if not _use(draft, tables, node, made):
            kind, around = tables.kind(node), draft.tree.parent(node)
            shown = " ".join(draft.tree.source(around if around is not None else node).split())[:60]
            held = kind.value if kind else "what holds variables of SOK"
            asked = around.attr.value if isinstance(around, cst.Attribute) else ""
            instead = _INSTEAD.get(asked, "look rows up by sok.lookup_sparse")
            draft.block(node, LOOKUP, "not-a-lookup", shown=shown, kind=held, instead=instead)
    if (tables.held or not made) and not builds_graph(draft.file):
        _listed_by_objects(draft)
    _without_list(draft)


def _use(draft: Draft, tables: Tables, node: cst.BaseExpression, made: list[Made]) -> bool:
    """Change one use; False where it is not understood."""
    tree, kind, arg = draft.tree, tables.kind(node), draft.tree.parent(node)
    if isinstance(arg, cst.Call) and arg.func is node and kind is Kind.TABLE:
        values = {id(value.node) for value in tables.results(node)}
        read_layer_call(draft, arg, [one for one in made if id(one.call) in values])
        return True
    if read_local_use(draft, tables, node, made):
        return True
    if isinstance(arg, cst.Element) and kind is Kind.VARIABLES:  # `[tables, others]`
        arg = tree.parent(tree.parent(arg) or arg)
    call = tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or not isinstance(arg, cst.Arg) or arg.star:
        return False
    if sok_name(tree, call.func) in _ELSEWHERE:
        return True  # converted by another module
    if builtin(tree, call.func) == "len":
        return True
    if horovod_name(tree, call.func):
        if kind is not Kind.VARIABLES:
            draft.block(call, PROGRAM, "given-to-horovod", text=tree.source(call.func))
        return True
    if is_update(call) and call.args[0] is arg and kind is not Kind.TABLE:
        return _as_pairs(draft, tables, node)
    return _trains(draft, call, arg) and _as_variables(draft, tables, node)


def _as_pairs(draft: Draft, tables: Tables, node: cst.BaseExpression) -> bool:
    """Pass the variables of tables to an update, beside their gradients."""
    if isinstance(node, cst.Call) and builtin(draft.tree, node.func) == "zip" and is_pairs(node):
        return _as_variables(draft, tables, node.args[1].value)
    listed = [one.value for one in node.elements] if isinstance(node, cst.List | cst.Tuple) else []
    pairs = [one.elements[1].value for one in listed if isinstance(one, cst.Tuple) and len(one.elements) == 2]
    found = [one for one in pairs if tables.kind(one) is Kind.TABLE]
    for one in found:
        _as_variable(draft, one)
    return bool(found) and len(pairs) == len(listed)


def _trains(draft: Draft, call: cst.Call, arg: cst.Arg) -> bool:
    """True for an argument that takes the trained variables: of gradients, steps, and the `zip` of pairs."""
    tree = draft.tree
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    parameters = _MINIMIZES if method == "minimize" else _TAKES.get(method, ())
    if parameters:
        at = next(at for at, one in enumerate(call.args) if one is arg)
        named = arg.keyword.value if arg.keyword is not None else parameters[at] if at < len(parameters) else ""
        return named == parameters[-1]
    if builtin(tree, call.func) == "zip" and is_pairs(call) and call.args[1] is arg:
        outer = tree.parent(call)
        update = tree.parent(outer) if isinstance(outer, cst.Arg) else None
        if not isinstance(update, cst.Call):
            return False
        taken = call.args[0].value  # a list of pairs is bound where the gradients are taken
        return is_update(update) or (builtin(tree, update.func) == "list" and _gives_gradients(taken))
    return False


def _gives_gradients(node: cst.BaseExpression) -> bool:
    func = node.func if isinstance(node, cst.Call) else None
    return isinstance(func, cst.Attribute) and func.attr.value in _TAKES


def taken_variables(method: str) -> tuple[str, ...]:
    """Return the parameters of a method that returns gradients, the last of which takes variables; else none."""
    return _TAKES.get(method, ())


def is_pairs(call: cst.Call) -> bool:
    """True for the arguments of `zip(gradients, variables)`, which may be strict."""
    plain = [arg for arg in call.args if arg.keyword is None and not arg.star]
    return len(plain) == 2 and all(arg.keyword is not None and arg.keyword.value == "strict" for arg in call.args[2:])


def is_update(call: cst.Call) -> bool:
    """True for `x.apply_gradients(...)`."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "apply_gradients"


def _as_variables(draft: Draft, tables: Tables, node: cst.BaseExpression) -> bool:
    """Pass the variables of tables to a step; False where the tables are not known."""
    tree, kind = draft.tree, tables.kind(node)
    if kind is Kind.TABLE:
        _as_variable(draft, node)
    elif isinstance(node, cst.List | cst.Tuple) and (kind is Kind.MIXED or not _has_stars(node)):
        found = {tables.kind(one.value) for one in node.elements if not isinstance(one, cst.StarredElement)}
        stars = [one.value for one in node.elements if isinstance(one, cst.StarredElement)]
        for element in node.elements:
            if tables.kind(element.value) in {Kind.TABLE, Kind.TABLES}:
                _as_variables(draft, tables, element.value)
        return found <= {Kind.TABLE, None} and {tables.kind(one) for one in stars} <= {Kind.TABLES, None}
    elif kind is Kind.TABLES:
        one, text = draft.local("table"), tree.source(node)
        text = f"({text})" if isinstance(node, cst.IfExp) else text
        draft.edits.append(Edit(*tree.outer_span(node), f"[{one}.variable for {one} in {text}]"))
    return kind in {Kind.TABLE, Kind.TABLES, Kind.VARIABLES}


def _has_stars(node: cst.List | cst.Tuple) -> bool:
    return any(isinstance(one, cst.StarredElement) for one in node.elements)


def _as_variable(draft: Draft, node: cst.BaseExpression) -> None:
    """Replace a table by its `variable`."""
    start, end = draft.tree.outer_span(node)
    if isinstance(node, cst.Name | cst.Attribute | cst.Subscript | cst.Call):
        draft.edits.append(Edit(end, end, _SUFFIX))
    else:
        draft.edits += [Edit(start, start, "("), Edit(end, end, f"){_SUFFIX}")]


def _without_list(draft: Draft) -> None:
    """Block steps over all trainable variables, and lists of these: tables are not among them."""
    tree = draft.tree
    for call in tree.calls:
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        parameters = {"minimize": _MINIMIZES, "compute_gradients": _TAKES["compute_gradients"]}.get(method)
        given = bind(call, parameters) if parameters is not None else None
        if parameters is not None and (given is None or is_none(given.get("var_list"))):
            draft.block(call, LOOKUP, "trains-all-variables", shown=tree.source(call.func))
    for call, name in draft.file.names.calls:
        if name in {"trainable_variables", "get_collection"}:
            arg = tree.parent(call)
            taken = tree.parent(arg) if isinstance(arg, cst.Arg) else None
            if not isinstance(taken, cst.Call) or sok_name(tree, taken.func) not in FILTERS:
                _doubt_list(draft, call)


def _doubt_list(draft: Draft, node: cst.CSTNode) -> None:
    shown = " ".join(draft.tree.source(node).split())[:60]
    draft.block(node, LOOKUP, "all-variables-read", shown=shown)


def _listed_by_objects(draft: Draft) -> None:
    """Block the lists of variables of objects: tables are not among them."""
    tree = draft.tree
    for name in _LISTS:
        for node in tree.attributes.get(name, ()):
            around = tree.parent(node)
            taken = tree.parent(around) if isinstance(around, cst.Arg) else None
            filtered = isinstance(taken, cst.Call) and sok_name(tree, taken.func) in FILTERS
            if filtered or tree.imported_names(node)[0] or sok_name(tree, node):
                continue
            _doubt_list(draft, node)
