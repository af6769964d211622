"""Loops over variables that read only metadata such as shapes and names, among them loops over dicts with tables."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.references.l2_terms import sum_over

RULE = "tf-table-container"
#: Attributes of a variable that can be read without its values.
METADATA = {"shape", "get_shape", "name", "dtype", "device"}


#: What a table of the runtime has as well: the shape that its variable had.
SHAPES = {"shape", "get_shape"}


@dataclass(frozen=True)
class Walk:
    """A loop over a dict that only counts or prints its variables."""

    doubt: Blocker  #: its code change excludes the table from the loop but leaves the table's entry in the dict
    measures: bool  #: it only reads shapes

    def judged(self, file: File, rank: int) -> Blocker | Adaptation:
        """Return what the loop means for a table of a variable of this rank."""
        if not self.measures or rank != 2 or file.target.name != "runtime":
            return self.doubt
        message = f"the loop over `{self.of}` reads the shape of the table, which is that of its variable"
        return Adaptation(self.doubt.node, RULE, message)

    @property
    def of(self) -> str:
        """The dict, as the source spells it."""
        return self.doubt.message.split("`")[1]


def walked(file: File, read: cst.BaseExpression, key: str) -> Walk | None:
    """Return the loop over a dict that only counts or prints its variables; None for any other use."""
    method = file.tree.parent(read)
    call = file.tree.parent(method) if method is not None else None
    if not isinstance(method, cst.Attribute) or not isinstance(call, cst.Call) or call.args:
        return None
    name = method.attr.value
    loop = _loop_over(file, call)
    if name not in {"values", "itervalues", "items", "iteritems"} or loop is None:
        return None
    variable = _variable(loop.target, pairs=name.endswith("items"))
    if variable is None or not only_metadata(file, variable):
        return None
    text = file.tree.source(read)
    change = CodeChange(call, lambda _, keys: _without(text, name.endswith("items"), keys), repr(key))
    return Walk(blocker(call, RULE, "walked", changes=(change,), text=text), _measures(file, variable))


def _measures(file: File, variable: cst.Name) -> bool:
    """True if the loop reads only the shape of its variable."""
    around = (file.tree.parent(use) for use in flow_of(file).carried(variable))
    return all(isinstance(one, cst.Attribute) and one.attr.value in SHAPES for one in around)


def _without(text: str, pairs: bool, keys: tuple[str, ...]) -> str:
    listed = ", ".join(keys).replace("'", '"') + ("," if len(keys) == 1 else "")
    return f"[{'(k, v)' if pairs else 'v'} for k, v in {text}.items() if k not in ({listed})]"


def _loop_over(file: File, call: cst.Call) -> cst.For | cst.CompFor | None:
    around = file.tree.parent(call)
    return around if isinstance(around, cst.For | cst.CompFor) and around.iter is call else None


def _variable(target: cst.BaseExpression, pairs: bool) -> cst.Name | None:
    if pairs and isinstance(target, cst.Tuple) and len(target.elements) == 2:
        target = target.elements[1].value
    return target if isinstance(target, cst.Name) else None


def only_metadata(file: File, variable: cst.Name, *, sums: bool = False) -> bool:
    """True if a loop only reads metadata of its variable or prints it; with `sums` also if it computes L2 terms."""
    return all(
        asks(file, use) or prints(file, use) or (sums and sum_over(file, use) is not None)
        for use in flow_of(file).carried(variable)
    )


def reads_shapes(file: File, variable: cst.Name) -> bool:
    """True if a loop reads an attribute of its variable other than its name: a table has a name, but no shape."""
    attributes = (file.tree.parent(use) for use in flow_of(file).carried(variable))
    return any(isinstance(one, cst.Attribute) and one.attr.value != "name" for one in attributes)


def asks(file: File, use: cst.BaseExpression) -> bool:
    """True for `v.shape`, `v.name`, `v.op.name` and similar reads."""
    around = file.tree.parent(use)
    if not isinstance(around, cst.Attribute) or around.value is not use:
        return False
    outer = file.tree.parent(around)
    named = isinstance(outer, cst.Attribute) and outer.attr.value == "name"
    return around.attr.value in METADATA or (around.attr.value == "op" and named)


def alone(file: File, call: cst.CSTNode) -> cst.SimpleStatementLine | None:
    """Return the line if it consists of `call` only, else None."""
    expression = file.tree.parent(call)
    line = file.tree.parent(expression) if isinstance(expression, cst.Expr) else None
    return line if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
