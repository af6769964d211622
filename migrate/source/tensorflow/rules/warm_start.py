"""Variables that are initialized from a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import bind, is_none, string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.check_rule import CheckRule
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.example_parts import AFTER, HEAD, MADE
from migrate.source.tensorflow.facts.variables.variable_names import VariableName, variable_name

DENSE = 'tf.train.init_from_checkpoint(path, {"dense/": "dense/"})\n'

MAPPED = ("train.init_from_checkpoint", "contrib.framework.init_from_checkpoint")
SETTINGS = ("checkpoint", "vars_to_warm_start", "var_name_to_vocab_info", "var_name_to_prev_var_name")
FIRST = "ckpt_to_initialize_from"


@register
class WarmStart(CheckRule):
    """`init_from_checkpoint` and warm starts initialize variables by name; they block only the tables they name."""

    id = "tf-warm-start"
    title = "A variable that is initialized from a checkpoint is left unchanged"
    applicability = None
    refusals = (
        Refusal(
            "started",
            "`{text}` starts this variable from a checkpoint",
            "a checkpoint fills variables by variable name, so its rows would not reach the table",
            "convert the checkpoint by `migrate checkpoint`, or list the other variables by name",
        ),
    )
    examples = (
        Example("all variables", HEAD + MADE + 'tf.train.init_from_checkpoint(path, {"/": "/"})\n', says="by variable"),
        Example("other variables", HEAD + MADE + DENSE, HEAD + AFTER + DENSE),
        Example(
            "an Estimator",
            HEAD + MADE + "m = tf.estimator.Estimator(model_fn, warm_start_from=path)\n",
            says="by variable name",
        ),
    )

    def judge(self, judgement: Judgement) -> None:
        file, starts = judgement.file, list(_starts(judgement.file))
        for table in judgement.tables:
            name = variable_name(file, table)
            for call, names in starts:
                if file.tree.related(call, table.creation.call) and (names is None or _names(name, names)):
                    text = file.tree.excerpt(call)
                    table.blockers.append(blocker(call, self.id, "started", text=text))


def _names(name: VariableName, wanted: list[tuple[str, bool]]) -> bool:
    """True when the variable matches a pattern, or a name or scope (which ends in a slash)."""
    full = (name.scope or "") + name.last
    for text, is_pattern in wanted:
        if is_pattern:
            if name.begins_with(text):
                return True
        elif text.endswith("/"):
            if text == "/" or name.scope is None or full.startswith(text):
                return True
        elif name.is_meant_by(text):
            return True
    return False


def _starts(file: File) -> Iterator[tuple[cst.Call, list[tuple[str, bool]] | None]]:
    """Yield calls that initialize variables from a checkpoint, with the variables; None where these are not known."""
    for call, name in file.names.calls:
        if name in MAPPED:
            yield call, _mapped(file, call)
        elif name == "train.warm_start":
            yield call, _settings(file, call)
        elif name.startswith("estimator."):
            given = next((arg for arg in call.args if arg.keyword and arg.keyword.value == "warm_start_from"), None)
            if given is None or is_none(given):
                continue
            made = resolve(file.tree, given.value)
            known = isinstance(made, cst.Call) and file.names.of(made.func) == "estimator.WarmStartSettings"
            if isinstance(made, cst.Call) and known:
                yield made, _settings(file, made)
            else:
                yield call, None


def _mapped(file: File, call: cst.Call) -> list[tuple[str, bool]] | None:
    """Return the names and scopes of the model in `{"in the checkpoint": "in the model"}`."""
    bound = bind(call, ("ckpt_dir_or_file", "assignment_map")) or bind(call, ("checkpoint_dir", "assignment_map"))
    given = resolve(file.tree, bound["assignment_map"].value) if bound and "assignment_map" in bound else None
    if not isinstance(given, cst.Dict):
        return None
    found = []
    for element in given.elements:
        value = resolve(file.tree, element.value)
        text = string(value)
        if text is None and not (
            isinstance(value, cst.Call) and file.names.of(value.func) in {"get_variable", "Variable"}
        ):
            return None
        if text is not None:
            found.append((text, False))
    return found


def _settings(file: File, call: cst.Call) -> list[tuple[str, bool]] | None:
    """Return the patterns of `vars_to_warm_start`."""
    bound = bind(call, SETTINGS) or bind(call, (FIRST, *SETTINGS[1:]))
    if bound is None or "vars_to_warm_start" not in bound:
        return None
    given = resolve(file.tree, bound["vars_to_warm_start"].value)
    parts = [e.value for e in given.elements] if isinstance(given, cst.List | cst.Tuple) else [given]
    texts = [string(part) for part in parts]
    return None if None in texts else [(text, True) for text in texts if text is not None]
