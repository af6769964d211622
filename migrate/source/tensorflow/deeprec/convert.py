"""The conversion of a file for DeepRec: its edits where nothing blocks it, and its findings."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report.model import Finding, State
from migrate.source.tensorflow.base.deeprec_symbols import (
    HOMES,
    PROGRAM,
    VARIABLE,
    makes_tables,
    option_of,
    reads_deeprec,
)
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.deeprec.distributed import read_strategies
from migrate.source.tensorflow.deeprec.feature_columns import read_columns
from migrate.source.tensorflow.deeprec.option_uses import check_options, doubt_options
from migrate.source.tensorflow.deeprec.options import read_options
from migrate.source.tensorflow.deeprec.program import read_program, remarks
from migrate.source.tensorflow.deeprec.variables import read_variables
from migrate.source.tensorflow.edits.whole_file_draft import Draft
from migrate.source.tensorflow.edits.whole_file_findings import WholeFile, Wording, judged

WORDING = Wording("DeepRec", "the EmbeddingVariables", "`python -m runtime.compat.deeprec` runs the program as it is")


def embedding_variables(file: File, assume: bool) -> WholeFile:
    """Return the conversion of a file with EmbeddingVariables; empty for any other file."""
    if not any(makes_tables(name) or option_of(name) for _, name in file.names.calls):
        return WholeFile()
    if file.target.name != "runtime":
        return WholeFile(findings=[*_elsewhere(file)])
    draft = Draft(file, HOMES)
    if not reads_deeprec(file):
        doubt_options(draft)
    read_options(draft)
    read_variables(draft)
    read_columns(draft)
    read_strategies(draft)
    read_program(draft)
    check_options(draft)
    found = judged(draft, assume, WORDING)
    found.findings += _remarks(file)
    return found


def _elsewhere(file: File) -> Iterator[Finding]:
    """Report, for another target than the runtime, why each EmbeddingVariable is left unchanged."""
    own = file.target.name == "deeprec"
    for call, name in file.names.calls:
        if not makes_tables(name):
            continue
        short = name.rpartition(".")[2]
        if own:
            message, reason, action = f"`{short}` is DeepRec's own", "the target has it", ""
        else:
            message, reason = (
                f"`{short}` is DeepRec's",
                f"it can be converted for the runtime, but not for {file.target.title}",
            )
            action = "leave --target out"
        state = State.NOTED if own else State.UNSUPPORTED
        yield Finding(VARIABLE, "table", state, file.tree.location(call), message, reason, action)


def _remarks(file: File) -> Iterator[Finding]:
    for node, message, reason, action in remarks(file):
        yield Finding(PROGRAM, "use", State.UNSUPPORTED, file.tree.location(node), message, reason, action)
