"""What `migrate convert -o` wrote is not judged again with the program that it was made of."""

from __future__ import annotations

from pathlib import Path

from migrate.source.files.atomic_write import OutputDirectory
from migrate.source.project.discovery import find_inputs

TEXT = "import tensorflow\n"


def written(root: Path) -> dict[str, bool]:
    return {one.path.relative_to(root).as_posix(): one.written for one in find_inputs([str(root)])}


def convert(root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text(TEXT)
    OutputDirectory(root / "out", force=False).write({Path("a.py"): b"x", Path("sub/b.py"): b"y"})


def test_results_below_are_known_until_they_change(tmp_path: Path) -> None:
    convert(tmp_path)
    (tmp_path / "out" / "own.py").write_text(TEXT)
    assert written(tmp_path) == {"src/a.py": False, "out/a.py": True, "out/own.py": False, "out/sub/b.py": True}
    (tmp_path / "out" / "sub" / "b.py").write_text(TEXT)
    assert written(tmp_path)["out/sub/b.py"] is False


def test_a_directory_or_a_file_that_is_given_is_judged(tmp_path: Path) -> None:
    convert(tmp_path)
    (tmp_path / "src" / "a.py").rename(tmp_path / "c.py")
    whole, out, one = (str(tmp_path / name) for name in ("", "out", "out/a.py"))
    assert not any(written(tmp_path / "out").values())
    assert {item.path.name for item in find_inputs([whole, one]) if item.written} == {"b.py"}
    assert not any(item.written for item in find_inputs([whole], written=True))
    for given in ([out, f"{whole}/src"], [f"{whole}/src", out]):
        assert not any(item.written for item in find_inputs(given))


def test_a_damaged_list_and_links_to_nothing_are_no_error(tmp_path: Path) -> None:
    convert(tmp_path)
    (tmp_path / "out" / "sub" / "b.py").unlink()
    (tmp_path / "out" / "sub" / "b.py").symlink_to(tmp_path / "nowhere.py")
    assert written(tmp_path) == {"src/a.py": False, "out/a.py": True}
    (tmp_path / "out" / ".recmigrate.json").write_text("{")
    assert written(tmp_path) == {"src/a.py": False, "out/a.py": False}
