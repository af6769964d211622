"""What may be done to a model's one-hot input besides reading it by `nn.Linear`: what keeps all of its columns."""

from __future__ import annotations

import functools
from dataclasses import replace

from migrate.source.paddle.abstract.values import OneHot, Refuse
from migrate.source.paddle.ops.shapes import dtype_name
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def through(op: Op, bound: Arguments) -> tuple[Op, OneHot]:
    """Return an op that gives its first operand itself, and the result; raises `Refuse` unless all columns are kept."""
    x, *rest = bound.values()
    if not isinstance(x, OneHot) or not _keeps(op.name, x, rest):
        raise Refuse(f"only `nn.Linear` may read the one-hot input, and `{op.name}` needs its columns")
    return _itself(op), replace(x)


def _keeps(name: str, x: OneHot, rest: list[object]) -> bool:
    """Return whether an op keeps all columns of a row: a cast to float32, or a reshape to rows."""
    if name == "paddle.cast":
        return dtype_name(rest[0]) == "float32"
    return name == "paddle.reshape" and x.shape is not None and rest[0] in ([-1, x.shape[1]], (-1, x.shape[1]))


@functools.cache
def _itself(op: Op) -> Op:
    return replace(op, forms=(Form(next(iter(op.parameters)), ignored=True),))
