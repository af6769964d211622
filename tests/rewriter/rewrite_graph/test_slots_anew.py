"""An op that starts slots anew in the middle of training leaves the rows, as it leaves a stock variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from tests.support.rewriter.compare import DIM, Inputs, head, variable
from tests.support.rewriter.models import OPTIMIZERS

v1 = tf.compat.v1


def _losses(moved: bool, optimizer: str, ends: tuple[str, ...], use_resource: bool = True, parts: int = 0) -> Any:
    """Train, start the slots of `user` with these endings anew after ten steps, and go on."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        user = variable(use_resource=use_resource, partitioner=v1.fixed_size_partitioner(parts) if parts else None)
        rows = tf.reshape(v1.nn.embedding_lookup(user, inputs.features["ids"], "mod"), [-1, 3 * DIM])
        loss, step = head(rows, inputs.labels, OPTIMIZERS[optimizer]())
        slots = [one for one in v1.global_variables() if one.op.name.startswith("user/") and _ends(one, ends)]
        others = [one for one in v1.global_variables() if not any(one is slot for slot in slots)]
        assert len(slots) == max(1, parts) * len(ends)
        anew, first = v1.variables_initializer(slots), v1.variables_initializer(others)
        assert not moved or [table.name for table in rewrite(graph).tables] == ["user"]
        session.run([anew, first])
        found = []
        for number, feed in enumerate(inputs.feeds(25)):
            if number == 10:
                session.run(anew)
            found.append(session.run([loss, step], feed)[0])
        return np.array(found)


def _ends(one: Any, ends: tuple[str, ...]) -> bool:
    return one.op.name.endswith(ends)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize(
    ("optimizer", "ends"),
    [
        ("adagrad", ("/Adagrad",)),
        ("adam", ("/Adam", "/Adam_1")),
        ("adam", ("/Adam",)),
        ("adam", ("/Adam_1",)),
        ("rmsprop_centered", ("/RMSProp", "/RMSProp_1", "/RMSProp_2")),
        ("rmsprop_centered", ("/RMSProp_1",)),
        ("ftrl", ("/Ftrl", "/Ftrl_1")),
    ],
)
def test_slots_start_anew(optimizer: str, ends: tuple[str, ...], use_resource: bool) -> None:
    stock, moved = (_losses(one, optimizer, ends, use_resource) for one in (False, True))
    np.testing.assert_allclose(moved, stock, rtol=1e-5)
