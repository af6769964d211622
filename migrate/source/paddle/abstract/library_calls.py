"""Functions of the standard library and of NumPy that need the execution: its files and its random numbers.

Each execution has its own streams of random numbers, so that it neither depends on the process nor changes it.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import posixpath
import random
import re
from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract.data_files import FOLDER, DataFiles
from migrate.source.paddle.abstract.host import sparse
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import UNKNOWN, Refuse, Value

_PATHS = frozenset({"join", "basename", "dirname", "split", "splitext", "normpath", "isabs", "relpath", "commonprefix"})
_RANDOM = frozenset(
    ["seed", "random", "randint", "randrange", "uniform", "gauss", "shuffle", "choice", "sample", "normalvariate"]
)
_NUMPY_RANDOM = frozenset(
    [
        *("seed", "normal", "uniform", "rand", "randn", "randint", "permutation", "choice", "random", "shuffle"),
        *("random_sample", "standard_normal"),
    ]
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
        found: Callable[..., Value] = getattr(run.random, function)
        return found
    if name.startswith("numpy.random.") and name.rpartition(".")[2] in _NUMPY_RANDOM:
        found = getattr(run.array_random, name.rpartition(".")[2])
        return found
    if name.startswith(_SILENT):
        return lambda *a, **k: UNKNOWN
    if module == "re" and function in _REGEX:
        return lambda pattern, *a, **k: _regex(function, pattern, *a, **k)
    if name.startswith("os.path.") and name.removeprefix("os.path.") in _PATHS:
        return getattr(posixpath, name.removeprefix("os.path."), None)
    return None if run.data is None else _files(run.data).get(name)


def _files(data: DataFiles) -> dict[str, Callable[..., Value]]:
    return {
        **dict.fromkeys(("builtins.open", "io.open"), data.open),
        "codecs.open": lambda file, mode="r", encoding=None: data.open(file, mode, encoding=encoding),
        "gzip.open": data.open_packed,
        "os.listdir": lambda path=".": data.names(path),
        "glob.glob": data.glob,
        "os.path.exists": data.asks("exists"),
        "os.path.isfile": data.asks("is_file"),
        "os.path.isdir": data.asks("is_dir"),
        "os.path.getsize": data.size,
        **dict.fromkeys(("os.path.abspath", "os.path.realpath"), data.absolute),
        "os.getcwd": lambda: FOLDER,
        "numpy.loadtxt": data.loadtxt,
        "numpy.load": data.load,
        "json.load": lambda file: json.loads(file.read()),
    }


def _regex(function: str, pattern: Value, *given: Value, **options: Value) -> Value:
    """Match a regular expression that cannot take exponential time."""
    texts = [item for item in given if isinstance(item, str)]
    length = max(map(len, texts), default=0)
    repeats = _repeats(re._parser.parse(pattern))  # type: ignore[attr-defined]
    if length > _MAX_MATCHED or max(length, 1) ** repeats > _MAX_TURNS or len(pattern) > _MAX_MATCHED:
        raise Refuse("this regular expression may take too long; read the text with string methods")
    if function == "compile":
        raise Refuse("compiled regular expressions are not supported; call `re.match` and its like")
    return getattr(re, function)(pattern, *given, **options)


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
METHODS: dict[type, frozenset[str]] = {
    sparse.Matrix: sparse.METHODS,
    np.random.RandomState: _NUMPY_RANDOM,
    random.Random: _RANDOM,
    re.Match: frozenset({"group", "groups", "start", "end", "span"}),
}
