"""Which tests are run, and which of their cases: by default the diagonal of its lists of parameters.

Those that are slow and seldom find anything are marked `soak`: `make soak` runs them, before a release.
Until when: where time is up, what is left is skipped and counted, so that a slow machine tells what it found. A test
that takes longer than setup.cfg allows fails with the stacks of all threads; one that cannot even be interrupted ends
its process. And a guard: a test that leaves TensorFlow in another mode than it found it fails, not those after it.
"""

from __future__ import annotations

import csv
import gc
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("tests.support")
# Programs that tests start import `tests.support`, too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
)
# The thread pool of TensorFlow 2.15's oneDNN dies at random in batch matmuls (migrate/verify/workers.py has the trace).
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
_BUILT = "RUN_GRAPHS_AS_BUILT"
_TIME_IS_UP = "their time was up (--until, --within)"
#: When this process began its first test: a loaded machine takes longer to import and collect than to run a few tests.
_BEGUN = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("cases")
    group.addoption("--every-case", action="store_true", help="run each combination of a test's lists of parameters")
    group.addoption("--most", type=int, help="run at most so many of a test's cases, the first and the last included")
    group.addoption(
        "--covering", action="store_true", help="leave out tests whose statements others run, too, in less time"
    )
    group.addoption("--soak", action="store_true", help="run the tests that `make soak` runs, and no others")
    group.addoption(
        "--cover", nargs="?", const="", help="print which part of each package is run; to FILE, what each test runs"
    )
    group.addoption("--optimize-graphs", action="store_true", help="let Grappler optimize graphs, as it does for users")
    group.addoption("--until", type=float, help="skip tests that would begin after this time, in seconds since 1970")
    group.addoption(
        "--within", type=float, help="skip tests that would begin so many seconds after the first, or later"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count statements, where that was asked for."""
    # What earlier tests left behind is not ended in processes that a test forks, where TensorFlow's threads do not run.
    os.register_at_fork(after_in_child=gc.freeze)
    if not config.getoption("--optimize-graphs"):
        os.environ[_BUILT] = "1"  # tests/support/forking/server.py reads it, too
    file = config.getoption("--cover")
    if file is not None:
        from tests.support import lines

        lines.install()
        config.pluginmanager.register(lines.Cover(config, file))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for."""
    soak = config.getoption("--soak")
    spared = _spared() if config.getoption("--covering") else frozenset()
    out = [
        item
        for item in items
        if (item.get_closest_marker("soak") is not None) is not soak or item.nodeid.partition("[")[0] in spared
    ]
    items[:] = [item for item in items if item not in out] if out else items
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    kept: set[pytest.Item] = set()
    for cases in tests.values():
        chosen = cases if config.getoption("--every-case") else diagonal(cases)
        most = config.getoption("--most")
        if most is not None and cases[0].get_closest_marker("one_case"):
            most = 1
        if cases[0].get_closest_marker("each_case"):
            most = None
        kept.update(chosen if most is None else spread(chosen, most))
    config.hook.pytest_deselected(items=[*out, *(item for item in items if item not in kept)])
    items[:] = [item for item in items if item in kept]


def _spared() -> frozenset[str]:
    """Return the tests that `python -m tests.mutants files` found to run nothing that others do not run."""
    with (Path(__file__).parent / "files.tsv").open(newline="") as file:
        rows = [*csv.DictReader(file, delimiter="\t")]
    return frozenset(f"{row['file']}::{test}" for row in rows for test in row["spared on 2.21"].split())


def pytest_collection_finish() -> None:
    """Leave what was imported out of all later collections, and let these be rarer: they took a twelfth of the time."""
    if "tensorflow" in sys.modules and _BUILT in os.environ:
        from tests.support.unoptimized import run_graphs_as_built

        run_graphs_as_built()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is left when time is up."""
    until, within = item.config.getoption("--until"), item.config.getoption("--within")
    begun = item.config.stash.setdefault(_BEGUN, time.monotonic())
    late = within is not None and time.monotonic() - begun > within
    if late or (until is not None and time.time() > until):
        pytest.skip(_TIME_IS_UP)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a run fail in which no test was run because time was up."""
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None and _late(reporter) and not reporter.stats.keys() & {"passed", "failed", "error"}:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _late(reporter: pytest.TerminalReporter) -> int:
    """Return how many tests were not run because time was up."""
    return sum(_TIME_IS_UP in str(report.longrepr) for report in reporter.stats.get("skipped", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were not run for want of time."""
    late = _late(terminalreporter)
    if late:
        terminalreporter.write_line(f"{late} tests were NOT run: {_TIME_IS_UP}", red=True)


def spread(cases: Sequence[pytest.Item], most: int) -> Sequence[pytest.Item]:
    """Return at most `most` of the cases, the first and the last, and those evenly between."""
    if len(cases) <= most:
        return cases
    return [cases[round(turn * (len(cases) - 1) / max(most - 1, 1))] for turn in range(most)]


def diagonal(cases: Sequence[pytest.Item]) -> Sequence[pytest.Item]:
    """Return the cases in which all lists are at the same place, the shorter ones begun anew at their ends."""
    marks = list(cases[0].iter_markers("parametrize"))
    counts = [len(mark.args[1]) for mark in marks if len(mark.args) > 1 and hasattr(mark.args[1], "__len__")]
    if len(marks) < 2 or prod(counts) != len(cases):
        return cases  # nothing to leave out, or it cannot be told which case is which
    chosen = []
    for turn in range(max(counts)):
        place = 0
        for count in counts:  # the first list changes slowest
            place = place * count + turn % count
        chosen.append(cases[place])
    return chosen


@pytest.fixture
def graph() -> Iterator[Any]:
    """A fresh default graph of TensorFlow."""
    import tensorflow

    with tensorflow.Graph().as_default() as fresh:
        yield fresh


@pytest.fixture(autouse=True)
def _same_mode() -> Iterator[None]:
    """Eager mode and control flow are what they were, after the test; they are switched back for those that follow."""
    before, branches = _executing_eagerly(), _branches_of_functions()
    yield
    after = _executing_eagerly()
    if branches is not None and _branches_of_functions() is not branches:
        v1 = sys.modules["tensorflow"].compat.v1
        (v1.enable_control_flow_v2 if branches else v1.disable_control_flow_v2)()
        pytest.fail("the test left control flow in the other version: switch it back, also where it fails")
    if after is False and before is not False:
        _switch_eager_on()
        pytest.fail("the test left graph mode switched on: build its graph under tf.Graph().as_default()")


def _executing_eagerly() -> bool | None:
    """Return the mode of the process, None before TensorFlow is imported."""
    tensorflow = sys.modules.get("tensorflow")
    asked = getattr(tensorflow, "executing_eagerly", None)  # missing while it is imported
    return bool(asked()) if asked is not None else None


def _branches_of_functions() -> bool | None:
    """Return whether branches and loops are functions, as in TensorFlow 2; None before TensorFlow is imported."""
    tensorflow = sys.modules.get("tensorflow")
    asked = getattr(getattr(getattr(tensorflow, "compat", None), "v1", None), "control_flow_v2_enabled", None)
    return bool(asked()) if asked is not None else None


def _switch_eager_on() -> None:
    """Undo `disable_eager_execution`, which TensorFlow itself cannot once a graph was made."""
    from tensorflow.python.eager import context

    context.default_execution_mode = context.EAGER_MODE
    context.context()._thread_local_data.is_eager = True
