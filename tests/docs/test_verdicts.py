"""Verdicts that the pages on conversion state are those of programs of that kind."""

from __future__ import annotations

import re
from itertools import product

import pytest

from migrate.report import words
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from migrate.targets import NAMES
from tests.support.documentation.claims import PAGES, Claim, Shown, claims, programs
from tests.support.paths import ROOT

FOLDER = ROOT / "docs" / "convert"


def _page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


TARGETS = _page("targets")
#: The page's own program, and what its optimizer is called in the table of optimizers.
PROGRAM = re.findall(r"```python\n(.*?)```", TARGETS, re.DOTALL)[0]
ADAGRAD = "tf.train.AdagradOptimizer(0.1)"
OPTIMIZERS = {
    "SGD": "tf.train.GradientDescentOptimizer(0.1)",
    "LazyAdam": "tf.contrib.opt.LazyAdamOptimizer(0.1)",
    "Momentum": "tf.train.MomentumOptimizer(0.1, 0.9)",
}
CASES = [
    pytest.param(claim, shown, target, id=f"{page}-{number}-{re.sub('[^A-Za-z]+', '_', shown.under)}-{target}")
    for page in PAGES
    for number, (claim, shown) in enumerate(zip(claims(_page(page)), programs(page), strict=False))
    for target in shown.targets
]


@pytest.mark.parametrize("page", PAGES)
def test_each_verdict_of_a_page_has_a_program(page: str) -> None:
    stated = [claim.under for claim in claims(_page(page))]
    shown = [one.under for one in programs(page)]
    assert [one for one, part in zip(stated, shown, strict=False) if part not in one] == []
    assert len(stated) == len(shown), f"write a program for each verdict of docs/convert/{page}.md, in its order"


@pytest.mark.each_case
@pytest.mark.parametrize(("claim", "shown", "target"), CASES)
def test_a_verdict_is_that_of_the_program(claim: Claim, shown: Shown, target: str) -> None:
    plain, assumed = (_verdicts(shown.program, assume, target) for assume in (False, True))
    told = f"{claim}: {plain}, and with --assume {assumed}, of\n{shown.program}"
    if claim.verdict.startswith("needs a decision: the conversion is suggested"):
        assert plain == assumed == {"needs a decision"}, told
    elif claim.verdict.startswith("needs a decision"):
        kind = "changes values" if "changes values" in claim.verdict else "with an assumption"
        assert all(one.startswith("needs a decision") for one in plain), told
        assert assumed == {f"converted, {kind}"}, told
    else:
        verdict = re.match(r"(converted|left unchanged)", claim.verdict)
        assert verdict, told
        assert plain == assumed == {{"converted": "converted, exact"}.get(verdict[0], verdict[0])}, told


def test_optimizers_of_targets_are_those_of_the_page() -> None:
    head, _, *rows = _rows(TARGETS.split("\n## Optimizers\n")[1].split("\n## ")[0])
    targets = [cell.strip("`") for cell in head[1:]]
    assert targets == list(NAMES)
    wrong = []
    for names, *cells in rows:
        for name, (target, cell) in product(names.split(", "), zip(targets, cells, strict=True)):
            program = PROGRAM.replace(ADAGRAD, OPTIMIZERS.get(name, f"tf.train.{name}Optimizer(0.1)"))
            found = _verdicts(program, assume=True, target=target)
            wrong += (
                []
                if found == {cell if cell == "left unchanged" else f"converted, {cell}"}
                else [(name, target, cell, found)]
            )
    assert not wrong


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]


def _verdicts(program: str, assume: bool, target: str = "runtime") -> set[str]:
    """Return the verdicts of its tables or, where it has none, of what remains to be done."""
    result = convert_text("model.py", program, Options(assume=assume, target=target), {})
    of_findings = {words.verdict(one) for one in result.findings if one.remains}
    return {words.verdict(table) for table in result.tables} or of_findings
