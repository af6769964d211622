"""Bad input: named in one sentence, left byte for byte, never an exception."""

from __future__ import annotations

import pytest

from migrate.report.model import State
from migrate.source.convert import convert_bytes
from migrate.source.options import Options
from migrate.source.text import decode, syntax_problem

BAD = {
    "python 2 print": (b"import tensorflow as tf\nprint tf\n", "run 2to3 first"),
    "python 2 except": (b"import tensorflow as tf\ntry:\n    f()\nexcept E, e:\n    pass\n", "run 2to3 first"),
    "syntax error": (b"import tensorflow as tf\ndef f(:\n", "line 2"),
    "tabs and spaces mixed": (b"import tensorflow\nif a:\n\tb = 1\n        c = 2\n", "line 4"),
    "not utf-8": (b"import tensorflow\nx = '\xff\xfe'\n", "cannot be decoded"),
    "unknown encoding": (b"# -*- coding: klingon -*-\nimport tensorflow\n", "cannot be decoded"),
    "null byte": (b"import tensorflow\nx = '\x00'\n", "null"),
    "binary": (bytes(range(256)) + b"import tensorflow", "cannot be decoded"),
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


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"# only a comment", b"import tensorflow", b"\xef\xbb\xbf", b"x = 1 # tensorflow\n"],
    ids=["empty", "blank", "comment", "import", "bom", "no import"],
)
def test_harmless_files_give_nothing(data: bytes) -> None:
    result, written = convert_bytes("m.py", data, Options(), {})
    assert written == data
    assert result.findings == ()


def test_a_huge_line_and_form_feeds() -> None:
    text = "import tensorflow.compat.v1 as tf\n\x0c\nx = [" + "1, " * 50_000 + "]\n"
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
    assert any("other code stands on its line" in finding.reason for finding in result.findings)


def test_decode_keeps_encoding_and_mark() -> None:
    source = decode(b"\xef\xbb\xbfx = 1\n")
    assert (source.text, source.bom) == ("x = 1\n", b"\xef\xbb\xbf")
    assert source.encode(source.text) == b"\xef\xbb\xbfx = 1\n"


def test_python_3_is_not_taken_for_python_2() -> None:
    assert "2to3" not in syntax_problem("print(x)\ndef f(:\n")
