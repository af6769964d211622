"""Converts a file of an eager Paddle program: `install()` stands before its first import of Paddle, the rest stays.

A second call of `install` does nothing, so each file that imports Paddle has its own, and runs by itself or imported.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

from migrate.report.model import Applicability, Finding, Location, State, TableRecord
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle.abstract.modules import imported_modules, imports_of
from migrate.source.paddle.eager.names import PADDLE, close_to, missing, uses
from migrate.source.paddle.report.folder_findings import KIND, applied, table_record
from migrate.source.settings.options import Options
from migrate.targets.switches import Switches

RULE = "paddle-program"
_FACADE = "runtime.compat.paddle"
#: The value of `--unbucket` that stands for all tables.
ALL = "all"
_INSTALL = f"from {_FACADE} import install"
_EMBEDDING = "paddle.nn.Embedding"
#: Packages whose own code calls Paddle, by the beginning of their names.
_PGL = "pgl"
_OVER_PADDLE = ("paddle", _PGL, "parl", "ppdet", "ppcls")
_SUPPORTED = "a `paddle.nn.Layer` trained by `loss.backward()` and an optimizer's `step()`, or by `paddle.Model`"
_EAGER = f"write the program as eager code: {_SUPPORTED}"
_STATIC = "static graphs are read in the `static_model.py` of a model's folder alone"
_PARTS = f"{_EAGER}; or move the parts of its graph to `create_feeds`, `net` and `create_optimizer` of a "
_PARTS += "`static_model.py` beside `config.yaml` and a reader, and convert the folder"
#: What a name begins with -> what it belongs to, and what to do; one finding of each in a file, the first that fits.
_KINDS = {
    "paddle.fluid": ("`fluid` is the interface of Paddle 1, which Paddle itself has given up", _EAGER),
    "paddle.v2": ("`v2` is the interface of Paddle before 1.0, which Paddle itself has given up", _EAGER),
    "paddle.enable_static": (_STATIC, _PARTS),
    "paddle.static.data": (_STATIC, _PARTS),
    "paddle.static": (_STATIC, f"{_EAGER}; export a model with `paddle.jit.save`"),
    "paddle.vision": (
        "the façade has models of ids and texts, not of pictures",
        "prepare pictures with NumPy, and write the layers with `paddle.nn`",
    ),
}
#: Kinds of programs: the file stays wherever it uses such a name, and nothing else is said of it.
_WHOLE = ("paddle.fluid", "paddle.v2", "paddle.enable_static", "paddle.static.data")
_OTHERWISE = f"compute it with other functions of Paddle or with NumPy, or leave it out: supported is {_SUPPORTED}"


def is_eager(text: str) -> bool:
    """Whether a file uses neither static graphs nor an interface that Paddle has given up."""
    return not _has_any_of(ast.parse(text), _WHOLE)


def of_graphs(path: str, text: str, siblings: Mapping[str, str]) -> SourceResult | None:
    """Return the result for a file of a folder whose model is one of graphs, which stays; None in another folder."""
    name = path.rpartition("/")[2]
    files = {name: text, **{other: content for other, content in siblings.items() if other.endswith(".py")}}
    of_pgl = [other for other, content in sorted(files.items()) if _PGL in content and _imports_pgl(content)]
    if not of_pgl:
        return None
    if of_pgl[0] == name:
        return SourceResult(path, KIND, text, text, tuple(_packages(path, text, ast.parse(text), {})))
    message = f"a part of the model, which is left unchanged for the reason in the finding of {of_pgl[0]}"
    noted = Finding(RULE, "file", State.NOTED, Location(path, 1, 1), message)
    return SourceResult(path, KIND, text, text, (noted,))


def runs_as_it_is(texts: Mapping[str, str], executed: Container[str]) -> bool:
    """Whether the façade has all names of Paddle that a folder uses, and no package keeps its files with Paddle.

    Args:
        texts: the files by their names; one that is not valid Python does not run.
        executed: those of which all names count; of others, which may have other uses, those that importing them reads.
    """
    with contextlib.suppress(SyntaxError):
        trees = {name: ast.parse(text) for name, text in texts.items() if name.endswith(".py")}
        lacked = (
            use for name, tree in trees.items() for use in missing(tree).values() if use.certain or name in executed
        )
        packages = (finding for name, tree in trees.items() for finding in _packages(name, texts[name], tree, texts))
        return next(lacked, None) is None and next(packages, None) is None
    return False


def _imports_pgl(text: str) -> bool:
    try:
        return any(name.partition(".")[0] == _PGL for name, _ in imported_modules(ast.parse(text)))
    except SyntaxError:
        return False


def convert(path: str, text: str, options: Options, siblings: Mapping[str, str]) -> SourceResult:
    """Convert one file; nothing is written.

    Args:
        path: the file's path, as reports show it.
        text: its contents.
        options: a target other than the runtime, and switches of tables, leave the file unchanged.
        siblings: the files beside it.
    """
    if not options.selection.wants(RULE):
        return SourceResult(path, KIND, text, text)
    tree = ast.parse(text)
    problems = [*_of_options(path, options), *_hidden(path, text, siblings), *_packages(path, text, tree, siblings)]
    problems += [*_lacking(path, text, tree), *_beside(path, text, tree, siblings)]
    if any(finding.state is State.UNSUPPORTED for finding in problems):
        return SourceResult(path, KIND, text, text, tuple(problems))
    first = _first_import(tree)
    assert first is not None, "the file is one of Paddle because it imports it"
    where = Location(path, first, first)
    if _INSTALL in text:
        done = Finding(RULE, "import", State.NOTED, where, f"this file has `{_INSTALL}` already")
        return SourceResult(path, KIND, text, text, (done,))
    lines = text.splitlines(keepends=True)
    end = "\r\n" if lines[first - 1].endswith("\r\n") else "\n"
    name = _free_name(tree)
    frees = ALL in options.unbucket
    written = [_INSTALL + (f" as {name}" if name != "install" else ""), "", f"{name}({'unbucket=True' * frees})"]
    converted = "".join([*lines[: first - 1], *(f"{line}{end}" for line in written), *lines[first - 1 :]])
    message = f"`import paddle` gives the names of `{_FACADE}`, on which the program runs as it is"
    message += "; int64 ids that it divides by the rows of an embedding get rows of their own" * frees
    after = "; ".join(line for line in written if line)
    finding = applied(RULE, "import", where, message, before=lines[first - 1].strip(), after=after)
    finding = replace(finding, applicability=Applicability.CHANGES_VALUES) if frees else finding
    tables = [use.node for use in uses(tree) if use.dotted == _EMBEDDING]
    records = tuple(_record(path, node, finding.applicability) for node in _calls(tree, tables))
    findings = [finding, *problems, *(_table(path, record) for record in records)]
    findings += [_one_of_all(path, record) for record in records if record.name in options.unbucket and not frees]
    return SourceResult(path, KIND, text, converted, tuple(findings), records)


def _first_import(tree: ast.Module) -> int | None:
    """Return the line of the first statement of the file that imports Paddle, also in a function; None without one."""
    before = 0
    for statement in tree.body:
        if _imports_paddle(statement):
            decorators = getattr(statement, "decorator_list", [])
            line: int = min([statement.lineno, *(node.lineno for node in decorators)])
            return before if line <= before else line  # several statements on a line
        if statement.lineno > before or not before:
            before = statement.end_lineno or statement.lineno
    return None


def _imports_paddle(statement: ast.stmt) -> bool:
    tree = ast.Module([statement], [])
    return any(name.partition(".")[0] == PADDLE for name, _ in imported_modules(tree))


def _free_name(tree: ast.Module) -> str:
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    taken |= {getattr(node, "name", None) or "" for node in ast.walk(tree)}
    taken |= {item.asname or item.name for node in imports_of(tree) for item in node.names}
    return next(name for name in ("install", "install_paddle", "install_paddle_names") if name not in taken)


def _of_options(path: str, options: Options) -> Iterator[Finding]:
    if options.target != "runtime" or options.switches != Switches():
        yield _unsupported(
            Location(path, 1, 1),
            "an eager Paddle program runs on the façade, which has one target and no switches",
            "its tables are created when the program runs, by the runtime",
            "leave the target and the switches out for this file",
        )


def _hidden(path: str, text: str, siblings: Mapping[str, str]) -> Iterator[Finding]:
    for name in ("runtime.py", "runtime/__init__.py"):
        if name in siblings:
            yield _unsupported(
                Location(path, 1, 1),
                f"the program would import the package `runtime`, which the file `{name}` hides",
                f"`install` is imported from `{_FACADE}`",
                "rename that file",
            )


def _beside(path: str, text: str, tree: ast.Module, siblings: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for the first file that this one imports, itself or by others, and that stays with Paddle."""
    left, seen = [(name, node) for name, node in imported_modules(tree)], {path}
    for name, first in left:  # which grows
        file = f"{name.replace('.', '/')}.py"
        if file in seen or file not in siblings:
            continue
        seen.add(file)
        try:
            other = ast.parse(siblings[file])
        except SyntaxError:
            continue
        if _has_any_of(other, _WHOLE) or any(_packages(file, siblings[file], other, siblings)):
            reason = "that file stays with Paddle, and both cannot be in one process"
            texts = f"the program imports `{file}`", reason, "read the finding of that file"
            yield _unsupported(_place(path, first), *texts, _line(text, first))
            return
        left += [(deeper, first) for deeper, _ in imported_modules(other)]


