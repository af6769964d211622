"""What the terminal's summary says once: alike findings, and where the reason of a table stands."""

from __future__ import annotations

import json
from pathlib import Path

from migrate.source.driver.run import convert_paths, make_report
from migrate.source.driver.summary import summary_lines
from migrate.source.settings.options import Options
from tests.support.source.projects import KERAS_MODEL, write

COPIES = "copies the model, or its weights"
HEAD = 'import tensorflow as tf\nfrom tower import Tower\nmodel = Tower()\nmodel.compile("adam", "mse")\n'


def lines(root: Path, train: str, *, everything: bool = False, tower: str = "") -> list[str]:
    write(root, {"tower.py": KERAS_MODEL.replace("NAME", "Tower") + tower, "train.py": train})
    report = make_report("c", convert_paths([str(root)], Options()), "", dry=True)
    return [one.replace(f"{root}/", "") for one in summary_lines(report, everything=everything)]


def test_findings_in_the_same_words_are_one_line_with_their_places(tmp_path: Path) -> None:
    train = HEAD + "".join(f"w{n} = model.layers[{n}].get_weights()\n" for n in range(9))
    said = [one for one in lines(tmp_path, train) if COPIES in one]
    assert len(said) == 1, said
    assert said[0].startswith("  line 5: `model.layers[0].get_weights()` copies")
    assert said[0].endswith("; the same holds at line 6, line 7, line 8, line 9, line 10 and 3 more")
    assert len([one for one in lines(tmp_path, train, everything=True) if COPIES in one]) == 9


def test_two_findings_are_two_lines(tmp_path: Path) -> None:
    train = HEAD + "w = model.layers[0].get_weights()\nv = model.layers[1].get_weights()\n"
    assert len([one for one in lines(tmp_path, train) if COPIES in one]) == 2


def test_of_the_reasons_of_a_table_that_of_its_own_file_is_named(tmp_path: Path) -> None:
    train = HEAD + "w = model.layers[0].get_weights()\n"
    elsewhere = [one for one in lines(tmp_path, train) if one.startswith("  Tower (line ")]
    assert elsewhere == ["  Tower (line 6): left unchanged; see train.py:5"]
    own = "\ndef rows(model):\n    return model.get_weights()\n"
    here = [one for one in lines(tmp_path, train, tower=own) if one.startswith("  Tower (line ")]
    assert here == ["  Tower (line 6): left unchanged; see line 11"]


def test_notes_on_files_that_no_program_with_tables_uses_are_counted(tmp_path: Path) -> None:
    note = "import tensorflow as tf\nx = eval(input())\n"
    write(tmp_path, {"tool.py": note, "model.py": KERAS_MODEL.replace("NAME", "Tower")})
    report = make_report("c", convert_paths([str(tmp_path)], Options()), "", dry=True)
    for used, everything, shown in ((["model.py"], False, False), (["tool.py"], False, True), ([], True, True)):
        files = [str(tmp_path / name) for name in used]
        said = "\n".join(summary_lines(report, everything=everything, used=lambda files=files: files))
        assert ("evaluates a string as code" in said) is shown, said
        assert ("1 other file without a table; 1 note on them: -v" in said) is not shown, said


def test_tables_of_which_the_same_is_said_are_one_line(tmp_path: Path) -> None:
    """The reason stands in a cell of a notebook, whose line in the cell is what a reader finds."""
    layers = "".join(f"        self.layer{n} = tf.keras.layers.Embedding(9, 4)\n" for n in range(3))
    sums = " + ".join(f"self.layer{n}(x)" for n in range(3))
    tower = (
        "import tensorflow as tf\n\n\nclass Tower(tf.keras.Model):\n    def __init__(self):\n"
        f"        super().__init__()\n{layers}\n    def call(self, x):\n        return {sums}\n"
    )
    cells = [HEAD, "m = 1\nkept = model.layers[0].weights\nsave(kept)\n"]
    body = {"cells": [{"cell_type": "code", "source": one, "metadata": {}, "outputs": []} for one in cells]}
    write(tmp_path, {"tower.py": tower, "try.ipynb": json.dumps({**body, "nbformat": 4, "nbformat_minor": 4})})
    report = make_report("c", convert_paths([str(tmp_path)], Options()), "", dry=True)
    said = [one.replace(f"{tmp_path}/", "") for one in summary_lines(report)]
    names = ", ".join(f"self.layer{n} (line {7 + n})" for n in range(3))
    assert [one for one in said if "layer1" in one] == [f"  {names}: left unchanged; see try.ipynb, cell 2, line 2"]
