"""Whether a table can be trained by all optimizers of a variable, each with slots of its own."""

from __future__ import annotations

from rewriter.facts import Optimizer, Table

__all__ = ["why_not_trained"]

#: What a row has room for (`updates/slot_sets.h` of the engine).
_OPTIMIZERS, _SLOTS = 4, 8
_REMEDY = "minimize the sum of the losses, or use one optimizer"


def why_not_trained(table: Table) -> tuple[str, str] | None:
    """Return why several optimizers of a variable could not train a table, with the op at fault; None if they can.

    One run may have the steps of two without an order. They add up, in any order, unless a step depends on what the
    other one wrote: in a term over the whole variable, or under FTRL, which writes rows from its state alone.
    """
    optimizers = table.optimizers
    if len(optimizers) < 2:
        return None
    ops = {Optimizer.of(update): update.ops[0] for update in table.updates}
    first, other = optimizers[0], optimizers[1]
    what = f"two optimizers train it, {first.rule} `{ops[first]}` and {other.rule} `{ops[other]}`, and "
    slots = [slot for one in optimizers for slot in one.slots]
    if len(set(slots)) != len(slots):
        return f"{what}they share slots: {_REMEDY}", ops[other]
    if table.parts:
        return f"{what}it is partitioned: {_REMEDY}", ops[other]
    if ordered := next((one for one in optimizers if "ftrl" in one.rule), None):
        return f"{what}FTRL writes rows from its state alone, so their order decides: {_REMEDY}", ops[ordered]
    if table.terms or any(update.whole for update in table.updates):
        return f"{what}a term over all rows makes a step depend on the one before: {_REMEDY}", ops[other]
    if len(optimizers) > _OPTIMIZERS or len(slots) > _SLOTS:
        return f"{what}a row has room for {_SLOTS} slots of {_OPTIMIZERS} optimizers: {_REMEDY}", ops[other]
    return None
