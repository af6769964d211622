"""Why a file has no table: it is converted, of a framework that is not read, or other files make its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from migrate.report.summary import plural
from migrate.source.project.discovery import mentions_framework

if TYPE_CHECKING:
    from migrate.source.driver.run import Converted

#: What the imports of a file without tables and findings show, with the remedy.
REASONS = (
    (
        re.compile(rb"^[ \t]*(from|import)[ \t]+runtime\b", re.MULTILINE),
        "calls `runtime` already, as converted files do; to convert again, give the original",
    ),
    (
        re.compile(rb"^[ \t]*(from|import)[ \t]+torch\b", re.MULTILINE),
        "is of PyTorch, which is not read; give programs of TensorFlow, Keras or Paddle",
    ),
)


def reasons(done: Sequence[Converted]) -> Iterator[str]:
    """Yield a sentence for each reason: the first file that has it, and how many others do."""
    silent = [one for one in done if not one.result.tables and not one.result.findings]
    for imports, why in REASONS:
        importing = [one for one in silent if imports.search(one.original)]
        silent = [one for one in silent if one not in importing]
        if importing:
            others = f", as {plural(len(importing) - 1, 'other file')}," if len(importing) > 1 else ""
            yield f"{importing[0].result.path}{others} {why}"
    foreign = next((one for one in silent if one.source.explicit and not mentions_framework(one.original)), None)
    if foreign is not None and not any(one.result.tables for one in done):
        yield f"{foreign.result.path} imports neither TensorFlow, Keras nor Paddle; give the files that build the model"
    reader = reader_of_tables_elsewhere(done)
    if reader is not None:
        yield (
            f"{reader.result.path} looks rows up, but no file that was read makes the table; "
            "give the folder of the whole program, or let `migrate trial` run it"
        )


def reader_of_tables_elsewhere(done: Sequence[Converted]) -> Converted | None:
    """Return the first file that looks rows up, if none of the files makes a table."""
    if any(one.result.tables for one in done):
        return None
    return next((one for one in done if any(f.subject == "lookup" for f in one.result.findings)), None)
