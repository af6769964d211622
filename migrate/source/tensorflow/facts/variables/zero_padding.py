"""Tables with a row of zeros for padding: `tf.concat([tf.zeros([1, D]), W[1:]], 0)` and similar code.

A table cannot be concatenated, but the looked-up rows can be multiplied by zero for the id of the padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import libcst as cst

from migrate.source.flow import Holder, Value
from migrate.source.tensorflow.base.arguments import bind, literal
from migrate.source.tensorflow.base.bindings import is_fixed, is_target, resolve, scope_of_name
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange, Creation, Lookup
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.references.table_values import TableValues
from migrate.source.tensorflow.facts.variables.static_shapes import same_size

RULE = "tf-zero-padding"
CARRIED = "lookups in it read zeros for id 0, and rows of the table otherwise"
SHAPES = {"zeros": ("shape", "dtype", "name"), "constant": ("value", "dtype", "shape", "name", "verify_shape")}


@dataclass(frozen=True)
class Padding:
    """One concatenation of a table with a row of zeros."""

    call: cst.Call
    table: cst.BaseExpression  #: the mention of the table in the concatenation
    kind: str  #: `first`: the zeros replace row 0; `before`: ids are shifted by one; `last`: the zeros are row V
    target: cst.BaseExpression | None  #: the name or attribute it is assigned to; None if it is looked up directly
    line: cst.CSTNode | None  #: the statement that assigns it, or the `if` that contains only this statement
    flag: cst.BaseExpression | None  #: the condition under which rows are padded
    #: the padded table is a value of its own, which lookups recognize when they run: which of the two they read, or
    #: under which condition, is not seen
    carried: bool = False


@dataclass
class Padded:
    """The paddings of one variable, and the reads of their values."""

    found: list[Padding] = field(default_factory=list)
    reads: dict[int, Padding] = field(default_factory=dict)  #: id of a read -> its padding
    more: list[cst.BaseExpression] = field(default_factory=list)  #: reads that do not mention the variable itself
    blockers: list[Blocker] = field(default_factory=list)

    values: list[Value] = field(default_factory=list)  #: the padded tables

    @property
    def tables(self) -> set[int]:
        """The ids of the mentions of the table inside paddings."""
        return {id(one.table) for one in self.found}


def find_padding(file: File, known: TableValues) -> Padded:
    """Return the paddings of the variable."""
    padded = Padded()
    padded.found = [one for read in known.reads if (one := padding_of(file, read)) is not None]
    for number, one in enumerate(padded.found):
        before = len(padded.blockers)
        _read_padded(file, known, one, padded)
        if len(padded.blockers) > before and _can_be_carried(file, one):
            padded.found[number] = replace(one, carried=True)
            _carry(padded, one, padded.found[number])
            del padded.blockers[before:]
    return padded


def _can_be_carried(file: File, one: Padding) -> bool:
    return one.kind == "first" and "zero_padded" in file.target.functions


def _carry(padded: Padded, one: Padding, carried: Padding) -> None:
    for read in [key for key, padding in padded.reads.items() if padding is one]:
        padded.reads[read] = carried


def _read_padded(file: File, known: TableValues, one: Padding, padded: Padded) -> None:
    """Separate the reads of the padded table from those of the variable, which may have the same name."""
    flow = flow_of(file)
    plain = {id(read) for read in known.reads}
    for value in flow.values(one.call):
        padded.values.append(value)
        for read in flow.uses(value):
            if (read is one.table and _is_fresh(file, known, one)) or _is_before(file, known, one, read):
                continue
            sure = id(read) not in plain
            padded.reads[id(read)] = one
            padded.more += [read] if sure else []
            if sure and one.flag is None:
                continue
            if sure or not _covers(file, one, read):
                padded.blockers.append(_unclear(file, read))
            elif not _same_name(file, one, read):
                padded.blockers.append(_aliased(file, one, read))


def _is_before(file: File, known: TableValues, one: Padding, read: cst.BaseExpression) -> bool:
    """True for a read between creation and padding, if all three are in the same run of a function."""
    made, line = known.call, one.line
    if line is None or read is one.table or any(isinstance(a, cst.GeneratorExp) for a in file.tree.ancestors(read)):
        return False
    if not (_around(file, made) is _around(file, read) is _around(file, line)):
        return False
    return file.tree.span(made)[1] <= file.tree.span(read)[0] and file.tree.span(read)[1] <= file.tree.span(line)[0]


def _is_fresh(file: File, known: TableValues, one: Padding) -> bool:
    """True if a padding never pads its own result, since each run creates the variable anew, or if this is harmless.

    The analysis of attributes is flow-insensitive: `self.W = tf.concat([zeros, self.W[1:]], 0)` seems to read its
    result.
    """
    made, line = known.call, one.line
    if one.kind == "first" or line is None:
        return True
    return _around(file, made) is _around(file, line) and file.tree.span(made)[0] < file.tree.span(line)[0]


def _unclear(file: File, node: cst.BaseExpression) -> Blocker:
    return blocker(node, RULE, "bound-again", name=file.tree.source(node))


def _same_name(file: File, one: Padding, read: cst.BaseExpression) -> bool:
    """True if `read` denotes the padding's target rather than another name of the unpadded table."""
    target = one.target
    if isinstance(target, cst.Name) and isinstance(read, cst.Name):
        same = scope_of_name(file.tree, target) is scope_of_name(file.tree, read)
        return same and target.value == read.value
    return target is not None and file.tree.source(target) == file.tree.source(read)


