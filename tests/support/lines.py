"""Which statements of the packages tests run: `pytest --cover` counts them per package, `--cover=FILE` per test.

Each statement gets one more before it, which sets a byte. That costs a tenth of the time where a tracer doubles it, and
bytes can be read and cleared between tests. What processes do that a test starts is not seen.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import json
import os
import sys
import time
import types
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

PACKAGES = ("migrate", "rewriter", "runtime")
_HITS = "__hits__"
_Found = dict[str, list[int]]


class _Module:
    """The statements of a module: their lines, and a byte for each that was run."""

    def __init__(self, text: str, path: str) -> None:
        self.lines: list[int] = []
        tree = ast.parse(text)
        self._count(tree)
        self.hits = bytearray(len(self.lines))
        self.code = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def _count(self, node: ast.AST) -> None:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            held = getattr(node, name, None)
            if not isinstance(held, list):
                continue
            for one in held:
                self._count(one)
            if name not in ("handlers", "cases"):
                setattr(node, name, self._noted(held, isinstance(node, ast.Module)))

    def _noted(self, body: Sequence[ast.stmt], of_module: bool) -> list[ast.stmt]:
        noted: list[ast.stmt] = []
        for at, one in enumerate(body):
            docstring = at == 0 and isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
            future = of_module and isinstance(one, ast.ImportFrom) and one.module == "__future__"
            if not (docstring or future):
                index = ast.Subscript(ast.Name(_HITS, ast.Load()), ast.Constant(len(self.lines)), ast.Store())
                noted.append(ast.copy_location(ast.Assign([index], ast.Constant(1)), one))
                self.lines.append(one.lineno)
            noted.append(one)
        return noted


_modules: dict[str, _Module] = {}


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        module = _Module(self.get_data(path).decode(), path)
        _modules[str(Path(path).relative_to(ROOT))] = module
        return module.code

    def exec_module(self, module: types.ModuleType) -> None:
        code = self.get_code(module.__name__)
        setattr(module, _HITS, _modules[str(Path(str(module.__file__)).relative_to(ROOT))].hits)
        exec(code, module.__dict__)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path if path is not None else [str(ROOT)], target)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def install() -> None:
    """Count from now on; modules of the packages must not have been imported."""
    sys.meta_path.insert(0, _Finder())


def clear() -> None:
    """Forget what was run."""
    for module in _modules.values():
        module.hits[:] = bytes(len(module.hits))


def found() -> _Found:
    """Return the lines of the statements that were run, by file."""
    return {
        path: [line for line, hit in zip(module.lines, module.hits, strict=True) if hit]
        for path, module in _modules.items()
        if 1 in module.hits
    }


class Cover:
    """The plugin: of one process, and of the one that joins what the others found."""

    def __init__(self, config: pytest.Config, file: str) -> None:
        self._config, self._file = config, file
        self._whole: dict[str, set[int]] = {}

    def _take(self) -> _Found:
        taken = found()
        clear()
        self._add(taken)
        return taken

    def _add(self, taken: _Found) -> None:
        for path, lines in taken.items():
            self._whole.setdefault(path, set()).update(lines)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Tell what this test runs from what is imported for it and for others."""
        if not self._file:
            yield
            return
        self._take()
        began, spent = time.monotonic(), sum(os.times()[:4])
        yield
        seconds, processor = round(time.monotonic() - began, 3), round(sum(os.times()[:4]) - spent, 2)
        worker = getattr(self._config, "workerinput", {}).get("workerid", "main")
        with Path(f"{self._file}.{worker}").open("a") as file:
            record = {"test": item.nodeid, "seconds": seconds, "processor": processor, "lines": self._take()}
            file.write(json.dumps(record) + "\n")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand what this process found to the one that started it."""
        self._take()
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output["cover"] = {path: sorted(lines) for path, lines in self._whole.items()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a process of pytest-xdist found."""
        self._add(getattr(node, "workeroutput", {}).get("cover", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the part of each package's statements that were run."""
        terminalreporter.section("statements run, per package")
        for package, (ran, all_of_it) in per_package(self._whole).items():
            terminalreporter.write_line(f"{package:40} {ran:6} of {all_of_it:6}  {100 * ran / all_of_it:5.1f} %")


def per_package(whole: dict[str, set[int]]) -> dict[str, tuple[int, int]]:
    """Return how many lines with statements of each package were run, and how many there are."""
    ran: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for path in _files():
        name = str(Path(path).parent)
        statements = set(_Module((ROOT / path).read_text(), path).lines)
        every[name] += len(statements)
        ran[name] += len(statements & whole.get(path, set()))
    every["all"], ran["all"] = sum(every.values()), sum(ran.values())
    return {name: (ran[name], every[name]) for name in every if every[name]}


def _files() -> Iterable[str]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT))
