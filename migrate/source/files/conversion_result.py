"""The result of converting one source file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from migrate.report.model import Finding, TableRecord

NO_OUTPUTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class SourceResult:
    """The result of converting one file in memory."""

    path: str  #: as shown in reports
    kind: str  #: `tensorflow`, `paddle` or `other`
    original: str
    converted: str  #: equal to `original` if nothing changed
    findings: tuple[Finding, ...] = ()
    tables: tuple[TableRecord, ...] = ()
    target: str = "runtime"  #: the SDK that the converted code calls
    outputs: Mapping[str, str] = field(
        default_factory=lambda: NO_OUTPUTS
    )  #: further files to write beside it: name -> text

    @property
    def changed(self) -> bool:
        """True when the converted text differs from the original."""
        return self.converted != self.original

    @property
    def remains(self) -> bool:
        """True when a finding of this file needs further work by the user."""
        return any(finding.remains for finding in self.findings)
