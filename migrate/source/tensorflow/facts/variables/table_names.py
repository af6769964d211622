"""The names of tables: fixed, or known at run time alone, when the table also takes its initial values from the scope.

The name of a table has `_` in place of `/`, also before a number that TensorFlow appends to the name of a variable.
In programs that reuse variables, a computed name may be that of an existing one.
"""

from __future__ import annotations

import re
from functools import partial

import libcst as cst

from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.arguments import given_argument, is_name, is_none, keyword, literal, string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.common_refusals import FIX_SCOPE, RECORD_NAME
from migrate.source.tensorflow.base.model import Blocker, Creation, Initializer, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.variable_scopes import callers_option, enclosing_option, full_name, prefix
from migrate.source.tensorflow.facts.variables.creations import is_partitioned

NAMED = "its name is that of the variable scope when the program runs: in another scope it is another table"
COMPUTED = "its name is computed when the program runs: another name is another table"
NUMBERED = "each run creates a table of its own, whose name gets a number as that of the variable"
BEGUN = (
    "rows begin by the initializer of the variable scope when the program runs; creating the table fails where "
    "tables do not support it"
)
#: Characters that are replaced by `_` in the name of a table.
PLAIN = r"[^0-9A-Za-z_]"


def from_scope() -> Initializer:
    """Return an initializer that uses the one of the scope at run time."""
    return Initializer("", BEGUN)


def check_scope(file: File, table: Table) -> None:
    """If the scopes of a table are not static, let it take its name at run time, or block it."""
    creation = table.creation
    seen = prefix(file, creation.call) is not None
    if creation.naming.computed is None and seen:
        return
    if (unfixed := _unfixed(file, creation, seen)) is not None:
        table.blockers.append(unfixed)
        return
    creation.naming.scoped = True
    creation.notes.append(NAMED if creation.naming.computed is None else COMPUTED)
    if not creation.has_initializer and not seen:
        creation.initializer = from_scope()
        table.blockers[:] = [
            each for each in table.blockers if all(each is not other for other in creation.scope_blockers)
        ]


def _unfixed(file: File, creation: Creation, seen: bool) -> Blocker | None:
    """Return a blocker for a variable whose full name is not static if it cannot take its name at run time."""
    computed = creation.naming.computed is not None
    what = "its name is computed" if computed else "the variable scope around it is not fixed"
    remedy = RECORD_NAME if computed else FIX_SCOPE
    refused = partial(blocker, creation.call, creation.rule, what=what)
    if creation.rank == 0 or (creation.name is None and not computed):
        return refused("unfixed-name-unread")
    other = namesake(file, creation) if computed and may_reuse(file) else None
    if other is not None:
        return refused("unfixed-name-reused", other=file.tree.excerpt(other))
    if creation.rank == 1 and not creation.has_initializer and not seen:
        return refused("unfixed-name-vector", remedy=remedy)
    if is_partitioned(file, creation):
        return refused("unfixed-name-partitioned", remedy=remedy)
    for find in (enclosing_option, callers_option):
        if find(file, creation.call, "regularizer") is not None:
            return refused("unfixed-name-regularizer", remedy=remedy)
    return None


def table_name(table: Table) -> str:
    """Return the name of the variable, or else a word for it: of its label or, where that is a call, its `name`."""
    label, by = table.label.removeprefix("self."), table.creation.naming.computed
    if "(" in label:
        label = cst.Module([]).code_for_node(by) if by is not None else label.partition("(")[0]
    words = re.findall(r"\w+", label)
    return table.creation.name or (words[-1] if words else "table")


def plain(name: str) -> str:
    """Return a variable's name as a table name, in lower case: names that differ only in case are the same table."""
    return re.sub(PLAIN, "_", name.lower())


def same_names(file: File) -> dict[str, list[cst.Call]]:
    """Return the `get_variable` calls by full name."""
    groups: dict[str, list[cst.Call]] = {}
    scopes: dict[str, set[tuple[str, ...] | None]] = {}
    named: list[tuple[cst.Call, str]] = []
    for call, _ in file.calls("get_variable"):
        first = next((a for a in call.args if a.keyword is None or a.keyword.value == "name"), None)
        name = string(first.value) if first is not None else None
        if name is not None:
            named.append((call, name))
            scopes.setdefault(_last(name), set()).add(prefix(file, call))
    for call, name in named:
        # If one of the scopes is unknown, all variables with that last name may be the same one.
        outer = prefix(file, call) or ()
        full = _last(name) if None in scopes[_last(name)] else full_name(outer, name)
        groups.setdefault(full, []).append(call)
    return groups


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def written_name(call: cst.Call) -> str | None:
    """Return the literal `name` argument of a call, or None."""
    return string(given_argument(call, "name", 0))


def may_reuse_name(file: File, call: cst.Call, table: Table) -> bool:
    """True if the name and the shape of `call` may be those of the table."""
    if not file.tree.related(call, table.creation.call) or has_other_rank(file, call, table.creation.rank):
        return False
    own, around = prefix(file, table.creation.call), prefix(file, call)
    name = full_name(own, table.creation.name)
    before = "" if around is None or own is None else re.escape(full_name(around, ""))
    wanted = pattern(file, given_argument(call, "name", 0))
    free = "(.*/)?" if around is None or own is None else ""
    return re.fullmatch(f"{free}{before}{wanted}", name) is not None


def fixed_name(file: File, table: Table) -> str:
    """Return the name of a table according to its static scopes and its own name."""
    return plain("_".join([*(prefix(file, table.creation.call) or ()), table_name(table)]))


