"""Lists of variables that mean the same after a conversion: of a scope without tables, or chosen by name for a Saver.

A table of the runtime is among the global variables, where a Saver saves and restores its rows and slots. Its name is
that of its variable with `_` for `/`, and perhaps with other numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from migrate.source.flow import Holder, Result
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.bindings import is_target
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.calls.callers import last_name
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.optimizers.name_filters import Chosen, chosen, takes
from migrate.source.tensorflow.facts.variables.listed_names import are_apart, asked_scope, is_without, known_scopes

LISTS = {"global_variables", "all_variables"}
#: What a Saver is given besides its list.
OPTIONS = ("max_to_keep", "keep_checkpoint_every_n_hours", "name", "save_relative_paths", "pad_step_number")
#: The ends of the names of variables that optimizers make for another variable.
SLOTS = ("", *(f"/{name}{number}" for name in (
    "Adam", "Adagrad", "Momentum", "RMSProp", "Ftrl", "Adadelta", "AdamAsync",
) for number in ("", "_1")))  # fmt: skip


#: What the step counts of an Adam may be called: of the dense variables, and of the tables.
POWERS = tuple(f"{before}beta{number}_power:0" for before in ("", "Adam/") for number in (1, 2))
#: How the names of step counts begin where no scope is around them.
STATE = ("beta1_power", "beta2_power", "Adam")
#: Arguments of optimizers that name their slots.
NAMES = {"name", "accum_name", "linear_name"}


def keeps_its_meaning(judgement: Judgement, call: cst.Call) -> bool:
    """True for a call that lists variables where the conversion changes nothing about that list, or its use."""
    file = judgement.file
    tables = [one for one in judgement.tables if file.tree.related(one.creation.call, call)]
    if all(is_without(file, one, call) for one in tables) and _is_without_state(judgement, call):
        return True
    if file.target.name != "runtime" or file.names.of(call.func) not in LISTS or call.args:
        return False
    uses = _uses(file, call)
    return bool(uses) and all(_is_chosen_for_savers(judgement, use) for use in uses)


def _is_without_state(judgement: Judgement, call: cst.Call) -> bool:
    """True for a list of a scope in which neither slots of tables nor step counts are, as far as the scope is known.

    A step in `with tf.variable_scope("train"):` makes slots there, and step counts also below name scopes.
    """
    file = judgement.file
    wanted = asked_scope(file, call)
    if not wanted or "trainable" in file.tree.source(call).lower():
        return True
    scopes = [prefix(file, step.call) for step in judgement.training.steps]
    outer = [scope[0] for scope in scopes if scope]
    named = _name_scopes(file)
    return None not in scopes and named is not None and all(are_apart(wanted, one) for one in (*outer, *named, *STATE))


def _name_scopes(file: File) -> list[str] | None:
    """Return what the name scopes of a program are called; None if that is not known."""
    calls = [call for one in file.files for call in one.tree.calls if last_name(call.func) == "name_scope"]
    names = [string(call.args[0].value) if call.args else None for call in calls]
    known = [name for name in names if name is not None]
    return known if len(known) == len(names) else None


def saves_the_same(judgement: Judgement, listed: cst.BaseExpression) -> bool:
    """True for `[v for v in tf.global_variables() if "dense" in v.name]`, of which a Saver is given all members."""
    values = flow_of(judgement.file).values(listed)
    made = [value.node for value in values if isinstance(value, Holder) and isinstance(value.node, cst.ListComp)]
    return bool(made) and len(made) == len(values) and all(_is_choice(judgement, one) for one in made)


def _uses(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return where the list that an expression makes is read; empty if other code may get it, or change it."""
    flow = flow_of(file)
    own = [value for value in flow.values(node) if value.node is node]
    mentions = [one for value in own for one in flow.mentions(value) if not is_target(file.tree, one)]
    uses = [one for one in mentions if not _is_named(file, one) and not prints(file, one)]
    given = [site for value in own for site in flow.escapes(value) if site not in uses]
    return uses if len(own) == 1 and not given else []