def _has_any_of(tree: ast.Module, kinds: Iterable[str]) -> bool:
    """Whether a file uses a name of one of these kinds of programs."""
    starts = tuple(f"{kind}." for kind in kinds)
    return any(f"{use.dotted}.".startswith(starts) for use in uses(tree))


def _packages(path: str, text: str, tree: ast.Module, siblings: Mapping[str, str]) -> Iterator[Finding]:
    reported = set()
    for name, node in imported_modules(tree):
        top = name.partition(".")[0]
        own = any(other.split("/")[0].removesuffix(".py") == top for other in siblings)
        if top != PADDLE and top.startswith(_OVER_PADDLE) and not own and top not in reported:
            reported.add(top)
            reason = "its own code needs Paddle itself, which cannot be in a process with the façade"
            reason = "its graphs need Paddle itself, so programs for graphs stay with Paddle" if top == _PGL else reason
            action = f"write what the program takes from `{top}` with `paddle.nn` and NumPy: supported is {_SUPPORTED}"
            message = f"`{top}` is a package over Paddle"
            yield _unsupported(_place(path, node), message, reason, action, _line(text, node))


def _lacking(path: str, text: str, tree: ast.Module) -> Iterator[Finding]:
    """Yield a finding for each name, or kind of names, that the façade lacks.

    One that the file reads when it runs leaves it unchanged; one in a function or a branch is a sentence of the façade
    where the program comes there.
    """
    reported, lacked = set(), missing(tree)
    of_graphs = [name for name in lacked if f"{name}.".startswith(tuple(f"{kind}." for kind in _WHOLE))]
    for name in of_graphs[:1] or lacked:
        use = lacked[name]
        kind = next((start for start in _KINDS if f"{name}.".startswith(f"{start}.")), name)
        if kind in reported:
            continue
        reported.add(kind)
        close = "".join(f"use `{other}`, or " for other in close_to(name))
        reason, action = _KINDS.get(kind, (f"`{_FACADE}`, on which such a program runs, does not have it", ""))
        place, before = _place(path, use.node), _line(text, use.node)
        finding = _unsupported(place, f"the program uses `{name}`", reason, action or close + _OTHERWISE, before)
        if use.certain or kind in _WHOLE:
            yield finding
        else:
            message = f"{finding.message} in code that may not run; where it does, it ends with an error that says so"
            yield replace(finding, state=State.SUGGESTED, message=message)


