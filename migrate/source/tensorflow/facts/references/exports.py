"""Calls that export graphs or models with their tables; programs that load them need the operations of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.model import Adaptation
from migrate.source.tensorflow.base.rule_kinds import File

#: The rule that notes an export.
RULE = "tf-export"
#: The operations of the tables are exported, and with a SavedModel also their rows.
OPERATIONS = "operations"
#: The values of variables are exported as constants.
CONSTANTS = "constants"
#: Export functions and methods by name, on any object, some qualified by what precedes the name.
EXPORTS = {
    "add_meta_graph": OPERATIONS,
    "add_meta_graph_and_variables": OPERATIONS,
    "as_graph_def": OPERATIONS,
    "export_meta_graph": OPERATIONS,
    "export_scoped_meta_graph": OPERATIONS,
    "models.save_model": OPERATIONS,
    "saved_model.save": OPERATIONS,
    "save_keras_model": OPERATIONS,
    "simple_save": OPERATIONS,
    "write_graph": OPERATIONS,
    # methods of an Estimator
    "export_all_saved_models": OPERATIONS,
    "experimental_export_all_saved_models": OPERATIONS,
    "export_eval_savedmodel": OPERATIONS,
    "export_saved_model": OPERATIONS,
    "export_saved_model_for_mode": OPERATIONS,
    "export_savedmodel": OPERATIONS,
    # exporters that an Estimator runs while it trains
    "BestExporter": OPERATIONS,
    "FinalExporter": OPERATIONS,
    "LatestExporter": OPERATIONS,
    "StepsExporter": OPERATIONS,
    "exporter.Exporter": OPERATIONS,
    "ExportStrategy": OPERATIONS,
    "make_best_model_export_strategy": OPERATIONS,
    "make_export_strategy": OPERATIONS,
    "make_parsing_export_strategy": OPERATIONS,
    # frozen graphs
    "convert_variables_to_constants": CONSTANTS,
    "convert_variables_to_constants_from_session_graph": CONSTANTS,
    "convert_variables_to_constants_v2": CONSTANTS,
    "freeze_graph": CONSTANTS,
    "freeze_graph_with_def_protos": CONSTANTS,
    # TensorFlow Lite and TensorRT
    "TFLiteConverter": CONSTANTS,
    "TFLiteConverter.from_concrete_functions": CONSTANTS,
    "TFLiteConverter.from_keras_model": CONSTANTS,
    "TFLiteConverter.from_keras_model_file": CONSTANTS,
    "TFLiteConverter.from_saved_model": CONSTANTS,
    "TrtGraphConverter": CONSTANTS,
    "TrtGraphConverterV2": CONSTANTS,
    "create_inference_graph": CONSTANTS,
    "from_frozen_graph": CONSTANTS,
    "from_session": CONSTANTS,
    "toco_convert": CONSTANTS,
}


#: Names that unrelated objects also have; without an import, what precedes the name decides.
SHARED = {"create_inference_graph", "from_frozen_graph", "from_session"}
CONVERTERS = re.compile(r"trt|tensorrt|lite|toco|converter", re.IGNORECASE)
_LAST = {name.rpartition(".")[2] for name in EXPORTS}


def exports(file: File) -> Iterator[tuple[cst.CSTNode, str, str]]:
    """Yield the exports in source order, each with its node, its text and what it writes.

    They are calls, and mentions of TensorFlow's own functions and classes, which may be used in a dict, in a `partial`
    or as a base class.
    """
    found = [(call, call.func, _written(file, call.func)) for call in file.tree.calls]
    called = {id(call.func) for call in file.tree.calls}
    mentioned = [node for node in file.names.mentions(_LAST.__contains__) if id(node) not in called]
    alone = [node for node in mentioned if _is_value(file, node) and file.names.of(node) is not None]
    every: list[tuple[cst.CSTNode, cst.BaseExpression, str | None]] = [*found]
    every += [(node, node, _written(file, node)) for node in alone]
    for node, named, kind in sorted(every, key=lambda one: file.tree.span(one[0])[0]):
        if kind is not None:
            yield node, file.tree.one_line(named), kind


def note(node: cst.CSTNode, text: str) -> Adaptation:
    """Return the note on code with this text, which writes the operations of tables."""
    reason = "a program that loads the export must first load the operations of the tables"
    action = "see docs/serving.md, also for serving without them"
    return Adaptation(node, RULE, f"`{text}` writes the tables as custom operations", reason, action=action)


def _is_value(file: File, node: cst.CSTNode) -> bool:
    """False for a part of a longer name, and for a type annotation."""
    return not isinstance(file.tree.parent(node), cst.Attribute | cst.Annotation)


def _written(file: File, named: cst.BaseExpression) -> str | None:
    """Return what a function or class exports; None if it is not known to export."""
    known = file.names.of(named)
    parts = re.findall(r"\w+", known or file.tree.source(named))
    last = parts[-1] if parts else ""
    if last in SHARED and known is None and not any(CONVERTERS.search(part) for part in parts[:-1]):
        return None
    return EXPORTS.get(".".join(parts[-2:])) or EXPORTS.get(last)
