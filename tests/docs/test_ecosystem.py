"""Files for other tools: the hook of pre-commit, the workflow to copy, the Dockerfile, the marks of typed packages."""

from __future__ import annotations

import configparser
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from migrate.cli.main import cli
from migrate.errors import PACKAGES
from tests.support.paths import ROOT

WORKFLOW = ROOT / "templates" / "ecosystem" / "migrate.yml"
HEAD = "import tensorflow.compat.v1 as tf\n"
GOOD = HEAD + (
    'W = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\nop = tf.train.AdagradOptimizer(0.1).minimize(e)\n"
)


def _commands() -> list[str]:
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["migrate"]["steps"]
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    return [found[0] for line in lines for found in re.findall(r"(migrate [a-z][^|>)]*)()", line)]


def test_the_workflow_calls_commands_that_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in its order on a base without a table, and on a commit with one that is new."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "model.py").write_text(HEAD)
    commands = _commands()
    assert [command.split()[:3] for command in commands] == [
        ["migrate", "check", "src"], ["migrate", "check", "src"], ["migrate", "report", "diff"],
    ]  # fmt: skip
    codes = []
    for at, command in enumerate(commands):
        if at == 1:
            (tmp_path / "src" / "model.py").write_text(GOOD)
        words = [word.replace("../", "") for word in shlex.split(command)[1:]]
        with pytest.raises(SystemExit) as ended:
            cli(words, standalone_mode=False)
        codes.append(ended.value.code)
    assert codes == [0, 1, 1]
    assert (tmp_path / "migrate.sarif").exists()


def test_the_hook_of_pre_commit_is_a_command_that_there_is(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (tmp_path / "model.py").write_text(HEAD)
    words = [*shlex.split(hook["entry"])[1:], *hook["args"]]
    done = subprocess.run([sys.executable, "-m", "migrate", *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert hook["id"] in (ROOT / "docs" / "command-line.md").read_text()


def _settings() -> Any:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    return settings


@pytest.mark.parametrize("package", ["migrate", "rewriter", "runtime"])
def test_each_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()
    assert "py.typed" in _settings()["options.package_data"][package]


def test_what_is_to_be_installed_is_what_the_extras_bring() -> None:
    """The remedy names no extra: the package is on no index, and whoever reads the message has it."""
    extras = _settings()["options.extras_require"]
    for module, extra in (("tensorflow", "runtime"), ("paddle", "paddle"), ("pyarrow", "dataset")):
        brought = set(re.split(r"[\n\s]+", extras[extra].strip()))
        assert {*shlex.split(PACKAGES[module])} <= brought, module


def test_the_dockerfile_copies_what_there_is_and_runs_the_command() -> None:
    text = (ROOT / "templates" / "ecosystem" / "Dockerfile").read_text()
    assert re.findall(r"^(?:FROM|ENTRYPOINT) (.*)$", text, re.MULTILINE) == [
        "python:3.11-slim AS build",
        "python:3.11-slim",
        '["migrate"]',
    ]
    assert "[runtime]" in text
