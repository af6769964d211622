"""Calls of Python's builtins, of `math`, NumPy and the standard library, and of methods of Python's values.

They run on the concrete values of the program. Only functions that compute a value from their arguments are called.
"""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import functools
import io
import itertools
import math
import operator
from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract import library_calls
from migrate.source.paddle.abstract.values import Refuse, Value

_LARGE = 1_000_000
_BITS = 10_000
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
    "iter": lambda items: iter(items),  # without a function to call: it may never end
    "object": object,
    "type": None,
    **dict.fromkeys(("callable", "filter", "getattr", "hasattr", "isinstance", "issubclass", "map", "next")),
    **dict.fromkeys(("pow", "setattr", "super", "staticmethod", "classmethod", "property")),
    **dict.fromkeys(("open", "bytes")),
    **{name: item for name, item in vars(builtins).items() if isinstance(item, type) and issubclass(item, Exception)},
}
_ITERTOOLS = frozenset(
    [
        *("chain", "chain.from_iterable", "combinations", "permutations", "product", "accumulate", "repeat", "islice"),
        *("count", "zip_longest"),
    ]
)
_ENDLESS = (*(itertools.count, itertools.repeat, itertools.permutations, itertools.combinations, itertools.accumulate),)
#: Functions whose numbers are sizes of what they make.
_MAKERS = frozenset(
    ["range", "zeros", "ones", "empty", "full", "eye", "identity", "tri", "linspace", "logspace", "arange"]
)
_NUMPY = frozenset(
    [
        *("abs", "absolute", "all", "any", "append", "arange", "argmax", "argmin", "argsort", "array"),
        *("array_equal", "array_split", "asarray", "atleast_1d", "atleast_2d", "bool_", "ceil", "clip"),
        *("column_stack", "concatenate", "copy", "cos", "cumprod", "cumsum", "delete", "diag", "digitize", "dot"),
        *("dtype", "empty", "exp", "expand_dims", "eye", "finfo", "flatnonzero", "float16", "float32", "float64"),
        *("floor", "full", "full_like", "hstack", "identity", "in1d", "insert", "int16", "int32", "int64"),
        *("int8", "intersect1d", "isin", "isnan", "linspace", "log", "log10", "log1p", "log2", "logical_and"),
        *("logical_not", "logical_or", "logspace", "max", "maximum", "mean", "median", "min", "minimum"),
        *("nan_to_num", "ndarray", "ndim", "nonzero", "ones", "ones_like", "outer", "pad", "power", "prod"),
        *("random.RandomState", "random.choice", "random.normal", "random.permutation", "random.rand"),
        *("random.randint", "random.randn", "random.random", "random.seed", "random.shuffle", "random.uniform"),
        *("ravel", "repeat", "reshape", "round", "searchsorted", "setdiff1d", "shape", "sign", "sin", "size"),
        *("sort", "split", "sqrt", "square", "squeeze", "stack", "std", "sum", "swapaxes", "take", "tanh"),
        *("tile", "transpose", "tri", "tril", "triu", "uint16", "uint32", "uint64", "uint8", "unique", "var"),
        *("vstack", "where", "zeros", "zeros_like"),
    ]
)
_FILE = frozenset({"read", "readline", "readlines", "close", "seek", "tell", "flush", "write", "writelines"})
_METHODS: dict[type, frozenset[str]] = {
    list: frozenset(
        ["append", "extend", "insert", "pop", "reverse", "index", "copy", "count", "clear", "remove", "sort"]
    ),
    dict: frozenset(["get", "items", "keys", "values", "update", "pop", "setdefault", "copy", "clear"]),
    set: frozenset(
        ["add", "update", "remove", "discard", "union", "intersection", "difference", "copy", "issubset", "pop"]
    ),
    str: frozenset(
        [
            *("format", "join", "lower", "upper", "split", "strip", "lstrip", "rstrip", "startswith", "endswith"),
            *("replace", "title", "find", "count", "isdigit", "capitalize", "zfill", "encode", "rsplit"),
            *("splitlines", "partition", "rpartition", "isalpha", "isalnum", "isnumeric", "isspace", "index"),
            *("rfind", "removeprefix", "removesuffix"),
        ]
    ),
    bytes: frozenset({"decode", "split", "strip", "startswith", "endswith", "rstrip"}),
    tuple: frozenset({"index", "count"}),
    io.StringIO: _FILE,
    io.BytesIO: _FILE - {"write", "writelines"},
    **library_calls.METHODS,
    np.ndarray: frozenset(
        [
            *("astype", "reshape", "tolist", "sum", "mean", "max", "min", "transpose", "flatten", "copy", "item"),
            *("squeeze", "T", "fill", "ravel", "argsort", "repeat", "searchsorted", "cumsum", "any", "all"),
            *("argmax", "argmin", "nonzero", "std", "clip", "round", "swapaxes", "sort"),
        ]
    ),
    np.generic: frozenset({"astype", "item", "tolist", "reshape", "sum", "round"}),
    collections.deque: frozenset({"append", "popleft", "pop", "appendleft", "extend", "clear"}),
}


