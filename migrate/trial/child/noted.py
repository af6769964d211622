"""What this process notes, and writes for the command: at the last step, and at its end."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .settings import Settings


class Noted:
    """Columns with an entry for each step, and what is known of tables."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.installed: Any = None  #: what `rewriter.install` has returned
        self.seconds: list[float] = []
        self.losses: dict[str, dict[int, float]] = {}  #: name -> step, from 0 -> value
        self.rows: dict[str, dict[int, int]] = {}  #: table -> step, from 0 -> rows after it
        self.needed: dict[str, dict[int, int]] = {}  #: table -> step, from 0 -> ids that were looked up until then
        self.bytes: dict[str, int] = {}  #: table -> bytes after the last step
        self.raw: dict[str, dict[str, Counter[Any]]] = {}  #: table -> row -> how often each id became it
        self.hashes_in_input = False
        self.slots: dict[str, int] = {}  #: shape -> optimizer slots of a variable of a Keras model
        self.warned: list[str] = []
        self.faults: list[str] = []
        self.error = ""

    def step(self, seconds: float, losses: dict[str, float]) -> None:
        """Note a step that has been taken."""
        number = len(self.seconds)
        self.seconds.append(seconds)
        for name, value in losses.items():
            self.losses.setdefault(name, {})[number] = value
        if self.installed is not None:
            self._look(number)

    def _look(self, number: int) -> None:
        usage = self.installed.graphs.usage
        usage.look()
        for name in self.installed.tables:
            seen = usage.of(name)
            if seen is not None:
                self.rows.setdefault(name, {})[number] = seen.rows
                self.bytes[name] = seen.bytes

    def failing(self, before: Callable[..., Any]) -> Callable[..., Any]:
        """Return an `excepthook` that also notes what ends the process."""

        def failed(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            self.error = f"{kind.__name__}: {error}"
            before(kind, error, trace)

        return failed

    def finish(self) -> None:
        """End the proof, if there is one, and write."""
        if self.installed is not None:
            try:
                self.installed.finish()
            except Exception as error:
                self.faults.append(str(error))
        self.write()

    def write(self) -> None:
        """Write what is known; that a process without steps imported TensorFlow is known then, too."""
        path = Path(self._settings.side, "parts", f"{os.getpid()}.json")
        try:
            path.with_suffix(".tmp").write_text(json.dumps(self._data()), encoding="utf-8")
            path.with_suffix(".tmp").replace(path)
        except OSError:
            pass  # the command has ended, and with it the folder

    def _data(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in ("seconds", "bytes", "slots", "hashes_in_input")},
            **{
                name: {key: [known.get(step) for step in range(len(self.seconds))] for key, known in columns.items()}
                for name, columns in (("losses", self.losses), ("rows", self.rows), ("needed", self.needed))
            },
            "raw": {table: [(len(ids), ids.total()) for ids in rows.values()] for table, rows in self.raw.items()},
            "faults": self.faults,
            "error": self.error,
            **({} if self.installed is None else self._moved()),
        }

    def _moved(self) -> dict[str, Any]:
        from rewriter.plan.growth_lines import growth_lines
        from rewriter.plan.lines import stay_lines

        installed = self.installed
        stays = installed.stay.values()
        lines = stay_lines(stays)
        return {
            "tables": [_table(one) for one in installed.tables.values()],
            "stays": [{"variable": one.table, "shape": list(one.shape), "reason": one.reason} for one in stays],
            "stay_lines": lines,
            "growth": growth_lines(installed.tables.values()),
            "warned": [one for one in dict.fromkeys(self.warned) if " stay" not in one or one.startswith("a graph ")],
            "proofs": [{"ok": one.ok, "steps": one.steps, "text": one.summary()} for one in installed.proofs],
        }


def _table(table: Any) -> dict[str, Any]:
    from rewriter.plan.growth_lines import bound_of

    return {
        "name": table.name,
        "bound": bound_of(table),
        "shape": list(table.shape),
        "slots": len(table.slots_by_number),
        "rules": sorted({update.optimizer for update in table.updates}),
        "lookups": len(table.lookups),
        "made": table.source,
        "on_demand": not table.new_rows.assumption,
    }