def _aliased(file: File, one: Padding, read: cst.BaseExpression) -> Blocker:
    padded = file.tree.source(one.target or one.table)
    return blocker(read, RULE, "other-name", name=file.tree.source(read), padded=padded)


def _around(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the innermost function or loop around `node`."""
    kinds = (cst.FunctionDef, cst.Lambda, cst.For, cst.While)
    return next((a for a in file.tree.ancestors(node) if isinstance(a, kinds)), None)


def _covers(file: File, one: Padding, read: cst.BaseExpression) -> bool:
    """True if the padding certainly runs before `read`, in the same function."""
    line = one.line
    if line is None or file.tree.span(read)[0] < file.tree.span(line)[1]:
        return False
    if _around(file, read) is not _around(file, line):
        return False
    block = file.tree.parent(line)
    while isinstance(file.tree.parent(block) if block is not None else None, cst.With):
        holder = file.tree.parent(block) if block is not None else None
        block = file.tree.parent(holder) if holder is not None else None
    return block is not None and file.tree.contains(block, read)


def padding_of(file: File, read: cst.BaseExpression) -> Padding | None:
    """Return the concatenation with a row of zeros in which `read` is the table; None if there is none."""
    if isinstance(read, cst.Call):
        return None  # a creation that is padded directly
    around = file.tree.parent(read)
    sliced = isinstance(around, cst.Subscript) and around.value is read and _all_but_first(around)
    part = around if sliced else read
    element = file.tree.parent(part) if part is not None else None
    listed = file.tree.parent(element) if isinstance(element, cst.Element) else None
    arg = file.tree.parent(listed) if isinstance(listed, cst.List | cst.Tuple) else None
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or not isinstance(listed, cst.List | cst.Tuple) or len(listed.elements) != 2:
        return None
    bound = bind(call, ("values", "axis", "name")) if file.names.of(call.func) == "concat" else None
    if bound is None or bound.get("values") is not arg or "axis" not in bound or literal(bound["axis"].value) != 0:
        return None
    first = listed.elements[0] is element
    other = listed.elements[1 if first else 0].value
    if not _is_zero_row(file, other) or (first and sliced):
        return None
    return _placed(file, call, read, "last" if first else "first" if sliced else "before")


def _placed(file: File, call: cst.Call, read: cst.BaseExpression, kind: str) -> Padding | None:
    """Return the padding with its target; None if its statement cannot be removed."""
    assign = file.tree.parent(call)
    if isinstance(assign, cst.Arg):
        return Padding(call, read, kind, None, None, None)
    line = file.tree.parent(assign) if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None
    if not isinstance(assign, cst.Assign) or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    block = file.tree.parent(line)
    holder = file.tree.parent(block) if block is not None else None
    target = assign.targets[0].target
    if not isinstance(holder, cst.If):
        return Padding(call, read, kind, target, line, None)
    alone = isinstance(block, cst.IndentedBlock) and len(block.body) == 1 and holder.orelse is None
    test = holder.test
    plain = _keeps(file, test, holder) if isinstance(test, cst.Attribute) else _is_name(file, test)
    outermost = holder.body is block and not isinstance(file.tree.parent(holder), cst.If)
    if not (alone and plain and outermost) or kind == "before":
        return None
    return Padding(call, read, kind, target, holder, test)


def _is_name(file: File, test: cst.BaseExpression) -> bool:
    """True for a name that is bound once, except to a list or a dict, which may become empty later."""
    if not isinstance(test, cst.Name) or not is_fixed(file.tree, test):
        return False
    return not any(isinstance(one, Holder) and one.kind in {"list", "dict"} for one in flow_of(file).values(test))


def _keeps(file: File, flag: cst.Attribute, line: cst.If) -> bool:
    """True for an attribute that nothing sets between the padding and later lookups, which read it again."""
    targets = [one for one in file.tree.attributes.get(flag.attr.value, ()) if is_target(file.tree, one)]
    return not any(_runs_behind(file, one, line) for one in targets)


def _runs_behind(file: File, node: cst.CSTNode, line: cst.CSTNode) -> bool:
    """True for code that may run after a line, or in the loop around it, before the enclosing function ends."""
    tree, flow = file.tree, flow_of(file)
    function, loop = _function(file, line), _around(file, line)
    pending, seen = [node], {id(node)}
    while pending:
        one = pending.pop()
        around = _function(file, one)
        if around is function and tree.module_of(one) is tree.module_of(line):
            looped = isinstance(loop, cst.For | cst.While) and tree.contains(loop, one)
            if looped or tree.span(one)[0] > tree.span(line)[0]:
                return True
        sites = flow.sites(around) if isinstance(around, cst.FunctionDef | cst.Lambda) else ()
        new = [site for site in sites if id(site) not in seen and around is not function]
        seen.update(map(id, new))
        pending += new
    return False


def _function(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    kinds = cst.FunctionDef | cst.Lambda
    return next((around for around in file.tree.ancestors(node) if isinstance(around, kinds)), None)


def _all_but_first(node: cst.Subscript) -> bool:
    """True for `[1:]` and `[1:, :]`."""
    slices = [part.slice for part in node.slice]
    rows = slices[0] if slices else None
    if not isinstance(rows, cst.Slice) or literal(rows.lower) != 1 or rows.upper or rows.step:
        return False
    rest = slices[1:]
    return len(rest) < 2 and all(isinstance(s, cst.Slice) and not (s.lower or s.upper or s.step) for s in rest)


def _is_zero_row(file: File, node: cst.BaseExpression) -> bool:
    """True for `tf.zeros([1, D])` and `tf.constant(0.0, shape=[1, D])`."""
    call = resolve(file.tree, node)
    name = file.names.of(call.func) if isinstance(call, cst.Call) else None
    if not isinstance(call, cst.Call) or name not in SHAPES:
        return False
    bound = bind(call, SHAPES[name])
    if bound is None or "shape" not in bound or (name == "constant" and literal(bound["value"].value) != 0):
        return False
    shape = resolve(file.tree, bound["shape"].value)
    return (
        isinstance(shape, cst.List | cst.Tuple) and len(shape.elements) == 2 and literal(shape.elements[0].value) == 1
    )


def pad(file: File, use: Lookup | Adaptation | Blocker, one: Padding, creation: Creation) -> Lookup | Blocker:
    """Return the lookup with the rows of padding ids set to zero, or a blocker if that is not possible."""
    if isinstance(use, Lookup):
        return _masked(file, use, one, creation)
    if isinstance(use, Blocker) and not use.assumption:
        return use
    return blocker(use.node, RULE, "other-use")


def _masked(file: File, lookup: Lookup, one: Padding, creation: Creation) -> Lookup | Blocker:
    """Return the lookup multiplied by a mask of the ids that are not padding, or a blocker."""
    ids = lookup.ids
    if ids is None or lookup.function != "sparse_lookup" or creation.rank != 2:
        return blocker(lookup.call, RULE, "combined-rows")
    idle = "a padded table has a gradient for every id"
    if one.carried and lookup.rewrite is None and not lookup.parts and lookup.sliced is None:
        return replace(lookup, rule=RULE, function="padded_lookup", idle=idle, dense=True)
    if not is_repeatable(ids.value) or isinstance(ids.value, cst.Await | cst.NamedExpr):
        return blocker(lookup.call, RULE, "unnamed-ids")
    if one.kind == "last" and not _same_rows(file, lookup, creation):
        return blocker(lookup.call, RULE, "other-size", rows=creation.rows_text)
    text = file.tree.source(ids.value)
    number = "0"
    if one.kind == "last":
        number = file.tree.source(creation.rows) if isinstance(creation.rows, cst.Integer) else creation.rows_text
    mask = f"{{tf}}.expand_dims({{tf}}.cast({{tf}}.not_equal({text}, {number}), {{tf}}.float32), -1)"
    if one.flag is not None:
        mask += f" if {file.tree.source(one.flag)} else 1.0"
    around = (f"{{tf}}.multiply({lookup.around[0]}", f"{lookup.around[1]}, {mask})")
    last = str(creation.rows.evaluated_value - 1) if isinstance(creation.rows, cst.Integer) else f"{number} - 1"
    wraps = {
        "first": (),
        "before": ((ids, "{tf}.maximum({tf}.subtract(", ", 1), 0)"),),
        "last": ((ids, "{tf}.minimum(", f", {last})"),),  # the padding id must not create a row
    }[one.kind]
    return replace(lookup, rule=RULE, around=around, wraps=wraps, idle=idle, dense=True)


def _same_rows(file: File, lookup: Lookup, creation: Creation) -> bool:
    """True if the number of rows, as written at the creation, is known at the lookup."""
    rows = creation.rows
    if isinstance(rows, cst.Integer):
        return True
    here = file.tree.enclosing(lookup.call, cst.FunctionDef) is file.tree.enclosing(creation.call, cst.FunctionDef)
    if not here or not isinstance(rows, cst.Name | cst.Attribute) or creation.rows_text != file.tree.source(rows):
        return False
    return same_size(file, rows, creation.call, lookup.call)


def follow(file: File, padded: Padded) -> Iterator[Adaptation]:
    """Yield the adaptations of the concatenations."""
    for one in padded.found:
        text = file.tree.source(one.table)
        if one.carried:
            padding = CodeChange(one.call, partial(_carried, text))
            yield Adaptation(one.call, RULE, f"`{text}` with a row of zeros is a value of its own", CARRIED, (padding,))
            continue
        rebound = one.line is not None and one.target is not None and file.tree.source(one.target) == text
        node = one.line if rebound and one.line is not None else one.call
        new = text if not rebound else "pass" if _leaves_nothing(file, node) else ""
        change = CodeChange(node, partial(_text, new))
        reason = "the looked-up rows are multiplied by zero where the id is the padding's"
        yield Adaptation(one.call, RULE, f"the row of zeros next to `{text}` is not stored", reason, (change,))


def _carried(text: str, fresh: Fresh, items: tuple[str, ...]) -> str:
    return f"{fresh.imports('zero_padded')}({text})"


def _text(text: str, fresh: Fresh, items: tuple[str, ...]) -> str:
    return text


def _leaves_nothing(file: File, line: cst.CSTNode) -> bool:
    """True if removing a line may leave its block empty."""
    block = file.tree.parent(line)
    others = block.body if isinstance(block, cst.IndentedBlock) else ()
    inner = isinstance(block, cst.IndentedBlock)
    return inner and all(other is line or "concat" in file.tree.source(other) for other in others)
