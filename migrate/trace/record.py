"""The record of a run: which variables were made, what read and wrote each, and which lines of the program ran.

It holds no values and no data. Paths are relative to `root`, the directory that the program was traced in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from migrate.errors import MigrateError
from migrate.regular_files import read_regular

T = TypeVar("T")
FORMAT = "recmigrate-trace"
VERSION = 2

#: What an op does with a variable. `lookup`: takes rows by ids. `whole`: any other read of its values. `update`: an
#: optimizer's op. `assign`: another write, also of the initial value. `save`: an op of a checkpoint, also a restore.
#: `shape`: reads no value, such as `Shape` or `VarIsInitializedOp`. `touch`: Python code that uses the object of the
#: variable; no op.
KINDS = ("lookup", "whole", "update", "assign", "save", "shape", "touch")

#: One line of the program: (path relative to the root, line from 1).
Line = tuple[str, int]


@dataclass(frozen=True)
class Use:
    """One op that reads or writes a variable."""

    kind: str  #: one of `KINDS`
    op: str  #: the type of the op, such as `ResourceGather`; of a touch: the attribute that is read
    name: str  #: the name of the op in its graph; empty for an eager op
    at: tuple[Line, ...]  #: the program's lines in the op's call stack, the innermost first
    optimizer: str = ""  #: for an update: the class of the optimizer, with its module; empty if it is not known
    #: the innermost code that made the op and is neither the program nor a framework: the name of its file, `<string>`
    #: for a text that is executed; empty if the program's line, the innermost of `at`, did it by itself
    through: str = ""
    #: of a lookup: line, from 1, and column, from 0 and in bytes, behind the call that made it; empty if not known
    end: tuple[int, ...] = ()


@dataclass(frozen=True)
class Variable:
    """One variable of a graph, or of eager mode."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    trainable: bool
    made: tuple[Line, ...]  #: the program's lines in the call stack of its creation, the innermost first
    collections: tuple[str, ...] = ()
    uses: tuple[Use, ...] = ()
    #: the verdict on the graph: the name by which `rewriter.install` moves the variable; empty if it does not
    table: str = ""
    optimizers: int = 0  #: how many of them train that table
    stays: str = ""  #: why it stays a variable; empty if it moves, or if nothing looks it up

    @property
    def reads(self) -> bool:
        """True if an op reads its values."""
        return any(use.kind in ("lookup", "whole") for use in self.uses)


@dataclass(frozen=True)
class GraphRecord:
    """One graph with the functions that it calls; or all that was made eagerly, with all functions."""

    kind: str  #: `graph` (version 1) or `eager`
    variables: tuple[Variable, ...] = ()
    fetches: tuple[str, ...] = ()  #: names of ops and tensors that a session was asked for
    feeds: tuple[str, ...] = ()
    graph: str = ""  #: the file that has the graph, in the folder beside the record; empty if there is none


@dataclass(frozen=True)
class Record:
    """What one run of a program did."""

    command: tuple[str, ...]
    ended: str  #: how the run ended, for people: `after 20 steps`, `by itself`, `by SystemExit(1)`, …
    steps: int  #: training steps that were taken
    python: str
    tensorflow: str
    environment: Mapping[str, str | None] = field(default_factory=dict)  #: variables that decide, such as `TF_CONFIG`
    files: Mapping[str, str] = field(default_factory=dict)  #: path -> sha256 of each file of the program that ran
    ran: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  #: path -> lines that ran, sorted
    graphs: tuple[GraphRecord, ...] = ()
    faults: tuple[str, ...] = ()  #: what went wrong in the tracer: the record may lack something
    entry: str = ""  #: the path of the file of the program that ran first

    def dump(self) -> str:
        """Return the record as JSON with sorted keys: the same run gives the same text."""
        body = {"format": FORMAT, "version": VERSION, **_plain(self)}
        return json.dumps(body, indent=1, sort_keys=True) + "\n"


def load_record(path: Path) -> Record:
    """Read a record. Raises MigrateError if the file cannot be read, or is no record of this version."""
    try:
        body = json.loads(read_regular(path))
    except OSError as error:
        raise MigrateError(f"{path}: cannot be read ({error.strerror}); name a record of `migrate trace`") from error
    except (ValueError, RecursionError) as error:
        raise MigrateError(f"{path}: not a record of `migrate trace` (no JSON); run `migrate trace` again") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise MigrateError(f"{path}: not a record of `migrate trace`; run `migrate trace -o FILE -- python …`")
    if body.get("version") != VERSION:
        raise MigrateError(
            f"{path}: a record of version {body.get('version')}, but this program reads {VERSION}; trace again"
        )
    try:
        return _record(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MigrateError(f"{path}: a damaged record ({type(error).__name__}: {error}); trace again") from error


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def _record(body: Mapping[str, Any]) -> Record:
    environment, files, ran = (_given(body, name, dict) for name in ("environment", "files", "ran"))
    return Record(
        command=_texts(body, "command"),
        ended=_given(body, "ended", str),
        steps=_given(body, "steps", int),
        python=_given(body, "python", str),
        tensorflow=_given(body, "tensorflow", str),
        environment={name: None if value is None else _is(name, value, str) for name, value in environment.items()},
        files={path: _is(path, digest, str) for path, digest in files.items()},
        ran={path: tuple(_is(path, line, int) for line in _is(path, lines, list)) for path, lines in ran.items()},
        graphs=tuple(map(_graph, _given(body, "graphs", list))),
        faults=_texts(body, "faults"),
        entry=_given(body, "entry", str),
    )


def _graph(body: Mapping[str, Any]) -> GraphRecord:
    variables = tuple(map(_variable, _given(body, "variables", list)))
    kind, graph = _given(body, "kind", str), _given(body, "graph", str)
    return GraphRecord(kind, variables, _texts(body, "fetches"), _texts(body, "feeds"), graph)


def _variable(body: Mapping[str, Any]) -> Variable:
    return Variable(
        name=_given(body, "name", str),
        shape=tuple(None if size is None else _is("shape", size, int) for size in _given(body, "shape", list)),
        dtype=_given(body, "dtype", str),
        trainable=_given(body, "trainable", bool),
        made=_lines(body, "made"),
        collections=_texts(body, "collections"),
        uses=tuple(map(_use, _given(body, "uses", list))),
        table=_is("table", body.get("table", ""), str),
        optimizers=_is("optimizers", body.get("optimizers", 0), int),
        stays=_is("stays", body.get("stays", ""), str),
    )


def _use(body: Mapping[str, Any]) -> Use:
    kind, op, name, optimizer, through = (
        _given(body, one, str) for one in ("kind", "op", "name", "optimizer", "through")
    )
    if kind not in KINDS:
        raise ValueError(f"a use of the kind {kind!r}")
    end = tuple(_is("end", one, int) for one in _given(body, "end", list))
    return Use(kind, op, name, _lines(body, "at"), optimizer, through, end)


def _lines(body: Mapping[str, Any], name: str) -> tuple[Line, ...]:
    return tuple((_is(name, path, str), _is(name, line, int)) for path, line in _given(body, name, list))


def _texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(_is(name, one, str) for one in _given(body, name, list))


def _given(body: Mapping[str, Any], name: str, kind: type[T]) -> T:
    return _is(name, body[name], kind)


def _is(name: str, value: Any, kind: type[T]) -> T:
    """Return the value. Raises TypeError if it is of another type: what is missing would decide a doubt."""
    if type(value) is not kind:
        raise TypeError(f"{name} is {type(value).__name__}, not {kind.__name__}")
    return value
