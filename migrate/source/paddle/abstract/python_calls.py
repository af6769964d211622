"""Calls of Python's builtins, of `math`, NumPy and the standard library, and of methods of Python's values.

They run on the concrete values of the program. Only functions that compute a value from their arguments are called, and
those of files and random numbers: each execution has its own streams of numbers, which the process does not change.
"""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import csv
import dataclasses
import functools
import io
import itertools
import json
import math
import operator
import posixpath
import random
import re
from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract.data_files import FOLDER, DataFiles
from migrate.source.paddle.abstract.host import sparse
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import UNKNOWN, Refuse, Value, words

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
_ITERTOOLS = words(
    "chain chain.from_iterable combinations permutations product accumulate repeat islice count zip_longest"
)
_ENDLESS = (*(itertools.count, itertools.repeat, itertools.permutations, itertools.combinations, itertools.accumulate),)
#: Functions whose numbers are sizes of what they make.
_MAKERS = words("range zeros ones empty full eye identity tri linspace logspace arange")
_NUMPY = words(
    "abs absolute all any append arange argmax argmin argsort array array_equal array_split asarray "
    "atleast_1d atleast_2d bool_ ceil clip column_stack concatenate copy cos cumprod cumsum delete diag "
    "digitize dot dtype empty exp expand_dims eye finfo flatnonzero float16 float32 float64 floor full "
    "full_like hstack identity in1d insert int16 int32 int64 int8 intersect1d isin isnan linspace log log10 "
    "log1p log2 logical_and logical_not logical_or logspace max maximum mean median min minimum nan_to_num "
    "ndarray ndim nonzero ones ones_like outer pad power prod random.RandomState random.choice random.normal "
    "random.permutation random.rand random.randint random.randn random.random random.seed random.shuffle "
    "random.uniform ravel repeat reshape round searchsorted setdiff1d shape sign sin size sort split sqrt "
    "square squeeze stack std sum swapaxes take tanh tile transpose tri tril triu uint16 uint32 uint64 uint8 "
    "unique var vstack where zeros zeros_like"
)
_FILE = frozenset({"read", "readline", "readlines", "close", "seek", "tell", "flush", "write", "writelines"})
_METHODS: dict[type, frozenset[str]] = {
    list: words("append extend insert pop reverse index copy count clear remove sort"),
    dict: frozenset(["get", "items", "keys", "values", "update", "pop", "setdefault", "copy", "clear"]),
    set: words("add update remove discard union intersection difference copy issubset pop"),
    str: words(
        "format join lower upper split strip lstrip rstrip startswith endswith replace title find count isdigit "
        "capitalize zfill encode rsplit splitlines partition rpartition isalpha isalnum isnumeric isspace index "
        "rfind removeprefix removesuffix"
    ),
    bytes: frozenset({"decode", "split", "strip", "startswith", "endswith", "rstrip"}),
    tuple: frozenset({"index", "count"}),
    io.StringIO: _FILE,
    io.BytesIO: _FILE - {"write", "writelines"},
    np.ndarray: words(
        "astype reshape tolist sum mean max min transpose flatten copy item squeeze T fill ravel argsort repeat "
        "searchsorted cumsum any all argmax argmin nonzero std clip round swapaxes sort"
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
    items = [item for item in (left, right) if isinstance(item, (list, tuple, str, bytes))]
    if isinstance(op, ast.Add) and sum(map(len, items)) > 10 * _LARGE:
        raise Refuse("a list this long is not supported")


def check_power(base: Value, exponent: Value) -> None:
    """Raise `Refuse` for powers that would exhaust memory."""
    bits = base.bit_length() if isinstance(base, int) else 1
    if isinstance(exponent, (int, float)) and abs(exponent) * bits > _LARGE:
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
        copier: Callable[..., Value] = getattr(copy, rest)
        return copier
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
    if isinstance(shape, (list, tuple)) and all(isinstance(item, int) for item in shape):
        counts.append(math.prod(shape))
    if any(abs(count) > 50 * _LARGE for count in counts):
        raise Refuse("an array this large is not supported")
    if function is range and len(range(*positional)) > _LARGE:
        raise Refuse("a `range` this long is not supported")
    result = function(*positional, **keywords)
    if isinstance(result, (itertools.chain, itertools.product)):
        return list(itertools.islice(result, _LARGE))
    return itertools.islice(result, _LARGE) if isinstance(result, _ENDLESS) else result


def python_method(receiver: Value, name: str) -> Callable[..., Value]:
    """Return a method of a Python value; raises `Refuse` for one that is not called."""
    if isinstance(receiver, tuple) and name in {"_replace", "_asdict"} and hasattr(receiver, "_fields"):
        method: Callable[..., Value] = getattr(receiver, name)
        return method
    allowed = next((names for kind, names in _METHODS.items() if isinstance(receiver, kind)), frozenset())
    if name not in allowed:
        raise Refuse(f"method `{name}` of {type(receiver).__name__} is not supported")
    return getattr(receiver, name)  # type: ignore[no-any-return]


_PATHS = frozenset({"join", "basename", "dirname", "split", "splitext", "normpath", "isabs", "relpath", "commonprefix"})
_RANDOM = words("seed random randint randrange uniform gauss shuffle choice sample normalvariate")
_NUMPY_RANDOM = words(
    "seed normal uniform rand randn randint permutation choice random shuffle random_sample standard_normal"
)
_SILENT = ("logging.", "warnings.", "sys.path.", "gc.", "time.sleep")
_REGEX = frozenset({"match", "search", "findall", "split", "sub", "fullmatch", "compile"})
_MAX_MATCHED = 10_000  #: characters that a regular expression is matched with
_MAX_TURNS = 10_000_000  #: steps that matching may take
#: Modules that run code or commands, or read what may hold code.
_UNSAFE = {
    "pickle": "reading a pickle runs code that it holds",
    "pandas": "its tables are no tensors; save what it computes with `np.save`, and load that",
    "h5py": "HDF5 files are not read",
    "scipy": "only sparse matrices of two dimensions are followed; save what it computes with `np.save`, and load that",
    "subprocess": "commands are not run",
}


def find(run: Run, name: str) -> Callable[..., Value] | None:
    """Return the function of a dotted name, or None; raises `Refuse` for what is not executed for a reason."""
    module, _, function = name.partition(".")
    if name in sparse.FUNCTIONS:
        return sparse.FUNCTIONS[name]
    if name in _PLAIN:
        return _PLAIN[name]
    if module in _UNSAFE:
        raise Refuse(f"`{name}` is not executed, because {_UNSAFE[module]}")
    if (module == "random" and function in _RANDOM) or name.startswith("numpy.random."):
        run.lasting.draws(name.rpartition(".")[2])
    if module == "random" and function in _RANDOM:
        draw: Callable[..., Value] = getattr(run.random, function)
        return draw
    if name.startswith("numpy.random.") and name.rpartition(".")[2] in _NUMPY_RANDOM:
        draw = getattr(run.array_random, name.rpartition(".")[2])
        return draw
    if name.startswith(_SILENT):
        return lambda *a, **k: UNKNOWN
    if module == "re" and function in _REGEX:
        return lambda pattern, *a, **k: _regex(function, pattern, *a, **k)
    if name.startswith("os.path.") and name.removeprefix("os.path.") in _PATHS:
        return getattr(posixpath, name.removeprefix("os.path."), None)
    return _FILES[name](run.data) if run.data is not None and name in _FILES else None


#: Functions of files, each made of those that the program may read.
_FILES: dict[str, Callable[[DataFiles], Callable[..., Value]]] = {
    **dict.fromkeys(("builtins.open", "io.open"), lambda data: data.open),
    "codecs.open": lambda data: lambda file, mode="r", encoding=None: data.open(file, mode, encoding=encoding),
    "gzip.open": lambda data: data.open_packed,
    "os.listdir": lambda data: lambda path=".": data.names(path),
    "glob.glob": lambda data: data.glob,
    "os.path.exists": lambda data: data.asks("exists"),
    "os.path.isfile": lambda data: data.asks("is_file"),
    "os.path.isdir": lambda data: data.asks("is_dir"),
    "os.path.getsize": lambda data: data.size,
    **dict.fromkeys(("os.path.abspath", "os.path.realpath"), lambda data: data.absolute),
    "os.getcwd": lambda data: lambda: FOLDER,
    "numpy.loadtxt": lambda data: data.loadtxt,
    "numpy.load": lambda data: data.load,
    "json.load": lambda data: lambda file: json.loads(file.read()),
}


def _regex(function: str, pattern: Value, *arguments: Value, **options: Value) -> Value:
    """Match a regular expression that cannot take exponential time."""
    texts = [item for item in arguments if isinstance(item, str)]
    length = max(map(len, texts), default=0)
    repeats = _repeats(re._parser.parse(pattern))  # type: ignore[attr-defined]
    if length > _MAX_MATCHED or max(length, 1) ** repeats > _MAX_TURNS or len(pattern) > _MAX_MATCHED:
        raise Refuse("this regular expression may take too long; read the text with string methods")
    if function == "compile":
        raise Refuse("compiled regular expressions are not supported; call `re.match` and its like")
    return getattr(re, function)(pattern, *arguments, **options)


def _repeats(parsed: Value, inside: bool = False) -> int:
    """Return how many repetitions a parsed expression has; raises `Refuse` for those in one another."""
    total = 0
    for code, value in parsed:
        name = str(code)
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            if inside and value[1] > 1:
                raise Refuse("repetitions in one another in a regular expression are not supported")
            total += int(value[1] > 1) + _repeats(value[2], inside or value[1] > 1)
        elif name == "SUBPATTERN":
            total += _repeats(value[-1], inside)
        elif name == "BRANCH":
            if inside:
                raise Refuse("alternatives in a repetition in a regular expression are not supported")
            total += sum(_repeats(item, inside) for item in value[1])
        elif name not in {"LITERAL", "NOT_LITERAL", "ANY", "IN", "AT", "CATEGORY", "RANGE"}:
            raise Refuse("this regular expression is not supported")
    return total


_PLAIN: dict[str, Callable[..., Value]] = {
    "json.loads": json.loads,
    "json.dumps": json.dumps,
    "csv.reader": lambda rows, **options: csv.reader(rows, **options),
    "dataclasses.field": dataclasses.field,
    "csv.DictReader": csv.DictReader,
    "time.time": lambda: 0.0,
    "os.getenv": lambda name, default=None: default,
    "os.environ.get": lambda name, default=None: default,
    "tqdm.tqdm": lambda items, *a, **k: items,
    "six.iteritems": lambda items: list(items.items()),
    "numpy.random.RandomState": np.random.RandomState,
    "random.Random": random.Random,
    "paddle.distributed.get_rank": lambda: 0,
    "paddle.distributed.get_world_size": lambda: 1,
    "paddle.io.get_worker_info": lambda: None,
}
#: Methods of the objects that these functions return.
_METHODS.update(
    {
        sparse.Matrix: sparse.METHODS,
        np.random.RandomState: _NUMPY_RANDOM,
        random.Random: _RANDOM,
        re.Match: frozenset({"group", "groups", "start", "end", "span"}),
    }
)
