"""What becomes of Horovod in programs for SOK: it goes where the runtime's ranks do the same, else all of it stays."""

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


GONE = {
    "numbers": ("print(hvd.rank(), hvd.size())\n", "print(ranks.rank(), ranks.size())\n"),
    "a mean": ("total = hvd.allreduce(loss)\n", "total = ranks.current().all_reduce(loss) / ranks.size()\n"),
    "a mean in an expression": (
        "rest = 12 / hvd.allreduce(loss)\nfirst = hvd.allreduce(losses)[0]\n",
        "rest = 12 / (ranks.current().all_reduce(loss) / ranks.size())\n"
        "first = (ranks.current().all_reduce(losses) / ranks.size())[0]\n",
    ),
    "a list": (
        "grads = [hvd.allreduce(g, op=hvd.Sum) for g in grads]\n",
        'grads = [total for total, _ in ranks.reduced_gradients([(g, None) for g in grads], "sum")]\n',
    ),
    "a tape": (
        "def step():\n    tape = hvd.DistributedGradientTape(tape)\n    grads = tape.gradient(loss, dense)\n",
        "def step():\n    grads = [total for total, _ in ranks.reduced_gradients("
        'zip(tape.gradient(loss, dense), dense), "mean")]\n',
    ),
    "copies": ("hvd.broadcast_variables(dense, root_rank=0)\n", "ranks.broadcast(dense)\n"),
}


@pytest.mark.parametrize(("before", "after"), GONE.values(), ids=GONE)
def test_horovod_goes_where_ranks_do_the_same(before: str, after: str) -> None:
    result = _converted(START + before)
    assert result.converted == f"import tensorflow as tf\nfrom runtime import ranks\nranks.start()\n{after}"


STAYS = {
    "gathering": "all = hvd.allgather(losses)\n",
    "from another rank": "hvd.broadcast_variables(dense, root_rank=1)\n",
    "compression": "g = hvd.allreduce(g, compression=hvd.Compression.fp16)\n",
    "a mention": "f = hvd.allreduce\n",
    "gradients of tables, of which Horovod would take means": MADE
    + "def step():\n    tape = hvd.DistributedGradientTape(tape)\n    grads = tape.gradient(loss, [item])\n",
    "a gradient, which may be IndexedSlices": "def step():\n    g, h = tape.gradient(loss, [table, kernel])\n"
    "    return each(g)\n\ndef each(one):\n    return hvd.allreduce(one)\n",
    "gradients that a method of an object returns": "class A:\n    def g(self, tape, vs):\n"
    "        return tape.gradient(loss, vs)\n\ndef step(a):\n    g, h = a.g(tape, vs)\n    return hvd.allreduce(g)\n",
    "gradients in what is not seen": "def step(d, vs):\n    d['g'] = tape.gradient(loss, vs)\n"
    "    return hvd.allreduce(d['g'])\n",
    "gradients in a list": "def step(tape):\n    l = []\n    for v in vs:\n        l.append(tape.gradient(loss, v))\n"
    "    return hvd.allreduce(l[0])\n",
    "a graph": "g = hvd.allreduce(g)\nsession = tf.compat.v1.Session()\n",
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_horovod_stays_as_a_whole_elsewhere(text: str) -> None:
    result = _converted(START + "print(hvd.rank())\n" + text)
    assert 'hvd.init()\nranks.start("horovod")\nprint(hvd.rank())\n' in result.converted, _said(result)
    assert [f for f in result.findings if f.message.startswith("Horovod is still needed for `hvd.")]


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("hvd.init()\nprint(hvd.rank())\nsok.init()\n", True),
        ("def show():\n    print(hvd.rank())\n\nhvd.init()\nshow()\nsok.init()\n", True),
        ("def show():\n    print(hvd.rank())\n\nhvd.init()\nsok.init()\nshow()\n", False),
    ],
)
def test_ranks_are_not_asked_before_they_are_connected(text: str, stays: bool) -> None:
    assert ("hvd.rank()" in _converted(HEAD + text).converted) is stays
