"""Texts that name a variable, or what TensorFlow adds to its name."""

from __future__ import annotations

import pytest

from migrate.source.tensorflow.facts.optimizers.optimizers import STOCK
from migrate.source.tensorflow.rules.read_by_name import VariableName


@pytest.mark.each_case
@pytest.mark.parametrize("optimizer", STOCK)
def test_a_slot_of_every_optimizer_is_of_its_variable(optimizer: str) -> None:
    usual = optimizer.rpartition(".")[2].removesuffix("Optimizer")
    name = VariableName("users", "model/")
    assert all(name.is_meant_by(f"model/users/{usual}{end}") for end in ("", "_1", "_1:0", "/Read/ReadVariableOp"))
    assert not name.is_meant_by(f"model/users/{usual}er")


def test_a_scope_that_is_known_must_stand_before_the_name_and_another_may_be_any() -> None:
    assert VariableName("users", "model/").is_meant_by("model/users")
    assert not VariableName("users", "model/").is_meant_by("other/users")
    assert all(VariableName("users", None).is_meant_by(text) for text in ("users", "any/scope/users:0"))
    assert not VariableName("users", None).is_meant_by("any/scope_users")
