"""Where values go: one points-to analysis over all files of a program, whatever their framework.

`ValueFlow` answers what an expression may be and where a value is used. It is inclusion-based, tells attributes and
constant keys apart, and finds who calls what on the way. Local names are told apart by the assignments that reach them.
"""

from migrate.source.flow.effects import only_reads
from migrate.source.flow.order import Order, frame_of, loops_around, outer_loop
from migrate.source.flow.queries import ValueFlow
from migrate.source.flow.values import (
    DECORATED,
    Bound,
    Class,
    Computed,
    Constant,
    Function,
    Holder,
    Member,
    Result,
    Symbol,
    Unknown,
    Value,
    is_none,
)

__all__ = [
    "DECORATED", "Bound", "Class", "Computed", "Constant", "Function", "Holder", "Member", "Order", "Result", "Symbol",
    "Unknown", "Value", "ValueFlow", "frame_of", "is_none", "loops_around", "only_reads", "outer_loop",
]  # fmt: skip
