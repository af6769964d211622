"""Other uses of option objects: they come from other files, go to them, and have attributes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.flow import Class, Computed, Constant, Function, Unknown, Value
from migrate.source.tensorflow.base.arguments import bind
from migrate.source.tensorflow.base.bindings import is_target
from migrate.source.tensorflow.base.deeprec_symbols import CATEGORIES, LACKING, MAKER, OPTION, VARIABLE, option_of
from migrate.source.tensorflow.base.logging_statements import is_shown
from migrate.source.tensorflow.base.value_flow import flow_of, is_inherited, is_of_python, results
from migrate.source.tensorflow.deeprec.feature_columns import CATEGORY, CONTRIB
from migrate.source.tensorflow.deeprec.options import PARAMETERS
from migrate.source.tensorflow.deeprec.variables import PARAMETERS as MAKES
from migrate.source.tensorflow.edits.whole_file_draft import Draft

TAKEN = ("ckpt", "evict_option", "filter_option", "storage_option", "init_option")
#: Attributes of DeepRec's option objects that little else has.
FIELDS = {
    "evict", "filter_strategy", "filter_freq", "storage_option", "storage_type", "storage_path", "storage_size",
    "cache_strategy", "default_value_dim", "default_value_no_permission", "l2_weight_threshold", "ht_type",
    "ht_partition_num",
}  # fmt: skip


def check_options(draft: Draft) -> None:
    """Block options that come from other files or go to them (`--assume` lifts it), and uses of the object itself."""
    options = {one for call, name in draft.file.names.calls if option_of(name) for one in results(draft.file, call)}
    for arg in _taken(draft):
        unseen = _unseen(draft, arg.value, options)
        if unseen is not None:
            _doubt(draft, arg, draft.tree.source(unseen))
    for node, function in _handed(draft, options):
        shown, taker = (" ".join(draft.tree.source(one).split())[:60] for one in (node, function))
        draft.block(node, VARIABLE, "option-handed-on", shown=shown, taker=taker)
    _attributes(draft, options)


def doubt_options(draft: Draft) -> None:
    """Block the options of a file that creates no table; `--assume` lifts it."""
    call, name = next((call, name) for call, name in draft.file.names.calls if option_of(name))
    draft.block(call, VARIABLE, "unused-option", text=option_of(name))


def _taken(draft: Draft) -> Iterator[cst.Arg]:
    """Yield each argument that is an option object: of tables, categories, other options and further functions."""
    names = {id(call): name for call, name in draft.file.names.calls}
    for call in draft.tree.calls:
        name = names.get(id(call), "")
        if name == MAKER or name in CATEGORIES:
            category = CONTRIB if "sparse_column" in name else CATEGORY
            given = bind(call, MAKES if name == MAKER else category) or {}
            yield from (given[one] for one in ("ev_option",) if one in given)
        elif option_of(name) == "EmbeddingVariableOption":
            given = bind(call, PARAMETERS["EmbeddingVariableOption"]) or {}
            yield from (given[one] for one in TAKEN if one in given)
        elif name not in LACKING:
            yield from (arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "ev_option")


def _unseen(draft: Draft, node: cst.BaseExpression, options: set[Value]) -> cst.CSTNode | None:
    """Return an origin of an option other than a call in this file, also by calls of a function from other files."""
    flow, link = flow_of(draft.file), draft.tree.link
    called = link is not None and link.imported()
    for value in flow.values(node):
        way = flow.path(value, node)
        if called and any(isinstance(draft.tree.parent(one), cst.Param) for one in way):
            return node
        if value in options or isinstance(value, Constant | Computed):
            continue  # numbers share a list with it
        if is_inherited(value) and options & {*flow.values(node)}:
            continue
        place = way[0] if value.node is None or isinstance(value, Unknown) else value.node
        return place if isinstance(place, cst.BaseExpression) and draft.tree.parent(place) is not None else node
    return None


def _handed(draft: Draft, options: set[Value]) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Yield where an option goes to code of another file, and that code; also where an object that holds it goes."""
    flow, tree = flow_of(draft.file), draft.tree
    lists = [one for option in options for one in flow.holders(option) if one.kind not in {"object", "module"}]
    for node in dict.fromkeys(node for one in (*options, *lists) for node in flow.escapes(one)):
        arg, values = tree.parent(node), {*flow.values(node)}  # type: ignore[arg-type]
        call = tree.parent(arg) if isinstance(arg, cst.Arg) and values & {*options, *lists} else node
        taker, alone = call.func if isinstance(call, cst.Call) else arg, bool(options & values)
        called = flow.values(taker) if isinstance(call, cst.Call) else []  # type: ignore[arg-type]
        outside = bool(called) and not any(is_of_python(one) or isinstance(one, Class | Function) for one in called)
        known = draft.file.names.of(taker or node) is not None or is_shown(draft.file, node)  # type: ignore[arg-type]
        if not known and (alone or not outside):
            yield node, taker or node


def _doubt(draft: Draft, arg: cst.Arg, shown: str) -> None:
    draft.block(arg, VARIABLE, "option-of-other-file", text=" ".join(shown.split())[:60])


def _attributes(draft: Draft, options: set[Value]) -> None:
    """Block attributes of option objects: those of the runtime differ, and are immutable."""
    tree, values = draft.tree, flow_of(draft.file).values
    for name, nodes in tree.attributes.items():
        for node in nodes:
            written = is_target(tree, node) and name in FIELDS and tree.source(node.value) not in {"self", "cls"}
            if not tree.imported_names(node)[0] and (written or options & {*values(node.value)}):
                draft.block(node, OPTION, "option-attribute", text=tree.source(node))
    for call in tree.calls:
        asks = isinstance(call.func, cst.Name) and call.func.value in {"setattr", "getattr", "hasattr", "vars"}
        if asks and call.args and options & {*values(call.args[0].value)}:
            text = tree.source(call)
            draft.block(call, OPTION, "option-attribute-by-name", text=text)
