"""Trains generated projects under each switch, alone and together; prints a table: `make soak PARTS=projects`.

Each has the losses of the plain run, step by step, up to 1e-5 of the largest.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from migrate.project.build import ProjectOptions, write_project
from tests.support.paths import ROOT
from tests.support.project_programs import EXAMPLE, opened, trained

SOURCES = ROOT / "tests" / "migrate" / "project" / "sources"
PROJECTS = {
    "MMoE (Paddle)": (EXAMPLE / "net.py", EXAMPLE / "schema.yaml"),
    "DeepFM (TensorFlow)": (SOURCES / "deepfm.py", SOURCES / "deepfm.yaml"),
}
SWITCHES: dict[str, dict[str, Any]] = {
    "none": {},
    "`USE_DYNAMIC`": {"use_dynamic": True},
    "`USE_MULTI_LOOKUP`": {"use_multi_lookup": True},
    "`USE_MODIFY_GRAPH`": {"use_modify_graph": True},
    "`USE_DYNAMIC_EXPANSION`": {"use_dynamic_expansion": True},
    "`CACHE_MODE=DDR` (with `USE_MODIFY_GRAPH`)": {"cache_mode": "DDR", "use_modify_graph": True},
    "`CACHE_MODE=SSD` (with `USE_MODIFY_GRAPH`)": {"cache_mode": "SSD", "use_modify_graph": True},
    "`USE_FAAE`, ids admitted at first sight": {"use_faae": True, "access_threshold": 1},
    "all that go together in HBM": {
        "use_dynamic": True,
        "use_multi_lookup": True,
        "use_modify_graph": True,
        "use_dynamic_expansion": True,
    },
}
STEPS = 20


def main() -> int:
    """Print a line for each switch; return how many projects and switches differ."""
    wrong = 0
    cells: dict[str, list[str]] = {name: [] for name in SWITCHES}
    with tempfile.TemporaryDirectory() as directory:
        for number, (source, schema) in enumerate(PROJECTS.values()):
            data = Path(directory, str(number), "data")
            reference: list[float] = []
            for style in ("session", "estimator"):
                project = Path(directory, str(number), style)
                write_project(ProjectOptions(source, schema, project, style=style))
                if not data.exists():
                    runpy.run_path(str(project / "dataset.py"))["make_up"](1024, data)
                with opened(project) as program:
                    for name, switches in SWITCHES.items():
                        found = trained(
                            program, max_steps=STEPS, train_steps=STEPS // 2, data_path=str(data), **switches
                        )
                        reference = reference or found
                        apart = max(abs(a - b) for a, b in zip(found, reference, strict=True)) / max(reference)
                        wrong += not apart <= 1e-5
                        print(list(PROJECTS)[number], style, name, f"{apart:.1e}", file=sys.stderr, flush=True)
                        cells[name].append(f"{apart:.0e}" if apart else "0")
    titles = [f"{name}, {style}" for name in PROJECTS for style in ("session", "Estimator")]
    print(f"| switches | {' | '.join(titles)} |")
    print(f"|---|{'---|' * len(titles)}")
    for name, found in cells.items():
        print(f"| {name} | {' | '.join(found)} |")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
