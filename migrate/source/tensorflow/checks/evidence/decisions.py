"""How a recorded run decides a doubt: one function for each word in the column `evidence` of a rule's refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.checks.evidence.observed import Runs, Seen
from migrate.trace.record import Variable

#: Ops by which the initializers that the runtime supports give values.
DRAWN = frozenset(
    {"RandomUniform", "RandomStandardNormal", "TruncatedNormal", "StatelessRandomUniform", "StatelessRandomUniformV2"}
    | {"StatelessRandomNormal", "StatelessRandomNormalV2", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2"}
)

#: Modules of the initializers that the runtime takes.
FRAMEWORKS = frozenset({"tensorflow", "keras", "tf_keras"})

Decision = Callable[[Runs, Sequence[Seen], Blocker], str]


def reads(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> str:
    """The code at the doubt ran, and no run used the table but where the source shows it."""
    return "it read and trained the table only where the source shows it" if _ran(runs, seen, doubt) else ""


def process(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> str:
    """No run had `TF_CONFIG`."""
    unset = all(not one.run.record.environment.get("TF_CONFIG") for one in seen)
    return "`TF_CONFIG` was not set" if "TF_CONFIG" in doubt.message and unset else ""


def one_update(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> str:
    """No graph of a run updates a variable of the table twice."""
    counts = [len(_updates(one)) for each in seen for one in each.variables]
    once = max(counts, default=0) == 1 and _completed(seen)
    return "one optimizer updated the table in each graph" if once else ""


def _updates(variable: Variable) -> set[str]:
    """Return a mark for each optimizer that trains a variable: the ops of one are below one name, `Adam/update_item`.

    Names of scopes and optimizers may contain the same word, so the last one counts.
    """
    trains = [use for use in variable.uses if use.kind == "update" or "/update_" in use.name]
    return {use.name.rpartition(f"/update_{variable.name}/")[0] or use.name for use in trains}


def untrained(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> str:
    """No run has an op that trains the table."""
    trains = any(use.kind == "update" for each in seen for one in each.variables for use in one.uses)
    return "" if trains or not _completed(seen) else "it did not train the table"


def drawn(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> str:
    """The initial values are random numbers that a table can draw, too."""
    kinds = {one.initial for each in seen for one in each.variables}
    return f"the initial values were those of `{', '.join(sorted(kinds))}`" if kinds <= DRAWN else ""


def initializer(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> str:
    """The initializer is a class of a framework, which a table takes; a function of the program is none."""
    kinds = {one.initializer for each in seen for one in each.variables}
    known = all(kind.split(".")[0] in FRAMEWORKS for kind in kinds)
    return f"by `{', '.join(sorted(kind.rpartition('.')[2] for kind in kinds))}`" if known else ""


def plain(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> str:
    """No scope gave the variable an option that a table does not have, or an initializer of the program's own."""
    made = [one for each in seen for one in each.variables]
    own = any(one.initializer.split(".")[0] not in FRAMEWORKS | {"builtins"} for one in made)
    functions = any(one.initializer == "builtins.function" for one in made)
    return "" if own or functions or any(one.options for one in made) else "its scopes gave it no options"


def matrix(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> str:
    """The variable is a float32 matrix."""
    made = [one for each in seen for one in each.variables]
    known = all(one.dtype == "float32" and len(one.shape) == 2 and None not in one.shape for one in made)
    return "it was a float32 matrix of known width" if known else ""


def trainable(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> str:
    """The variable is trainable."""
    return "it was trainable" if all(one.trainable for each in seen for one in each.variables) else ""


def _ran(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> bool:
    made = {id(one.run): one.run for one in seen}.values()
    return any(run.completed and runs.reached(run, doubt.node) for run in made)


def _completed(seen: Sequence[Seen]) -> bool:
    return all(one.run.completed for one in seen)


DECISIONS: dict[str, Decision] = {
    one.__name__.replace("_", "-"): one
    for one in (reads, process, one_update, untrained, drawn, initializer, plain, matrix, trainable)
}
