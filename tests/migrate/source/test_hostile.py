"""Bad input: named in one sentence, left byte for byte, never an exception."""

from __future__ import annotations

import ast

import pytest

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_bytes
from migrate.source.driver.sanity_check import check_unchanged
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.encoding import IS_PYTHON2, decode, syntax_problem
from migrate.source.settings.options import Options
from migrate.source.tensorflow import convert as one_file

BAD = {
    "python 2 print": (b"import tensorflow as tf\nprint tf\n", "is Python 2; make"),
    "python 2 except": (b"import tensorflow as tf\ntry:\n    f()\nexcept E, e:\n    pass\n", "is Python 2; make"),
    "syntax error": (b"import tensorflow as tf\ndef f(:\n", "line 2"),
    "tabs and spaces mixed": (b"import tensorflow\nif a:\n\tb = 1\n        c = 2\n", "line 4"),
    "not utf-8": (b"import tensorflow\nx = '\xff\xfe'\n", "cannot be decoded"),
    "unknown encoding": (b"# -*- coding: klingon -*-\nimport tensorflow\n", "cannot be decoded"),
    "null byte": (b"import tensorflow\nx = '\x00'\n", "null"),
    "binary": (bytes(range(256)) + b"import tensorflow", "cannot be decoded"),
    "tabs before spaces": (b"import tensorflow\ndef embedding():\n    if a:\n\t    b = 1\n", "libcst cannot parse"),
    "bare carriage returns": (b"import tensorflow as tf\rembedding = 1\r", "line ends"),
    "deep nesting": (b"import tensorflow\nx = " + b"(" * 5000 + b")" * 5000 + b"\n", "does not parse"),
}


@pytest.mark.parametrize(("data", "says"), BAD.values(), ids=BAD)
def test_it_is_reported_and_left_as_it_is(data: bytes, says: str) -> None:
    result, written = convert_bytes("m.py", data, Options(), {})
    assert written == data
    assert [finding.state for finding in result.findings] == [State.FAILED]
    assert says in result.findings[0].message
    assert "\n" not in result.findings[0].message


@pytest.mark.parametrize("broken", ["x = (", "x = y"], ids=["no Python", "an unbound name"])
def test_a_conversion_that_is_not_sound_is_not_handed_out(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def convert(path: str, text: str, *_: object) -> SourceResult:
        return SourceResult(path, "tensorflow", text, text.replace("x = 1", broken))

    monkeypatch.setattr(one_file, "convert", convert)
    data = b"import tensorflow as tf\nx = 1\n"
    result, written = convert_bytes("m.py", data, Options(), {})
    assert written == data
    assert [finding.state for finding in result.findings] == [State.FAILED]


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"# only a comment", b"import tensorflow", b"\xef\xbb\xbf", b"x = 1 # tensorflow\n"],
    ids=["empty", "blank", "comment", "import", "bom", "no import"],
)
def test_harmless_files_give_nothing(data: bytes) -> None:
    result, written = convert_bytes("m.py", data, Options(), {})
    assert written == data
    assert result.findings == ()


@pytest.mark.soak
def test_a_huge_line_and_form_feeds() -> None:
    text = "import tensorflow.compat.v1 as tf\n\x0c\nx = [" + "1, " * 10_000 + "]\n"
    text += 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, i)\n'
    result, written = convert_bytes("m.py", text.encode(), Options(), {})
    assert result.changed
    assert written.decode().startswith("import tensorflow.compat.v1 as tf\n")
    assert "\x0c" in written.decode()


def test_line_continuations_and_semicolons() -> None:
    text = (
        "import tensorflow.compat.v1 as tf; import os\n"
        'W = \\\n    tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer()); n = 1\n'
        "e = (tf.nn\n     .embedding_lookup((W), (i)))\n"
    )
    result, _ = convert_bytes("m.py", text.encode(), Options(), {})
    assert result.converted == (
        "import tensorflow.compat.v1 as tf; import os\nfrom runtime import create_table, sparse_lookup\n"
        'W = \\\n    create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
        "emb_initializer=tf.zeros_initializer()); n = 1\n"
        "e = (sparse_lookup((W), (i)))\n"
    )