def _is_named(file: File, node: cst.BaseExpression) -> bool:
    """True for the value of an assignment to a name, whose reads are mentions of their own."""
    around = file.tree.parent(node)
    return isinstance(around, cst.Assign) and all(isinstance(one.target, cst.Name) for one in around.targets)


def _is_chosen_for_savers(judgement: Judgement, use: cst.BaseExpression) -> bool:
    file = judgement.file
    loop = file.tree.parent(use)
    made = file.tree.parent(loop) if isinstance(loop, cst.CompFor) and loop.iter is use else None
    if not isinstance(made, cst.ListComp) or not _is_choice(judgement, made):
        return False
    uses = _uses(file, made)
    return bool(uses) and all(_is_given_to_saver(file, one) for one in uses)


def _is_given_to_saver(file: File, use: cst.BaseExpression) -> bool:
    arg = file.tree.parent(use)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call) or file.names.of(call.func) != "train.Saver":
        return False
    others = [one for one in call.args if one is not arg]
    plain = all(one.keyword is not None and one.keyword.value in OPTIONS for one in others)
    return plain and (arg.keyword is None or arg.keyword.value == "var_list") and not arg.star


def _is_choice(judgement: Judgement, made: cst.ListComp) -> bool:
    """True for a choice of all variables by name that says the same of each table as of its variable and its slots."""
    file = judgement.file
    one = chosen(file, made)
    if one is None or file.target.name != "runtime" or not all(_asks_for_letters(test) for test in one.tests):
        return False
    for value in flow_of(file).values(one.listed):
        call = value.node
        if not isinstance(value, Result) or not isinstance(call, cst.Call) or call.args:
            return False
        if file.names.of(call.func) not in LISTS:
            return False
    tables = [table for table in judgement.tables if file.tree.related(table.creation.call, made)]
    return _powers_are_chosen_alike(judgement, one) and all(_says_the_same(judgement, one, table) for table in tables)


def _powers_are_chosen_alike(judgement: Judgement, one: Chosen) -> bool:
    """True if the conditions say the same of the step counts of all Adams: names of scopes may begin theirs.

    The conditions ask for letters, so a name that scopes begin is chosen as without them, where none is asked for.
    """
    makers = [maker for step in judgement.training.steps for maker in step.optimizer.makers]
    if any(NAMES.intersection(maker.dropped) for maker in makers):
        return False  # slots are called by it
    nodes = [node for test in one.tests for node in ast.walk(ast.parse(test.strip()))]
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    named = _name_scopes(judgement.file)
    if named is None or any(text in name for text in texts for name in named):
        return False
    return takes(one, POWERS) is not None


def _asks_for_letters(test: str) -> bool:
    """True for conditions such as `"dense" in v.name and "bias" not in v.name`: no number in a name decides them."""
    known = (
        ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Compare, ast.In, ast.NotIn,
        ast.Constant, ast.Attribute, ast.Name, ast.Load,
    )  # fmt: skip
    try:
        nodes = list(ast.walk(ast.parse(test.strip(), mode="eval")))
    except SyntaxError:
        return False
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    letters = all(isinstance(text, str) and text.isascii() and text.isalpha() for text in texts)
    return letters and all(isinstance(node, known) for node in nodes)


def _says_the_same(judgement: Judgement, one: Chosen, table: Table) -> bool:
    file, creation = judgement.file, table.creation
    scopes, name = known_scopes(file, table), creation.name
    if scopes is None or name is None or creation.emitted or creation.named_by is not None:
        return False
    steps: Sequence[tuple[str, ...] | None] = [prefix(file, step.call) for step in judgement.training.steps]
    own = "/".join(part for part in (*scopes, name) if part)
    outer = {"/".join(filter(None, scope)) for scope in steps if scope is not None}
    slots = [f"{before}/{own}{slot}:0" for before in {"", *outer} for slot in SLOTS]
    asked = {own.replace("/", "_") + ":0", own + ":0", *(text.lstrip("/") for text in slots)}
    return None not in steps and takes(one, sorted(asked)) is not None
