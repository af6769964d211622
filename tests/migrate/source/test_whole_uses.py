"""A table that is looked up by its name, and used as a whole at the end of some way, is never converted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from tests.support import forking
from tests.support.source import chains
from tests.support.source.converting import HEAD, converted
from tests.support.source.ways import ALL, converts
from tests.support.source.whole_uses import FETCHED, SINKS, UNDER_AN_ASSUMPTION, programs

#: What a program does instead of one run: it trains, and prints its losses and what it fetched before each step.
TRAINED = (
    "tf.get_default_graph().finalize()\nvalues = tf.Session().run(v)\n",
    """session = tf.Session()
session.run(tf.global_variables_initializer())
losses, rows = [], []
for _ in range(3):
    rows.append(session.run(v).tolist())
    losses.append(float(session.run([loss, op], {ids: [1, 2, 2]})[0]))
import json
print(json.dumps([losses, rows]))
""",
)
EVERY = 2 * len(SINKS) + 1  #: of the sample; no common divisor with the number of sinks, so that all of them are in it


def wrongly_converted(chosen: Iterable[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Return way and sink of the programs that are converted and must not be."""
    return [(way, sink) for way, sink, text in chosen if converts(text) and (way, sink) not in FETCHED]


def test_a_sample_of_the_programs_stays() -> None:
    sample = list(programs())[::EVERY]
    assert {sink for _, sink, _ in sample} == set(SINKS)
    assert not wrongly_converted(sample)


@pytest.mark.soak
def test_all_programs_stay() -> None:
    assert len(ALL) * len(SINKS) > 1000
    assert not wrongly_converted(programs())


@pytest.mark.soak
def test_an_assumption_lifts_none_of_the_reasons_but_those_that_are_doubts() -> None:
    lifted = [(way, sink, converted(text, assume=True)) for way, sink, text in programs()]
    changed = {(way, sink): one.converted for way, sink, one in lifted if one.changed}
    assert {one for one, text in changed.items() if "all_rows(" not in text} == UNDER_AN_ASSUMPTION


@pytest.mark.soak
@pytest.mark.each_case
@pytest.mark.parametrize("way", [way for way, _ in sorted(FETCHED)])
def test_what_is_fetched_of_all_rows_is_what_it_was(way: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    (text,) = (text for one, sink, text in programs() if (one, sink) == (way, "fetch"))
    before = text.replace("tf.zeros_initializer()", "tf.constant_initializer(0.25)").replace(*TRAINED)
    after = converted(before).converted
    assert "all_rows(" in after
    found = []
    for name, program in (("before.py", before), ("after.py", after)):
        (tmp_path / name).write_text(program.replace(HEAD, f"{HEAD}tf.disable_v2_behavior()\n"))
        done = forking.run(name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout.splitlines()[-1]))
    (losses, rows), want = found
    assert len(set(losses)) == len(losses)
    np.testing.assert_allclose(losses, want[0], rtol=1e-6)
    np.testing.assert_allclose(rows, want[1], rtol=1e-6)


@pytest.mark.soak
def test_chains_of_ways_stay() -> None:
    assert [name for name, text in chains.programs(seed=7, count=2000) if converts(text)] == []
