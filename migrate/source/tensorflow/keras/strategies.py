"""`tf.distribute.MirroredStrategy` of one replica, which computes what TensorFlow's default strategy does.

The converted program asks for the default one by `runtime.keras.one_device`, which stops where there are more replicas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.report.model import Applicability, Finding, State
from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.variables.keras_layers import RULE
from migrate.source.tensorflow.keras.imported import MODULE, free_name, import_edit

FUNCTION = "one_device"
_CLASS = "MirroredStrategy"
#: By these a program sees which strategy it has, or reaches behind it; Keras draws from generators by the last one.
_TELLING = (
    "has_strategy", "in_cross_replica_context", "get_replica_context", "merge_call", "extended",
    "experimental_set_strategy", "enable_tf_random_generator",
)  # fmt: skip
#: A generator that is made in a strategy's scope draws other numbers in each replica, and in a single one as well.
_GENERATORS = ("random.Generator", "random.experimental.Generator", "random.get_global_", "random.set_global_")


def has_one_kind(file: File) -> bool:
    """True where a program cannot tell a mirrored strategy of one replica from the default strategy."""
    tree = file.tree
    told = any(tree.names.get(word) or tree.attributes.get(word) for word in _TELLING)
    told = told or any(name.startswith(_GENERATORS) or _compares(file, call, name) for call, name in file.names.calls)
    return not told and all(_is_made(file, use) for use in tree.names.get(_CLASS, ()))


def _compares(file: File, call: cst.Call, name: str) -> bool:
    """True for a call that asks which strategy is in scope, to compare it with another one."""
    compared = isinstance(file.tree.parent(call), cst.Comparison | cst.ComparisonTarget)
    return compared and name == "distribute.get_strategy"


def _is_made(file: File, use: cst.CSTNode) -> bool:
    """True for the name of the class where it is called or imported under its name, not compared or handed on."""
    around = file.tree.parent(use)
    if isinstance(around, cst.ImportAlias):
        return around.asname is None
    whole = around if isinstance(around, cst.Attribute) and around.attr is use else use
    call = file.tree.parent(whole)
    return isinstance(call, cst.Call) and call.func is whole


def is_mirrored(name: str) -> bool:
    """True for the symbol of the class."""
    return name == f"distribute.{_CLASS}"


def _calls(file: File, texts: Sequence[str]) -> Iterator[cst.Call]:
    """Yield the calls that make a strategy, in lines that one of `texts`, what may run of the file, still has."""
    lines = [text.splitlines() for text in texts]
    for call, name in file.names.calls:
        if is_mirrored(name) and not _is_given(file, call):
            func = call.func
            at = file.tree.start(func.attr if isinstance(func, cst.Attribute) else func).line - 1
            if any(_CLASS in "".join(one[at : at + 1]) for one in lines):
                yield call


def _is_given(file: File, call: cst.Call) -> bool:
    """True for a strategy that is handed to the function already."""
    given = file.tree.parent(call)
    around = file.tree.parent(given) if isinstance(given, cst.Arg) else None
    return isinstance(around, cst.Call) and FUNCTION in file.tree.source(around.func)


def strategy_edits(file: File, texts: Sequence[str]) -> Iterator[Edit]:
    """Yield the edits of the strategies that a file makes; the function comes by an import of its own."""
    calls = [*_calls(file, texts)]
    if not calls:
        return
    name = free_name(file, (FUNCTION, f"table_{FUNCTION}"))
    spans = [file.tree.span(call) for call in calls]
    for start, end in spans:
        yield Edit(start, start, f"{name}(")
        yield Edit(end, end, ")")
    yield import_edit(file, MODULE, (FUNCTION, name), min(start for start, _ in spans))


def strategy_findings(file: File, texts: Sequence[str]) -> Iterator[Finding]:
    """Yield a note for each strategy."""
    for call in _calls(file, texts):
        shown = file.tree.source(call)
        yield Finding(
            RULE,
            "use",
            State.NOTED,
            file.tree.location(call),
            f"`{file.tree.source(call.func)}` can have one replica only",
            "tables are trained by one, and the converted program stops where it has more",
            "make one device visible, or start one process for each (`runtime.ranks`)",
            Applicability.EXACT,
            (),
            shown,
        )
