"""Which files of a directory are worked on: what git ignores is left out, as git itself says, and nothing crashes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from migrate.source.files.generated_files import is_generated
from migrate.source.project.discovery import Walker, find_inputs

#: `.gitignore` text -> the oracle, git, decides
RULES = {
    "names and directories": "skip.py\nlogs/\n",
    "anchored": "/a.py\nsub/b.py\n",
    "negation": "*.py\n!keep.py\n!sub/\n",
    "negation below an ignored directory": "sub/\n!sub/b.py\n",
    "everything but": "/*\n!/sub\n",
    "stars": "**/deep/**\n*/b.py\n[ab].py\n",
    "comments, blanks and escapes": "# a.py\n\n\\#hash.py\ntrailing.py   \nkeep\\ space.py\n\\!bang.py\n",
    "crlf and a mark": "\ufeffskip.py\r\nlogs/\r\n",
    "nonsense": "[\n!\n/\na.py\n",
    "no slash, so at any level": "b.py\nlogs\n",
}
FILES = ("a.py", "b.py", "skip.py", "keep.py", "#hash.py", "!bang.py", "trailing.py", "keep space.py")
PLACES = ("", "sub", "sub/deep", "sub/deep/er", "logs", "other/logs")


def make(root: Path) -> None:
    for place in PLACES:
        for name in FILES:
            file = root / place / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("import tensorflow\n")


def git(root: Path, *arguments: str, text: str = "") -> str:
    return subprocess.run(["git", *arguments], cwd=root, input=text, text=True, capture_output=True, check=False).stdout


def expected(root: Path) -> list[str]:
    """What git would add: untracked files that no rule ignores."""
    listed = git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return sorted(name for name in listed if name.endswith(".py"))


def found(root: Path, **options: bool) -> list[str]:
    return sorted(item.relative.as_posix() for item in find_inputs([str(root)], **options))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    make(tmp_path)
    git(tmp_path, "init", "-q")
    return tmp_path


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_a_gitignore_means_what_git_says(repository: Path, rules: str) -> None:
    (repository / ".gitignore").write_bytes(rules.encode())
    assert found(repository) == expected(repository)


def test_nested_files_and_the_own_list_of_a_repository(repository: Path) -> None:
    (repository / ".gitignore").write_text("b.py\nsub/deep/\n!sub/deep/\n")
    (repository / "sub" / ".gitignore").write_text("!b.py\n/a.py\n")
    (repository / "sub" / "deep" / ".gitignore").write_text("*\n!keep.py\n")
    (repository / ".git" / "info" / "exclude").write_text("trailing.py\n")
    assert found(repository) == expected(repository)
    assert "sub/b.py" in found(repository)
    assert "trailing.py" not in found(repository)


def test_the_rules_above_a_directory_hold_in_it(repository: Path) -> None:
    (repository / ".gitignore").write_text("/sub/b.py\nkeep.py\n")
    assert "b.py" not in found(repository / "sub")
    assert "keep.py" not in found(repository / "sub")
    assert "deep/b.py" in found(repository / "sub")


def test_a_linked_worktree_has_its_repositorys_list(repository: Path, tmp_path: Path) -> None:
    (repository / ".git" / "info" / "exclude").write_text("a.py\n")
    git(repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"))
    make(tmp_path / "linked")
    assert "b.py" in found(tmp_path / "linked")
    assert "a.py" not in found(tmp_path / "linked")


def test_what_is_named_is_handled(repository: Path) -> None:
    (repository / ".gitignore").write_text("logs/\nskip.py\n")
    assert [item.explicit for item in find_inputs([str(repository / "skip.py")])] == [True]
    assert "a.py" in found(repository / "logs")
    assert "skip.py" in found(repository, gitignore=False)


def test_a_gitignore_counts_without_a_repository(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / ".gitignore").write_text("sub/\n")
    assert not any(name.startswith("sub/") for name in found(tmp_path))


def test_a_named_file_keeps_its_place_in_a_named_directory(tmp_path: Path) -> None:
    make(tmp_path)
    items = find_inputs([str(tmp_path), str(tmp_path / "sub" / "a.py")])
    assert [item.relative.as_posix() for item in items if item.explicit] == ["sub/a.py"]


def test_environments_and_built_copies_are_left_out(tmp_path: Path) -> None:
    for name in ("venv/lib/a.py", "build/lib/b.py", "package/build/__init__.py", "x/site-packages/c.py", ".tox/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    assert found(tmp_path) == ["package/build/__init__.py"]


def test_links_that_lead_nowhere_or_in_circles(tmp_path: Path) -> None:
    (tmp_path / "self.py").symlink_to(tmp_path / "self.py")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.py").write_text("")
    (tmp_path / "one" / "two").symlink_to(tmp_path)
    (tmp_path / "b.py").symlink_to(tmp_path / "one" / "a.py")
    os.mkfifo(tmp_path / "pipe.py")
    assert found(tmp_path) == ["b.py"]


def test_links_out_of_the_directory_are_not_followed(tmp_path: Path) -> None:
    for name in ("src/a.py", "elsewhere/b.py", "elsewhere/sub/c.py", "src_2/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "src" / "b.py").symlink_to(tmp_path / "elsewhere" / "b.py")
    (tmp_path / "src" / "sub").symlink_to("../elsewhere/sub")
    (tmp_path / "src" / "near").symlink_to(tmp_path / "src_2")
    (tmp_path / "src" / "own.py").symlink_to("a.py")
    (tmp_path / "whole").symlink_to(tmp_path / "src")
    links = [(one.relative.name, one.leads_to) for one in find_inputs([str(tmp_path / "whole")]) if one.leads_to]
    targets = {"b.py": "elsewhere/b.py", "sub": "elsewhere/sub", "near": "src_2"}
    assert dict(links) == {name: str(tmp_path / target) for name, target in targets.items()}
    named = find_inputs([str(tmp_path / name) for name in ("src", "elsewhere/b.py")])
    assert sorted(one.relative.name for one in named if one.leads_to) == ["near", "sub"]


def test_a_directory_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path)
    scandir = os.scandir

    def deny(path: Path) -> object:
        if str(path).rstrip("/").endswith("logs"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", deny)
    problems = {item.relative.as_posix(): item.problem for item in find_inputs([str(tmp_path)]) if item.problem}
    assert problems == {"logs": "Permission denied", "other/logs": "Permission denied"}
    assert "sub/deep/a.py" in [relative for _, relative in Walker(tmp_path).files()]


@pytest.mark.parametrize(
    ("name", "head", "generated"),
    [
        ("user_pb2.py", "", True),
        ("user_pb2_grpc.py", "", True),
        ("a.py", "# Generated by the protocol buffer compiler.  DO NOT EDIT!\n", True),
        (
            "a.py",
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# This file was auto-generated by x\n",
            True,
        ),
        ("a.py", "# @generated\n", True),
        ("a.py", "# Code generated by tool; DO NOT EDIT.\n", True),
        ("a.py", '"""Made by a tool. DO NOT EDIT."""\n', True),
        ("a.py", "# embeddings generated by word2vec\n", False),
        ("a.py", '"""Reads embeddings generated by word2vec."""\n', False),
        ("a.py", "# please do not edit without asking\n", False),
        ("a.py", "x = 1\n" * 20 + "# Generated by hand, DO NOT EDIT\n", False),
        ("my_pb2_model.py", "", False),
    ],
)
def test_generated_files_are_known_by_name_or_head(name: str, head: str, generated: bool) -> None:
    assert is_generated(name, head.encode() + b"import tensorflow\n") is generated
