"""The `regularizer` of a variable or of a scope: a term over the whole table in the collection of such terms.

`get_variable` puts `regularizer(W)` into the collection `REGULARIZATION_LOSSES`. Where nothing reads it, the term has
no effect. Where it is read, the term over the rows of the batch is put there behind the lookups.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

import libcst as cst
import libcst.matchers as m

from migrate.report.model import Applicability
from migrate.source.tensorflow.base.arguments import is_none, literal, string
from migrate.source.tensorflow.base.bindings import local_names, scope_of_name
from migrate.source.tensorflow.base.model import Blocker, CodeChange, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.callers import last_name
from migrate.source.tensorflow.facts.calls.execution_count import repeated
from migrate.source.tensorflow.facts.calls.variable_scopes import callers_option, enclosing_option, in_loop
from migrate.source.tensorflow.facts.optimizers.training_model import Training
from migrate.source.tensorflow.facts.references.l2_terms import is_branched, is_regularizer

RULE = "tf-regularizer"
#: Functions that read the collection, and its name.
READERS = ("get_regularization_loss", "get_regularization_losses", "get_total_loss", "REGULARIZATION_LOSSES")
COLLECTION = "regularization_losses"
#: Modules besides Python's own that read no collection of a graph.
HARMLESS = {"absl", "matplotlib", "numpy", "pandas", "scipy", "six", "sklearn", "tensorflow", "tqdm", "yaml"}
REASON = "it decays every row at every step; a table only touches the rows of the batch"
UNREAD = "`regularizer` is dropped: nothing reads the regularization losses of the graph"
NOBODY = "nothing outside of what is converted reads the regularization losses of the graph"
ADDED = (
    "the term of the regularizer is taken over the rows that the batch looks up, each once, and the regularization "
    "losses are read after the lookups; rows outside of the batch are no longer decayed, and the loss is smaller"
)


def check_regularizers(file: File, tables: list[Table], training: Training) -> None:
    """Note for each table what becomes of its regularizer: nothing, an assumption, or a reason to stay."""
    given = {id(table): _given(file, table) for table in tables}
    if not any(given.values()):
        return
    readers = list(_readers(file))
    known = bool(training.steps) and not _outside(file)
    for table in tables:
        regularizer = given[id(table)]
        if regularizer is None:
            continue
        if not readers and known:
            table.creation.notes.append(UNREAD)
        elif not readers:
            table.blockers.append(_doubt(file, regularizer, NOBODY))
        else:
            table.blockers.append(_added(file, table, regularizer, readers))


def _given(file: File, table: Table) -> cst.BaseExpression | None:
    """Return the regularizer of a variable: its own, else that of the scopes around it."""
    call = table.creation.call
    if table.creation.unique or file.names.of(call.func) != "get_variable":
        return None
    own = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "regularizer"), None)
    own = own or next((arg for place, arg in enumerate(call.args) if place == 4 and arg.keyword is None), None)
    if own is not None and not is_none(own):
        return own.value
    return enclosing_option(file, call, "regularizer") or callers_option(file, call, "regularizer")


def _readers(file: File) -> Iterator[cst.CSTNode]:
    """Yield what may read the collection of regularization losses."""
    for part in file.files:
        for name in READERS:
            yield from part.tree.attributes.get(name, ())
            yield from part.tree.names.get(name, ())
        yield from (text for text in part.tree.strings if string(text) == COLLECTION)
        yield from part.tree.attributes.get("get_all_collection_keys", ())
        yield from (call for call in part.tree.calls if _reads_any(part, call))


def _reads_any(file: File, call: cst.Call) -> bool:
    """True for `get_collection(key)` of a key that is not written there."""
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    name = call.func.value if isinstance(call.func, cst.Name) else name
    if name not in {"get_collection", "get_collection_ref"} or not call.args:
        return False
    key = call.args[0].value
    written = literal(key) is not ... or (file.names.of(key) or "").startswith("GraphKeys.")
    return not written and not m.matches(key, m.Attribute(value=m.Attribute(attr=m.Name("GraphKeys"))))


def _outside(file: File) -> bool:
    """True when the files import modules that are not read, which may read the collection."""
    paths = [part.tree.path.removesuffix(".py") for part in file.files] if len(file.files) > 1 else []
    own = {"", *(part for path in paths for part in path.split("/"))} if paths else set()
    imported = (name for part in file.files for statement in part.tree.imports for name in _modules(statement))
    return any(name.split(".")[0] not in {*sys.stdlib_module_names, *HARMLESS, *own} for name in imported)


def _modules(statement: cst.Import | cst.ImportFrom) -> Iterator[str]:
    module = cst.Module(body=[])
    if isinstance(statement, cst.Import):
        yield from (module.code_for_node(alias.name) for alias in statement.names)
    elif statement.relative or statement.module is None:
        yield "."
    else:
        yield module.code_for_node(statement.module)


def _doubt(file: File, regularizer: cst.BaseExpression, assumption: str) -> Blocker:
    action = "convert with --assume, or take L2 of the looked-up rows"
    return Blocker(regularizer, RULE, _message(file, regularizer), REASON, action, assumption)


def _message(file: File, regularizer: cst.BaseExpression) -> str:
    return f"`regularizer={' '.join(file.tree.source(regularizer).split())}` acts on the whole table"


def _added(file: File, table: Table, regularizer: cst.BaseExpression, readers: list[cst.CSTNode]) -> Blocker:
    """Return the term over the looked-up rows behind the last lookup, or why it cannot stand there."""
    place = _place(file, table, regularizer, readers)
    if isinstance(place, str):
        action = "take L2 of the looked-up rows in its place, or keep the table dense"
        return Blocker(regularizer, RULE, _message(file, regularizer), place, action)
    term, source = file.tree.source(regularizer), file.tree.source(place[1])
    prefix = file.part(regularizer).names.v1_prefix or "tf"
    key = f"{prefix}.GraphKeys.REGULARIZATION_LOSSES"

    def text(fresh: object, _: tuple[str, ...]) -> str:
        rows = fresh.imports("looked_up_rows")  # type: ignore[attr-defined]
        return f"{prefix}.add_to_collection({key}, {term}({rows}({source})))"

    action = "convert with --assume, which takes the term over the rows of the batch, or keep this table dense"
    return Blocker(
        regularizer,
        RULE,
        _message(file, regularizer),
        REASON,
        action,
        ADDED,
        changes=(CodeChange(place[0], text, behind=True),),
        applicability=Applicability.CHANGES_VALUES,
        takes_rows=True,
    )


def _place(
    file: File, table: Table, regularizer: cst.BaseExpression, readers: list[cst.CSTNode]
) -> tuple[cst.CSTNode, cst.BaseExpression] | str:
    """Return the statement of the last lookup and the table's name there, or why the term cannot stand behind it."""
    tree = file.tree
    if not is_regularizer(file, regularizer):
        return "the regularization losses are read, and whether its term can be taken over some rows is not known"
    calls = sorted((lookup.call for lookup in table.lookups), key=lambda call: tree.span(call)[0])
    function = tree.enclosing(table.creation.call, cst.FunctionDef)
    if not calls or any(tree.enclosing(one, cst.FunctionDef) is not function for one in (*calls, regularizer)):
        return "the regularization losses are read, and its lookups are not all where the variable is made"
    line = tree.statement(calls[-1])
    block = tree.parent(line) if line is not None else None
    plain = isinstance(line, cst.SimpleStatementLine) and not isinstance(line.body[-1], cst.Return)
    if line is None or block is None or not plain or not all(tree.contains(block, call) for call in calls):
        return "the regularization losses are read, and no line behind all lookups can take its term"
    if any(in_loop(file, call) or is_branched(file, call) for call in calls) or repeated(file, calls[-1]):
        return "the regularization losses are read, and a lookup may run several times or in a branch of the graph"
    if any(map(partial(_by_scope, file), readers)):
        return "the regularization losses are read by their scope, and its term would be in another"
    if any(_by_place(file, reader) for reader in readers):
        return "a regularization loss is read by its place among them, and its term would be in another"
    end = tree.span(line)[1]
    early = [*readers, *_calls_of_readers(file, readers)]
    if any(tree.enclosing(one, cst.FunctionDef) is function and tree.span(one)[0] < end for one in early):
        return "the regularization losses are read before its lookups, or put together by hand"
    reference = next((one for one in table.references if tree.contains(calls[-1], one)), None)
    return (line, reference) if reference is not None else "its lookup does not name it"


