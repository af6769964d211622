"""Which tables of a proof a record stands for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migrate.report.model import Location
from migrate.report.table_names import shown_names, tables_of
from tests.support.report_sample import report

_END = "embedding_embedding_weights"
_WHERE = Location("model.py", 3, 3)
_RECORD = replace(report().tables[0], identity="run time", location=_WHERE)


@pytest.mark.parametrize(
    ("record", "name", "is_met"),
    [
        ("user_embedding", f"input_layer_user_{_END}", True),
        ("user_embedding", f"deep_input_layer_1_user_{_END}", True),
        ("user_embedding", f"user_{_END}", True),
        ("user_embedding", "dense_features/user_embedding/embedding_weights", True),
        ("user_embedding", f"input_layer_superuser_{_END}", False),
        ("user_embedding", f"input_layer_user_bucketized_{_END}", False),
        ("user_embedding", "input_layer/super_user_embedding/embedding_weights", False),
        ("W", "tower/old_W", False),
        ("a_b_shared_embedding", "a_b_shared_embedding_embedding_weights", True),
        ("*_embedding", f"input_layer_item_{_END}", True),
        ("*_embedding", "dense_kernel", False),
        ("W", "tower_W", True),
        ("W", "tower_W_2", True),
        ("W", "tower_V", False),
    ],
)
def test_a_name_that_the_run_gives_ends_as_the_source_says(record: str, name: str, is_met: bool) -> None:
    assert tables_of([replace(_RECORD, name=record)], [name]) == [frozenset({name} if is_met else ())]
    assert tables_of([replace(_RECORD, name=record, identity="name")], [name]) == [frozenset()]


def test_the_table_of_a_column_is_called_as_convert_calls_it() -> None:
    names = ["input_layer/city_embedding/embedding_weights", f"dense_features_1_user_{_END}", "W", "input_layer/kernel"]
    assert list(shown_names(names).values()) == ["city_embedding", "user_embedding", "W", "input_layer/kernel"]
    twice = [f"a/input_layer/user_{_END}", f"b/input_layer/user_{_END}"]
    assert list(shown_names(twice).values()) == twice


def test_a_partitioned_variable_of_one_part_has_one_name_in_source_and_runs() -> None:
    names = ["a/w/part_0", "b/part_0", "b/part_1", "input_layer/city_embedding/embedding_weights/part_0"]
    assert list(shown_names(names).values()) == ["a/w", "b/part_0", "b/part_1", "city_embedding"]
    named = [replace(_RECORD, name=name, identity="name") for name in ("a/w", "b")]
    assert tables_of(named, names) == [frozenset({"a/w/part_0"}), frozenset()]
    assert tables_of([replace(_RECORD, name="w")], names[:1]) == [frozenset({"a/w/part_0"})]
