"""The HTML page: well formed, self-contained, its numbers those of the JSON, hostile text harmless."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from migrate.report import answer, writers
from migrate.report.model import Memory, Report, State, Verification, with_ids
from migrate.report.writers.as_html import DRAWN_TABLES
from tests.support.html_page import Page
from tests.support.report_sample import DIFF, comparison, finding, report

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"quoted\" 'single' &amp; "
    "\\back\\slash\\ {{ 7*7 }} "
    "שלום مرحبا \u202e\u2066 \U0001f600 👩‍👩‍👧 "
    "<!-- <![CDATA[ ]]> --> `</code><script>alert(3)</script>` \x00\x1b[31m\ud800 "
) + "x" * 20_000


def render(whole: Report) -> str:
    return writers.render(whole, ".html")


def hostile() -> Report:
    whole = report()
    findings = [
        replace(
            item,
            message=HOSTILE,
            reason=HOSTILE,
            action=HOSTILE,
            before=HOSTILE,
            after=HOSTILE,
            rule=HOSTILE,
            assumptions=(HOSTILE,),
        )
        for item in whole.findings
    ]
    findings = [replace(item, location=replace(item.location, path=HOSTILE, scope=HOSTILE)) for item in findings]
    tables = [
        replace(item, name=HOSTILE, dim=HOSTILE, initializer=HOSTILE, reasons=(HOSTILE,)) for item in whole.tables
    ]
    proof = Verification(HOSTILE, HOSTILE, (replace(comparison(HOSTILE, HOSTILE, HOSTILE), note=HOSTILE),), (HOSTILE,))
    inputs = [replace(whole.inputs[0], path=HOSTILE, kind=HOSTILE, sha256=HOSTILE, diff=DIFF + "+" + HOSTILE + "\n")]
    stages = [replace(item, name=HOSTILE, state=HOSTILE, message=HOSTILE) for item in whole.stages]
    return Report(
        HOSTILE,
        HOSTILE,
        tuple(inputs),
        tuple(stages),
        with_ids(findings),
        tuple(tables),
        (proof,),
        ((HOSTILE, HOSTILE),),
    )


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ({"growth": "free"}, "can grow: each new id gets a row, if the rest of the model takes it"),
        ({"growth": "bounded", "bound": "ids are hashed into `20 & 1` buckets"}, "ids are hashed into 20 & 1 buckets"),
        (
            {"growth": "bounded", "base_buckets": "20"},
            "can grow: each id gets a row of its own, in place of its bucket's (buckets: 20)",
        ),
        ({}, ""),
    ],
)
def test_the_card_of_a_table_says_what_bounds_it(table: dict[str, str], line: str) -> None:
    (first, *_) = report().tables
    text = "".join(Page(render(Report("c", "1", tables=(replace(first, **table),)))).text)
    assert ("Growth" in text) == bool(line)
    assert line in text


def test_hostile_text_is_shown_as_text() -> None:
    page = Page(render(hostile()))
    text = "".join(page.text)
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in text
    assert "{{ 7*7 }}" in text and "\\back\\slash\\" in text and "👩‍👩‍👧" in text and "שלום" in text
    assert r"\u202e\u2066" in text and r"\x00\x1b[31m\ud800" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("count", [0, 1, 12, 13, 200])
@pytest.mark.each_case
def test_tables_of_any_number_with_no_proof(count: int) -> None:
    tables = tuple(replace(report().tables[0], name=f"table{number}") for number in range(count))
    bare = Report("migrate check m.py", "1", tables=tables)
    for suffix in writers.FORMATS:
        assert writers.render(bare, suffix)
    page = Page(render(bare))
    lists = [attrs for tag, attrs in page.elements if tag == "table" and attrs.get("class") == "numbers list"]
    assert len(lists) == (count > 12)  # more are a list at first
    assert sum("card" in (attrs.get("class") or "").split() for _, attrs in page.elements) == count


def test_many_tables_leave_no_white_screen_beside_their_memory() -> None:
    proof = report().verifications[0]
    sizes = [Memory(f"t{at}", 9, 1, 1000 + at, 500) for at in range(40)]
    page = render(replace(report(), verifications=(replace(proof, memory=tuple(sizes)),)))
    picture = page[page.index("Memory of the tables") :].partition("</svg>")[0]
    assert picture.count('class="before"') == DRAWN_TABLES
    assert "35 other tables, which take less" in page
    assert "t39" in picture
    assert ">t3<" not in picture


def test_what_was_assumed_is_left_to_see_to() -> None:
    done = finding(state=State.APPLIED, assumptions=("ids are below 9",))
    proven = replace(report(), findings=(done,), tables=(), verifications=report().verifications)
    passed = tuple(replace(one, comparisons=one.comparisons[:1]) for one in proven.verifications)
    assert all(one.passed for one in passed)
    assert [line.text for line in answer.lines(replace(proven, verifications=passed)) if line.label == "Next"] == [
        "see to it that this holds, which was assumed: ids are below 9"
    ]
    shuffled = tuple(
        replace(one, comparisons=(replace(one.comparisons[0], verdict="not-comparable"),)) for one in passed
    )
    told = [line.text for line in answer.lines(replace(proven, verifications=shuffled)) if line.label == "Next"]
    assert told == ["let the original read the same batches in each run, and verify again"]
    certain = replace(proven, findings=(replace(done, assumptions=()),), verifications=passed)
    assert [line.text for line in answer.lines(certain) if line.label == "Next"] == ["nothing is left to do"]