def test_a_step_that_shares_its_line_is_refused() -> None:
    text = (
        'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\n'
        "e = tf.nn.embedding_lookup(W, i); op = tf.train.AdagradOptimizer(0.1).minimize(e)\n"
    )
    result, _ = convert_bytes("m.py", text.encode(), Options(), {})
    assert not result.changed
    assert any("has no line of its own" in finding.message for finding in result.findings)


def test_decode_keeps_encoding_and_mark() -> None:
    source = decode(b"\xef\xbb\xbfx = 1\n")
    assert (source.text, source.bom) == ("x = 1\n", b"\xef\xbb\xbf")
    assert source.encode(source.text) == b"\xef\xbb\xbfx = 1\n"


def test_python_3_is_not_taken_for_python_2() -> None:
    assert "2to3" not in syntax_problem("print(x)\ndef f(:\n")


@pytest.mark.parametrize(
    "line",
    [
        "print 'a' % b",
        "if a: print b",
        "try: f()\nexcept (A, B), e: pass",
        "def f(a, (b, c)): pass",
        "g = lambda (a, b): a",
        "n = 10L",
        "mode = 0777",
        "s = ur'x'",
        "t = `n`",
        "exec code in scope",
        "raise E, 'text'",
        "if a <> b: pass",
    ],
)
def test_what_only_python_2_accepts_is_named_so(line: str) -> None:
    assert syntax_problem(f"import tensorflow as tf\n{line}\n") == IS_PYTHON2


def test_tabs_that_count_for_eight_spaces_are_named_so() -> None:
    mixed = "if x:\n        a = 1\n\tb = 2\n"
    assert "tabs and spaces as only Python 2 allows, at line 3; write spaces by `expand" in syntax_problem(mixed)
    assert not syntax_problem(mixed.expandtabs(8))


def test_marks_of_python_2_in_a_comment_are_no_proof() -> None:
    assert "at line 3" in syntax_problem("# `name`, 10L, print >> f\nx = 1\ndef f(:\n")


def test_a_conversion_that_its_encoding_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = SourceResult("m.py", "tensorflow", "x = 1\n", "x = '\N{SNOWMAN}'\n")
    monkeypatch.setattr("migrate.source.driver.convert_file.convert_text", lambda *_: changed)
    data = b"# -*- coding: latin-1 -*-\nx = 1\n"
    result, written = convert_bytes("m.py", data, Options(), {})
    assert written == data
    assert "cannot be encoded" in result.findings[0].message


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1\nb = 2\n", "a = '''\nb = 2\n'''\n"),
        ("f(1)\ng()\n", "if f(1):\n    pass\nelse:\n    pass\ng(2)\n"),
        ("if a:\n    b()\nelse:\n    c()\n", "if a:\n    b()\n    if d: pass\nelse:\n    c()\n"),
        ("if a:\n    b()\nelif c:\n    d()\ne()\n", "if a:\n    b()\n    x()\nelif c:\n    d()\n    y()\ne()\n"),
        ("for x in y:\n    f(x)\n    g(x)\n", "for x in y:\n    if x: pass\n    g(x)\n"),
    ],
)
def test_edits_may_change_their_own_lines(before: str, after: str) -> None:
    if "'''" in after:
        with pytest.raises(ValueError, match="line 2 changed although it was not edited"):
            check_unchanged(ast.parse(before), before, ast.parse(after), after)
    else:
        check_unchanged(ast.parse(before), before, ast.parse(after), after)


def test_a_statement_that_lands_in_another_block_is_seen() -> None:
    before = "if a:\n    b()\n    c()\nd()\n"
    after = "if a:\n    b()\nelse:\n    c()\nd()\n"
    with pytest.raises(ValueError, match="line 3 changed although it was not edited"):
        check_unchanged(ast.parse(before), before, ast.parse(after), after)
