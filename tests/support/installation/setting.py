"""What a program of this folder runs in, what becomes of it, and when two outcomes are equal."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import rewriter

v1 = tf.compat.v1


@dataclass(frozen=True)
class Setting:
    """The kind of variables and of control flow, and folders."""

    resource: bool
    second: bool  #: the behavior of TensorFlow 2: its loops and branches, and resource variables where none are named
    installed: bool
    shared: Path  #: the run without `install` has it first, the run with it next
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp()))

    def variable(self, name: str, shape: list[int], **arguments: Any) -> Any:
        """Return `get_variable` of the kind."""
        return v1.get_variable(name, shape, use_resource=self.resource, **arguments)


Program = Callable[[Setting], list[Any]]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Register a program under the name of its function."""
    assert function.__name__ not in PROGRAMS
    PROGRAMS[function.__name__] = function
    return function


class Model:
    """Rows of `w` [30, 4], a dense layer, a loss, and a step of Adagrad or of another optimizer."""

    def __init__(self, setting: Setting, optimizer: Any = None, trained: bool = True) -> None:
        self.w = setting.variable("w", [30, 4])
        self.ids = v1.placeholder(tf.int32, [None], name="ids")
        self.rows = tf.nn.embedding_lookup(self.w, self.ids)
        self.dense = setting.variable("dense", [4, 1])
        self.out = tf.identity(tf.matmul(self.rows, self.dense), name="out")
        self.loss = tf.reduce_mean((self.out - 1) ** 2)
        self.global_step = v1.train.get_or_create_global_step()
        self.step: Any = None
        if trained:
            self.step = (optimizer or v1.train.AdagradOptimizer(0.1)).minimize(self.loss, global_step=self.global_step)


def begin(session: Any) -> None:
    """Initialize all variables."""
    session.run(v1.global_variables_initializer())


def steps(session: Any, model: Any, number: int = 4) -> list[Any]:
    """Return the losses of so many steps, some of whose ids repeat."""
    return [session.run([model.loss, model.step], {model.ids: [n, 3 * n, 5]})[0] for n in range(number)]


@contextlib.contextmanager
def new_graph() -> Iterator[tf.Graph]:
    """A further graph, with the seed of the first."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(1)
        yield graph


@contextlib.contextmanager
def first_behavior() -> Iterator[None]:
    """What `disable_v2_behavior` switches off, but for eager execution, which graphs do not have."""
    v1.disable_control_flow_v2()
    v1.disable_resource_variables()
    v1.disable_v2_tensorshape()
    try:
        yield
    finally:
        v1.enable_control_flow_v2()
        v1.enable_resource_variables()
        v1.enable_v2_tensorshape()


def outcome(name: str, setting: Setting) -> list[Any]:
    """Return what a program computes, or what it raises, in a graph of its own."""
    try:
        with contextlib.nullcontext() if setting.second else first_behavior(), new_graph():
            return PROGRAMS[name](setting)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def outcomes(
    name: str, resource: bool, second: bool, folder: Path
) -> tuple[list[Any], list[Any], rewriter.Installation]:
    """Return what a program computes without `install` and with it, and what it did."""
    folders = [folder / part for part in ("shared", "stock", "moved")]
    for one in folders:
        one.mkdir()
    stock = outcome(name, Setting(resource, second, False, folders[0], folders[1]))
    installed = rewriter.install()
    try:
        moved = outcome(name, Setting(resource, second, True, folders[0], folders[2]))
    finally:
        installed.remove()
    return stock, moved, installed


def equal(stock: Any, moved: Any) -> bool:
    """Whether two outcomes are equal: numbers to rounding, and structures of them."""
    if isinstance(stock, dict):
        return (
            isinstance(moved, dict) and stock.keys() == moved.keys() and all(equal(stock[k], moved[k]) for k in stock)
        )
    if isinstance(stock, list | tuple):
        return isinstance(moved, list | tuple) and len(stock) == len(moved) and all(map(equal, stock, moved))
    if isinstance(stock, str | bytes | None):
        return type(stock) is type(moved) and stock == moved
    if np.asarray(stock).dtype.kind in "fiub":
        return np.shape(stock) == np.shape(moved) and np.allclose(stock, moved, rtol=1e-5, atol=1e-7, equal_nan=True)
    return bool(np.shape(stock) == np.shape(moved) and np.all(np.asarray(stock) == np.asarray(moved)))
