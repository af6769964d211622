"""Texts that name a variable, or what TensorFlow adds to its name."""

from __future__ import annotations

import pytest

from migrate.source.tensorflow.facts.optimizers.optimizers import STOCK
from migrate.source.tensorflow.facts.variables.variable_names import VariableName


@pytest.mark.each_case
@pytest.mark.parametrize("optimizer", STOCK)
def test_a_slot_of_every_optimizer_is_of_its_variable(optimizer: str) -> None:
    usual = optimizer.rpartition(".")[2].removesuffix("Optimizer")
    name = VariableName("users", "model/")
    assert all(name.is_meant_by(f"model/users/{usual}{end}") for end in ("", "_1", "_1:0", "/Read/ReadVariableOp"))
    assert not name.is_meant_by(f"model/users/{usual}er")
