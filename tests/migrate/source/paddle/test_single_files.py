"""A Paddle file that stands alone: what it is told names the forms that are read, and which of them can help it."""

from __future__ import annotations

import pytest

from migrate.report.model import Finding, State
from migrate.schema import load_schema
from migrate.source.paddle.convert import convert
from migrate.source.settings.options import Options
from tests.support.paddle import cases as cases

HEAD = "import paddle\nimport paddle.nn as nn\n\n\n"


def told(text: str, schema: bool = False) -> Finding:
    """Return the only finding of a file without others beside it; its text must stay."""
    given = load_schema(cases.EXAMPLE / "schema.yaml") if schema else None
    result = convert("some.py", text, Options(given), {})
    (found,) = result.findings
    assert result.converted == text
    return found


STATIC = {
    "alias": "import numpy\nimport paddle.static as st\n\n\nuser = st.data('user', [-1, 1], 'int64')\n",
    "imported-there": "def net():\n    import paddle.onnx\n\n    import numpy\n    from paddle.static import data\n\n"
    "    return data('user', [-1, 1], 'int64')\n",
}


@pytest.mark.parametrize("schema", [False, True], ids=["", "schema"])
def test_a_program_of_paddle_1_is_told_so(schema: bool) -> None:
    found = told("import paddle.fluid as fluid\n\nuser = fluid.layers.data('user', [1], dtype='int64')\n", schema)
    assert (found.rule, found.state) == ("paddle-unsupported", State.UNSUPPORTED)
    assert "`paddle.fluid`" in found.message and "Paddle 1" in found.reason and "eager code" in found.action


@pytest.mark.parametrize("name", STATIC)
@pytest.mark.parametrize("schema", [False, True], ids=["", "schema"])
def test_a_static_graph_is_a_model_that_stays(name: str, schema: bool) -> None:
    found = told(STATIC[name], schema)
    assert (found.rule, found.state, found.location.line) == ("paddle-unsupported", State.UNSUPPORTED, 5)
    assert found.message == "the program uses `paddle.static.data`" and "static_model.py" in found.reason
    assert all(name in found.action for name in ("`create_feeds`", "`net`", "`static_model.py`", "`config.yaml`"))
