"""Which tests a second version of TensorFlow can do without: what they run, others run in less time.

On the second version one case of each test is run, so a test counts here by its first case.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping

from tests.mutants.covered import Covered

#: Folders of tests that run on both versions, and packages whose statements count.
BOTH = ("tests/runtime/", "tests/rewriter/", "tests/property/")
COUNTED = ("runtime/", "rewriter/")
#: The second version has another Keras, so that its tests run other statements than those that were counted.
_OTHER_KERAS = "keras"
#: Seconds below which a test is run in any case: leaving it out saves nothing.
_QUICK = 0.1


def spared(covered: Covered) -> dict[str, list[str]]:
    """Return the tests that the second version can do without, by file: `test_a`, `Class::test_b`."""
    first: dict[str, str] = {}
    for test in covered.seconds:
        first.setdefault(test.partition("[")[0], test)
    seconds = {name: covered.seconds[test] for name, test in first.items() if name.startswith(BOTH)}
    statements: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for statement, tests in covered.tests.items():
        if statement[0].startswith(COUNTED):
            for test in tests:
                name = test.partition("[")[0]
                if first[name] == test and name in seconds:
                    statements[name].add(statement)
    kept = cover(statements, seconds)
    left_out: dict[str, list[str]] = defaultdict(list)
    for name in sorted(seconds):
        if name not in kept and seconds[name] >= _QUICK and _OTHER_KERAS not in name:
            file, _, test = name.partition("::")
            left_out[file].append(test)
    return left_out


def cover(statements: Mapping[str, set[tuple[str, int]]], seconds: Mapping[str, float]) -> set[str]:
    """Return tests that together run each of the statements, those with the most new ones for a second first."""
    missing = set().union(*statements.values())
    kept = {name for name in statements if seconds[name] < _QUICK or _OTHER_KERAS in name}
    missing.difference_update(*(statements[name] for name in kept))
    order = [(-len(ran) / seconds[name], name) for name, ran in statements.items() if name not in kept]
    heapq.heapify(order)
    while missing and order:
        _, name = heapq.heappop(order)
        gain = -len(statements[name] & missing) / seconds[name]
        if gain and order and gain > order[0][0]:
            heapq.heappush(order, (gain, name))  # its statements are run by others by now
        elif gain:
            kept.add(name)
            missing -= statements[name]
    return kept
