"""What a target and its switches mean for a model's folder: rules of its tables, or a refusal with the remedy."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.errors import MigrateError
from migrate.targets.switches import Switches

#: Why code of `runtime.nn` has no tables of an SDK.
_APART = {
    "rec_sdk": "which needs TensorFlow 2.15 or newer, and Rec SDK runs with TensorFlow 1.15 and 2.6",
    "deeprec": "which needs TensorFlow 2.15 or newer, and DeepRec is a TensorFlow 1.15",
    "sok": "whose tables begin as the model's initializers say, and those of SparseOperationKit do not",
}


def check(target: str, switches: Switches) -> None:
    """Raise MigrateError for a target or switch that a folder's code does not have.

    Those that no code of the runtime has are refused with the target.
    """
    if target != "runtime":
        raise MigrateError(
            f"--target {target}: a Paddle model's folder becomes code for `runtime.nn`, {_APART[target]}; "
            "remove --target (a model of one-hot columns can have one: `migrate convert FILE --schema FILE "
            "--target ...`)"
        )
    if switches.modify_graph:
        raise MigrateError(
            "--modify-graph: `runtime.nn` looks ids up in the graph of the model, where the trainer makes them from "
            "the batch; remove it for a Paddle model's folder"
        )


def arguments(switches: Switches) -> str:
    """Return the arguments of `nn.TableRules` that embeddings get; empty if they need none."""
    rules = {"admission": switches.admission if switches.admission > 1 else 0, "eviction": switches.eviction}
    return ", ".join(f"{name}={value}" for name, value in rules.items() if value)


def words(switches: Switches) -> str:
    """Return what the rules do, for the finding of a table; empty without rules."""
    parts = []
    if switches.admission > 1:
        parts.append(f"ids that were seen fewer than {switches.admission} times read zeros and are not trained")
    if switches.eviction:
        parts.append(f"rows that were not looked up for {switches.eviction} seconds are evicted")
    return "; ".join(parts)


def without_effect(switches: Switches, tables: bool) -> Iterator[str]:
    """Yield a sentence for each switch that changes nothing."""
    if switches.dynamic_expansion:
        yield "a table of the runtime always grows: --dynamic-expansion has no effect"
    if switches.cache_mode == "DDR":
        yield "a table of the runtime is always stored in host memory: --cache-mode DDR has no effect"
    if switches.admission == 1:
        yield "an id gets its row at once: --admission 1 has no effect"
    if tables:
        return
    for name in ("admission", "eviction"):
        if getattr(switches, name):
            yield f"no embedding of the model becomes a table: --{name} has no effect"
