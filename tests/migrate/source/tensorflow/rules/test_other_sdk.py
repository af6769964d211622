"""Programs for SparseOperationKit and DeepRec stay as they are, with one finding that says how to run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.report.model import Finding, State
from migrate.source.driver.run import convert_paths
from migrate.source.settings.options import Options
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted

SOK = "import tensorflow as tf\nimport sparse_operation_kit as sok\n"
STOCK = MADE + LOOKUP + "loss = tf.reduce_sum(e)\n"
ITEM = 'item = tf.get_embedding_variable("item", 8)\n'
#: Programs without a stock variable: the first code of the SDK, and the rest.
PROGRAMS = {
    "sok": ("import sparse_operation_kit as sok", "item = sok.DynamicVariable(dimension=8)\n"),
    "sok, by its name": ('"sparse_operation_kit"', "import importlib\nsok = importlib.import_module({})\n"),
    "a variable": ("tf.get_embedding_variable", 'item = {}("item", 8)\ne = tf.nn.embedding_lookup(item, ids)\n'),
    "an option": ("tf.CounterFilter", "o = {}(3)\n"),
    "an optimizer": ("tf.train.AdamAsyncOptimizer", "op = {}(0.1).minimize(loss)\n"),
}  # fmt: skip


def said(findings: list[Finding]) -> list[Finding]:
    """Return the findings that are more than notes."""
    return [one for one in findings if one.state is not State.NOTED]


@pytest.mark.parametrize(("used", "rest"), PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.each_case
def test_a_program_is_left_unchanged_with_one_finding(used: str, rest: str) -> None:
    imported = used.startswith(("import", "from"))
    text = f"import tensorflow as tf\n{used}\n{rest}" if imported else "import tensorflow as tf\n" + rest.format(used)
    for assume in (False, True):
        result = converted(text, assume=assume)
        assert not result.changed
        assert {table.verdict for table in result.tables} <= {State.UNSUPPORTED}
        (finding,) = said(list(result.findings))
        assert finding.rule == "tf-other-sdk" and finding.state is State.UNSUPPORTED
        assert f"`{used}` is of" in finding.message
        facade = "sok" if "sparse_operation_kit" in used else "deeprec"
        assert f"run the program as it is: `python -m runtime.compat.{facade} model.py`" in finding.action


def test_layers_and_variables_of_keras_stay_as_well() -> None:
    assert converted("import tensorflow as tf\n" + LAYER).changed
    result = converted(SOK + LAYER)
    assert not result.changed
    assert [one.rule for one in said(list(result.findings))] == ["tf-other-sdk"]
    assert "is of SparseOperationKit" in result.tables[0].reasons[0]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "from tensorflow.contrib.opt import AdamWOptimizer\n" + STOCK + STEP,
        HEAD + "class CounterFilter:\n    pass\n\n\nkept = CounterFilter()\n" + STOCK + STEP,
        HEAD + "# as tf.get_embedding_variable and sparse_operation_kit have it\n" + STOCK + STEP,
        HEAD + STOCK + "settings.StorageOption = 1\n" + STEP,
    ],
    ids=["an optimizer of contrib", "a class of the program", "a comment", "an attribute"],
)
def test_other_programs_are_converted(text: str) -> None:
    result = converted(text)
    assert result.changed
    assert "tf-other-sdk" not in {one.rule for one in result.findings}


@pytest.mark.parametrize(("target", "text"), [("sok", SOK), ("deeprec", HEAD + ITEM)])
def test_for_its_own_sdk_a_program_is_complete(target: str, text: str) -> None:
    result = converted(text, target=target)
    assert [(one.state, one.reason) for one in result.findings] == [(State.NOTED, "the target has it")]
    assert [one.state for one in converted(text, target="rec_sdk").findings] == [State.UNSUPPORTED]


def test_a_program_of_several_files_has_one_finding(tmp_path: Path) -> None:
    files = {
        "model.py": SOK + "item = sok.DynamicVariable(dimension=8)\n",
        "stock.py": HEAD + STOCK,
        "train.py": SOK + "import model\nimport stock\n" + STEP.replace("loss", "stock.loss"),
        "other.py": HEAD + STOCK.replace('"w"', '"other"') + STEP,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    results = {one.source.path.name: one.result for one in convert_paths([str(tmp_path)], Options(assume=True))}
    assert {name for name, result in results.items() if result.changed} == {"other.py"}
    (finding,) = said([one for name in results if name != "other.py" for one in results[name].findings])
    assert finding.location.path == str(tmp_path / "train.py")
    assert f"python -m runtime.compat.sok {tmp_path / 'train.py'}`" in finding.action
    assert results["stock.py"].tables[0].verdict is State.UNSUPPORTED


TRIED = "try:\n    import sparse_operation_kit as sok\nexcept ImportError:\n    sok = None\n"
LAYER = "m = tf.keras.Sequential([tf.keras.layers.Embedding(9, 4)])\nm.compile('sgd', 'mse')\n"


@pytest.mark.parametrize("text", [HEAD + TRIED + STOCK + STEP, "import tensorflow as tf\n" + TRIED + LAYER])
def test_an_import_that_may_fail_is_a_doubt(text: str) -> None:
    result = converted(text)
    assert not result.changed
    (finding,) = said(list(result.findings))
    assert (finding.rule, finding.state) == ("tf-other-sdk", State.SUGGESTED)
    assert finding.assumptions == ("SparseOperationKit is not installed where the program runs",)
    assert converted(text, assume=True).changed
    assert not converted(text + 'tf.get_embedding_variable("v", 4)\n', assume=True).changed


@pytest.mark.parametrize("made", [STOCK, "m = tf.keras.Sequential([tf.keras.layers.Embedding(9, 4)])\n"])
def test_what_a_comment_ignores_is_a_note(made: str) -> None:
    result = converted(f"{SOK.rstrip()}  # migrate: ignore[tf-other-sdk] it runs there\n{HEAD}{made}")
    assert not result.changed and not said(list(result.findings))
    assert {table.verdict for table in result.tables} == {State.NOTED}


def test_the_command_names_the_program_that_imports_the_file(tmp_path: Path) -> None:
    (tmp_path / "a_model.py").write_text(HEAD + ITEM, encoding="utf-8")
    (tmp_path / "main.py").write_text("import a_model\n", encoding="utf-8")
    results = {one.source.path.name: one.result for one in convert_paths([str(tmp_path)], Options())}
    (finding,) = results["a_model.py"].findings
    assert f"python -m runtime.compat.deeprec {tmp_path / 'main.py'}`" in finding.action
