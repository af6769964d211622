"""Uses of a table that read its shape or print its name, both of which were constants of the variable."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m
from libcst.metadata import GlobalScope

from migrate.source.flow import keeps_entries, stores
from migrate.source.tensorflow.base.arguments import number
from migrate.source.tensorflow.base.bindings import builtin, is_fixed, is_target, is_variable, scope_of_name, self_class
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.model import Adaptation, CodeChange, Creation, Table
from migrate.source.tensorflow.base.repeatable import PURE_CALLS, reads_plainly
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.references.table_values import TableValues, others
from migrate.source.tensorflow.facts.variables.partitions import is_partitioned

RULE = "tf-table-shape"
CONSTANT = "rows and width of the variable were fixed; the table grows, and this stays what it was"
OWN = "a table has the shape that it was made with, that of its variable, although it grows"
#: The static shape, as text.
STATIC = "{0}.TensorShape([{1}])"

#: Functions and methods that set attributes by reflection.
SETTERS = ("setattr", "__setattr__", "__setstate__")


def measured(file: File, node: cst.BaseExpression, creation: Creation, known: TableValues) -> Adaptation | None:
    """Return the adaptation of a use that reads shape or name; None for other uses and for unavailable sizes."""
    whole, form = _shape(file, node) or (None, "")
    found = sizes(file, creation, node, known) if whole is not None else None
    own = form == STATIC and _has_shape(file, creation)
    if whole is not None and own and (found is None or any(others(file, known, node))):
        shown = file.tree.one_line(whole)
        return None if _may_go(file, whole) else Adaptation(whole, RULE, f"`{shown}` is left as it is", OWN)
    text = ", ".join(found) if found is not None else None
    if whole is None or text is None:
        whole, text, form = *_name(file, node, creation), "{1}"
    if whole is None or text is None or _may_go(file, whole):
        return None
    new = form.format(file.names.v1_prefix or "tf", text)
    message = f"`{file.tree.one_line(whole)}` is what it was: `{new}`"
    return Adaptation(whole, RULE, message, CONSTANT, (CodeChange(whole, lambda *_: new),))


def _has_shape(file: File, creation: Creation) -> bool:
    """True if the table itself has the static shape of the variable."""
    made_of_sizes = creation.rank == 2 and creation.matrix is None and not creation.emitted
    return file.target.keeps_shapes and made_of_sizes


def _may_go(file: File, node: cst.CSTNode) -> bool:
    """True inside a call that is replaced as a whole: a product with one-hot ids, or a padded table."""
    calls = [around for around in file.tree.ancestors(node) if isinstance(around, cst.Call)]
    return any(file.names.of(call.func) in {"one_hot", "concat"} for call in calls)


def check_measured(tables: list[Table]) -> None:
    """Block the tables for which the same code, depending on the object, reads different shapes."""
    asked: dict[int, set[str]] = {}
    for use in (use for table in tables for use in table.adaptations if use.rule == RULE):
        asked.setdefault(id(use.node), set()).add(use.message)
    for table in tables:
        for use in [one for one in table.adaptations if one.rule == RULE and len(asked[id(one.node)]) > 1]:
            table.blockers.append(blocker(use.node, RULE, "differing-shapes"))


def _shape(file: File, node: cst.BaseExpression) -> tuple[cst.BaseExpression, str] | None:
    """Return the expression around `node` that reads its shape, and a template of its replacement."""
    around = file.tree.parent(node)
    if isinstance(around, cst.Attribute) and around.value is node:
        if around.attr.value == "shape":
            return around, STATIC
        call = file.tree.parent(around)
        if around.attr.value == "get_shape" and isinstance(call, cst.Call) and not call.args:
            return call, STATIC
    call = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    if isinstance(call, cst.Call) and len(call.args) == 1 and file.names.of(call.func) == "shape":
        return call, "{0}.constant([{1}])"
    return None


def sizes(file: File, creation: Creation, use: cst.BaseExpression, known: TableValues) -> list[str] | None:
    """Return rows and width as texts that are valid at `use`, or None."""
    nodes = [node for node in (creation.rows, creation.dim) if node is not None]
    if len(nodes) != creation.rank or not nodes:
        return None
    fixed = all(number(node) is not None for node in nodes)
    if not fixed and (known.is_passed(file) or not all(same_size(file, n, creation.call, use) for n in nodes)):
        return None
    texts = [creation.rows_text, creation.dim_text][: creation.rank]
    if not fixed and texts != [file.tree.source(node) for node in nodes] and not _is_listed_once(file, creation):
        return None
    return [file.tree.source(node) for node in nodes] if fixed else texts


def _is_listed_once(file: File, creation: Creation) -> bool:
    """True if the sizes are in a list with a name whose contents never change."""
    listed = next((a for a in m.findall(creation.call, m.Name() | m.Attribute()) if _heads(file, a, creation)), None)
    return isinstance(listed, cst.Name | cst.Attribute) and keeps_entries(flow_of(file), listed)


def _heads(file: File, node: cst.CSTNode, creation: Creation) -> bool:
    return file.tree.source(node) == creation.rows_text.rpartition("[")[0]


def same_size(file: File, size: cst.BaseExpression, made: cst.Call, use: cst.BaseExpression) -> bool:
    """True if a size has the same value at `use` as at the creation of the variable."""
    tree = file.tree
    if tree.module_of(made) is not tree.module_of(use):
        return False
    here = tree.enclosing(made, cst.FunctionDef) is tree.enclosing(use, cst.FunctionDef)
    later = here and tree.span(use)[0] > tree.span(made)[0]
    names = [one for one in m.findall(size, m.Name()) if isinstance(one, cst.Name) and is_variable(tree, one)]
    return _keeps_its_parts(file, size) and all(_means_the_same(file, name, use, later) for name in names)


def _keeps_its_parts(file: File, size: cst.BaseExpression) -> bool:
    """True if no list or dict that `size` reads (`x["n"]`, `len(x)`) is modified."""
    parts: list[cst.BaseExpression] = []
    for node in m.findall(size, m.Subscript() | m.Call(func=m.Name("len"))):
        parts += [node.value] if isinstance(node, cst.Subscript) else []
        parts += [arg.value for arg in node.args] if isinstance(node, cst.Call) else []
    return all(keeps_entries(flow_of(file), part) for part in parts)


def _sets_by_text(file: File) -> bool:
    """True if some code sets attributes of objects by reflection."""
    tree, flow = file.tree, flow_of(file)
    if any(tree.names.get(name) or tree.attributes.get(name) for name in SETTERS):
        return True
    spaces = [*tree.attributes.get("__dict__", ()), *(c for c in tree.calls if builtin(tree, c.func) == "vars")]
    return not all(keeps_entries(flow, one) and not is_target(tree, one) for one in spaces)


def _means_the_same(file: File, name: cst.Name, use: cst.BaseExpression, later: bool) -> bool:
    """True if a name in a size, or the attribute it is a part of, has the same value at `use`."""
    scope = scope_of_name(file.tree, name)
    if scope is None and name.value in PURE_CALLS:
        return True
    around = file.tree.parent(name)
    if isinstance(around, cst.Attribute) and not reads_plainly(file, around):
        return False
    if isinstance(around, cst.Attribute) and self_class(file.tree, around) is not None:
        fixed = len(stores(flow_of(file), around)) == 1 and not _sets_by_text(file)
        return fixed and (later or _of_one_object(file, around, use))
    if isinstance(around, cst.Attribute):
        written = stores(flow_of(file), around) or not is_fixed(file.tree, name)
        return later and not written and not _sets_by_text(file)
    return is_fixed(file.tree, name) and (later or isinstance(scope, GlobalScope))


def _of_one_object(file: File, size: cst.Attribute, use: cst.BaseExpression) -> bool:
    """True for `self.n` in a shape and a use of `self.W` in the same class, where `self.n` is read unmodified."""
    whole = not isinstance(file.tree.parent(size), cst.Attribute)
    same = isinstance(use, cst.Attribute) and self_class(file.tree, use) is self_class(file.tree, size)
    return (
        whole
        and isinstance(use, cst.Attribute)
        and same
        and file.tree.source(use.value) == file.tree.source(size.value)
    )


def _name(file: File, node: cst.BaseExpression, creation: Creation) -> tuple[cst.BaseExpression | None, str | None]:
    """Return `W.name` or `W.op.name` around `node` if it is only printed, and the constant string that it equals."""
    around = file.tree.parent(node)
    end = ":0"
    if isinstance(around, cst.Attribute) and around.value is node and around.attr.value == "op":
        around, end = file.tree.parent(around), ""
    if not isinstance(around, cst.Attribute) or around.attr.value != "name" or not prints(file, around):
        return None, None
    outer = prefix(file, creation.call)
    if creation.unique or creation.name is None or outer is None or is_partitioned(file, creation):
        return None, None
    return around, f'"{"/".join([*filter(None, outer), creation.name])}{end}"'
