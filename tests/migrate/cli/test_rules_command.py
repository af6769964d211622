"""`migrate rules`: the catalogue, its pages, and the examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migrate.cli.main import cli
from migrate.source.rules.catalogue import catalogue
from tests.support.paths import ROOT


def migrate(*arguments: str, cwd: Path | None = None, monkeypatch: pytest.MonkeyPatch | None = None) -> Result:
    if cwd is not None and monkeypatch is not None:
        monkeypatch.chdir(cwd)
    return CliRunner().invoke(cli, arguments)


def test_every_finding_has_a_rule_of_the_catalogue() -> None:
    """Ids that the frontends write out are in the catalogue, so that they can be selected and explained."""
    known = {rule.id for rule in catalogue()}
    source = [path.read_text() for path in (ROOT / "migrate" / "source").rglob("*.py") if "/rules/" not in str(path)]
    found = {name for text in source for name in re.findall(r'"((?:tf|paddle)-[a-z][a-z-]+)"', text)}
    assert found
    assert found <= known


def test_all_examples_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but those of TensorFlow's rules, which tests/migrate/source/test_rules.py runs."""
    others = [rule for rule in catalogue() if not rule.id.startswith("tf-")]
    total = sum(len(rule.examples) for rule in others)
    monkeypatch.setattr("migrate.source.rules.catalogue.catalogue", lambda: others)
    done = migrate("rules", "test")
    assert done.exit_code == 0, done.stdout
    assert f"{total} of {total} examples" in done.stderr