def check_operands(op: ast.operator, left: Value, right: Value) -> None:
    """Raise `Refuse` for operations that would take too long or too much memory."""
    numbers = [item for item in (left, right) if isinstance(item, int)]
    if any(item.bit_length() > _BITS for item in numbers) or (
        isinstance(op, ast.LShift) and isinstance(right, int) and right > _BITS
    ):
        raise Refuse("a number this large is not supported")
    if isinstance(op, ast.MatMult) and np.size(left) * np.size(right) > _LARGE**2:
        raise Refuse("a product of matrices this large is not supported")
    items = [item for item in (left, right) if isinstance(item, list | tuple | str | bytes)]
    if isinstance(op, ast.Add) and sum(map(len, items)) > 10 * _LARGE:
        raise Refuse("a list this long is not supported")


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
        return functools.reduce(getattr, rest.split("."), itertools)  # type: ignore[return-value]
    if module == "operator" and not rest.startswith("_"):
        return getattr(operator, rest, None)
    if module == "collections" and rest in {"OrderedDict", "defaultdict", "deque", "Counter", "namedtuple"}:
        return getattr(collections, rest, None)
    if name in {"copy.copy", "copy.deepcopy"}:
        found: Callable[..., Value] = getattr(copy, rest)
        return found
    if name == "functools.reduce":
        return None
    if module == "numpy" and rest in _NUMPY:
        function: Value = functools.reduce(getattr, rest.split("."), np)
        return function  # type: ignore[no-any-return]
    return None


def run_python(function: Callable[..., Value], positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Call a function; one that would make something huge is refused."""
    makes = getattr(function, "__name__", "") in _MAKERS
    counts = [item for item in positional if isinstance(item, int)] if makes else []
    shape = keywords.get("size") or keywords.get("shape") or (positional[0] if makes and positional else None)
    if isinstance(shape, list | tuple) and all(isinstance(item, int) for item in shape):
        counts.append(math.prod(shape))
    if any(abs(count) > 50 * _LARGE for count in counts):
        raise Refuse("an array this large is not supported")
    if function is range and len(range(*positional)) > _LARGE:
        raise Refuse("a `range` this long is not supported")
    result = function(*positional, **keywords)
    if isinstance(result, itertools.chain | itertools.product):
        return list(itertools.islice(result, _LARGE))
    return itertools.islice(result, _LARGE) if isinstance(result, _ENDLESS) else result


def python_method(receiver: Value, name: str) -> Callable[..., Value]:
    """Return a method of a Python value; raises `Refuse` for one that is not called."""
    if isinstance(receiver, tuple) and name in {"_replace", "_asdict"} and hasattr(receiver, "_fields"):
        found: Callable[..., Value] = getattr(receiver, name)
        return found
    allowed = next((names for kind, names in _METHODS.items() if isinstance(receiver, kind)), frozenset())
    if name not in allowed:
        raise Refuse(f"method `{name}` of {type(receiver).__name__} is not supported")
    return getattr(receiver, name)  # type: ignore[no-any-return]
