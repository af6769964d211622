"""Models with one-hot columns for another SDK than the runtime, and with switches: what the module makes and says."""

from __future__ import annotations

import ast
import re

import pytest

from migrate.report.model import Applicability
from migrate.schema import load_schema
from migrate.source.driver.convert_file import convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import NO_SWITCHES, Options
from migrate.targets.switches import Switches
from tests.support.paddle import cases

FILES = cases.example_files()
SCHEMA = load_schema(cases.EXAMPLE / "schema.yaml")


def converted(target: str, switches: Switches = NO_SWITCHES, before: str = "", after: str = "") -> SourceResult:
    text = FILES["net.py"]
    assert before in text
    beside = {name: text for name, text in FILES.items() if name != "net.py"}
    return convert_text("net.py", text.replace(before, after), Options(SCHEMA, target, switches), beside)


def functions(text: str) -> dict[str, str]:
    """Return the functions of a module by their names."""
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.unparse(node) for node in nodes}


@pytest.mark.parametrize(
    ("target", "imported", "made", "looked_up"),
    [
        ("rec_sdk", "from mx_rec.core.embedding import create_table, sparse_lookup", "create_table(", "is_train="),
        ("deeprec", "", "tf.get_embedding_variable(", "tf.nn.embedding_lookup(table, keys)"),
        ("sok", "import sparse_operation_kit as sok", "sok.DynamicVariable(", "sok.all2all_dense_embedding(table,"),
    ],
)
@pytest.mark.one_case
def test_a_module_makes_the_tables_of_its_sdk(target: str, imported: str, made: str, looked_up: str) -> None:
    result = converted(target)
    assert result.changed and "runtime" not in result.converted and imported in result.converted
    found = functions(result.converted)
    assert made in found["create_embedding_tables"] and looked_up in found["lookup_embedding"]
    assert ("is_training" in found["lookup_embedding"]) == (target == "rec_sdk")
    assert max(map(len, result.converted.splitlines())) <= 120
    (table,) = result.tables
    assert table.applicability is Applicability.EXACT  # all kernels begin with constants


@pytest.mark.parametrize("target", ["rec_sdk", "deeprec", "sok"])
@pytest.mark.one_case
def test_a_module_is_that_of_the_runtime_with_what_it_uses_of_it(target: str) -> None:
    own, sdk = (ast.parse(converted(name).converted) for name in ("runtime", target))
    carried = next(node for node in sdk.body if isinstance(node, ast.ClassDef) and node.name == "nn")
    names = {node.name for node in carried.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert names == {"Weight", "Layer", "Linear", "initializer", "one_hot", "functional"}
    same = {"create_loss", "build_model", "sparse_keys"}
    texts = [{name: text for name, text in functions(ast.unparse(tree)).items() if name in same} for tree in (own, sdk)]
    assert texts[0] == texts[1] and texts[0].keys() == same
    models = [
        {
            item.name: ast.unparse(item)
            for node in tree.body
            if getattr(node, "name", "") == "MMoELayer"
            for item in getattr(node, "body", ())
            if isinstance(item, ast.FunctionDef)
        }
        for tree in (own, sdk)
    ]
    assert models[0]["forward"] == models[1]["forward"] and models[0]["__init__"] == models[1]["__init__"]


def test_the_class_has_the_name_that_the_file_has_for_layers() -> None:
    text = (
        FILES["net.py"]
        .replace("import paddle.nn as nn", "import paddle.nn as pnn")
        .replace("nn.", "pnn.")
        .replace("paddle.pnn.", "paddle.nn.")
    )
    beside = {name: text for name, text in FILES.items() if name != "net.py"}
    result = convert_text("net.py", text, Options(SCHEMA, "sok"), beside)
    assert "class pnn:" in result.converted and "isinstance(value, pnn.Layer)" in result.converted
    assert "tf.nn.relu" in result.converted and not re.search(r"(?<!\.)\bnn\.", result.converted)


def test_findings_name_the_method_that_they_are_in() -> None:
    result = converted("runtime", before="import paddle\n", after="#\n" * 80 + "import paddle\n")
    scopes = [one.location.scope for one in result.findings if one.rule == "paddle-linear"]
    assert len(scopes) > 2 and {*scopes} == {"MMoELayer.__init__"}


def test_the_runtimes_lookup_is_written_where_switches_change_it() -> None:
    assert "lookup_embedding" not in converted("runtime").converted
    result = converted("runtime", Switches(admission=3, eviction=60))
    found = functions(result.converted)
    assert "'access_threshold': 3" in found["lookup_embedding"] and "create_embedding_tables" not in found
    assert max(map(len, result.converted.splitlines())) <= 120
    assert result.tables[0].applicability is Applicability.CHANGES_VALUES
    told = [one.message for one in result.findings if one.rule == "paddle-sdk"]
    assert any("fewer than 3 times" in one for one in told) and any("EvictHook" in one for one in told)


@pytest.mark.parametrize(("target", "says"), [("sok", "U(0, 1) alone"), ("deeprec", "rows of a matrix in turn")])
def test_initial_values_that_an_sdk_has_not_are_told(target: str, says: str) -> None:
    result = converted(target, before="value=expert_init[i]", after="value=0.1")
    assert not any(says in one.message for one in result.findings)
    drawn = "nn.initializer.Constant(value=expert_init[i])"
    result = converted(target, before=drawn, after="nn.initializer.XavierUniform()")
    told = [one for one in result.findings if says in one.message]
    assert [one.applicability for one in told] == [Applicability.CHANGES_VALUES]
    assert result.tables[0].applicability is Applicability.CHANGES_VALUES
