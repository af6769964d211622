"""Handles optimizers of Keras 3 that square the gradient of each occurrence of an id, where tables square their sum.

The original is run again with the gradients of equal ids summed before each step. The converted program must equal the
steps of that run; the first run shows how far the original is from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from migrate.report.model import Comparison
from migrate.verify import compare, workers

Result = Mapping[str, Any]


def with_summed(first: Result, side: str) -> Result:
    """Return the original's result with the steps of a run that sums, and its own steps as `apart`.

    The result is returned unchanged if no optimizer squares separately, or no batch has equal ids.
    """
    if not first.get("squares_apart"):
        return first
    job = {key: first[key] for key in ("directory", "settings", "path")}
    summed = workers.run(side, {**job, "summed": True})
    wide = {"passes": summed["passes"], "steps": summed["steps"]}
    return {**first, "double": wide, "steps": summed["steps"], "apart": first["steps"]}


def comparisons(first: Result) -> Iterator[Comparison]:
    """Yield the difference between the original's steps and those with summed gradients, per variable."""
    for name in first["squares_apart"] if "apart" in first else ():
        own, summed = (np.asarray(first[key][-1]["variables"][name]) for key in ("apart", "steps"))
        found = compare.compare("optimizer", f"{name} [equal ids apart]", own, summed)
        reason = f"{first['program'].optimizers[name]} of Keras 3, as the original runs it"
        yield found if found.verdict == "equal" else compare.change_of_values(found, reason)


def notes(first: Result) -> list[str]:
    """Return a note that the steps with summed gradients were compared, with the lines of the assumption."""
    if "apart" not in first:
        return []
    lines = assumed_lines(Path(first["path"]))
    place = f" (assumed at line {', '.join(map(str, lines))} of {first['path']})" if lines else ""
    return [
        f"Keras 3 squares the gradients of equal ids one by one, a table their sum{place}: the converted steps are "
        "compared with steps of the original in which gradients of equal ids are summed first"
    ]


def assumed_lines(path: Path) -> list[int]:
    """Return the lines of a source at which its conversion assumes that gradients of equal ids may be summed."""
    from migrate.source.configuration.config_files import for_file  # needed only for such optimizers
    from migrate.source.driver.convert_file import convert_bytes
    from migrate.source.settings.options import Given, Options
    from migrate.source.tensorflow.rules.keras_embedding import SUMMED

    options = for_file(
        path, Options(given=Given(assume=False))
    )  # with `assume`, findings name the layers, not the optimizer
    result, _ = convert_bytes(str(path), path.read_bytes(), options, {})
    return sorted(
        {one.location.line for one in result.findings if SUMMED in one.assumptions and one.subject != "table"}
    )
