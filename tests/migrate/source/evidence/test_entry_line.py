"""Where a program gets the line that moves its tables."""

from __future__ import annotations

import pytest

from migrate.source.evidence.in_graph import with_install

CALL = 'import rewriter\nrewriter.install(tables=["a", "b"])\n'
TEXTS = {
    "behind TensorFlow": ("import os\nimport tensorflow as tf\n", "\nimport model\n"),
    "behind its second name": ("import os; import tensorflow.compat.v1 as tf; x = (\n    1)\n", "y = 2\n"),
    "in a try": ("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\n", "import model\n"),
    "without it": (
        '#!/usr/bin/env python\n"""Trains."""\nfrom __future__ import annotations\nimport os\n',
        "import model\n",
    ),
    "in a package": ("import os\n", "from pkg.model import Model\n"),
    "in the function": ('"""Trains."""\n', "def main():\n    import tensorflow\n"),
    "nothing else": ("# a comment\n", "main()\n"),
    "no end": ("import tensorflow", ""),
}


@pytest.mark.parametrize(("above", "below"), TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_place(above: str, below: str, end: str) -> None:
    text = (above + below).replace("\n", end)
    expected = (above + ("" if above.endswith("\n") else "\n") + CALL + below).replace("\n", end)
    found, lines, new = with_install(text, ["a", "b"], {"pkg", "model"})
    if "\n" in text:
        assert found == expected
    assert (lines, new + "\n") == (above.rstrip("\n").count("\n") + 1, CALL)
    compile(found, "m.py", "exec")


def test_a_name_that_the_program_has() -> None:
    found, _, _ = with_install("import tensorflow as tf\nrewriter = 1\n", ["a"], set())
    assert 'import rewriter as graph_rewriter\ngraph_rewriter.install(tables=["a"])\nrewriter = 1\n' in found


def test_many_names_have_a_line_each() -> None:
    names = [f"a/very/long/{number}" for number in range(9)]
    found, _, _ = with_install("import tensorflow as tf\n", names, set())
    assert found.count("\n") == 13
    assert max(map(len, found.split("\n"))) < 60
    compile(found, "m.py", "exec")
