"""Executes a static model: feeds, its net for training and evaluation, optimizer; joins it with the trainer beside."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.data_files import DataFiles
from migrate.source.paddle.abstract.machine import Machine
from migrate.source.paddle.abstract.modules import load
from migrate.source.paddle.abstract.program import Program, settings, trainer_class
from migrate.source.paddle.abstract.run import Place, reached
from migrate.source.paddle.abstract.values import (
    Described,
    Method,
    Refuse,
    Stop,
    Tensor,
    Unknown,
    Value,
    mentions,
    tensors_in,
)
from migrate.source.paddle.emission.tables import every_row
from migrate.source.paddle.model_files import STATIC
from migrate.source.paddle.ops.spec import Op

CLASS = "StaticModel"  #: the class that PaddleRec instantiates
_METHODS = ("create_feeds", "net")
_COUNTS = "paddle.static.nn.continuous_value_model"
_LOOKUPS = frozenset({"paddle.static.nn.sparse_embedding", "paddle.static.nn.embedding"})


@dataclass(frozen=True)
class Lookup:
    """A call that looks up rows of a table."""

    place: Place
    arguments: Mapping[str, Value]

    @property
    def name(self) -> str:
        """The name of the table; empty if it has none of its own."""
        attr = self.arguments["param_attr"]
        name = attr.arguments.get("name") if isinstance(attr, Described) else attr
        return name if isinstance(name, str) else ""


@dataclass
class StaticMachine(Machine):
    """A machine for programs whose optimizers are given the loss when the graph is made."""

    static: ClassVar[bool] = True
    minimized: Value = None  #: the optimizer that `minimize` was called of
    lookups: list[Lookup] = field(default_factory=list)
    rows: set[Tensor] = field(default_factory=set)  #: what they return

    def apply(
        self, node: ast.AST, op: Op, positional: list[Value], keywords: Mapping[str, Value], kind: str = "call"
    ) -> Value:
        """Execute an op, and take note of the tables that it looks up."""
        if op.name in _LOOKUPS and not mentions([positional, dict(keywords)], Unknown):
            self.lookups.append(Lookup(self.place(node), op.bind(positional, keywords)))
        result = super().apply(node, op, positional, keywords, kind)
        if op.name in _LOOKUPS and isinstance(result, Tensor):
            self.rows.add(result)
        elif op.name == _COUNTS and op.bind(positional, keywords)["use_cvm"] and self._of_rows(positional, keywords):
            raise Refuse(
                "the shows and clicks in front of these rows are counted by Paddle's servers, and tables count "
                "neither; give `use_cvm=False`, or counts of your own"
            )
        return result

    def _of_rows(self, positional: list[Value], keywords: Mapping[str, Value]) -> bool:
        """Return whether a call's tensors are computed from rows of tables."""
        return any(id(one) in reached(tensors_in([positional, dict(keywords)])) for one in self.rows)

    def call(self, node: ast.AST, callee: Value, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Call any value; `minimize` returns nothing that a program uses."""
        if isinstance(callee, Method) and callee.name == "minimize" and isinstance(callee.receiver, Described):
            self.record_plain(node)
            arguments = [*positional, *keywords.values()]
            if len(arguments) != 1 or not isinstance(arguments[0], Tensor):
                raise Refuse("`minimize` with more than the loss is not supported")
            if callee.receiver.arguments.get("parameters") is None:
                self.minimized = callee.receiver
                return None
            raise Refuse("an optimizer of a static graph with `parameters` is not supported; it trains all weights")
        return super().call(node, callee, positional, keywords)


def execute_static(files: Mapping[str, str], data: DataFiles | None = None) -> Program:
    """Execute the static model of a folder.

    Args:
        files: the folder's Python and YAML files, name -> text.
        data: the files that it may read.

    Raises:
        SyntaxError: a file is not Python.
        MigrateError: the configuration cannot be read, or there is no class with the methods.
    """
    run = StaticMachine(files=files, data=data)
    module = load(run, STATIC, files[STATIC])
    program = Program(run, module, path=STATIC)
    config = settings(files)
    program.follow(lambda: _execute(program, run, config))
    return program


def _execute(program: Program, run: StaticMachine, config: dict[str, Value]) -> None:
    cls = trainer_class(program.module, CLASS, _METHODS)
    if cls is None:
        raise MigrateError(f"{STATIC}: has no class with `create_feeds` and `net`; add one")
    program.trainer = run.call(cls.node, cls, [config], {})
    method = program.call
    feeds = method("create_feeds")
    if run.problems:
        return
    if not isinstance(feeds, (list, tuple)) or not all(isinstance(one, Tensor) for one in feeds):
        run.problem(cls.node, "`create_feeds` must return a list of what `paddle.static.data` gives")
        return
    method("net", list(feeds))
    method("create_optimizer")
    program.optimizer, program.lookups = run.minimized, run.lookups
    if run.lookups and (reason := every_row(program.optimizer, [one.arguments for one in run.lookups])):
        run.problem(cls.node, f"{reason}, and a table only changes rows that it looks up")
    if program.optimizer is None and not run.problems:
        run.problem(cls.node, "`create_optimizer` must call `minimize` of an optimizer")
    program.complete = True
    if not run.problems and cls.find("infer_net") is not None:
        trained, layers = run.recorded(), list(run.layers)
        with contextlib.suppress(Stop):
            method("infer_net", [Tensor(one.shape, one.dtype, fed=True, lod=one.lod) for one in feeds])
        if run.problems:
            program.evaluation = list(run.problems.values())
            run.restore(trained)
        run.layers = layers  # evaluation makes the same once more


def take_in(program: Program, static: Program) -> str:
    """Let the program's files be rewritten for both; return why they cannot be, or an empty text."""
    if static.run.problems:
        first = min(static.run.problems.values(), key=lambda item: (item.path, item.span))
        return f"{first.path}:{first.span[0]}: {first.message}"
    if conflict := _conflict(program, static):
        return f"{conflict[0]}:{conflict[1][0]}: the two trainers need different converted code here"
    run, other = program.run, static.run
    for place, site in other.sites.items():
        known = run.sites.get(place)
        if known is None:
            run.sites[place] = replace(site)
        else:
            known.form = max(known.form, site.form)
    run.loops |= other.loops
    run.checks |= other.checks
    run.plain |= other.plain
    run.executed |= other.executed
    own = {module.path for module in run.modules.values()}
    run.modules |= {name: module for name, module in other.modules.items() if module.path not in own}
    program.beside, program.lookups = static, static.lookups
    return ""


def _conflict(program: Program, static: Program) -> Place | None:
    """Return a place that executes something else in both programs."""
    run, other = program.run, static.run
    for place, site in other.sites.items():
        known = run.sites.get(place)
        if site.mixed or (known is None and place in run.plain):
            return place
        if known is not None and (known.op is not site.op or known.kind != site.kind or place in other.plain):
            return place
    for mine, others in ((run, other), (other, run)):
        plain = next((place for place in mine.plain if place in others.sites and place not in mine.sites), None)
        if plain is not None:
            return plain
    both = run.executed & other.executed
    for place in (run.loops ^ other.loops) | (run.checks ^ other.checks):
        if place[0] != STATIC and any(_covers(one, place) for one in both):
            return place
    return None


def _covers(whole: Place, place: Place) -> bool:
    (first, start, last, end), (line, column, to, stop) = whole[1], place[1]
    return whole[0] == place[0] and (first, start) <= (line, column) and (to, stop) <= (last, end)
