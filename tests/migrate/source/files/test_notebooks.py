"""Notebooks: edits go to their cells, and everything else stays byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_bytes
from migrate.source.driver.run import convert_paths
from migrate.source.driver.summary import summary_lines
from migrate.source.files.ipython_magics import Masks
from migrate.source.files.notebook import NotebookResult
from migrate.source.settings.options import Options

IMPORTS = "%matplotlib inline\n!pip install tensorflow\nimport tensorflow.compat.v1 as tf"
TABLE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())'
LOOKUP = "%time e = tf.nn.embedding_lookup(W, ids)\ne?"
OUTPUT = [{"output_type": "stream", "name": "stdout", "text": ["tf.nn.embedding_lookup(W, ids)\n"]}]


def cell(source: object, **more: object) -> dict[str, object]:
    return {"cell_type": "code", "execution_count": 3, **more, "metadata": {}, "outputs": OUTPUT, "source": source}


def notebook(*cells: dict[str, object]) -> dict[str, object]:
    text = {"cell_type": "markdown", "id": "text", "metadata": {}, "source": ["# tf.nn.embedding_lookup(W, ids)"]}
    return {"cells": [text, *cells], "metadata": {"z": 1, "a": {}}, "nbformat": 4, "nbformat_minor": 5}


def lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def converted(data: bytes, path: str = "a.ipynb") -> tuple[NotebookResult, bytes]:
    result, written = convert_bytes(path, data, Options(), {})
    assert isinstance(result, NotebookResult), result.findings
    return result, written


MODEL = (cell(lines(IMPORTS), id="one"), cell(TABLE, id="two"), cell(lines(LOOKUP), id="three"))


def sources(data: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(data)["cells"]]


FORMS = {
    "jupyter": {"indent": 1, "ensure_ascii": False},
    "compact": {"separators": (",", ":")},
    "wide": {"indent": 4},
    "tabs": {"indent": "\t"},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("end", ["\n", "", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_only_the_edited_lines_differ(form: dict[str, object], end: str, mark: bytes) -> None:
    data = mark + (json.dumps(notebook(*MODEL), **form) + end).encode()  # type: ignore[arg-type]
    result, written = converted(data)
    assert sources(written[len(mark) :])[1:] == [
        IMPORTS + "\nfrom runtime import create_table, sparse_lookup",
        'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
        "emb_initializer=tf.zeros_initializer())",
        "%time e = sparse_lookup(W, ids)\ne?",
    ]
    again = json.loads(written[len(mark) :])
    for new, old in zip(again["cells"], notebook(*MODEL)["cells"], strict=True):  # type: ignore[call-overload]
        new["source"] = old["source"]
    assert mark + (json.dumps(again, **form) + end).encode() == data
    assert [change.path for change in result.cells] == [f"a.ipynb:cell {name}" for name in ("one", "two", "three")]
    assert converted(written)[1] == written


def test_findings_and_tables_name_the_cell() -> None:
    data = json.dumps(notebook(*MODEL, cell("x = 1\ny = tf.square(W)\nW.assign_add(y)"))).encode()
    result, written = converted(data)
    assert written == data
    [table] = result.tables
    assert (table.location.path, table.location.line) == ("a.ipynb:cell two", 1)
    assert [(place.path, place.line) for place in table.lookups] == [("a.ipynb:cell three", 1)]
    assert ("a.ipynb:cell 5", 3) in {(f.location.path, f.location.line) for f in result.findings}


def test_the_diff_and_the_summary_show_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from migrate.source.driver.run import make_report

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook(*MODEL)))
    done = convert_paths(["."], Options())
    assert "--- a/a.ipynb:cell two\n+++ b/a.ipynb:cell two\n@@ -1 +1 @@\n-W = tf.get_variable(" in done[0].diff
    shown = list(summary_lines(make_report("migrate convert", done, "", dry=False)))
    assert shown[:2] == ["a.ipynb: 1 table converted", "  w (cell two, line 1): converted, exact, 1 lookup"]


def test_a_notebook_of_another_layout_is_laid_out_as_jupyter_does() -> None:
    text = json.dumps(notebook(*MODEL)).replace('"x": 1', '"x":   1').replace('{"cells"', '{  "cells"')
    _, written = converted(text.encode())
    again = json.loads(written)
    assert written == json.dumps(again, indent=1).encode()
    for new, old in zip(again["cells"], json.loads(text)["cells"], strict=True):
        new["source"] = old["source"]
    assert again == json.loads(text)


MAGICS = [
    "%matplotlib inline",
    "!ls -l | grep x",
    "?tf.nn",
    "tf.nn.embedding_lookup??",
    "files = !ls",
    "x = %timeit -o f()",
    "!pip install \\\n  a 'b\nx = 1",
    "if a:\n    %time f(1)\n    !ls",
    "%%time\nx = 1\n%time y = 2",
    "x = (1\n %2)\n%pwd",
    "s = '''\n%no magic\n!none\n'''\n%magic",
    "f(a,\n  # it's\n  b)\n%pwd",
    "%time f('a b')",
    "%run other.py",
]


@pytest.mark.parametrize("source", MAGICS)
def test_magics_are_masked_and_put_back(source: str) -> None:
    masks = Masks("# magic ")
    masked = masks.mask(source)
    assert masked is not None
    compile(masked, "cell", "exec")
    assert masked.count("\n") == source.count("\n")
    assert masks.restore_all([masked]) == [source]
    assert masked != source


def test_what_looks_like_a_magic_in_python_stays() -> None:
    masks = Masks("# magic ")
    source = "x = (1\n  % 2)\ns = '''\n%magic\n'''\n!ls"
    assert (masks.mask(source) or "").split("\n")[:-1] == source.split("\n")[:-1]


def test_cells_of_other_languages_stay() -> None:
    bash = "%%bash\nfor i in 1 2; do echo $i; done"
    data = json.dumps(notebook(*MODEL[:1], cell(lines(bash)), *MODEL[1:])).encode()
    _, written = converted(data)
    assert sources(written)[2] == bash
    assert "create_table" in sources(written)[3]


BAD = {
    "no JSON": (b"{tensorflow", "is no valid notebook"),
    "no cells": (b'{"tensorflow": 1}', "no list of cells"),
    "a list": (b'["tensorflow"]', "no list of cells"),
    "format 3": (b'{"worksheets": [{"cells": []}], "x": "tensorflow"}', "formats before 4"),
    "not UTF-8": (b'{"cells": [], "x": "tensorflow \xff"}', "is no valid notebook"),
    "too deep": (b"[" * 100_000, "is no valid notebook"),
    "a broken cell": (json.dumps(notebook(*MODEL, cell("def f(:"))).encode(), "does not parse at line 1"),
    "an old cell": (json.dumps(notebook(*MODEL, cell("print W"))).encode(), "Python 2"),
    "a source that is none": (json.dumps(notebook(*MODEL, cell(3))).encode(), "is not a string"),
    "an unclosed bracket": (json.dumps(notebook(cell("f("), cell(")"))).encode(), "does not parse"),
    "a magic with the table": (json.dumps(notebook(*MODEL, cell("%memo -x W"))).encode(), "uses a converted table"),
}


@pytest.mark.parametrize(("data", "says"), BAD.values(), ids=BAD)
def test_what_cannot_be_converted_is_named_and_left(data: bytes, says: str) -> None:
    result, written = convert_bytes("a.ipynb", data, Options(), {})
    assert written == data
    assert [finding.state for finding in result.findings] == [State.FAILED]
    assert says in result.findings[0].message


def test_what_does_not_parse_is_found_on_its_line() -> None:
    bad = "import tensorflow\n\ndef f(:\n"
    for name, data in (("a.py", bad.encode()), ("a.ipynb", json.dumps(notebook(*MODEL, cell(bad))).encode())):
        (finding,) = convert_bytes(name, data, Options(), {})[0].findings
        assert (finding.state, finding.location.line) == (State.FAILED, 3)
        assert "does not parse at line 3" in finding.message


def test_notebooks_without_code_or_ids(tmp_path: Path) -> None:
    for data in (b'{"cells": []}', json.dumps(notebook()).encode(), json.dumps(notebook(cell(""), cell([]))).encode()):
        result, written = convert_bytes("a.ipynb", data, Options(), {})
        assert written == data
        assert not result.findings


def test_a_cell_that_is_indented_as_a_whole_runs_in_jupyter_and_is_read() -> None:
    shifted = cell("  e = tf.nn.embedding_lookup(W, ids)\n  print(e)", id="three")
    result, written = converted(json.dumps(notebook(*MODEL[:2], shifted)).encode())
    assert sources(written)[3] == "  e = sparse_lookup(W, ids)\n  print(e)"
    assert [table.name for table in result.tables] == ["w"]
    bad = cell("  e = 1\n    print(e)", id="three")
    kept, _ = convert_bytes("a.ipynb", json.dumps(notebook(*MODEL[:2], bad)).encode(), Options(), {})
    assert "cell three" in kept.findings[0].location.path
    assert "unexpected indent" in kept.findings[0].message


@pytest.mark.parametrize("head", ["%%writefile model.py", "%%file -a model.py"])
def test_a_cell_that_writes_a_program_with_lookups_is_opaque(head: str) -> None:
    text = (
        f"{head}\nimport tensorflow as tf\n# embedding_lookup\ne = tf.nn.embedding_lookup(W, ids)\ny = tf.gather(e, i)"
    )
    data = json.dumps(
        notebook(*MODEL, cell(lines(text), id="file"), cell("%%writefile a.py\nx = 1", id="other"))
    ).encode()
    result, _ = converted(data)
    [finding] = [f for f in result.findings if f.state is State.OPAQUE]
    place = finding.location
    assert (place.path, place.line, place.end_line) == ("a.ipynb:cell file", 4, 5)
    assert f"`{head}` writes a program" in finding.message
    assert result.changed
