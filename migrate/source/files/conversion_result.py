"""What converting one source file gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from migrate.report.model import Finding, TableRecord

NO_OUTPUTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class SourceResult:
    """One file after conversion; nothing has been written yet."""

    path: str  #: as reported
    kind: str  #: `tensorflow`, `paddle` or `other`
    original: str
    converted: str  #: equal to `original` when nothing changed
    findings: tuple[Finding, ...] = ()
    tables: tuple[TableRecord, ...] = ()
    target: str = "runtime"  #: the SDK that was asked for
    outputs: Mapping[str, str] = field(default_factory=lambda: NO_OUTPUTS)  #: extra files beside it: name -> text

    @property
    def changed(self) -> bool:
        """True when the converted text differs from the original."""
        return self.converted != self.original

    @property
    def remains(self) -> bool:
        """True when a person still has work to do in this file."""
        return any(finding.remains for finding in self.findings)
