"""How the command speaks: how much, in which colours and formats, and what it says to a mistyped name."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import migrate
from tests.support.paths import ROOT

GOOD = (
    "import tensorflow.compat.v1 as tf\n"
    'W = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\n"
    "op = tf.train.AdagradOptimizer(0.1).minimize(e)\n"
)
KEPT = GOOD + "s = tf.cond(f, lambda: tf.matmul(u, W), lambda: u)\n"
ESCAPE = "\x1b["


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A directory with a convertible file, and one that stays."""
    (tmp_path / "src" / "tests").mkdir(parents=True)
    (tmp_path / "src" / "good.py").write_text(GOOD)
    (tmp_path / "src" / "kept.py").write_text(KEPT)
    (tmp_path / "src" / "tests" / "inner.py").write_text(KEPT)
    return tmp_path


def test_quiet_prints_results_only_and_verbose_more(work: Path) -> None:
    plain = migrate(["convert", "src/good.py", "--diff"], work)
    quiet = migrate(["convert", "src/good.py", "--diff", "-q"], work)
    assert (quiet.out, quiet.err, quiet.code) == (plain.out, "", plain.code)
    verbose = migrate(["convert", "src/good.py", "--diff", "--verbose"], work)
    assert set(plain.err.splitlines()) < set(verbose.err.splitlines())
    assert "  convertible, exact, line 3: a lookup in `W` becomes `sparse_lookup`" in verbose.err.splitlines()
    told = migrate(["check", "src/kept.py", "-v"], work).out
    assert told.endswith("does not have)\n    do: keep this table dense\n")
    assert "do: " not in migrate(["check", "src/kept.py"], work).out
    assert migrate(["check", "nothing", "-q"], work).err == (
        "migrate: nothing: no such file or directory; give an existing path\n"
    )
    both = migrate(["check", "src", "-q", "-v"], work)
    assert (both.code, both.err.splitlines()[-1]) == (
        2,
        "migrate: --quiet and --verbose cannot be combined; give one of them",
    )


@pytest.mark.parametrize(
    ("env", "colored"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"FORCE_COLOR": ""}, False),
        ({"TERM": "dumb"}, False),
    ],
)
@pytest.mark.one_case
def test_colours_are_for_terminals_and_for_who_asks(work: Path, env: dict[str, str], colored: bool) -> None:
    for arguments in (["check", "src"], ["convert", "src", "--diff"], ["check", "nothing"]):
        done = migrate(arguments, work, env=env)
        assert (ESCAPE in done.out + done.err) is colored, arguments
        assert re.sub("\x1b\\[[0-9;]*m", "", done.out + done.err) == (
            migrate(arguments, work).out + migrate(arguments, work).err
        )


def on_terminal(work: Path, *arguments: str, **env: str) -> str:
    """Run the command with a terminal as its standard error, and return what it shows."""
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "migrate", *arguments],
        cwd=work,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **env},
    )
    os.close(theirs)
    shown, until = b"", time.monotonic() + 60
    while time.monotonic() < until and select.select([ours], [], [], 60)[0]:
        try:
            shown += os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    done.wait(60)
    return shown.decode()


def test_progress_and_the_time_left_are_for_who_watches(work: Path) -> None:
    for number in range(6):
        (work / "src" / f"more{number}.py").write_text(GOOD)
    shown = on_terminal(work, "check", "src", "--no-cache")
    assert re.search(r"converting +\[#+-*\] +\d/9( +\d\d:\d\d:\d\d)?", shown)
    assert ESCAPE in shown
    assert "converting" not in on_terminal(work, "check", "src", "--no-cache", "-q")
    assert "converting" not in migrate(["check", "src", "--no-cache"], work).err


def test_a_mistyped_name_gets_a_hint(work: Path) -> None:
    for arguments, hint in (
        (["chekc", "src"], "migrate: no such command `chekc`; did you mean `check`?\n"),
        (["report", "shwo", "r"], "migrate: no such command `shwo`; did you mean `show`?\n"),
        (["convert", "src", "--ouptut", "x"], "no such option `--ouptut`; did you mean `--output`?\n"),
        (["check", "src", "--select", "tf-gahter"], "--select: unknown rule `tf-gahter`; did you mean tf-gather?"),
        (["rules", "explain", "tf-gahter"], "unknown rule `tf-gahter`; did you mean tf-gather?"),
        (["nonsense"], "migrate: no such command `nonsense`; see `migrate --help`\n"),
    ):
        done = migrate(arguments, work)
        assert done.code == 2
        assert hint in done.err


