"""The converted file reads like the source: its comments, names, loops and line ends stay."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest

from migrate.schema import load_schema
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle.convert import convert, follow
from migrate.source.settings.options import Options
from tests.support.paddle import cases as cases
from tests.support.paddle import oracle as oracle


def example() -> SourceResult:
    """Convert examples/mmoe."""
    files = cases.example_files()
    return oracle.converted(files["net.py"], load_schema(cases.EXAMPLE / "schema.yaml"), files)


def comments(text: str) -> list[str]:
    """Return the comments of a file."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


@pytest.mark.parametrize("name", cases.MODELS)
def test_comments_classes_and_methods_stay(name: str) -> None:
    source_name, schema = cases.MODELS[name]
    source = cases.source(source_name)
    converted = oracle.converted(source, schema).converted
    assert [c for c in comments(converted) if c in comments(source)] == comments(source)
    before, after = ast.parse(source), ast.parse(converted)
    classes = {node.name: node for node in after.body if isinstance(node, ast.ClassDef)}
    for node in before.body:
        if isinstance(node, ast.ClassDef):
            methods = [item.name for item in node.body if isinstance(item, ast.FunctionDef)]
            kept = [item.name for item in classes[node.name].body if isinstance(item, ast.FunctionDef)]
            assert [item for item in kept if item != "embedding_initializer"] == methods
    assert "paddle" not in "\n".join(line.partition("#")[0] for line in converted.splitlines())


def test_line_ends_indentation_and_foreign_letters_stay() -> None:
    source, schema = cases.MODELS["dnn"]
    text = cases.source(source).replace('"""A plain', '"""普通的 ').replace("y = input_data", "y = input_data  # 输入")
    text = text.replace("return paddle.nn", "é = 1; return paddle.nn")
    windows = oracle.converted(text.replace("\n", "\r\n"), schema).converted
    assert windows.count("\r\n") == windows.count("\n")
    assert windows.replace("\r\n", "\n") == oracle.converted(text, schema).converted
    tabs = oracle.converted(text.replace("    ", "\t"), schema).converted
    assert "\tdef embedding_initializer(self) -> Any:\n\t\t" in tabs
    compile(tabs, "net.py", "exec")


def test_a_second_conversion_changes_nothing() -> None:
    first = example()
    again = convert("net.py", first.converted, Options(schema=load_schema(cases.EXAMPLE / "schema.yaml")), {})
    assert not again.changed and not again.remains


def test_arguments_come_from_the_trainer_when_the_schema_has_none() -> None:
    files = cases.example_files()
    schema = load_schema(cases.EXAMPLE / "schema.yaml")
    bare = type(schema)(schema.path, type(schema.model)(), schema.input, schema.labels)
    program = follow("net.py", files["net.py"], bare, files)
    assert (program.name, program.arguments) == (schema.model.name, schema.model.arguments)
    assert convert("net.py", files["net.py"], Options(schema=bare), files).changed


def test_a_default_of_the_model_gives_way_to_what_the_trainer_gives() -> None:
    files = cases.example_files()
    net = files["net.py"].replace(" gate_num):", " gate_num, narrow=False):", 1)
    trainer = files["dygraph_model.py"].replace("tower_size, gate_num)", "tower_size, gate_num, narrow=True)")
    schema = load_schema(cases.EXAMPLE / "schema.yaml")
    program = follow("net.py", net, schema, files | {"dygraph_model.py": trainer})
    assert net != files["net.py"] and program.arguments == {**schema.model.arguments, "narrow": True}
    assert not program.run.problems
