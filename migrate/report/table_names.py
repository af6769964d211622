"""Which tables of a proof a record stands for: a proof names them as the run does, source may show a part of a name.

TensorFlow names the variable of an embedding column, and that of a scope which is not static, when the program runs.
The record of such a table has the end of that name, with `*` for what the source does not show.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from migrate.report.model import TableRecord, Verification
from rewriter.table_settings import called

#: What follows the name of a table where a proof compares its rows.
_ROWS = " [table]"
#: The variable of an embedding column: the layer that reads it, and the column.
_COLUMN = re.compile(r"(?:.*[/_])?(?:input_layer|dense_features)(?:_\d+)?[/_](.+?)[/_]embedding_weights(?:_\d+)?")


def proven_tables(proofs: Iterable[Verification]) -> list[str]:
    """Return the names of the tables that proofs compare or measure, each once."""
    names: dict[str, None] = {}
    for proof in proofs:
        names |= dict.fromkeys(one.name[: -len(_ROWS)] for one in proof.comparisons if one.name.endswith(_ROWS))
        names |= dict.fromkeys(one.table for one in proof.memory)
    return list(names)


def shown_names(names: Iterable[str]) -> dict[str, str]:
    """Return how each table of a proof is called where people read: one of a column is called after the column.

    A run calls it `input_layer_city_embedding_embedding_weights`, and `migrate convert` calls it `city_embedding`. Two
    tables of one column in several input layers keep their long names. A partitioned variable of a single part is
    called by its own name.
    """
    wholes = called(names)
    matches = {name: _COLUMN.fullmatch(whole) for name, whole in wholes.items()}
    short = {name: wholes[name] if match is None else match[1] for name, match in matches.items()}
    counts = Counter(short.values())
    return {name: text if counts[text] == 1 else name for name, text in short.items()}


def tables_of(records: Sequence[TableRecord], names: Iterable[str]) -> list[frozenset[str]]:
    """Return the tables that each record stands for, of those with these names.

    A table is that of the records with its name, else of those that show most of it; where these are of several
    places, it is of none, because nothing tells whose it is.
    """
    tables: list[set[str]] = [set() for _ in records]
    ends = [_end(record) for record in records]
    for name, whole in called(names).items():
        own = [at for at, record in enumerate(records) if record.name in (name, whole)]
        if not own:
            fits = [at for at, end in enumerate(ends) if end is not None and end.fullmatch(whole)]
            most = max((_shown(records[at]) for at in fits), default=0)
            own = [at for at in fits if _shown(records[at]) == most]
            own = own if len({records[at].location for at in own}) == 1 else []
        for at in own:
            tables[at].add(name)
    return [frozenset(one) for one in tables]


def _shown(record: TableRecord) -> int:
    return len(record.name.replace("*", ""))


def _end(record: TableRecord) -> re.Pattern[str] | None:
    """Return what the names of a record's tables are; None where a record has its name from the source."""
    if not record.is_named_at_run_time or not record.name:
        return None
    shown = ".+".join(map(re.escape, record.name.split("*")))
    return re.compile(rf"(?:.*\W|[^/]*_)?{shown}(?:[\W_]embedding_weights)?(?:_\d+)?", re.DOTALL)
