"""Calls of Python's builtins, of `math`, NumPy and the standard library, and of methods of Python's values.

They run on the concrete values of the program. Only functions that compute a value from their arguments are called.
"""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import math
import operator
from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract.values import Refuse, Value

_LARGE = 1_000_000
#: Builtins that are called as they are. Those that need the machine (`isinstance`, `getattr`) are in `calls.py`.
BUILTINS: dict[str, Callable[..., Value] | None] = {
    **{
        item.__name__: item
        for item in (abs, all, any, bool, complex, dict, divmod, enumerate, float, frozenset, int, len, list, max, min)
    },
    **{
        item.__name__: item
        for item in (range, repr, reversed, round, set, slice, sorted, str, sum, tuple, zip, ord, chr)
    },
    "print": lambda *a, **k: None,
    "object": object,
    "type": None,
    **dict.fromkeys(("callable", "filter", "getattr", "hasattr", "isinstance", "issubclass", "iter", "map", "next")),
    **dict.fromkeys(("pow", "setattr", "super", "staticmethod", "classmethod", "property")),
    **{name: getattr(__import__("builtins"), name) for name in ("ValueError", "TypeError", "Exception", "KeyError")},
    **{
        name: getattr(__import__("builtins"), name)
        for name in ("NotImplementedError", "RuntimeError", "AssertionError")
    },
}
_MODULES = {
    "math": math,
    "itertools": itertools,
    "collections": collections,
    "operator": operator,
    "functools": functools,
}
_ITERTOOLS = frozenset({"chain", "combinations", "permutations", "product", "accumulate", "repeat", "islice", "count"})
_NUMPY = frozenset(
    [
        "abs",
        "absolute",
        "all",
        "any",
        "append",
        "arange",
        "argsort",
        "array",
        "asarray",
        "ceil",
        "concatenate",
        "copy",
        "cos",
        "cumsum",
        "diag",
        "empty",
        "exp",
        "expand_dims",
        "eye",
        "flatnonzero",
        "floor",
        "full",
        "full_like",
        "hstack",
        "identity",
        "isnan",
        "linspace",
        "log",
        "log2",
        "logspace",
        "max",
        "mean",
        "min",
        "maximum",
        "minimum",
        "ones",
        "ones_like",
        "outer",
        "pad",
        "power",
        "prod",
        "repeat",
        "reshape",
        "round",
        "sin",
        "sort",
        "split",
        "sqrt",
        "square",
        "squeeze",
        "stack",
        "std",
        "sum",
        "tanh",
        "tile",
        "transpose",
        "tri",
        "tril",
        "triu",
        "unique",
        "vstack",
        "where",
        "zeros",
        "zeros_like",
        "finfo",
        "float32",
        "float64",
        "int32",
        "int64",
        "int8",
        "uint8",
        "bool_",
        "dtype",
        "random.normal",
        "random.uniform",
        "random.rand",
        "random.randn",
        "random.randint",
        "random.seed",
        "random.permutation",
        "random.choice",
        "random.RandomState",
        "random.random",
        "random.shuffle",
    ]
)
_METHODS: dict[type, frozenset[str]] = {
    list: frozenset(
        ["append", "extend", "insert", "pop", "reverse", "index", "copy", "count", "clear", "remove", "sort"]
    ),
    dict: frozenset(["get", "items", "keys", "values", "update", "pop", "setdefault", "copy", "clear"]),
    set: frozenset(["add", "update", "remove", "discard", "union", "intersection", "difference", "copy"]),
    str: frozenset(
        [
            "format",
            "join",
            "lower",
            "upper",
            "split",
            "strip",
            "lstrip",
            "rstrip",
            "startswith",
            "endswith",
            "replace",
            "title",
            "find",
            "count",
            "isdigit",
            "capitalize",
            "zfill",
        ]
    ),
    tuple: frozenset({"index", "count"}),
    np.ndarray: frozenset(
        [
            "astype",
            "reshape",
            "tolist",
            "sum",
            "mean",
            "max",
            "min",
            "transpose",
            "flatten",
            "copy",
            "item",
            "squeeze",
            "T",
            "fill",
            "ravel",
            "argsort",
            "repeat",
        ]
    ),
    np.finfo: frozenset(),
    np.generic: frozenset({"astype", "item", "tolist"}),
    collections.deque: frozenset({"append", "popleft", "pop", "appendleft"}),
}


def check_power(base: Value, exponent: Value) -> None:
    """Raise `Refuse` for powers that would exhaust memory."""
    bits = base.bit_length() if isinstance(base, int) else 1
    if isinstance(exponent, int | float) and abs(exponent) * bits > _LARGE:
        raise Refuse("a power this large is not supported")


def library_function(name: str) -> Callable[..., Value] | None:
    """Return a function of `math`, `itertools`, `collections`, `copy` or NumPy by its dotted name, or None."""
    module, _, rest = name.partition(".")
    if module == "math" and "." not in rest:
        return getattr(math, rest, None)
    if module == "itertools" and rest in _ITERTOOLS:
        return getattr(itertools, rest, None)
    if module == "operator" and not rest.startswith("_"):
        return getattr(operator, rest, None)
    if name in {"collections.OrderedDict", "collections.defaultdict", "collections.deque", "collections.Counter"}:
        return getattr(collections, rest, None)
    if name in {"copy.copy", "copy.deepcopy"}:
        return getattr(copy, rest)
    if name == "functools.reduce":
        return None
    if module == "numpy" and rest in _NUMPY:
        return functools.reduce(getattr, rest.split("."), np)
    return None


def run_python(function: Callable[..., Value], positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Call a function; one that would make something huge is refused."""
    counts = [item for item in positional if isinstance(item, int)]
    shape = keywords.get("size") or keywords.get("shape") or (positional[0] if positional else None)
    if isinstance(shape, list | tuple) and all(isinstance(item, int) for item in shape):
        counts.append(math.prod(shape))
    module = getattr(function, "__module__", "") or ""
    if (function is range or module.startswith("numpy")) and any(abs(count) > 50 * _LARGE for count in counts):
        raise Refuse("an array this large is not supported")
    if function is range and len(range(*positional)) > _LARGE:
        raise Refuse("a `range` this long is not supported")
    result = function(*positional, **keywords)
    return list(itertools.islice(result, _LARGE)) if isinstance(result, itertools.chain | itertools.product) else result


def python_method(receiver: Value, name: str) -> Callable[..., Value]:
    """Return a method of a Python value; raises `Refuse` for one that is not called."""
    allowed = next((names for kind, names in _METHODS.items() if isinstance(receiver, kind)), frozenset())
    if name not in allowed:
        raise Refuse(f"method `{name}` of {type(receiver).__name__} is not supported")
    found: Callable[..., Value] = getattr(receiver, name)
    return found