def test_what_is_excluded_is_not_looked_at(work: Path) -> None:
    files = ["src/good.py", "src/kept.py", "src/tests/inner.py"]
    for patterns, left in (
        (["--exclude", "tests"], files[:2]),
        (["--exclude", "src/tests/*,good.py"], [files[1]]),
        (["--exclude", "tests", "--exclude", "kept.py"], [files[0]]),
    ):
        done = migrate(["check", "src", *patterns, "--output-format", "json"], work)
        assert [file["path"] for file in json.loads(done.out)["inputs"]] == left
    assert migrate(["check", "src/kept.py", "--exclude", "kept.py"], work).code == 1  # named, so it is done
    (work / "pyproject.toml").write_text('[tool.migrate]\nexclude = ["good.py"]\n')
    done = migrate(["check", "src", "--exclude", "tests", "--output-format", "json"], work)
    assert [file["path"] for file in json.loads(done.out)["inputs"]] == files[:2]  # as other options, in its place


@pytest.mark.parametrize("style", ["json", "github", "sarif", "markdown"])
@pytest.mark.one_case
def test_formats_of_what_is_printed(work: Path, style: str) -> None:
    printed = migrate(["check", "src/kept.py", "--output-format", style, "--report", "r.json"], work)
    assert printed.code == 1
    assert migrate(["report", "show", "r.json", "--output-format", style], work).out == printed.out
    begin = {"json": '{\n "schema"', "github": "::error file=", "sarif": '{\n "$schema"', "markdown": "# Migration"}
    assert printed.out.startswith(begin[style])
    if style == "sarif":
        rules = json.loads(printed.out)["runs"][0]["tool"]["driver"]["rules"]
        assert all(rule["shortDescription"]["text"] and rule["help"]["markdown"] for rule in rules)
    converted = migrate(["convert", "src/kept.py", "--output-format", style], work)
    assert converted.out.startswith(begin[style])
    assert migrate(["convert", "src/kept.py", "--output-format", style, "--diff"], work).code == 2


def test_a_baseline_is_written_on_demand_and_tells_what_is_new(work: Path) -> None:
    check = ["check", "src/kept.py", "--baseline", "known.json"]
    missing = migrate(check, work)
    assert (missing.code, missing.err) == (
        2,
        "migrate: known.json: there is no baseline yet; write it with --update-baseline\n",
    )
    assert not (work / "known.json").exists()
    assert migrate([*check, "--update-baseline"], work).code == 0
    before = (work / "known.json").read_bytes()
    again = migrate(check, work)
    assert (again.code, again.out) == (0, "")
    assert again.err == "baseline known.json: 1 finding known, 0 findings new or worse\n"
    (work / "src" / "kept.py").write_text(f"\n{KEPT}t = tf.transpose(W)\n")
    worse = migrate(check, work)
    assert worse.code == 1
    assert [line.partition(": ")[0] for line in worse.out.splitlines()] == ["src/kept.py:7"]
    assert (work / "known.json").read_bytes() == before  # only --update-baseline writes it
    assert migrate(["check", "src", "--update-baseline"], work).code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_of_a_shell(work: Path, shell: str) -> None:
    named = migrate(["completion", shell], work)
    assert "_MIGRATE_COMPLETE" in named.out
    assert migrate(["completion"], work, env={"SHELL": f"/usr/bin/{shell}"}).out == named.out


def test_a_shell_completes_commands_options_and_paths(work: Path) -> None:
    def completed(words: str) -> list[str]:
        asked = {"_MIGRATE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return migrate([], work, env=asked).out.splitlines()

    assert completed("migrate che") == ["plain,check", "plain,checkpoint"]
    assert completed("migrate check --outp") == ["plain,--output-format"]
    assert completed("migrate check --output-format g") == ["plain,github"]
    assert completed("migrate check sr") == ["file,sr"]
    assert completed("migrate convert -o o") == ["dir,o"]
    assert completed("migrate check --select tf-gather,tf-embedding-lookup-") == [
        "plain,tf-gather,tf-embedding-lookup-sparse"
    ]
    assert migrate(["completion"], work, env={"SHELL": "/bin/tcsh"}).code == 2
