"""The idiom table of the docs: every example converts, or stays, as its header says, and computes what it did."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tensorflow")
import numpy as np

from migrate.report.model import State
from tests.support.source.idiom_proof import Measured, measured
from tests.support.source.idiom_runner import STEPS
from tests.support.source.idiom_table import APPLICABILITY, SECTIONS, VERDICTS, Conversion, Idiom, idioms, page

pytestmark = pytest.mark.each_case

ALL = [pytest.param(one, id=one.id) for one in idioms()]
#: Each fourth; `make soak` takes all.
MOVING = [
    pytest.param(one, id=one.id, marks=[pytest.mark.soak] if place % 4 else [])
    for place, one in enumerate(one for one in idioms() if one.converts)
]


def test_the_page_tells_of_each_example_and_why_it_stays() -> None:
    text = page()
    entries = {one.id: text.partition(f"- example: [{one.id}](")[0].rpartition("\n**")[2] for one in idioms()}
    assert all("- verdict: " in entry for entry in entries.values())
    assert {one.id for one in idioms() if one.fields.get("says")} == {
        name for name, entry in entries.items() if "- reason: " in entry
    }


def test_every_section_and_verdict_has_examples() -> None:
    assert {one.section for one in idioms()} == set(SECTIONS)
    assert {one.verdict for one in idioms()} == set(VERDICTS)


@pytest.mark.parametrize("idiom", ALL)
def test_the_verdict_is_that_of_the_header(idiom: Idiom) -> None:
    plain = idiom.converted(assume=False)
    assumed = plain if idiom.converts and not idiom.assumed else idiom.converted(assume=True)
    told = assumed.transcript()
    assert plain.changed == (idiom.converts and not idiom.assumed), told
    assert assumed.changed == idiom.converts, told
    if idiom.converts:
        assert assumed.applicability == {APPLICABILITY[idiom.verdict]}, told
        assert idiom.fields["becomes"]
    if idiom.fields.get("says"):
        assert assumed.says(idiom.fields["says"]), told
    assert ("says" in idiom.fields) == (idiom.verdict in {"stays", "in part"})
    if idiom.verdict == "left alone":
        assert not assumed.tables
    elif idiom.verdict != "in part":
        wanted = State.APPLIED if idiom.converts else State.UNSUPPORTED
        assert {table.verdict for table in assumed.tables} <= {wanted}, told


@pytest.mark.parametrize("idiom", MOVING)
def test_it_computes_what_it_did(idiom: Idiom, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conversion = idiom.converted(assume=idiom.assumed)
    want, got = both(idiom, conversion, tmp_path)
    assert len({round(float(loss), 6) for loss in want.losses}) == STEPS, "the losses must move, or it says nothing"
    assert all(np.any(gradient) for gradient in want.gradients[0].values())
    assert {name for name in want.start if np.array_equal(want.start[name], want.end[name])} == want.untrained
    apart = want.apart(got)
    with capsys.disabled():
        print(f"\n{idiom.id}: " + ", ".join(f"{kind} {size:.1e}" for kind, size in apart.items()), end="")
    assert all(apart[kind] <= idiom.bound for kind in idiom.kinds or apart), apart


def both(idiom: Idiom, conversion: Conversion, directory: Path) -> tuple[Measured, Measured]:
    """Run the original, then what came of it from the same initial values."""
    every_row = "every row" in idiom.fields.get("batch", "")
    names = {one.source.path.name: one for one in conversion.files}
    originals = {name: one.original.decode() for name, one in names.items()}
    texts = {name: one.data.decode() for name, one in names.items()}
    for name in ("original", "converted"):
        (directory / name).mkdir()
    main = idiom.path.name
    by_parts = {table.name for table in conversion.tables if table.by_parts}
    parts = by_parts | {name.replace("_", "/", 1) for name in by_parts}
    want = measured(originals, directory / "original", main, every_row=every_row, by_parts=parts)
    got = measured(texts, directory / "converted", main, every_row=every_row, by_parts=parts, like=want)
    return want, got


def test_a_conversion_that_computes_something_else_is_noticed(tmp_path: Path) -> None:
    idiom = next(one for one in idioms() if one.id == "read/lookup")
    texts = idiom.converted(assume=False).files[0].data.decode()
    broken = texts.replace("sparse_lookup(table, pairs)", "sparse_lookup(table, pairs // 2)")
    assert broken != texts
    for name in ("original", "broken"):
        (tmp_path / name).mkdir()
    original = {"lookup.py": idiom.path.read_text(encoding="utf-8")}
    want = measured(original, tmp_path / "original", "lookup.py", every_row=False, by_parts=set())
    got = measured({"lookup.py": broken}, tmp_path / "broken", "lookup.py", every_row=False, by_parts=set(), like=want)
    assert min(want.apart(got).values()) > 0.01
