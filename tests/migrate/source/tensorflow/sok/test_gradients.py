"""Where gradients of static variables of SOK may go: into an update, and nowhere else."""

from __future__ import annotations

import pytest

from migrate.source.driver.convert_file import convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options

HEAD = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nimport sparse_operation_kit as sok\n"
START = HEAD + "hvd.init()\nsok.init()\n"
MADE = 'item = sok.DynamicVariable(dimension=8, initializer="0.5")\n'


def _converted(text: str) -> SourceResult:
    return convert_text("model.py", text, Options(), {})


def _said(result: SourceResult) -> str:
    return "\n".join(f"{f.state.value}: {f.message} ({f.reason}) {f.action}" for f in result.findings)


STATIC = "item = sok.Variable(shape=[9, 4], initializer=tf.ones_initializer())\n"


@pytest.mark.parametrize(
    ("steps", "keeps"),
    [
        ("g = tape.gradient(loss, [item])\ng, n = tf.clip_by_global_norm(g, 1.0)\n", "`g`"),
        ("g = tape.gradient(loss, item)\nprint(tf.convert_to_tensor(g))\n", "`g`"),
        ("g = tape.gradient(loss, [item])\nprint(g[0].shape)\n", "g[0].shape"),
        ("n = tf.linalg.global_norm(tape.gradient(loss, [item]))\n", "tape.gradient(loss, [item])"),
        ("g = tape.gradient(loss, [*others, item])\nprint(g[5].shape)\n", "g[5].shape"),
        ("g = tape.gradient(loss, [item, *others])\nprint(g[5].shape)\n", ""),
        ("g, h = tape.gradient(loss, [item, kernel])\nprint(h)\nopt.apply_gradients([(g, item)])\n", ""),
        ("g = tape.gradient(loss, [item, kernel])\nprint(g[1])\nopt.apply_gradients(zip(g[:1], [item]))\n", ""),
        ("opt.apply_gradients(zip(tape.gradient(loss, [item]), [item]))\n", ""),
        ("def f():\n    return tape.gradient(loss, [item])\nopt.apply_gradients(zip(f(), [item]))\n", ""),
        ("def f():\n    return tape.gradient(loss, [item])\nprint(f()[0].values)\n", "f()[0].values"),
        ("d = {}\nd['g'] = tape.gradient(loss, [item])\nopt.apply_gradients(zip(d['g'], [item]))\n", ""),
        ("d = {}\nd['g'] = tape.gradient(loss, [item])\nsave(d)\n", "`d`"),
        ("g = opt.compute_gradients(loss, [item])\nopt.apply_gradients([(a, v) for a, v in g])\n", ""),
        ("g = opt.compute_gradients(loss, [item])\nopt.apply_gradients([(a * 2, v) for a, v in g])\n", "a * 2"),
        ("h, *g = tape.gradient(loss, [kernel, item])\nprint(h)\n", ""),
        ("h, *g = tape.gradient(loss, [kernel, item])\nprint(g)\n", "`g`"),
        ("g = tape.gradient(loss, [kernel, item])\nall = [g]\nprint(all[0])\n", "all[0]"),
        ("g = tape.gradient(loss, [kernel, item])\nprint(g[-1])\n", "g[-1]"),
        ("def f(tape):\n    g = tape.gradient(loss, [kernel, item])\n    print(g[0].shape)\n", ""),
        ("def f(tape):\n    g = tape.gradient(loss, [kernel, item])\n    print(g[1].shape)\n", "g[1].shape"),
        ("def f(tape):\n    h, g = tape.gradient(loss, [kernel, item])\n    print(h)\n", ""),
        ("def f(tape):\n    h, g = tape.gradient(loss, [kernel, item])\n    print(g)\n", "`g`"),
        ("g = tape.gradient(loss, [item])\nx = locals()['g'] * 2\n", "locals()['g'] * 2"),
    ],
)
def test_gradients_of_static_variables_go_into_updates_alone(steps: str, keeps: str) -> None:
    result = _converted(START + STATIC + "opt = sok.SGD(lr=0.1)\n" + steps)
    assert result.changed is not bool(keeps), _said(result)
    told = [f.message for f in result.findings if "reads gradients of a static variable" in f.message]
    assert all(keeps in one for one in told) and bool(told) is bool(keeps), _said(result)
    dynamic = _converted(START + MADE + "opt = sok.SGD(lr=0.1)\n" + steps)
    assert dynamic.changed, _said(dynamic)
