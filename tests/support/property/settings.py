"""Runs random sequences of operations, as many as the profile of conftest.py says."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def run(machine: type[RuleBasedStateMachine], examples: int, steps: int, **attributes: Any) -> None:
    """Run a machine with class attributes replaced; `examples` is what the profile `whole` draws."""
    part = max(1, examples * settings().max_examples // 100)
    made: Any = type(machine.__name__, (machine,), attributes)
    run_state_machine_as_test(made, settings=settings(max_examples=part, stateful_step_count=steps))