def is_known_at_run_time(file: File, table: Table) -> bool:
    """True for a name in scopes that are not fixed, and for a suffixed one that is computed or gets name scopes."""
    naming, names = table.creation.naming, (file.tree.names, file.tree.attributes)
    more = naming.computed is not None or any("name_scope" in known for known in names)
    return naming.scoped or (naming.suffixed and more)


def may_be_named(file: File, table: Table, other: Table) -> bool:
    """True if a table whose name is known at run time alone may have the fixed name of another, of another variable."""
    creation, computed = table.creation, table.creation.naming.computed
    texts = [table_name(table)]
    full = full_name(prefix(file, other.creation.call), other.creation.name)
    if computed is not None:
        if re.fullmatch(f"(.*/)?{pattern(file, computed)}", full):
            return False  # names that are equal as written are one variable for TensorFlow, too
        texts = [re.sub(r"\\(.)", r"\1", part) for part in pattern(file, computed).split(".*")]
    number = r"(_\d+)?" if creation.naming.suffixed else ""
    end = ".*".join(re.escape(plain(text)) for text in texts)
    return re.fullmatch(f"(.*_)?{end}{number}", fixed_name(file, other)) is not None


#: Modules of TensorFlow whose recurrent cells name their variables by constants, and these constants.
CELLS = re.compile(r"tensorflow\.(.*\.)?(rnn_cell_impl|core_rnn_cell)\.\w+")
TEXTS = {"_WEIGHTS_VARIABLE_NAME": "kernel", "_BIAS_VARIABLE_NAME": "bias"}


def may_reuse(file: File) -> bool:
    """True if anything in the program allows a variable to be reused."""
    return _mentions(file, "AUTO_REUSE") or may_demand_reuse(file)


def may_demand_reuse(file: File) -> bool:
    """True if a scope of the program may demand that its variables exist, as `reuse=True` does."""
    arguments = [arg for call in file.tree.calls for arg in call.args if keyword(arg) == "reuse"]
    demands = (arg for arg in arguments if not is_none(arg) and literal(arg.value) is not False)
    return _mentions(file, "reuse_variables") or any(file.names.of(arg.value) != "AUTO_REUSE" for arg in demands)


def _mentions(file: File, name: str) -> bool:
    return name in file.tree.attributes or name in file.tree.names


def namesake(file: File, creation: Creation) -> cst.Call | None:
    """Return another `get_variable` that may have the name of `creation`, whose name is computed; None if none may."""
    own = _ends(file, creation.call)
    for call, _ in file.calls("get_variable"):
        if call is creation.call or not file.tree.related(call, creation.call):
            continue
        (head, tail), (begins, ends) = own, _ends(file, call)
        begun = head.startswith(begins) or begins.startswith(head)
        ended = tail.endswith(ends) or ends.endswith(tail)
        if begun and ended and not has_other_rank(file, call, creation.rank):
            return call
    return None


def _ends(file: File, call: cst.Call) -> tuple[str, str]:
    """Return the known prefix and suffix of a variable's full name."""
    outer = prefix(file, call)
    wanted = pattern(file, given_argument(call, "name", 0)).split(".*")
    head, tail = (re.sub(r"\\(.)", r"\1", part) for part in (wanted[0], wanted[-1]))
    before = full_name(outer, "")
    return (before + head if outer is not None else ""), (before + tail if len(wanted) == 1 else tail)


def may_act(name: cst.BaseExpression | None) -> bool:
    """True if reading a name twice may not give the same: it calls something else than what makes texts."""
    calls = [] if name is None else nodes_in(name, cst.Call)
    return not all(is_name(call.func, "str") or _is_format(call.func) for call in calls)


def _is_format(callee: cst.BaseExpression) -> bool:
    return isinstance(callee, cst.Attribute) and callee.attr.value == "format"


def has_other_rank(file: File, call: cst.Call, rank: int) -> bool:
    """True if the call has a shape that a table of that rank cannot have."""
    argument = given_argument(call, "shape", 1)
    shape = resolve(file.tree, argument) if argument is not None else None
    if not isinstance(shape, (cst.List, cst.Tuple)) or any(isinstance(e, cst.StarredElement) for e in shape.elements):
        return False
    return len(shape.elements) != rank


def pattern(file: File, node: cst.BaseExpression | None) -> str:
    """Return a regular expression for the strings that `node` may be."""
    text = string(resolve(file.tree, node)) if node is not None else None
    if text is None and node is not None:
        text = next(
            (TEXTS[last] for name in file.tree.imported_names(node)[0] if (last := _of_cells(name)) in TEXTS), None
        )
    if text is not None:
        return re.escape(text)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return pattern(file, node.left) + pattern(file, node.right)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        return _filled(string(node.left), r"%[^a-zA-Z%]*[a-zA-Z]|%%")
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        return _filled(string(node.func.value), r"\{[^{}]*\}|\{\{|\}\}")
    if isinstance(node, cst.FormattedString):
        plain = (cst.FormattedStringText,)
        return "".join(re.escape(one.value) if isinstance(one, plain) else ".*" for one in node.parts)
    return ".*"


def _of_cells(name: str) -> str:
    """Return the last part of the qualified name of something that TensorFlow's cells define; else an empty text."""
    return name.rpartition(".")[2] if CELLS.fullmatch(name) is not None else ""


def _filled(text: str | None, holes: str) -> str:
    return ".*" if text is None else ".*".join(re.escape(part) for part in re.split(holes, text))
