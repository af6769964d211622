"""The examples of the ops of `migrate`, as one program that the abstract machine executes, and their operands.

An operand is named after what it is: `f_2_3` float32 [2, 3], `d_4` float64, `i_2` int64 (0 to 2), `j_2` int32, `b_2`
bool, `f_s` a 0-d float32 tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from migrate.source.paddle.abstract.indexing import GETITEM
from migrate.source.paddle.abstract.machine import Machine
from migrate.source.paddle.abstract.run import Frame
from migrate.source.paddle.abstract.values import Function, Module, Stop, Tensor, Value
from migrate.source.paddle.ops import registry
from migrate.source.paddle.ops.spec import Op

_OPERAND = re.compile(r"[fdijb](_\d+)+|[fdijb]_s")
_DTYPES = {"f": "float32", "d": "float64", "i": "int64", "j": "int32", "b": "bool"}
PATH = "examples.py"
FILE = Path(__file__).with_suffix(".txt")


@dataclass(frozen=True)
class Example:
    """One example of an op."""

    op: Op
    text: str

    @property
    def operands(self) -> list[str]:
        """The names of the operands, in the order in which they come."""
        names = [node.id for node in ast.walk(ast.parse(self.text)) if isinstance(node, ast.Name)]
        return list(dict.fromkeys(name for name in names if _OPERAND.fullmatch(name)))


def examples() -> list[Example]:
    """Return the examples of all ops, in the order of their file."""
    ops = {op.name: op for op in (*registry.all_ops(), GETITEM)}
    chosen, name = [], ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            chosen.append(Example(ops[name], line.strip()))
        else:
            name = line
    return chosen


def shape_of(name: str) -> tuple[int, ...]:
    """Return the shape of an operand."""
    sizes = name.split("_")[1:]
    return () if sizes == ["s"] else tuple(map(int, sizes))


def dtype_of(name: str) -> str:
    """Return the dtype of an operand."""
    return _DTYPES[name[0]]


def drawn(name: str, text: str, rough: bool) -> np.ndarray:
    """Return values for an operand of an example.

    Args:
        name: the operand.
        text: the example.
        rough: floats are multiples of 0.5 from -1 to 1, so that some are equal, and some 0; else between 0 and 1.
    """
    random = np.random.RandomState(sum(map(ord, text + name)) + rough)
    shape, dtype = shape_of(name), dtype_of(name)
    if dtype.startswith("float"):
        values = random.randint(-2, 3, shape) / 2 if rough else random.uniform(0.05, 0.95, shape)
    else:
        values = random.randint(0, 2 if dtype == "bool" else 3, shape)
    return np.asarray(values).astype(dtype)


def program(chosen: list[Example]) -> str:
    """Return a program with one function for each example."""
    lines = ["import numpy", "import paddle", ""]
    for index, example in enumerate(chosen):
        lines += [f"def example_{index}({', '.join(example.operands)}):", f"    return {example.text}", ""]
    return "\n".join(lines)


@dataclass(eq=False)
class Execution:
    """The program's abstract execution."""

    run: Machine
    module: Module
    results: list[Value]  #: of each example; an exception's text if it is refused


def executed(chosen: list[Example], open_batch: bool) -> Execution:
    """Execute the program; with `open_batch` the first size of each operand is unknown, if it is not 1."""
    text = program(chosen)
    module = Module(PATH, text, ast.parse(text))
    run = Machine()
    run.modules["examples"] = module
    run.frames.append(Frame(module, "", module.names))
    run.run(module.tree.body)
    results: list[Value] = []
    for index, example in enumerate(chosen):
        operands = [abstract(name, open_batch) for name in example.operands]
        before = len(run.problems)
        function = module.names[f"example_{index}"]
        assert isinstance(function, Function)
        try:
            result = run.call_function(function, operands, {})
        except Stop:
            result = None
        problems = list(run.problems.values())[before:]
        results.append(Refused(problems[0].message) if problems else result)
    return Execution(run, module, results)


@dataclass(frozen=True)
class Refused:
    """An example that the machine refuses."""

    message: str


def abstract(name: str, open_batch: bool) -> Tensor:
    """Return an operand as the machine has it."""
    shape: tuple[int | None, ...] = shape_of(name)
    if open_batch and shape and shape[0] != 1:
        shape = (None, *shape[1:])
    return Tensor(shape, dtype_of(name))


def leaves(value: Any) -> Iterator[Any]:
    """Go through the items of nested lists and tuples."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield value
