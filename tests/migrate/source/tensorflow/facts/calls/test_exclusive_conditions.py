"""Models that a program builds under conditions of which one holds: each is made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, verdicts, write

MAIN = (
    HEAD
    + """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--kind", default="bell")
args, _ = parser.parse_known_args([])
KIND = args.kind
{before}
def net():
    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    item = tf.Variable(tf.random_normal([8, 4]), name="item")
    rows = tf.nn.embedding_lookup(item, ids)
    loss = tf.reduce_mean((tf.reduce_sum(tf.layers.dense(rows, 4), 1) - label) ** 2)
    step = tf.train.AdagradOptimizer(0.2).minimize(loss)
    return {{"ids": ids, "label": label, "loss": loss, "train_op": step, "rows": rows}}

def build():
{body}    return made
"""
)
#: Two calls of which one runs.
ONE = {
    "two constants": ("", "if KIND == 'bell':\n    made = net()\nif KIND == 'flat':\n    made = net()\n"),
    "an attribute": ("", "if args.kind == 'bell':\n    made = net()\nif args.kind == 'flat':\n    made = net()\n"),
    "several constants": (
        "", "if args.kind == 'bell':\n    made = net()\nif args.kind in ('flat', 'round'):\n    made = net()\n",
    ),
    "what is left": (
        "", "if KIND == 'bell':\n    made = net()\nif KIND in ['bell', 'flat']:\n    pass\nelse:\n    made = net()\n",
    ),
    "not and and": (
        "", "if not KIND != 'bell' and args:\n    made = net()\n"
        "if not (KIND == 'bell' or args is None):\n    made = net()\n",
    ),
}  # fmt: skip
#: Two calls that may both run.
BOTH = {
    "the same constant": ("", "if KIND == 'bell':\n    made = net()\nif KIND in ('bell', 'flat'):\n    made = net()\n"),
    "other values": ("", "if KIND == 'bell':\n    made = net()\nif args.other == 'flat':\n    made = net()\n"),
    "bound again": (
        "", "kind = KIND\nif kind == 'bell':\n    made = net()\nkind = 'flat'\nif kind == 'flat':\n    made = net()\n",
    ),
    "an attribute that is assigned": (
        "", "if args.kind == 'bell':\n    made = net()\nargs.kind = 'flat'\n"
        "if args.kind == 'flat':\n    made = net()\n",
    ),
    "an attribute that is set by its name": (
        "", "if args.kind == 'bell':\n    made = net()\nsetattr(args, 'kind', 'flat')\n"
        "if args.kind == 'flat':\n    made = net()\n",
    ),
    "a global name": (
        "def change():\n    global KIND\n    KIND = 'flat'\n",
        "if KIND == 'bell':\n    made = net()\nchange()\nif KIND == 'flat':\n    made = net()\n",
    ),
    "in a loop": ("", "for kind in ('bell', 'flat'):\n    if kind == 'bell':\n        made = net()\n"
        "    if kind == 'flat':\n        made = net()\n"),
    "neither": ("", "if KIND != 'round':\n    made = net()\nif KIND != 'flat':\n    made = net()\n"),
}  # fmt: skip


def project(root: Path, case: tuple[str, str]) -> Path:
    body = "".join(f"    {line}\n" for line in case[1].splitlines())
    return write(root, {"main.py": MAIN.format(before=case[0], body=body)})


@pytest.mark.parametrize("case", ONE.values(), ids=ONE)
def test_a_model_that_one_of_two_calls_makes_converts(case: tuple[str, str], tmp_path: Path) -> None:
    results = convert(project(tmp_path / "p", case))
    assert verdicts(results) == {"item": "applied"}, reasons(results)


@pytest.mark.parametrize("case", BOTH.values(), ids=BOTH)
def test_a_model_that_both_calls_may_make_stays(case: tuple[str, str], tmp_path: Path) -> None:
    results = convert(project(tmp_path / "p", case))
    assert verdicts(results)["item"] != "applied", reasons(results)
