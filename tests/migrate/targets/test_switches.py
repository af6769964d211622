"""No switch is swallowed: for every target each one changes what is written, is named by a finding, or is refused."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")
from migrate.errors import MigrateError
from migrate.targets import NAMES
from migrate.targets.switches import FLAGS, KEYS, MODES
from tests.support.targets.conversion import convert
from tests.support.targets.programs import MONITORED, SESSION, program

#: Values of each switch that are not its default.
_VALUES: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(FLAGS, (True,)),
    "cache-mode": MODES,
    "admission": (1, 3),
    "eviction": (60, "60steps"),
}


def _written(target: str, **switches: object) -> tuple[str, str]:
    """Return the converted program and the words of the findings."""
    kind = SESSION if target == "sok" else MONITORED
    found = convert(program(kind, "tf.train.GradientDescentOptimizer(0.1)"), target, assume=True, **switches)
    words = [word for one in found.findings for word in (one.message, one.reason, one.action, *one.assumptions)]
    return found.converted, "\n".join(words)


@pytest.mark.each_case
@pytest.mark.parametrize("target", NAMES)
def test_no_switch_is_swallowed(target: str) -> None:
    assert _VALUES.keys() == {*KEYS}
    plain, swallowed = _written(target), []
    for name, value in ((name, value) for name, values in _VALUES.items() for value in values):
        try:
            found = _written(target, **{name.replace("-", "_"): value})
        except MigrateError as refused:
            assert name in str(refused)
            continue
        if found == plain:
            swallowed.append((name, value))
    assert swallowed == []
