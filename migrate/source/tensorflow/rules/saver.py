"""Savers that list their variables."""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import bind, is_none
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker, CodeChange
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.checks.check_rule import CheckRule
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.lists.listings import saves_all
from migrate.source.tensorflow.facts.lists.var_lists import Owners
from migrate.source.tensorflow.facts.optimizers.training_model import Step

HEAD = "import tensorflow.compat.v1 as tf\n"
ROWS = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
TABLE = (
    "from runtime import create_table, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\ne = sparse_lookup(W, ids)\n"
)
LISTED = 'b = tf.get_variable("b", [4])\ns = tf.train.Saver({"bias": b})\n'
BOTH = 'b = tf.get_variable("b", [4])\ns = tf.train.Saver([W, b], max_to_keep=3)\n'
MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'
STATE = "a checkpoint with the rows of a table and the state of its optimizer is acceptable"
STEP = "s = tf.train.Saver()\nt = tf.train.AdagradOptimizer(0.1).minimize(e)\n"


@register
class Saver(UseRule, CheckRule):
    """`Saver()` saves tables as it saves variables; in a list `[W, b]` a table is replaced by its `variable`.

    A saver of listed variables then also saves and restores the optimizer's slots of the table, which the original list
    did not contain: this is an assumption. A list that is not written at the call of the saver cannot be changed: with
    `--assume` the tables are converted under the assumption that no checkpoint of this saver needs them.

    A saver of all variables that is created before the training step does not contain the optimizer's slots either:
    the same assumption. A literal list or dict of other variables is left unchanged: the original saved no row by it.
    """

    id = "tf-saver"
    title = "Tables are left unchanged where a `Saver` lists its variables"
    applicability = None
    refusals = (
        Refusal(
            "lists-others",
            "`{text}` lists its variables",
            "a table is not a variable of that list, so its rows would be missing from the checkpoint",
            "use Saver() without a list, which saves tables too",
            "no checkpoint of this saver needs the tables",
        ),
        Refusal(
            "early",
            "`{text}` is made before the training step",
            "it saves no state of the optimizer, but for a table it would also save and restore that state",
            "make the saver after the step, or convert with --assume",
            STATE,
        ),
        Refusal(
            "lists-table",
            "`{text}` lists the table for a saver",
            "its checkpoint would hold the rows and the state of their optimizer, which is not in the list",
            "use Saver() without a list, or convert with --assume",
            STATE,
        ),
    )
    examples = (
        Example("a list", MADE + "s = tf.train.Saver(tf.trainable_variables())\n", says="lists its variables"),
        Example("of other variables", HEAD + ROWS + LISTED, HEAD + TABLE + LISTED),
        Example("with a table", HEAD + ROWS + BOTH, HEAD + TABLE + BOTH.replace("[W", "[W.variable"), assume=True),
        Example("made before the optimizer's slots are", HEAD + ROWS + STEP, says="is made before the training step"),
        Example("not without --assume", HEAD + ROWS + BOTH, says="the state of its optimizer"),
    )

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        element = file.tree.parent(reference)
        listed = file.tree.parent(element) if isinstance(element, cst.Element | cst.DictElement) else None
        arg = file.tree.parent(listed) if listed is not None else None
        call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        given = listed_by_name(file, call) if isinstance(call, cst.Call) else None
        if given is None or given is not listed or file.target.name != "runtime":
            return None
        text = file.tree.source(reference)
        change = CodeChange(reference, lambda fresh, items: f"{text}.variable")
        shown = file.tree.excerpt(given)
        return blocker(reference, self.id, "lists-table", changes=(change,), text=shown)

    def judge(self, judgement: Judgement) -> None:
        judgement.file_blockers += [*_listing(judgement, Owners(judgement.tables)), *_early(judgement)]


def _listing(judgement: Judgement, tables: Container[int]) -> Iterator[Blocker]:
    """Yield a blocker for each saver whose list may hold a table; `tables` are the ids of the nodes that name one."""
    file = judgement.file
    for call, _ in file.calls("train.Saver"):
        bound = bind(call, ("var_list", "reshape", "sharded", "max_to_keep")) or {
            a.keyword.value: a for a in call.args if a.keyword
        }
        if "var_list" not in bound or is_none(bound["var_list"]):
            continue
        listed = bound["var_list"].value
        if listed_by_name(file, call) is not None:
            continue  # each table in it is judged by itself
        if not saves_all(file, call, listed) and not _holds_no_table(file, listed, tables):
            yield blocker(call, Saver.id, "lists-others", text=file.tree.one_line(call))


def _early(judgement: Judgement) -> Iterator[Blocker]:
    """Yield a blocker for each saver of all variables created before a step whose optimizer creates slots."""
    file = judgement.file
    for call, _ in file.calls("train.Saver"):
        given = _given(call)
        if given and not (is_none(given[0]) or saves_all(file, call, given[0].value)):
            continue
        if any(_makes_slots_later(file, call, step) for step in judgement.training.steps):
            yield blocker(call, Saver.id, "early", text=file.tree.one_line(call))


def _given(saver: cst.Call) -> list[cst.Arg]:
    return [arg for i, arg in enumerate(saver.args) if (arg.keyword.value if arg.keyword else i) in {"var_list", 0}]


def _makes_slots_later(file: File, saver: cst.Call, step: Step) -> bool:
    place = file.tree.enclosing(saver, cst.FunctionDef)
    after = file.tree.span(saver)[1] <= file.tree.span(step.call)[0]
    here = file.tree.related(saver, step.call) and place is file.tree.enclosing(step.call, cst.FunctionDef)
    return here and after and any(maker.stock.stateful for maker in step.optimizer.makers)


def listed_by_name(file: File, saver: cst.Call) -> cst.List | cst.Tuple | cst.Dict | None:
    """Return the list or dict of names at the call of a saver; None for other savers and lists."""
    given = _given(saver)
    if file.names.of(saver.func) != "train.Saver" or len(given) != 1:
        return None
    listed = given[0].value
    if not isinstance(listed, cst.List | cst.Tuple | cst.Dict):
        return None
    elements = listed.elements
    plain = all(isinstance(one, cst.Element | cst.DictElement) for one in elements)
    names = all(isinstance(one.value, cst.Name | cst.Attribute | cst.Subscript) for one in elements)
    return listed if plain and names else None


def _holds_no_table(file: File, listed: cst.BaseExpression, tables: Container[int]) -> bool:
    """True for a literal list or dict of variables that are not tables: the original saved no table either."""
    given = resolve(file.tree, listed)
    if not isinstance(given, cst.List | cst.Tuple | cst.Dict) or (given is not listed and _grows(file, listed)):
        return False
    values = [element.value for element in given.elements]
    plain = all(isinstance(element, cst.Element | cst.DictElement) for element in given.elements)
    return plain and all(_is_dense(file, value, tables) for value in values)


def _grows(file: File, listed: cst.BaseExpression) -> bool:
    """True when the list has a name and other code also reads it, and so may add a table."""
    name = listed.value if isinstance(listed, cst.Name) else ""
    uses = [use for use in file.tree.names.get(name, ()) if use is not listed]
    return not name or any(
        isinstance(file.tree.parent(use), cst.Attribute | cst.Subscript | cst.AugAssign) for use in uses
    )


def _is_dense(file: File, node: cst.BaseExpression, tables: Container[int]) -> bool:
    """True for a reference to a variable that is not a table, and for the global step."""
    if isinstance(node, cst.Call):
        return (file.names.of(node.func) or "").endswith("_global_step")
    return isinstance(node, cst.Name | cst.Attribute | cst.Subscript) and id(node) not in tables
