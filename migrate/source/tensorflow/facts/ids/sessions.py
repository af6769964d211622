"""Code that a program needs around a converted model: hooks, setup, shutdown, and graph modification for a session.

If the source has no place for such code, none is generated, and a finding tells the user what to do by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, is_none, last_name, string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.rule_kinds import File

#: Calls that take hooks: call -> its parameters in order.
MONITORED = {
    "train.MonitoredTrainingSession": ("master", "is_chief", "checkpoint_dir", "scaffold", "hooks"),
    "train.MonitoredSession": ("session_creator", "hooks"),
    "train.SingularMonitoredSession": ("hooks",),
    "estimator.TrainSpec": ("input_fn", "max_steps", "hooks"),
    "estimator.EvalSpec": ("input_fn", "steps", "name", "hooks"),
}
ESTIMATOR = {
    "train": ("input_fn", "hooks"),
    "evaluate": ("input_fn", "steps", "hooks"),
    "predict": ("input_fn", "predict_keys", "hooks"),
}
SESSIONS = {"Session", "InteractiveSession"}
#: Calls that evaluate or predict instead of training.
ASKING = {"estimator.EvalSpec", "evaluate", "predict"}
ITERATORS = {"make_initializable_iterator", "make_one_shot_iterator"}


@dataclass(frozen=True)
class HookedCall:
    """A call that creates a session with hooks."""

    call: cst.Call
    hooks: cst.Arg | None
    trains: bool


def hooked(file: File) -> list[HookedCall]:
    """Return the calls of the file that take hooks."""
    calls = []
    for call in file.tree.calls:
        if file.tree.module_of(call) is not file.tree.module:
            continue
        name = file.names.of(call.func)
        parameters = MONITORED.get(name or "")
        if parameters is None and isinstance(call.func, cst.Attribute) and call.func.attr.value in ESTIMATOR:
            estimator = resolve(file.tree, call.func.value)
            known = isinstance(estimator, cst.Call) and file.names.of(estimator.func) == "estimator.Estimator"
            name, parameters = call.func.attr.value, ESTIMATOR[call.func.attr.value] if known else None
        bound = bind(call, [*parameters, *_FURTHER]) if parameters is not None else None
        if bound is not None:
            calls.append(HookedCall(call, bound.get("hooks"), name not in ASKING))
    return calls


#: Further parameters of those calls, which are passed by keyword.
_FURTHER = (
    "chief_only_hooks", "save_checkpoint_secs", "save_summaries_steps", "save_summaries_secs", "config",
    "stop_grace_period_secs", "log_step_count_steps", "max_wait_secs", "save_checkpoint_steps", "summary_dir",
    "save_graph_def", "steps", "max_steps", "saving_listeners", "exporters", "start_delay_secs", "throttle_secs",
    "checkpoint_path", "name", "yield_single_examples", "scaffold", "checkpoint_dir", "checkpoint_filename_with_path",
)  # fmt: skip


def with_hooks(file: File, hooked_call: HookedCall, hooks: list[str]) -> tuple[cst.CSTNode | None, str]:
    """Return the node to replace (None if an argument is added), and the list of hooks with the new ones first."""
    argument = hooked_call.hooks
    if argument is None or is_none(argument):
        return (argument.value if argument is not None else None), f"[{', '.join(hooks)}]"
    text = file.tree.source(argument.value)
    if isinstance(argument.value, cst.List):
        inner = file.tree.source(argument.value)[1:-1].strip()
        return argument.value, f"[{', '.join([*hooks, *([inner] if inner else [])])}]"
    return argument.value, f"[{', '.join(hooks)}, *({text} or [])]"


def main_block(file: File) -> cst.IndentedBlock | cst.SimpleStatementSuite | None:
    """Return the body of `if __name__ == "__main__":`."""
    for statement in file.tree.module.body:
        if isinstance(statement, cst.If) and isinstance(statement.test, cst.Comparison):
            left, right = statement.test.left, statement.test.comparisons[0].comparator
            named = isinstance(left, cst.Name) and left.value == "__name__" and string(right) == "__main__"
            if named and isinstance(statement.body, (cst.IndentedBlock, cst.SimpleStatementSuite)):
                return statement.body
    return None


def runs_before(file: File, block: cst.CSTNode, started: list[cst.Call]) -> bool:
    """True if module-level code outside of the main block has one of these calls, or calls a function that has."""
    tree = file.tree
    seen: set[str] = set()
    uses: list[cst.CSTNode] = [*started]
    while uses:
        use = uses.pop()
        around = [one for one in tree.ancestors(use) if tree.parent(one) is tree.module]
        top = around[0] if around else None
        if top is None or (isinstance(top, cst.If) and top.body is block):
            continue
        if not isinstance(top, (cst.FunctionDef, cst.ClassDef)) or tree.enclosing(use, cst.FunctionDef) is None:
            return True  # in a class it runs where the class is made
        if top.name.value not in seen:
            seen.add(top.name.value)
            uses += [one for one in tree.names.get(top.name.value, ()) if one is not top.name]
    return False


def runs_at_top(file: File) -> bool:
    """True if module-level code creates a session or runs an Estimator."""
    calls = [one.call for one in hooked(file)] + sessions(file)
    return any(file.tree.enclosing(call, cst.FunctionDef) is None for call in calls)


def sessions(file: File) -> list[cst.Call]:
    """Return the calls that create a plain session."""
    own = file.tree.module
    return [c for c, name in file.names.calls if name in SESSIONS and file.tree.module_of(c) is own]


def builds_before(file: File, session: cst.Call, building: list[cst.Call]) -> bool:
    """True if all of `building` comes before a session, in its function or in functions called before it.

    Code called after the session may build the model only then.
    """
    here = file.tree.enclosing(session, cst.FunctionDef)
    start = file.tree.span(session)[0]
    for call in building:
        function = file.tree.enclosing(call, cst.FunctionDef)
        outer = call if function is here else _outermost(file, call, here)
        if function is here or outer is call:
            if file.tree.span(call)[0] > start:
                return False
            continue
        name = outer.name.value if isinstance(outer, (cst.FunctionDef, cst.ClassDef)) else ""
        uses = [use for use in file.tree.names.get(name, ()) if file.tree.enclosing(use, cst.FunctionDef) is here]
        if not uses or any(file.tree.span(use)[0] > start for use in uses):
            return False
    return True


def _outermost(file: File, call: cst.Call, here: cst.FunctionDef | None) -> cst.CSTNode:
    """Return the top-level definition around `call`; `call` itself if it is directly in `here` or in the module."""
    around = [a for a in file.tree.ancestors(call) if isinstance(a, (cst.FunctionDef, cst.ClassDef))]
    return call if not around or around[-1] is here else around[-1]


def iterators(file: File) -> list[cst.Call]:
    """Return the calls that create an iterator of a dataset, in the whole program."""
    return [c for part in file.program(file.tree.module) for c in part.tree.calls if last_name(c.func) in ITERATORS]


def initializers(file: File) -> Iterator[cst.Attribute]:
    """Yield `iterator.initializer` for iterators of datasets."""
    for use in file.tree.attributes.get("initializer", ()):
        iterator = resolve(file.tree, use.value)
        if isinstance(iterator, cst.Call) and last_name(iterator.func) == "make_initializable_iterator":
            yield use


def in_model_function(file: File, node: cst.CSTNode) -> bool:
    """True inside a function with a parameter `mode` that mentions `EstimatorSpec` or `ModeKeys`."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    while function is not None:
        parameters = {p.name.value for p in (*function.params.params, *function.params.kwonly_params)}
        if "mode" in parameters and _mentions(file, function, ("EstimatorSpec", "ModeKeys")):
            return True
        function = file.tree.enclosing(function, cst.FunctionDef)
    return False


def _mentions(file: File, function: cst.FunctionDef, words: tuple[str, ...]) -> bool:
    uses = [use for word in words for use in (*file.tree.names[word], *file.tree.attributes[word])]
    return any(file.tree.contains(function, use) for use in uses)
