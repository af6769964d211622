"""Which tables of repositories on disk convert at once, which after a decision, and why the others stay.

python -m benchmarks.conversion.survey DIRECTORY [DIRECTORY ...] [--evidence FILE,...] [--entry PATTERN,...]

Each directory is judged by `migrate check` as it is. Markdown: a row for each repository, then the reasons for which
tables stay or wait, by the rule that gives them, with the number of tables that each concerns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import BenchmarkError, markdown_table

#: Verdict of a table in a report -> its column.
COLUMNS = {"available": "at once", "suggested": "after a decision", "unsupported": "stay", "opaque": "stay"}
MINUTES = 15


def judged(directory: Path, options: Sequence[str]) -> dict[str, Any]:
    """Return the report of `migrate check` on a directory; raises BenchmarkError if it could not run."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = [sys.executable, "-m", "migrate", "check", ".", "--quiet", "--report", str(report), *options]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60 * MINUTES)
        if not report.exists():
            raise BenchmarkError(f"{directory}: {done.stderr.strip() or 'no report'}")
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found


def counts(report: Mapping[str, Any]) -> Counter[str]:
    """Return the number of tables in each column."""
    return Counter(COLUMNS[one["verdict"]] for one in report["tables"] if one["verdict"] in COLUMNS)


def unread(report: Mapping[str, Any]) -> int:
    """Return the number of files that cannot be read, such as those of Python 2."""
    return len({one["location"]["path"] for one in report["findings"] if one["state"] == "failed"})


def rules_of(report: Mapping[str, Any]) -> Counter[str]:
    """Return, for each rule, the number of tables that wait for a decision or stay because of it."""
    found: Counter[str] = Counter()
    for table in report["tables"]:
        if COLUMNS.get(table["verdict"]) not in {None, "at once"}:
            found.update({_rule(report, reason) for reason in table["reasons"]})
    return found


def _rule(report: Mapping[str, Any], reason: str) -> str:
    """Return the rule of a reason, which is the text of one of the findings."""
    said = (one["rule"] for one in report["findings"] if reason.startswith(f"{one['message']}: {one['reason']}"))
    return next(said, "others")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--evidence", action="append", default=[])
    parser.add_argument("--entry", action="append", default=[])
    given = parser.parse_args(arguments)
    for one in given.directories:
        if not one.is_dir():
            parser.error(f"{one} is no directory; give the folders of repositories")
    options = [f"--evidence={Path(one).resolve()}" for one in given.evidence] + [
        f"--entry={one}" for one in given.entry
    ]
    columns = [*dict.fromkeys(COLUMNS.values())]
    rows, total, rules = [], Counter[str](), Counter[str]()
    for directory in given.directories:
        report = judged(directory, options)
        own = counts(report)
        rows.append([directory.resolve().name, *(str(own[one]) for one in columns), str(unread(report))])
        total += own
        rules += rules_of(report)
    rows.append(["all", *(str(total[one]) for one in columns), str(sum(int(row[-1]) for row in rows))])
    print(markdown_table(["repository", *columns, "files that cannot be read"], rows))
    print()
    print(markdown_table(["rule", "tables"], [[rule, str(count)] for rule, count in rules.most_common()]))


if __name__ == "__main__":
    main()
