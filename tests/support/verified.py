"""Programs that are measured beside their conversion, in which one text may take the place of another."""

from __future__ import annotations

from pathlib import Path

from migrate.report.model import Comparison, Verification
from migrate.report.table_names import tables_of
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from migrate.verify.pair import verify
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, follow, measure

STEPS = Settings(steps=4)


def measured(
    folder: Path, program: str, settings: Settings, change: tuple[str, str] = ("", ""), options: Options | None = None
) -> tuple[Pair, str]:
    """Convert a program and measure both; return that and the converted text.

    Each table that the run has is that of one record of the conversion.
    """
    path, converted = folder / "program.py", folder / "converted" / "program.py"
    converted.parent.mkdir(parents=True)
    path.write_text(program)
    result = convert_text("program.py", program, options or Options(), {})
    assert result.converted != program and change[0] in result.converted
    text = result.converted.replace(*change)
    converted.write_text(text)
    pair = measure(str(path), str(converted), settings)
    known = [name for names in tables_of(result.tables, pair.matched) for name in names]
    assert sorted(known) == sorted(pair.matched)
    return pair, text


def failures(pair: Pair) -> list[Comparison]:
    """Return what is not equal."""
    return [comparison for comparison in pair.comparisons() if comparison.verdict != "equal"]


def followed(pair: Pair, folder: Path, text: str, change: tuple[str, str]) -> Pair:
    """Measure a converted program again, in which one text takes the place of another."""
    assert change[0] in text
    path = folder / "broken.py"
    path.write_text(text.replace(*change))
    return follow(pair.recorded, str(path))


def verified(folder: Path, original: str, converted: str, settings: Settings = STEPS) -> Verification:
    """Write two programs into a folder of their own each and verify the second against the first."""
    paths = [folder / side / "train.py" for side in ("original", "converted")]
    for path, text in zip(paths, (original, converted), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return verify(str(paths[0]), str(paths[1]), None, settings)


def unequal(found: Verification) -> list[Comparison]:
    """Return what is not equal in a proof."""
    return [one for one in found.comparisons if one.verdict != "equal"]


def differing(found: Verification) -> set[str]:
    """Return the stages of a proof in which something differs."""
    return {one.stage for one in found.comparisons if one.verdict == "differs"}