def _by_scope(file: File, reader: cst.CSTNode) -> bool:
    """True for `get_regularization_loss(scope)` and the like, which read the terms of some names alone."""
    calls = [one for one in file.tree.ancestors(reader) if isinstance(one, cst.Call)]
    call = calls[0] if calls else None
    places = {"get_collection": 1, "get_collection_ref": 1, "get_total_loss": 2}
    if call is None:
        return False
    scope = places.get(last_name(call.func), 0 if "regularization_loss" in last_name(call.func) else None)
    named = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "scope"]
    plain = [arg for at, arg in enumerate(call.args) if arg.keyword is None and at == scope]
    return any(not is_none(arg) for arg in (*named, *plain))


def _by_place(file: File, reader: cst.CSTNode) -> bool:
    """True where one term of the collection is taken by its place: by an index, unpacked, counted or zipped."""
    call = next((one for one in file.tree.ancestors(reader) if isinstance(one, cst.Call)), None)
    assign = file.tree.parent(call) if call is not None else None
    targets = [one.target for one in assign.targets] if isinstance(assign, cst.Assign) else []
    uses: list[cst.BaseExpression] = [call] if call is not None else []
    for target in targets:
        scope = scope_of_name(file.tree, target) if isinstance(target, cst.Name) else None
        if scope is not None and isinstance(target, cst.Name):
            uses += local_names(file.tree, target.value, scope)
        elif isinstance(target, cst.Attribute):
            uses += file.tree.attributes[target.attr.value]
    return any(isinstance(one, cst.Tuple | cst.List) for one in targets) or any(_is_placed(file, one) for one in uses)


def _is_placed(file: File, use: cst.BaseExpression) -> bool:
    around = file.tree.parent(use)
    if isinstance(around, cst.Subscript | cst.Attribute):
        return around.value is use
    outer = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    return isinstance(outer, cst.Call) and last_name(outer.func) in {"zip", "enumerate", "dict", "next", "iter"}


def _calls_of_readers(file: File, readers: list[cst.CSTNode]) -> list[cst.Call]:
    """Return the calls that may run a function that reads the losses, by their names: directly or through others."""
    calls: list[cst.Call] = []
    inside: list[cst.CSTNode] = list(readers)
    names: set[str] = set()
    while inside:
        homes = {home.name.value for one in inside if (home := file.tree.enclosing(one, cst.FunctionDef)) is not None}
        new, names = homes - names, names | homes
        inside = [call for part in file.files for call in part.tree.calls if last_name(call.func) in new]
        calls += [call for call in inside if isinstance(call, cst.Call)]
    return calls