def _unsupported(where: Location, message: str, reason: str, action: str, before: str = "") -> Finding:
    return Finding("paddle-unsupported", "use", State.UNSUPPORTED, where, message, reason, action, before=before)


def _place(path: str, node: ast.expr | ast.stmt) -> Location:
    return Location(path, node.lineno, node.end_lineno or node.lineno)


def _line(text: str, node: ast.expr | ast.stmt) -> str:
    return text.splitlines()[node.lineno - 1].strip()


def _calls(tree: ast.Module, functions: Iterable[ast.AST]) -> Iterator[ast.Call]:
    """Yield the calls of these expressions, and of a name imported for one."""
    wanted = {id(node) for node in functions}
    names = {
        item.asname or item.name
        for node in imports_of(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "paddle.nn"
        for item in node.names
        if item.name == "Embedding"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (
            id(node.func) in wanted or (isinstance(node.func, ast.Name) and node.func.id in names)
        ):
            yield node


def _one_of_all(path: str, record: TableRecord) -> Finding:
    texts = (
        f"`{record.name}` keeps the buckets of its ids",
        "only a run shows which embeddings get ids that the program divides",
        "give `--unbucket all`; the log then says of each embedding whether its ids have rows of their own",
    )
    return Finding(RULE, "table", State.NOTED, record.location, *texts)


def _record(path: str, call: ast.Call, applicability: Applicability | None) -> TableRecord:
    named = {word.arg: word.value for word in call.keywords}
    rows, dim = (
        ast.unparse(node) if node is not None else ""
        for node in (
            call.args[place] if len(call.args) > place else named.get(name)
            for place, name in enumerate(("num_embeddings", "embedding_dim"))
        )
    )
    where = _place(path, call)
    return table_record(f"embedding at line {call.lineno}", where, rows, dim, applicability=applicability)


def _table(path: str, record: TableRecord) -> Finding:
    message = f"an embedding [{record.rows}, {record.dim}] is a table that grows, unless the run reads its whole "
    message += "matrix or moves every row"
    finding = applied("paddle-embedding", "table", record.location, message, table=record.name)
    return replace(finding, applicability=record.applicability)
