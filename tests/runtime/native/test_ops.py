"""Ops of tables in a v1 graph: shapes, insertion, messages, snapshots and imports."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from runtime import native
from runtime.native import ops
from tests.support.raw_table import RawTable

v1 = tf.compat.v1
INVALID = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"dim": 0, "initializer": "1:constant:0.0:0.0"}, "table 'user' has dim 0"),
        ({"dim": -3, "initializer": "1:constant:0.0:0.0"}, "table 'user' has dim -3"),
        ({"initializer": "2:gamma:0.0:1.0"}, "block '2:gamma:0.0:1.0' of table 'user'"),
        ({"initializer": "3:normal:0.0:1.0"}, "more than its 2 columns"),
        ({"initializer": "1:normal:0.0:1.0"}, "covers 1 of its 2 columns"),
        ({"reserve": -1}, "reserves -1 rows"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_attributes_are_named(graph: tf.Graph, attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(INVALID, match=message):
        RawTable(graph, **attrs).size()


def test_wrong_inputs_are_named(table: RawTable) -> None:
    with table.graph.as_default():
        unknown = v1.placeholder_with_default([[3]], shape=None)
        wide = v1.placeholder_with_default(tf.zeros([0, 5]), shape=None)
        calls = {
            "its handle is 12345": ops().rec_lookup(tf.constant(12345, tf.int64), table.anchor, [1], []),
            r"handle has shape \[1, 1\]; it must be a scalar": ops().rec_table_size(tf.cast(unknown, tf.int64)),
            r"anchor of table 'user' has shape \[0, 5\]; it must be \[0, 2\]": ops().rec_lookup(
                table.handle, wide, [1], []
            ),
        }
    for message, op in calls.items():
        with pytest.raises(INVALID, match=message):
            table.session.run(op)


def test_our_declarations_agree_with_the_installed_tensorflow() -> None:
    cxx = shlex.split(os.environ.get("CXX", "g++"))
    include = ["-isystem", tf.sysconfig.get_include(), "-I", str(Path(native.__file__).parent)]
    source = Path(__file__).with_name("tf_headers.cc")
    command = [*cxx, "-std=c++17", "-fsyntax-only", "-Werror", *include, str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_missing_library_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(native, "LIBRARY", tmp_path / "librecmigrate.so")
    with pytest.raises(ImportError, match=r"pip install \."):
        native.ops.__wrapped__()
    native.LIBRARY.write_text("not a library")
    with pytest.raises(ImportError, match="cannot be loaded"):
        native.ops.__wrapped__()
