"""Files for another SDK, DeepRec or SparseOperationKit, which are converted completely or not at all."""

from __future__ import annotations

from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.deeprec.convert import embedding_variables
from migrate.source.tensorflow.edits.whole_file_findings import WholeFile
from migrate.source.tensorflow.sok.convert import sok_variables


def written_for_another(file: File, assume: bool) -> WholeFile:
    """Return the conversion of a file for another SDK; empty for any other file."""
    return embedding_variables(file, assume).joined(sok_variables(file, assume))
