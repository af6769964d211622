"""Points-to analysis of a whole Python program, independent of any framework.

`ValueFlow` answers which abstract values an expression may have and where a value is used. The analysis is
inclusion-based (Andersen) and field-sensitive: attributes and constant keys are kept apart. The call graph is built on
the fly. For local names it uses reaching definitions; otherwise it is flow-insensitive.
"""

from migrate.source.flow.constancy import as_written, assigned, is_from_unseen, is_unchanged, only_reads_entries, stores
from migrate.source.flow.effects import only_reads
from migrate.source.flow.names.bindings import frame_of
from migrate.source.flow.order import Order, loops_around
from migrate.source.flow.queries import ValueFlow
from migrate.source.flow.values import (
    Bound,
    Class,
    Computed,
    Constant,
    Function,
    Holder,
    Member,
    Partial,
    Result,
    SuperProxy,
    Symbol,
    Tainted,
    Unknown,
    Value,
    is_none,
)

__all__ = [
    "Bound", "Class", "Computed", "Constant", "Function", "Holder", "Member", "Order", "Partial", "Result",
    "SuperProxy", "Symbol", "Tainted", "Unknown", "Value", "ValueFlow", "as_written", "assigned", "frame_of",
    "is_from_unseen", "is_none", "is_unchanged", "loops_around", "only_reads", "only_reads_entries", "stores",
]  # fmt: skip
