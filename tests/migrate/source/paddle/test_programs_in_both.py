"""Small programs of one or two files, converted and run: what they compute is what Paddle computes."""

from __future__ import annotations

import contextlib
import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from migrate.source.paddle.abstract.machine import Machine
from migrate.source.paddle.abstract.modules import load
from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.run import Frame
from migrate.source.paddle.abstract.values import Function, Stop, Tensor, Value
from migrate.source.paddle.emission.files import write

pytestmark = pytest.mark.paddle
HEAD = "import paddle\nimport paddle.nn as nn\nimport paddle.nn.functional as F\n"
INPUT = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


def executed(files: dict[str, str]) -> tuple[Value, list[str], dict[str, str]]:
    """Execute `f` of net.py on a batch of six columns; return its result, the problems, and the rewritten files."""
    run = Machine(files=files)
    module = load(run, "net.py", files["net.py"])
    function, result = module.names["f"], None
    assert isinstance(function, Function)
    for _ in ("training", "evaluation"):
        run.frames.append(Frame(module, ""))
        with contextlib.suppress(Stop):
            result = run.call_function(function, [Tensor((None, 6))], {})
        run.frames.clear()
    problems = [problem.message for problem in run.problems.values()]
    written = {} if problems else {one.path: write(Program(run, module), one.path) for one in run.modules.values()}
    problems += [told for one in written.values() for told in one.refused.values()]
    return result, problems, {name: one.text for name, one in written.items()}


def files_of(body: str, head: str = HEAD, **others: str) -> dict[str, str]:
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    more = {f"{name}.py": textwrap.dedent(text) for name, text in others.items()}
    return {"net.py": f"{head}\n\ndef f(x):\n{lines}\n", **more}


@contextlib.contextmanager
def imported(files: dict[str, str], folder: Path) -> Iterator[Any]:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    sys.path.insert(0, str(folder))
    names = [name.removesuffix(".py") for name in files]
    try:
        importlib.invalidate_caches()
        yield importlib.import_module("net")
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)


#: id -> (the body of `f`, what heads the file, other files)
PROGRAMS: dict[str, tuple[str, str, dict[str, str]]] = {
    "a star import of what another file imported": ("return F.relu(x)", "from common import *\n", {"common": HEAD}),
    "names below another file": ("return C.F.relu(C.paddle.tanh(x))", "import common as C\n", {"common": HEAD}),
    "names of Paddle that are also others'": (
        """
        class Kept:
            relu = 3.0
        def scaled(x, F):
            return x * F
        return relu(scaled(x, F=Kept.relu))
        """,
        "from paddle.nn import functional as F\nfrom paddle.nn.functional import relu\n",
        {},
    ),
    "hasattr of Paddle": ("return x * (0.1 if hasattr(paddle, 'fluid') else 2.0)", HEAD, {}),
    "getattr of Paddle": ("return getattr(paddle, 'tanh')(x)", HEAD, {}),
    "is_tensor": ("return x * (2.0 if paddle.is_tensor(x) and not paddle.is_tensor(3) else 5.0)", HEAD, {}),
    "classes of layers": (
        """
        layer = nn.Sequential(nn.ReLU(), nn.Tanh())
        kinds = [type(layer[0]) == nn.ReLU, type(layer[1]) is nn.ReLU, layer[1].__class__.__name__ == "Tanh",
                 isinstance(layer, nn.Sequential), isinstance(layer[0], nn.Layer), type([]) is list]
        return x * sum(2.0 ** i for i, kind in enumerate(kinds) if kind)
        """,
        HEAD,
        {},
    ),
    "partial of a function": (
        "act = partial(F.leaky_relu, negative_slope=0.3)\nreturn act(x)",
        HEAD + "from functools import partial\n",
        {},
    ),
    "named tuples": (
        """
        a, b = Pair(x, b=x * 2)
        both = Pair(a, b)._replace(a=b)
        return both.a + both[1] * Sized("n").size
        """,
        HEAD
        + "from collections import namedtuple\nfrom typing import NamedTuple\nPair = namedtuple('Pair', 'a b')\n"
        + "class Sized(NamedTuple):\n    name: str\n    size: int = 7\n",
        {},
    ),
    "a decorator of the program": (
        "return act(x)",
        HEAD + "def twice(g):\n    def h(*a):\n        return g(*a) * 2\n    return h\n\n"
        "@twice\ndef act(x):\n    return paddle.tanh(x)\n",
        {},
    ),
    "what a mask chooses": (
        "keep = paddle.triu(paddle.ones([6, 6]), 1) > 0\nz = x.unsqueeze(2) * x.unsqueeze(1)\n"
        "return paddle.masked_select(z, keep.expand_as(z)).reshape([x.shape[0], -1])",
        HEAD,
        {},
    ),
    "a product of sizes": (
        "y = x.reshape([x.shape[0], 3, 2])\nreturn paddle.tanh(y.reshape([y.shape[0] * y.shape[1], -1])).sum()",
        HEAD,
        {},
    ),
    "a size of a shape": (
        "n = paddle.shape(x)[1]\ny = paddle.reshape(x, [-1, 1, n])\nreturn y.squeeze(1)",
        HEAD,
        {},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_converted_program_computes_what_paddle_computes(name: str, tmp_path: Path) -> None:
    import paddle

    body, head, others = PROGRAMS[name]
    files = files_of(body, head, **others)
    with imported(files, tmp_path / "original") as net:
        expected = net.f(paddle.to_tensor(INPUT)).numpy()
    result, problems, texts = executed(files)
    assert problems == []
    assert all(own in (size, None) for own, size in zip(result.shape, expected.shape, strict=True)), result.shape
    with tf.Graph().as_default(), tf.Session() as session, imported(texts, tmp_path / "converted") as net:
        x = tf.placeholder(tf.float32, [None, 6])
        np.testing.assert_allclose(session.run(net.f(x), {x: INPUT}), expected, rtol=1e-5, atol=1e-6)


#: id -> (the body of `f`, what heads the file, words of the message)
REFUSED = {
    "a function that nothing has": (
        "flag = False\nreturn paddle.fluid.relu(x) if flag else x",
        HEAD,
        "the converted code has no `paddle.fluid.relu`",
    ),
    "the class of a tensor": ("return x * (type(x) == paddle.Tensor)", HEAD, "use `isinstance`"),
    "a method by another name": ("g = x.tanh\nreturn g()", HEAD, "called by another name; write `x.tanh(...)`"),
    "a name that is bound again": (
        "return ReLU()(x)",
        HEAD + "from paddle.nn import ReLU\nclass ReLU(nn.Layer):\n    def forward(self, x):\n        return x\n",
        "`ReLU` is imported from Paddle and then bound to something else",
    ),
    "a loop over what a mask chose": (
        "y = paddle.masked_select(x, x > 0).reshape([x.shape[0], -1])\nreturn [y[:, k] for k in range(y.shape[1])][0]",
        HEAD,
        "a loop over a size that is known only when the model runs",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written_is_told(name: str) -> None:
    body, head, message = REFUSED[name]
    _, problems, _ = executed(files_of(body, head))
    assert any(message in problem for problem in problems), problems
