"""Lines for users: what happens to a variable, and which variables stay and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from rewriter.facts import Refusal, Table
from rewriter.table_settings import called
from rewriter.words import listed, places
from runtime.storage.buckets import Buckets


def table_line(table: Table) -> str:
    """Return one line that says what happens to a variable."""
    count = len(table.lookups)
    lookups = f"{count} lookup{'' if count == 1 else 's'}{places(one.source for one in table.lookups)}"
    rules = dict.fromkeys(update.optimizer for update in table.updates)
    updates = ", ".join(
        rule + places(update.source for update in table.updates if update.optimizer == rule) for rule in rules
    )
    if table.row_ops:
        steps = "an update composed of row ops" + places(one.source for one in table.row_ops if one.how != "read")
        updates = f"{updates}, {steps}" if updates else steps
    parts = f" for {len(table.parts)} parts ({table.strategy})" if len(table.parts) > 1 else ""
    parts += f" on {table.servers} server{'s' * (table.servers > 1)}" if table.servers else ""
    note = f", not joined with other parts of its variable ({table.note})" if table.note else ""
    assumed = f" (assumed: {table.new_rows.assumption})" if table.new_rows.assumption else ""
    settings = f"; {table.settings.text}" if table.settings.text else ""
    if table.buckets is not None and table.buckets.count < table.rows:
        settings += (
            f"; ids that shared a bucket begin as its row ({_rows(table.buckets)}), and all other ids keep their rows"
        )
    if table.buckets_kept:
        settings += f"; it keeps the buckets of its ids: {table.buckets_kept}"
    return (
        f"`{table.name}` {list(table.shape)} becomes a table{parts}{note}: {lookups}, {updates or 'no update'}"
        f"; new ids start as {table.new_rows}{assumed}{settings}"
    )


def _rows(buckets: Buckets) -> str:
    last = buckets.first + buckets.count - 1
    return f"row {last}" if buckets.count == 1 else f"rows {buckets.first} to {last}"


_NAMES = re.compile("`[^`]*`")


def stay_lines(refusals: Iterable[Refusal]) -> list[str]:
    """Return a line for each reason, with the variables that it keeps; reasons are equal apart from names of ops."""
    groups: dict[str, list[Refusal]] = {}
    refusals = list(refusals)
    names = called(refusal.table for refusal in refusals)
    for refusal in (replace(one, table=names[one.table]) for one in refusals):
        groups.setdefault(_NAMES.sub("``", refusal.reason), []).append(refusal)
    return [str(group[0]) if len(group) == 1 else _line(group) for group in groups.values()]


def _line(group: list[Refusal]) -> str:
    return f"{listed(one.table for one in group)} stay variables: {str(group[0]).partition(': ')[2]}"
