"""What cannot use a variable whose rows are in a table: XLA, and ops that take its resource."""

from __future__ import annotations

import functools
from typing import Any

from runtime._tf_private import DENIED
from runtime._tf_private_functions import compile_but, refuse_in_training_ops
from runtime.table.create import tables


@functools.cache
def guard() -> None:
    """Compile no function that has such a variable, and say what it is where an optimizer's op is given one."""
    compile_but(_has_rows)
    refuse_in_training_ops(lambda argument: getattr(argument, DENIED, None))


def _has_rows(function: str, captured: list[Any]) -> bool:
    """Whether a function captures such a table; its variable is told."""
    known = {id(one) for one in captured}
    held = [
        one
        for one in tables()
        if one.resource is not None and id(one.resource.resource_handle) in known and one.variable.whole
    ]
    for table in held[:1]:
        table.variable.not_compiled(function)
    return bool(held)
