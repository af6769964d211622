"""Reads of a whole matrix that no loss can depend on: summaries, fetches, scores for evaluation.

The values that are computed from a read are followed forward. Each of their uses must be known: a function of
TensorFlow that computes another value, which is then followed, or an end that takes no gradient. Any other use may lead
to a loss.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import libcst as cst

from migrate.source.flow import Constant, Holder, Member, Unknown, Value, is_none
from migrate.source.tensorflow.base.arguments import keyword, method_of
from migrate.source.tensorflow.base.model import Adaptation, CodeChange, Creation
from migrate.source.tensorflow.base.rule_kinds import File, cached_query
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.base.value_flow import flow_of, symbol_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.execution_count import repeated
from migrate.source.tensorflow.facts.calls.inner_graphs import run_apart
from migrate.source.tensorflow.facts.calls.tensor_functions import COLLECTING, COMPUTING, is_end

RULE = "tf-all-rows"
KEPT = "no loss depends on it, and it has the same value while ids are below the number of rows"

#: Functions that give the shape of the variable, for which no row is read.
SIZES = frozenset({"rank", "shape", "size"})
#: Methods that give the value of a variable.
VALUES = frozenset({"read_value", "value"})
#: Where one of these is, a graph may take no more ops when a fetch runs, so the fetch cannot add its read.
CLOSING = ("MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession", "Supervisor", "finalize")
#: Methods that find a tensor of the graph by its name.
BY_NAME = ("as_graph_element", "get_operation_by_name", "get_operations", "get_tensor_by_name")
_DISPLAYS = cst.List | cst.Tuple | cst.Dict | cst.Set
_ENTRIES = cst.Element | cst.DictElement

#: Methods of sessions and tensors that give values, not tensors.
FETCHES = frozenset({"eval", "numpy", "partial_run", "run"})
#: Attributes of a tensor that are constants.
FACTS = frozenset({"dtype", "get_shape", "name", "ndim", "shape"})
#: Arguments of an EstimatorSpec that are not trained.
OUTPUTS = frozenset({"eval_metric_ops", "export_outputs", "predictions"})
#: Methods that train.
STEPS = frozenset({"apply_gradients", "minimize"})
#: Functions, and methods of variables, that store a value.
ASSIGNMENTS = frozenset({"assign", "assign_add", "assign_sub"})
VARIABLES = frozenset({"get_variable", "Variable"})
_ENDED = cst.Comparison | cst.ComparisonTarget | cst.Expr | cst.Assert | cst.If | cst.FormattedStringExpression


def whole_read(file: File, node: cst.BaseExpression, creation: Creation) -> Adaptation | None:
    """Return the adaptation of a mention of a table that reads all rows apart from training; None for other uses."""
    if "all_rows" not in file.target.functions or not creation.rank or run_apart(file, node) is not None:
        return None
    read = value_read(file, node)
    if read is None or may_be_number(file, node) or _is_fed(file, read) or not _is_computed_with(file, read):
        return None
    if not _is_apart(file, read):
        return None
    fetched = _is_fetched(file, read)
    if fetched and (_is_closed(file, read) or _is_of_unknown(file, node)):
        return None
    source = file.tree.source(node)
    again = fetched and not _adds_once(file, read, creation)
    change = CodeChange(read, all_rows_of(source, creation, again=again))
    return Adaptation(read, RULE, f"`{shown_use(file, read)}` reads all rows of `{source}`", KEPT, (change,))


def all_rows_of(
    source: str, creation: Creation, *, trainable: bool = False, again: bool = False
) -> Callable[[Fresh, tuple[str, ...]], str]:
    """Return what writes the call that reads all rows of the table `source`.

    `again` is true where a session may fetch it several times, for which the graph needs one read.
    """
    arguments = [source, *(["trainable=True"] if trainable else [])]
    column = "[:, 0]" if creation.rank == 1 else ""
    if again:
        arguments += ["once=True", *(["vector=True"] if column else [])]
        column = ""
    return lambda fresh, _: f"{fresh.imports('all_rows')}({', '.join(arguments)}){column}"


def may_be_number(file: File, node: cst.BaseExpression) -> bool:
    """True if a mention of a table may also be a constant, which has no rows to read; None cannot be computed with."""
    return any(isinstance(value, Constant) and not is_none(value) for value in flow_of(file).values(node))


def outer_use(file: File, read: cst.BaseExpression) -> cst.CSTNode | None:
    """Return what is around a value, and around the lists and tuples that it is written in."""
    around = file.tree.parent(read)
    while isinstance(around, (_ENTRIES, _DISPLAYS)):
        around = file.tree.parent(around)
    return around


def shown_use(file: File, read: cst.BaseExpression) -> str:
    """Return the text of what uses the matrix, cut."""
    around = outer_use(file, read)
    user = file.tree.parent(around) if isinstance(around, cst.Arg) else around
    return file.tree.excerpt(user or read)


def _is_fed(file: File, read: cst.BaseExpression) -> bool:
    """True for a key of a dict: `sess.run(loss, {W: rows})` has other rows in the place of the variable's."""
    entry = file.tree.parent(read)
    return isinstance(entry, cst.DictElement) and entry.key is read


