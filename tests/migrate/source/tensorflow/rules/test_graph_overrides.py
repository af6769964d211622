"""Scopes of a graph that give ops other gradients: the tables of such a program stay."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, stays


@pytest.mark.parametrize(
    "scope",
    [
        "with graph.gradient_override_map(MAP):\n    y = tf.identity(x)\n",
        "opened = graph.gradient_override_map\n",
        "graph._kernel_label_map(MAP)\n",
    ],
)
def test_tables_of_a_program_with_other_gradients_stay(scope: str) -> None:
    stays(HEAD + MADE + LOOKUP + scope + STEP, "a table has ops of its own")
