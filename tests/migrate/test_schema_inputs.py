"""`inputs` of a schema: the items of a batch, for readers that cannot be executed."""

from __future__ import annotations

import pytest

from migrate.errors import MigrateError
from migrate.schema import parse_inputs as parsed
from migrate.schema_batch import Batch, BatchDict, BatchItem

ITEM = "{shape: [null, 1], dtype: int64}"


def parse_inputs(text: str, path: str) -> Batch:
    return parsed(f"version: 1\n{text}", path)


def test_items_may_have_names_which_are_those_of_no_tensor() -> None:
    text = f"inputs: {{ids: {ITEM}, more: [{{dtype: {ITEM}, shape: [{ITEM}]}}]}}"
    found, ids = parse_inputs(text, "s.yaml"), BatchItem((None, 1), "int64")
    assert isinstance(found, BatchDict)
    assert found == BatchDict((("ids", ids), ("more", (BatchDict((("dtype", ids), ("shape", (ids,)))),))))
    assert (list(found), found["ids"], len(found)) == (["ids", "more"], ids, 2)
    assert hash(found) == hash(parse_inputs(text, "other.yaml"))  # results of a schema are kept by it


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("inputs: [{shape: [1], dtype: int64, from: 2}]", "`inputs[0].below` is missing; give a number above `from`"),
        ("inputs: [{shape: [1], dtype: int64, from: 2, below: 2}]", "`inputs[0].below` is 2, but `from` is 2; give"),
        ("inputs: [{shape: [1], dtype: int64, below: 0}]", "`inputs[0].below` is 0, but `from` is 0; give a larger"),
        ("inputs: [{shape: [1], dtype: int64, below: a}]", "`inputs[0].below` is 'a'; give a number"),
        ("inputs: 3", "s.yaml: `inputs` is 3; give a list of items, or a mapping of names"),
        ("inputs: {}", "s.yaml: `inputs` is empty; give"),
        ("inputs: {a: 3}", "s.yaml: `inputs.a` is 3; give `{shape: [null, 1], dtype: int64}` for each"),
        (f"inputs: {{3: {ITEM}}}", "s.yaml: `inputs` has the name 3; give names as text"),
        ("inputs: {a: {shape: [1]}}", "s.yaml: `inputs.a.dtype` is missing; use one of `bool`"),
        ("inputs: [{ids: {dtype: int64}}]", "s.yaml: `inputs[0].ids.shape` is missing"),
        ("inputs: {shape: [1], dtype: int64}", "s.yaml: `inputs.shape[0]` is 1; give a mapping of `shape`"),
        ("inputs: [{}]", "s.yaml: `inputs[0].shape` is missing"),
        (f"inputs: {'{a: ' * 9}{ITEM}{'}' * 9}", "is in 8 lists; give fewer"),
        ("inputs: []", "s.yaml: `inputs` is empty"),
        ("inputs: [3]", "s.yaml: `inputs[0]` is 3; give a mapping of `shape`, `dtype`"),
        ("inputs: [[{dtype: int64}]]", "s.yaml: `inputs[0][0].shape` is missing"),
        ("inputs: [{shape: [1]}]", "s.yaml: `inputs[0].dtype` is missing; use one of `bool`"),
        ("inputs: [{shape: [1], dtype: string}]", "s.yaml: `inputs[0].dtype` is 'string'; use one of `bool`"),
        ("inputs: [{shape: [0], dtype: int64}]", "s.yaml: `inputs[0].shape` has the size 0; give a number of at least"),
        ("inputs: [{shape: [true], dtype: int64}]", "s.yaml: `inputs[0].shape` has the size True"),
        ("inputs: [{shape: [1], dtype: int64, name: x}]", "s.yaml: unknown key `inputs[0].name`"),
        (f"inputs: {'[' * 9}{ITEM}{']' * 9}", "is in 8 lists; give fewer"),
    ],
)
def test_mistakes_are_one_sentence(text: str, message: str) -> None:
    with pytest.raises(MigrateError) as error:
        parse_inputs(text, "s.yaml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_aliases_make_no_endless_list() -> None:
    lines = ["inputs:", f"  - &a0 [{', '.join([ITEM] * 10)}]"]
    lines += [f"  - &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 7)]
    with pytest.raises(MigrateError, match="more than 10000 items"):
        parse_inputs("\n".join(lines), "s.yaml")