def value_read(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the expression whose value is the matrix: the mention itself, or a call of its method `value`."""
    around = file.tree.parent(node)
    if not isinstance(around, cst.Attribute) or around.value is not node:
        return node
    call = file.tree.call_of(around)
    if around.attr.value in VALUES and call is not None:
        return call if not call.args else None
    return node if around.attr.value in FETCHES else None


def _is_computed_with(file: File, read: cst.BaseExpression) -> bool:
    """True if the value is used: an op computes with it, or a session gives it. Else another rule knows the use."""
    around = outer_use(file, read)
    call = file.tree.call_with(around) if isinstance(around, cst.Arg) else None
    if call is not None:
        name = file.names.of(call.func)
        return name not in SIZES and (name in COMPUTING or (name is not None and is_end(name)) or fetches(call))
    formats = isinstance(around, cst.BinaryOperation) and isinstance(around.operator, cst.Modulo)
    return not formats and isinstance(around, (cst.BinaryOperation, cst.UnaryOperation, cst.Subscript, cst.Attribute))


def _is_apart(file: File, read: cst.BaseExpression) -> bool:
    """True if every value that is computed from `read` ends where no gradient is taken, and at least one ends.

    A value that nothing uses is meant for code that is not seen.
    """
    trees = [part.tree for part in file.program(read)]
    if any(name in tree.attributes for tree in trees for name in BY_NAME):
        return False
    followed = FollowedValues(file)
    list(reached(read, followed.next))
    return followed.known and followed.ends


def _is_fetched(file: File, read: cst.BaseExpression) -> bool:
    """True if the matrix itself is fetched, so that its read is built where the session runs."""
    for around in file.tree.ancestors(read):
        if isinstance(around, cst.Call):
            return fetches(around)
        if not isinstance(around, (cst.Arg, cst.Attribute, _ENTRIES, _DISPLAYS)):
            return False
    return False


def _is_of_unknown(file: File, node: cst.BaseExpression) -> bool:
    """True for an attribute of an object that code which is not seen gives: it may be one with another variable."""
    values = flow_of(file).values(node.value) if isinstance(node, cst.Attribute) else []
    return any(isinstance(one, Unknown) for one in values)


def _is_closed(file: File, read: cst.BaseExpression) -> bool:
    """True if the graph of a fetch may take no more ops when the session runs."""
    trees = [part.tree for part in file.program(read)]
    return any(name in tree.attributes or name in tree.names for tree in trees for name in CLOSING)


def _adds_once(file: File, read: cst.BaseExpression, creation: Creation) -> bool:
    """True if a fetch runs once for a table, in the only graph of the program."""
    function = file.tree.enclosing(read, cst.FunctionDef)
    beside = function is file.tree.enclosing(creation.call, cst.FunctionDef)
    is_open = isinstance(function, cst.FunctionDef) and not beside and flow_of(file).is_open(function)
    return not (is_open or repeated(file, read, skips=False) or file.calls("Graph", "reset_default_graph"))


class FollowedValues:
    """Follows computed values to their uses; `known` is False once one of the uses may lead to a loss.

    `ends` is True once one of them is a known end. The calls of a function are not told apart: what one of them gives
    may be computed from what any of them was given.
    """

    def __init__(self, file: File) -> None:
        self.file, self.flow = file, flow_of(file)
        self.known, self.ends = True, False

    def next(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """Return the expressions that are computed from `node`, whose value depends on the matrix."""
        consumers = self._consumers(node) if self.known else None
        self.known = consumers is not None
        return consumers or []

    def _consumers(self, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
        """Return what is computed from the value of an expression; None if its use is not known."""
        around = self.file.tree.parent(node)
        if isinstance(around, cst.Arg):
            return self._given(around)
        if isinstance(around, (cst.BinaryOperation, cst.UnaryOperation)):
            return self._made(around)
        if isinstance(around, cst.Subscript):
            return self._made(around) if around.value is node else None
        if isinstance(around, cst.Attribute):
            self.ends = self.ends or around.attr.value in FETCHES
            return [] if around.attr.value in FACTS | FETCHES else None
        if isinstance(around, cst.Lambda):
            return self._branch(around)
        if isinstance(around, _ENTRIES):
            return self._entry(node)
        if isinstance(around, cst.IfExp):
            return [around] if around.test is not node else []
        if isinstance(around, (cst.AugAssign, cst.Call)):
            return None
        self.ends = self.ends or isinstance(around, (cst.Comparison, cst.ComparisonTarget)) or self._is_kept(around)
        return [] if isinstance(around, _ENDED) or self._is_handed_on(node, node) else None

    def _is_kept(self, around: cst.CSTNode | None) -> bool:
        """True for an attribute of a model that trains by itself, such as its scores: what others do is to fetch it."""
        kept = isinstance(around, cst.Assign) and isinstance(around.targets[0].target, cst.Attribute)
        model = self.file.tree.enclosing(around, cst.ClassDef) if around is not None and kept else None
        return model is not None and any(
            method_of(call) in STEPS and self.file.tree.contains(model, call) for call in self.file.tree.calls
        )

    def _is_handed_on(self, node: cst.BaseExpression, whole: cst.BaseExpression) -> bool:
        """True if a value flows on to other mentions, and the expression around it does not leave the program."""
        return self.flow.is_only_copied(node) and not self.flow.is_returned_outside(whole)

    def _made(self, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
        """Return the expression that computes a value, and all mentions of the value, its parts and its holders."""
        own = [value for value in self.flow.values(node) if value.node is node or isinstance(value, Member)]
        values = [*own, *(part for value in own for part in _members(self.file).get(id(value), ()))]
        if any(map(self.flow.is_dropped, values)):
            return None
        nodes = dict.fromkeys([node, *(mention for value in values for mention in self.flow.mentions(value))])
        for holder in dict.fromkeys(holder for value in values for holder in self.flow.holders(value)):
            for mention in self.flow.mentions(holder):
                further = self._opened(holder, mention)
                if further is None:
                    return None
                nodes |= dict.fromkeys(further)
        return list(nodes)

    def _opened(self, holder: Value, mention: cst.BaseExpression) -> list[cst.BaseExpression] | None:
        """Return what is computed from a list or an object that holds a value; None for a use that is not known.

        Its entries and attributes have mentions of their own. Code that is not seen, such as an evaluator, may get a
        model; it is assumed not to read its attributes.
        """
        around = self.file.tree.parent(mention)
        if isinstance(around, cst.Arg):
            computed = self._given(around)
            return [] if computed is None and isinstance(holder, Holder) and holder.kind == "object" else computed
        known = cst.Attribute | cst.Subscript | cst.For | cst.CompFor | _ENDED
        return [] if isinstance(around, known) or self._is_handed_on(mention, mention) else None

    def _given(self, arg: cst.Arg) -> list[cst.BaseExpression] | None:
        """Return what a call computes from its argument; None for a function that is not known."""
        call = self.file.tree.parent(arg)
        if not isinstance(call, cst.Call) or arg.star:
            return None
        name = self.file.names.of(call.func)
        output = name == "estimator.EstimatorSpec" and keyword(arg) in OUTPUTS
        if output or self._ends(call) or self._assigns(call, arg):
            self.ends = True
            return []
        if isinstance(call.func, cst.Name) and call.func.value == "print":
            return []
        if name in COMPUTING:
            collects = any(one.star or keyword(one) in COLLECTING for one in call.args)
            return None if collects else self._made(call)
        passes = name is None and self.flow.is_only_copied(arg.value) and (self.flow.runs(call) or self._stores(call))
        return [] if passes else None  # what a function of the program is given has other mentions

    def _stores(self, call: cst.Call) -> bool:
        """True for a method of lists and dicts, such as `append`."""
        base = call.func.value if isinstance(call.func, cst.Attribute) else None
        values = self.flow.values(base) if base is not None else []
        return bool(values) and all(isinstance(one, Holder) and one.kind in {"dict", "list"} for one in values)

    def _ends(self, call: cst.Call) -> bool:
        name = self.file.names.of(call.func)
        return fetches(call) or (name is not None and is_end(name))

    def _assigns(self, call: cst.Call, arg: cst.Arg) -> bool:
        """True if the value is assigned to a variable: no gradient passes an assignment."""
        if self.file.names.of(call.func) in ASSIGNMENTS:
            return arg is not call.args[0] and (arg.keyword is None or arg.keyword.value == "value")
        method = isinstance(call.func, cst.Attribute) and call.func.attr.value in ASSIGNMENTS
        values = self.flow.values(call.func.value) if method and isinstance(call.func, cst.Attribute) else []
        return bool(values) and all(symbol_of(one) in VARIABLES for one in values)

    def _branch(self, function: cst.Lambda) -> list[cst.BaseExpression] | None:
        """Return the `tf.cond` whose branch computes the value."""
        call = self.file.tree.call_with(function)
        return self._made(call) if call is not None and self.file.names.of(call.func) == "cond" else None

    def _entry(self, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
        """Return what is computed from a list or dict that is given to a function where it is written."""
        display = self.file.tree.display_with(node)
        around = self.file.tree.parent(display) if display is not None else None
        if display is None or around is None:
            return None
        if isinstance(around, cst.Arg):
            return self._given(around)
        if isinstance(around, _ENTRIES):
            return self._entry(display)
        return [] if self._is_handed_on(node, display) else None


@cached_query
def _members(file: File) -> dict[int, dict[Member, None]]:
    """Return the entries and attributes of each value that carry gradients: `values, places = tf.nn.top_k(x)`."""
    members: dict[int, dict[Member, None]] = defaultdict(dict)
    for _, value in flow_of(file).where(lambda value: isinstance(value, Member)):
        if isinstance(value, Member) and value.name not in FACTS | FETCHES:
            members[id(value.base)][value] = None
    return members


def fetches(call: cst.Call) -> bool:
    """True for a method of a session or a tensor that gives values."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in FETCHES
