"""What is asked about the files of a program is answered once for all of them."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from migrate.source.settings.options import Options
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base import bindings
from migrate.source.tensorflow.convert import read_file
from tests.support.source.projects import HEAD, convert, verdicts, write

TABLE = HEAD + (
    "def rows(ids):\n"
    '    return tf.nn.embedding_lookup(tf.get_variable("item", [8, 4]), ids)\n'
    "class Model(tf.keras.Model):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.user = tf.keras.layers.Embedding(9, 4)\n"
)
MAIN = HEAD + "from model import Model, rows\nmodel = Model()\nprint(rows([1]))\n"


def test_variables_and_layers_of_a_program_are_judged_by_one_analysis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs: list[int] = []
    analyse = bindings.ValueFlow

    def counting(trees: list[Tree], *arguments: object, **named: object) -> object:
        programs.append(len(trees))
        return analyse(trees, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(bindings, "ValueFlow", counting)
    write(tmp_path, {"model.py": TABLE, "main.py": MAIN})
    assert {*verdicts(convert(tmp_path))} >= {"item"}
    assert programs == [2]


def test_calls_of_several_symbols_are_in_source_order() -> None:
    text = "import tensorflow as tf\ntf.b()\ntf.a()\nf()\ntf.c(tf.b())\n"
    file = read_file(Tree("m.py", text), Options())
    assert [name for _, name in file.calls("a", "b", "d")] == ["b", "a", "b"]
    assert all(isinstance(call, cst.Call) for call, _ in file.calls("c"))
    assert file.calls("d") == file.calls() == []
