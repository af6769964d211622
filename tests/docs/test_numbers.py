"""Numbers of the README are those that programs wrote: into pages of results, and into the picture of a trial."""

from __future__ import annotations

import re

import pytest

from tests.support.documentation import trial_picture
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
#: What the README says, and the page and the words that a program, or the record of its run, has for it.
SOURCES = {
    r"\[(\d+) public programs\]": ("docs/compat/run.md", r"(\d+) programs of \d+ repositories"),
    r"(\d+ of \d+) looked-up variables are tables": (
        "docs/compat/run.md",
        r"(\d+ of \d+) variables that are looked up",
    ),
    r"of (\d+) tables in 32": ("benchmarks/RESULTS.md", r"\*\*248 of (\d+) at once\*\*"),
    r"repositories (\d+) convert at once": ("benchmarks/RESULTS.md", r"\*\*(\d+) of 499 at once\*\*"),
    r"at once, (\d+) after a decision": ("benchmarks/RESULTS.md", r"8 allowed\), (\d+) after a decision"),
    r"(\d+) of PaddleRec's 55 convert": ("docs/paddle.md", r"Of PaddleRec's 55 `net.py` \(.*?\), (\d+) convert"),
    r"55 convert, (\d+) equal Paddle": ("docs/paddle.md", r"(\d+) of these equal Paddle in all stages"),
    r"(\d+ of \d+) of DeepRec's": ("docs/compat/deeprec.md", r"(\d+ of \d+) programs run"),
    r"takes (0\.\d+) of the time": ("benchmarks/RESULTS.md", r"dim 16 forward [\d.]+, step ([\d.]+);"),
    r"(0\.\d+) at dim 64": ("benchmarks/RESULTS.md", r"dim 64 [\d.]+ and ([\d.]+);"),
    r"(0\.\d+) at dim 128": ("benchmarks/RESULTS.md", r"dim 128 [\d.]+ and ([\d.]+) \("),
}


@pytest.mark.each_case
@pytest.mark.parametrize("said", SOURCES)
def test_a_number_is_that_of_its_source(said: str) -> None:
    page, source = SOURCES[said]
    here, there = re.search(said, README), re.search(source, (ROOT / page).read_text(encoding="utf-8"))
    assert here is not None, f"README.md no longer says {said}: correct this test with it"
    assert there is not None, f"{page} no longer has {source}"
    assert here[1] == there[1]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_trial_that_is_told_is_the_one_in_the_picture(page: str) -> None:
    picture = trial_picture.PICTURE.read_text(encoding="utf-8")
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "trial.svg)" in text
    told = re.findall(r"[\d.]+ [KM]iB", text.partition("trial.svg)")[2].partition("```")[0])
    assert len(told) == 2
    title = picture.partition("</title>")[0]
    assert all(one in title for one in told), (told, title)


def test_the_tutorials_program_is_the_one_of_the_demo_and_of_the_picture() -> None:
    page = (ROOT / "docs" / "tutorials" / "trial.md").read_text(encoding="utf-8")
    match = re.search(r'```python title="train.py"\n(.*?)```', page, re.DOTALL)
    assert match is not None
    assert trial_picture.PROGRAM.read_text(encoding="utf-8").endswith('"""\n\n' + match[1])
    assert trial_picture.PROGRAM.name in (ROOT / "examples" / "demo.sh").read_text(encoding="utf-8")


def test_the_picture_is_drawn_of_the_trials_page() -> None:
    pages = "<h1>Yes, it trains the same and make a step 2 times as fast</h1>" + "".join(
        f'<figure><svg class="picture" role="img" viewBox="0 0 1 1"></svg><figcaption>{text}</figcaption></figure>'
        for text in (
            "loss, step by step: as it is 1",
            "memory: both",
            "time of a step: 2",
            "users: 4 rows; at most 9",
        )
    )
    drawn = trial_picture.drawn(pages)
    assert "<title>Yes, it trains the same</title>" in drawn
    assert re.findall(r'class="head" x="[\d.]+" y="[\d.]+">([^<]*)', drawn) == [
        "loss, step by step",
        "memory: both",
        "users: 4 rows",
    ]
    assert "migrate trial" in trial_picture.PICTURE.read_text(encoding="utf-8")
