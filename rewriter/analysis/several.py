"""Whether a table can be trained by all optimizers of a variable, each with slots of its own."""

from __future__ import annotations

from rewriter.analysis.steps import rule_name
from rewriter.facts import Table

#: Rules by which a row follows from its slots alone, or is more than a sum of steps.
_ORDERED = {
    "ftrl": "computes rows from its slots alone",
    "adagrad_da": "computes rows from its slots alone",
    "proximal_adagrad": "shrinks values that the other optimizer wrote",
    "proximal_sgd": "shrinks values that the other optimizer wrote",
}
#: What a row has room for (`updates/slot_sets.h` of the engine).
_OPTIMIZERS, _SLOTS = 4, 8
_REMEDY = "minimize the sum of the losses, or use one optimizer"


def why_not_trained(table: Table) -> tuple[str, str] | None:
    """Return why several optimizers of a variable could not train a table, with the op at fault; None if they can.

    One run may have the steps of two without an order. They add up, in any order, unless a step depends on what the
    other one wrote: in a term over the whole variable, or under rules such as FTRL.
    """
    optimizers = table.optimizers
    has_term = bool(table.terms) or any(update.whole for update in table.updates)
    if table.row_ops and has_term:
        write = table.row_ops[-1].op
        why = "the loss has a term over all rows, so the order of the two matters"
        return f"`{write}` writes rows of it, and {why}: {_REMEDY}", write
    if len(optimizers) < 2:
        return None
    ops = table.steps
    first, other = optimizers[0], optimizers[1]
    names = [f"{rule_name(one.rule)} `{ops[one]}`" for one in (first, other)]
    what = f"two optimizers train it, {' and '.join(names)}, and "
    slots = [slot for one in optimizers for slot in one.slots]
    if len(set(slots)) != len(slots):
        return f"{what}they share slots: {_REMEDY}", ops[other]
    if table.parts:
        return f"{what}it is partitioned: {_REMEDY}", ops[other]
    if ordered := next((one for one in optimizers if one.rule in _ORDERED), None):
        why = f"{rule_name(ordered.rule)} {_ORDERED[ordered.rule]}"
        return f"{what}{why}, so the result depends on their order: {_REMEDY}", ops[ordered]
    if has_term:
        why = "the loss has a term over all rows"
        return f"{what}{why}, so the result depends on their order: {_REMEDY}", ops[other]
    if len(optimizers) > _OPTIMIZERS or len(slots) > _SLOTS:
        return f"{what}a table has room for {_OPTIMIZERS} optimizers with {_SLOTS} slots in all: {_REMEDY}", ops[other]
    return None
