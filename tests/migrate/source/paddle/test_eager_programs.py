"""Files of eager programs: the one line that is written, and what is said of names that the façade does not have."""

from __future__ import annotations

import json

import pytest

from migrate.report.model import Applicability, Finding, State
from migrate.source.driver.convert_file import convert_bytes, convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from tests.support.paddle import facade_names

BODY = "\nnet = paddle.nn.Embedding(9, 4)\nnet(paddle.to_tensor([1])).sum().backward()\n"
CALL = "from runtime.compat.paddle import install\n\ninstall()\n"


def run(text: str, **siblings: str) -> SourceResult:
    return convert_text("train.py", text, Options(), {f"{name}.py": other for name, other in siblings.items()})


HEADS = {
    "alone": ("", "import paddle\n"),
    "behind others": (
        '"""Trains."""\nfrom __future__ import annotations\nimport os  # first\n',
        "import paddle as p\n",
    ),
    "on a line": ("x = (1,\n     2)\n", "import os; import paddle\n"),
    "behind another on its line": ("x = 1\n", "y = 2; import paddle\n"),
    "tried": ("import os\n", "try:\n    import paddle\nexcept ImportError:\n    raise\n"),
    "in a function": (
        "import os\n",
        "@staticmethod\ndef f():\n    from paddle.io import Dataset\n    return Dataset\n",
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_the_line_stands_before_the_first_import(name: str) -> None:
    before, head = HEADS[name]
    result = run(before + head)
    assert result.converted == before + CALL + head
    assert [finding.state for finding in result.findings] == [State.APPLIED]
    again = run(result.converted)
    assert not again.changed and [finding.state for finding in again.findings] == [State.NOTED]


def test_tables_are_reported_and_names_are_kept_apart() -> None:
    result = run(
        "from paddle.nn import Embedding\nimport paddle\ndef install(): pass\nEmbedding(n, embedding_dim=2)" + BODY
    )
    assert result.converted.startswith(
        "from runtime.compat.paddle import install as install_paddle\n\ninstall_paddle()\n"
    )
    assert {(table.rows, table.dim) for table in result.tables} == {("n", "2"), ("9", "4")}


REFUSED = {
    "import paddle\npaddle.fluid.layers.fc(1)\n": ("`paddle.fluid.layers`", "Paddle 1", "as eager code"),
    "import paddle\nimport paddle.fluid as fluid\n": ("`paddle.fluid`", "Paddle 1", "as eager code"),
    "import paddle\nfrom paddle import fluid\nfluid.layers.fc(1)\n": ("`paddle.fluid`", "Paddle 1", "as eager code"),
    "import paddle\npaddle.enable_static()\n": ("`paddle.enable_static`", "`static_model.py`", "eager code"),
    "import paddle\nimport pgl\n": ("`pgl` is a package over Paddle", "graphs", "`paddle.nn`"),
    "import paddle\nfrom paddlenlp.data import Pad\n": ("`paddlenlp`", "Paddle itself", "supported is"),
    "import paddle as p\ngetattr(p, 'tanhh')\n": ("`paddle.tanhh`", "does not have it", "use `paddle.tanh`"),
    "from paddle import nn\nnn.Conv9D(1, 2, 3)\n": ("`paddle.nn.Conv9D`", "does not have it", "`paddle.nn.Conv"),
    "from paddle.nn.functional import concat as c\n": ("`paddle.nn.functional.concat`", "does not", "`paddle.concat`"),
    "import paddle.distributed.fleet as fleet\n": ("`paddle.distributed.fleet`", "does not have it", "leave it out"),
}


@pytest.mark.each_case
@pytest.mark.parametrize("text", REFUSED)
def test_a_name_that_is_missing_is_one_finding(text: str) -> None:
    result = run(text + BODY)
    (found,) = result.findings
    message, reason, action = REFUSED[text]
    assert not result.changed and found.remains and found.state is State.UNSUPPORTED
    assert message in found.message and reason in found.reason and action in found.action


def test_a_folder_for_graphs_is_told_so_once() -> None:
    head = "import paddle\nimport pgl\n"
    trainer = "class DygraphModel:\n    def create_model(self, config):\n        return None\n"
    files = {"dygraph_model.py": head + trainer, "net.py": head}
    both = [
        convert_text(name, text, Options(), {other: files[other] for other in files if other != name})
        for name, text in files.items()
    ]
    assert not any(result.changed for result in both)
    (found,), (noted,) = (result.findings for result in both)
    assert found.state is State.UNSUPPORTED and "`pgl` is a package over Paddle" in found.message
    assert noted.state is State.NOTED and "the reason in the finding of dygraph_model.py" in noted.message


def test_what_imports_a_file_that_stays_stays_too() -> None:
    text = "import paddle\nimport middle\n" + BODY
    result = run(text, middle="import net\n", net="import pgl\n")
    (found,) = result.findings
    assert not result.changed and found.remains and found.location.line == 2
    assert "imports `net.py`" in found.message and "stays with Paddle" in found.reason
    assert run(text, middle="import net\n", net="import numpy\n").changed


def test_a_name_in_code_that_may_not_run_is_said_and_the_file_converts() -> None:
    result = run("import paddle\ndef export(net):\n    paddle.onnx.export(net)\n    paddle.static.save(net)\n" + BODY)
    assert result.changed and result.remains
    states = [State.APPLIED, State.SUGGESTED, State.SUGGESTED, State.APPLIED]
    assert [finding.state for finding in result.findings] == states
    assert "`paddle.onnx` in code that may not run" in result.findings[1].message
    graph = run("import paddle\ndef main():\n    paddle.enable_static()\n    paddle.static.data('x')\nmain()\n")
    assert not graph.changed and graph.findings[0].state is State.UNSUPPORTED


SERVED = (
    "import paddle\nif hasattr(paddle, 'frobnicate'):\n    getattr(paddle, 'frobnicate', None)\n",
    "import paddle\nprint(paddle.__version__, paddle.Tensor.anything)\n",
    "import paddle\nfrom paddle import nn\ndef f(nn):\n    return nn.anything\n",
    "import paddle\nfrom pglib import x\n",
    "import paddle\ntry:\n    from paddle.amp import nothing\nexcept ImportError:\n    nothing = None\n",
)


@pytest.mark.parametrize("text", SERVED)
def test_what_the_facade_or_the_program_has_is_no_finding(text: str) -> None:
    assert [finding.rule for finding in run(text, pglib="x = 1").findings] == ["paddle-program"]


def test_a_file_that_hides_the_runtime_and_other_targets_are_said() -> None:
    (found,) = run("import paddle\n", runtime="").findings
    assert found.remains and "the file `runtime.py` hides" in found.message
    (found,) = convert_text("train.py", "import paddle\n", Options(target="deeprec"), {}).findings
    assert found.remains and "has one target" in found.message


def test_the_line_lets_ids_have_rows_of_their_own() -> None:
    """The façade knows of all embeddings at once which get ids that are divided."""
    text = "import paddle\nrows = paddle.nn.Embedding(9, 4)\n"
    done = convert_text("t.py", text, Options(unbucket=("all",)), {})
    assert "install(unbucket=True)\n" in done.converted
    assert {one.applicability for one in done.tables} == {Applicability.CHANGES_VALUES}
    other = convert_text("t.py", text, Options(unbucket=("embedding at line 2",)), {})
    assert "install()\n" in other.converted
    assert "give `--unbucket all`" in "".join(one.action for one in other.findings)


def test_a_notebook_has_the_line_in_its_cell() -> None:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "id": name, "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for name, source in (("a", "%matplotlib inline\nimport os"), ("b", "# the model\nimport paddle"), ("c", BODY))
    ]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    result, written = convert_bytes("train.ipynb", data, Options(), {})
    sources = ["".join(cell["source"]) for cell in json.loads(written)["cells"]]
    assert sources == ["%matplotlib inline\nimport os", f"# the model\n{CALL}import paddle", BODY]
    found: Finding = result.findings[0]
    assert found.state is State.APPLIED and found.location.path == "train.ipynb:cell b"


def test_the_names_are_those_of_the_facade() -> None:
    pytest.importorskip("tensorflow")
    assert facade_names.PATH.read_text(encoding="utf-8") == facade_names.text()
